//! Answers that are too large for a function: objects from which clients fetch them.

use bytes::Bytes;
use domain::ports::PortResult;
use domain::{AnswerId, Timestamp};

use crate::clients::Clients;
use crate::error::port_error;
use crate::names::ResourceNames;
use crate::presign::Presigner;
use crate::table_keys;

/// The time in seconds for which an answer can be fetched. The bucket deletes it after a day.
const VALID_SECONDS: u32 = 300;

/// Stores answers that are too large for a function.
#[derive(Debug, Clone)]
pub struct AnswerStore {
    s3: aws_sdk_s3::Client,
    presigner: Presigner,
    bucket: String,
}

/// An answer to a request, without its status.
#[derive(Debug, Clone)]
pub struct LargeAnswer {
    /// The bytes.
    pub body: Bytes,
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// The header `Content-Encoding`.
    pub content_encoding: Option<String>,
}

impl AnswerStore {
    /// Returns the store in the bucket of a deployment.
    pub fn new(clients: &Clients, names: &ResourceNames) -> Self {
        Self {
            s3: clients.s3.clone(),
            presigner: clients.presigner.clone(),
            bucket: names.bucket.clone(),
        }
    }

    /// Stores an answer. Returns an address that answers a GET without a key with the same body and
    /// headers, for five minutes from `now`.
    ///
    /// # Errors
    /// Those of S3.
    pub async fn store(&self, answer: LargeAnswer, now: Timestamp) -> PortResult<String> {
        let key = table_keys::answer_key(&AnswerId::random());
        let put = self.s3.put_object().bucket(&self.bucket).key(&key);
        put.body(answer.body.into())
            .set_content_type(answer.content_type)
            .set_content_encoding(answer.content_encoding)
            .send()
            .await
            .map_err(port_error)?;

        self.presigner
            .download_address(&self.bucket, &key, None, now, VALID_SECONDS)
            .await
    }
}
