//! Calls of a function by others of the same deployment (`aws::LambdaFunction`).

use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws::{CallAnswer, CallEvent, CallRequest, InlineBytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request};
use bytes::{Buf, Bytes};
use domain::ports::UploadForm;
use remote::{ApiClient, Form};
use serde_json::Value;

/// The time in which a large request has to be read, and a large answer stored.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of a request, which is the most of a document.
const MAX_REQUEST_BYTES: usize = 192 * 1024 * 1024;

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
    let response = OBJECTS.send(request, TRANSFER_TIMEOUT).await?;
    if !response.status().is_success() {
        bail!("the request is answered with {}", response.status());
    }
    match response.read_body(MAX_REQUEST_BYTES).await? {
        Some(bytes) => Ok(bytes),
        None => bail!("the request has more than {MAX_REQUEST_BYTES} bytes"),
    }
}

async fn store_answer(form: &UploadForm, bytes: Bytes) -> Result<()> {
    let mut fields = Form::default();
    for (name, value) in &form.fields {
        fields = fields.add_field(name, value);
    }
    let fields = fields.add_file("file", "answer", "application/octet-stream", bytes);

    let request = Request::builder()
        .method(Method::POST)
        .uri(&form.url)
        .header(CONTENT_TYPE, fields.media_type());
    let mut body = fields.into_body();
    let body = body.copy_to_bytes(body.remaining());
    let response = OBJECTS.send(request.body(body)?, TRANSFER_TIMEOUT).await?;
    if !response.status().is_success() {
        bail!("the answer is refused with {}", response.status());
    }
    Ok(())
}
