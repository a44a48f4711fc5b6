//! Calls of a Lambda function by another, which waits for the answer.
//!
//! The function that is called needs no rights, even if a request or an answer is too large for a
//! call. It reads such a request from a signed address, and stores such an answer with a signed form.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_lambda::primitives::Blob;
use bytes::Bytes;
use domain::ports::{CallLimits, Clock, PortResult, RemoteFunction, UploadForm};
use domain::{AnswerId, PortError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use tracing::warn;

use crate::clients::{CONNECT_TIMEOUT, Clients};
use crate::error::port_error;
use crate::names::ResourceNames;
use crate::presign::Presigner;
use crate::table_keys;

/// The most bytes of a request or an answer in a call. Base64 makes four bytes of three, and a call
/// takes 6 MB (Lambda quotas, "Invocation payload").
const MAX_INLINE_BYTES: usize = 4 * 1024 * 1024;
/// The time in seconds for which the address of a request and the form for its answer are valid.
const VALID_SECONDS: u32 = 300;
/// The longest part of a function's error message that is shown, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

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
        fits_in_call(bytes).then(|| Self(aws_smithy_types::base64::encode(bytes)))
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

/// A Lambda function that this process calls.
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

/// The keys of the objects of one call.
struct CallObjects {
    request: String,
    answer: String,
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
        // Each call has a limit of its own.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .disable_operation_attempt_timeout()
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

    /// Calls the function, and returns its answer.
    async fn exchange(
        &self,
        request: Bytes,
        objects: &CallObjects,
        max_answer_bytes: u64,
    ) -> PortResult<CallAnswer> {
        let now = self.clock.now();
        let until = now.plus_seconds(VALID_SECONDS.into());
        let answer_form = self
            .presigner
            .upload_form(&self.bucket, &objects.answer, max_answer_bytes, now, until)
            .await?;
        let request = match InlineBytes::encode(&request) {
            Some(bytes) => CallRequest::Inline(bytes),
            None => CallRequest::Stored(self.store_request(&objects.request, request).await?),
        };

        let event = CallEvent {
            request,
            answer_form,
        };
        let payload = serde_json::to_vec(&event).map_err(internal_error)?;
        let call = self.lambda.invoke().function_name(&self.name);
        let answer = call.payload(Blob::new(payload)).send().await;
        let answer = answer.map_err(port_error)?;
        let payload = answer.payload().map(Blob::as_ref).unwrap_or_default();
        match answer.function_error() {
            Some(_) => Err(self.function_error(payload)),
            None => serde_json::from_slice(payload).map_err(internal_error),
        }
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

    async fn delete_object(&self, key: &str) {
        let delete = self.s3.delete_object().bucket(&self.bucket).key(key);
        if let Err(error) = delete.send().await {
            warn!(
                error = &error as &dyn std::error::Error,
                "cannot delete an object of a call; the bucket deletes it after a day"
            );
        }
    }

    /// Returns the error of a function that ended without an answer. Its payload has the message of
    /// the runtime, such as `Task timed out after 80.00 seconds`.
    fn function_error(&self, payload: &[u8]) -> PortError {
        let payload: Value = serde_json::from_slice(payload).unwrap_or_default();
        let message = payload["errorMessage"].as_str().unwrap_or_default();
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
        self.unavailable(&format!("ended without an answer: {message}"))
    }

    fn unavailable(&self, problem: &str) -> PortError {
        PortError::Unavailable(format!("the function {} {problem}", self.name).into())
    }
}

#[async_trait]
impl RemoteFunction for LambdaFunction {
    async fn call(&self, request: Bytes, limits: CallLimits) -> PortResult<Bytes> {
        let is_stored = !fits_in_call(&request);
        let objects = CallObjects {
            request: table_keys::answer_key(&AnswerId::random()),
            answer: table_keys::answer_key(&AnswerId::random()),
        };
        let exchange = self.exchange(request, &objects, limits.answer_bytes);
        let answer = match timeout(limits.time, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(self.unavailable("did not answer in time")),
        };
        if is_stored {
            self.delete_object(&objects.request).await;
        }

        let answer = match answer {
            Ok(CallAnswer::Inline(bytes)) => return bytes.decode(),
            Ok(CallAnswer::Stored) => self.read_answer(&objects.answer).await,
            Err(error) => Err(error),
        };
        // A call that failed may have stored its answer as well.
        self.delete_object(&objects.answer).await;
        answer
    }
}

fn fits_in_call(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_INLINE_BYTES
}

fn internal_error(error: serde_json::Error) -> PortError {
    PortError::Internal(Box::new(error))
}
