//! Calls of a Lambda function by another, which waits for the answer.
//!
//! The function that is called needs no rights, even if a request or an answer is too large for a
//! call. It reads such a request from a signed address, and stores such an answer with a signed form.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_lambda::primitives::Blob;
use bytes::Bytes;
use domain::ports::{Clock, FunctionCaller, PortResult, UploadForm};
use domain::{AnswerId, PortError};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::clients::Clients;
use crate::error::port_error;
use crate::names::ResourceNames;
use crate::presign::Presigner;
use crate::table_keys;

/// The most bytes of a request or an answer inside of a call. Base64 makes four bytes of three, and a
/// call takes 6 MB (Lambda quotas, "Invocation payload").
const MAX_INLINE_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes of an answer, which is the most that the sandbox of parsers returns.
const MAX_ANSWER_BYTES: u64 = 192 * 1024 * 1024;
/// The longest wait for an answer. The time-out of the function that is called is shorter, and that
/// of the function that calls is longer.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(105);
/// The time in seconds for which the address of a request and the form for its answer are valid.
const VALID_SECONDS: u32 = 300;

/// A call of a function, as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallEvent {
    /// The request.
    pub request: CallRequest,
    /// The form with which a large answer is stored.
    pub answer_form: UploadForm,
}

/// The request of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallRequest {
    /// Its bytes.
    Inline(InlineBytes),
    /// The address of its bytes.
    Stored(String),
}

/// The answer to a call, as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallAnswer {
    /// Its bytes.
    Inline(InlineBytes),
    /// Its bytes were stored with the form of the call.
    Stored,
}

/// Bytes in JSON, as Base64.
#[derive(Debug, Serialize, Deserialize)]
pub struct InlineBytes(String);

impl InlineBytes {
    /// Returns the bytes for a call, or `None` if they are too large.
    pub fn encode(bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() <= MAX_INLINE_BYTES;
        fits.then(|| Self(aws_smithy_types::base64::encode(bytes)))
    }

    /// Returns the bytes.
    ///
    /// # Errors
    /// [`PortError::Internal`] if the text is not Base64.
    pub fn decode(&self) -> PortResult<Bytes> {
        match aws_smithy_types::base64::decode(&self.0) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(PortError::Internal(Box::new(error))),
        }
    }
}

/// A Lambda function that others call.
pub struct LambdaFunction {
    lambda: aws_sdk_lambda::Client,
    s3: aws_sdk_s3::Client,
    presigner: Presigner,
    bucket: String,
    clock: Arc<dyn Clock>,
    name: String,
}

impl fmt::Debug for LambdaFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LambdaFunction")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl LambdaFunction {
    /// Returns the function with this name, in the account of `config`. What is too large for a call
    /// goes through the bucket of the deployment.
    pub fn new(
        config: &SdkConfig,
        clients: &Clients,
        names: &ResourceNames,
        clock: Arc<dyn Clock>,
        name: String,
    ) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(CALL_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let lambda = aws_sdk_lambda::config::Builder::from(config)
            .timeout_config(timeouts)
            .build();
        Self {
            lambda: aws_sdk_lambda::Client::from_conf(lambda),
            s3: clients.s3.clone(),
            presigner: clients.presigner.clone(),
            bucket: names.bucket.clone(),
            clock,
            name,
        }
    }

    async fn invoke(&self, event: &CallEvent) -> PortResult<CallAnswer> {
        let payload = serde_json::to_vec(event).map_err(internal_error)?;
        let call = self.lambda.invoke().function_name(&self.name);
        let answer = call.payload(Blob::new(payload)).send().await;
        let answer = answer.map_err(port_error)?;

        if let Some(error) = answer.function_error() {
            let message = format!(
                "the function {} ended without an answer: {error}",
                self.name
            );
            return Err(PortError::Unavailable(message.into()));
        }
        let payload = answer.payload().map(Blob::as_ref).unwrap_or_default();
        serde_json::from_slice(payload).map_err(internal_error)
    }

    async fn store_request(&self, key: &str, request: Bytes) -> PortResult<String> {
        let put = self.s3.put_object().bucket(&self.bucket).key(key);
        put.body(request.into()).send().await.map_err(port_error)?;
        let now = self.clock.now();
        self.presigner
            .download_address(&self.bucket, key, None, now, VALID_SECONDS)
            .await
    }

    async fn read_answer(&self, key: &str) -> PortResult<Bytes> {
        let get = self.s3.get_object().bucket(&self.bucket).key(key);
        let object = get.send().await.map_err(port_error)?;
        match object.body.collect().await {
            Ok(body) => Ok(body.into_bytes()),
            Err(error) => Err(PortError::Unavailable(Box::new(error))),
        }
    }

    /// Deletes an object of a call. The bucket deletes what is left after a day.
    async fn delete_object(&self, key: &str) {
        let delete = self.s3.delete_object().bucket(&self.bucket).key(key);
        if let Err(error) = delete.send().await {
            warn!(
                error = &error as &dyn std::error::Error,
                "an object of a call is deleted only by the bucket, after a day"
            );
        }
    }
}

#[async_trait]
impl FunctionCaller for LambdaFunction {
    async fn call(&self, request: Bytes) -> PortResult<Bytes> {
        let now = self.clock.now();
        let until = now.plus_seconds(VALID_SECONDS.into());
        let answer_key = table_keys::answer_key(&AnswerId::random());
        let answer_form = self
            .presigner
            .upload_form(&self.bucket, &answer_key, MAX_ANSWER_BYTES, now, until)
            .await?;

        let answer = match InlineBytes::encode(&request) {
            Some(bytes) => {
                let request = CallRequest::Inline(bytes);
                self.invoke(&CallEvent {
                    request,
                    answer_form,
                })
                .await?
            }
            None => {
                let request_key = table_keys::answer_key(&AnswerId::random());
                let address = self.store_request(&request_key, request).await?;
                let request = CallRequest::Stored(address);
                let answer = self
                    .invoke(&CallEvent {
                        request,
                        answer_form,
                    })
                    .await;
                self.delete_object(&request_key).await;
                answer?
            }
        };

        match answer {
            CallAnswer::Inline(bytes) => bytes.decode(),
            CallAnswer::Stored => {
                let bytes = self.read_answer(&answer_key).await?;
                self.delete_object(&answer_key).await;
                Ok(bytes)
            }
        }
    }
}

fn internal_error(error: serde_json::Error) -> PortError {
    PortError::Internal(Box::new(error))
}
