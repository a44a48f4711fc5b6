//! Answers calls from other functions of the deployment, which `aws::LambdaFunction` makes.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws::{CallAnswer, CallEvent, CallRequest, InlineBytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, StatusCode};
use bytes::{Buf, Bytes};
use domain::ports::UploadForm;
use remote::{ApiAnswer, ApiClient, MultipartForm};
use serde_json::Value;

/// The time in which a large request has to be read, and a large answer stored.
pub const TRANSFER_TIMEOUT: Duration = Duration::from_secs(7);
/// The most bytes of a request: more than those of the largest file.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// The client that reads large requests and stores large answers. It has no credentials.
static OBJECTS: ApiClient = ApiClient::new("recollect");

/// Answers a call of a function with what `answer` returns for its request.
///
/// # Errors
/// Fails if `event` is not a call, if a large request cannot be read or a large answer cannot be
/// stored, or if `answer` fails.
pub async fn answer_call<F, E>(event: Value, answer: impl FnOnce(Bytes) -> F) -> Result<Value>
where
    F: Future<Output = Result<Bytes, E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    let event: CallEvent = serde_json::from_value(event).context("the event is not a call")?;
    let request = match event.request {
        CallRequest::Inline(bytes) => bytes.decode()?,
        CallRequest::Stored(address) => read_request(&address).await?,
    };

    let bytes = answer(request).await?;
    let answer = match InlineBytes::encode(&bytes) {
        Some(bytes) => CallAnswer::Inline(bytes),
        None => {
            store_answer(&event.answer_form, bytes).await?;
            CallAnswer::Stored
        }
    };
    Ok(serde_json::to_value(answer)?)
}

async fn read_request(address: &str) -> Result<Bytes> {
    let request = Request::get(address).body(Bytes::new())?;
    let response = send(&request).await.context("cannot read the request")?;
    match response.read_body(MAX_REQUEST_BYTES).await? {
        Some(bytes) => Ok(bytes),
        None => bail!("the request has more than {MAX_REQUEST_BYTES} bytes"),
    }
}

async fn store_answer(form: &UploadForm, bytes: Bytes) -> Result<()> {
    let mut fields = MultipartForm::default();
    for (name, value) in &form.fields {
        fields = fields.add_field(name, value);
    }
    let fields = fields.add_file("file", "answer", "application/octet-stream", bytes);

    let request = Request::post(&form.url).header(CONTENT_TYPE, fields.media_type());
    let mut body = fields.into_body();
    let request = request.body(body.copy_to_bytes(body.remaining()))?;
    send(&request).await.context("cannot store the answer")?;
    Ok(())
}

/// Sends a request, and once more after a fault. A function is suspended between its calls, so its
/// connections may have been closed.
async fn send(request: &Request<Bytes>) -> Result<ApiAnswer> {
    let first = OBJECTS.send(request.clone(), TRANSFER_TIMEOUT).await;
    let answer = match first {
        Ok(answer) if !answer.status().is_server_error() => answer,
        _ => OBJECTS.send(request.clone(), TRANSFER_TIMEOUT).await?,
    };
    match answer.status() {
        StatusCode::OK | StatusCode::CREATED | StatusCode::NO_CONTENT => Ok(answer),
        status => bail!("the bucket answered {status}"),
    }
}
