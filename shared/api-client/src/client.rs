//! The client.

use std::fmt;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use domain::Secret;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::error::{ApiError, InvalidUrl, Refusal};
use crate::form::{UploadFile, encode_form};
use crate::repeat::{RetryPolicy, is_passing, may_repeat};
use crate::transport::{Answer, Transport};

/// Calls the API, over HTTP or in routers of this process. It is cheap to clone.
#[derive(Clone)]
pub struct ApiClient {
    transport: Transport,
    key: Option<Secret>,
    retries: RetryPolicy,
}

/// A request that can be sent several times.
struct Call<'a> {
    method: &'a Method,
    path: &'a str,
    content_type: Option<&'a str>,
    body: Bytes,
    may_repeat: bool,
}

impl fmt::Debug for ApiClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiClient")
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

impl ApiClient {
    /// Returns a client that calls `routes` in this process. Requests count as sent by this machine
    /// only if `routes` have a layer that says so.
    pub fn in_process(routes: Router) -> Self {
        Self::new(Transport::Router(Box::new(routes)))
    }

    /// Returns a client of the server at `url`, whose path is kept in front of every path.
    ///
    /// # Errors
    /// Fails if `url` is not an http or https address.
    pub fn over_http(url: &str) -> Result<Self, InvalidUrl> {
        Ok(Self::new(Transport::over_http(url)?))
    }

    fn new(transport: Transport) -> Self {
        Self {
            transport,
            key: None,
            retries: RetryPolicy::DEFAULT,
        }
    }

    /// Sends `key` with every request.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    /// Makes every call once, even if it fails for a passing reason.
    #[must_use]
    pub fn without_retries(mut self) -> Self {
        self.retries = RetryPolicy::ONCE;
        self
    }

    /// Sets the pause before the first repetition of a failed call. Each further pause is four
    /// times as long.
    #[must_use]
    pub fn with_retry_pause(mut self, pause: Duration) -> Self {
        self.retries.pause = pause;
        self
    }

    /// Returns the address of the server, as messages show it.
    pub fn address(&self) -> &str {
        self.transport.address()
    }

    /// Sends a request and returns its answer. The answer is null if it has no body, and a string
    /// if it is text.
    ///
    /// A call that fails for a passing reason is made up to four times if it may arrive twice.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or if it refuses the request.
    pub async fn send(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let call = Call {
            method: &method,
            path: path_and_query,
            content_type: body.map(|_| "application/json"),
            body: body
                .map(|body| Bytes::from(body.to_string()))
                .unwrap_or_default(),
            may_repeat: may_repeat(&method, path_and_query, body),
        };
        self.call(call).await
    }

    /// Uploads a file as a document, with the fields of `POST /v3/documents/file`. A file that is
    /// too large for a request goes straight to the storage of the server.
    ///
    /// # Errors
    /// Fails as [`Self::send`] does.
    pub async fn upload(
        &self,
        file: UploadFile,
        fields: &[(&str, String)],
    ) -> Result<Value, ApiError> {
        let form = encode_form(&file, fields);
        let call = Call {
            method: &Method::POST,
            path: "/v3/documents/file",
            content_type: Some(&form.media_type),
            body: form.body,
            // A file that is sent again under a customId is found to be the same.
            may_repeat: fields.iter().any(|(name, _)| *name == "customId"),
        };
        match self.call(call).await {
            Err(error)
                if is_too_large(&error) && self.transport.has_bucket() && file.fits_bucket() =>
            {
                self.upload_to_bucket(&file, fields).await
            }
            answer => answer,
        }
    }

    /// Uploads a file by a form of the bucket. On AWS a request has at most a few megabytes, and a
    /// file more.
    async fn upload_to_bucket(
        &self,
        file: &UploadFile,
        fields: &[(&str, String)],
    ) -> Result<Value, ApiError> {
        let begin = uploads_body(file, fields);
        let path = "/v3/documents/file/uploads";
        let begun = self.send(Method::POST, path, Some(&begin)).await?;
        let upload = &begun["upload"];
        let (Some(url), Some(names)) = (upload["url"].as_str(), upload["fields"].as_object())
        else {
            return Err(self.unexpected(StatusCode::OK));
        };
        let fields: Vec<(&str, String)> = names
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?.to_owned())))
            .collect();
        let answer = self
            .transport
            .store(url, encode_form(file, &fields))
            .await?;
        if !answer.status.is_success() {
            return Err(self.unexpected(answer.status));
        }
        Ok(begun)
    }

    async fn call(&self, call: Call<'_>) -> Result<Value, ApiError> {
        let mut attempt = 1;
        loop {
            let error = match self.call_once(&call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };

            let asked_seconds = match &error {
                ApiError::Refused(refusal) => refusal.retry_after_seconds,
                _ => None,
            };
            let pause = self.retries.pause_after(attempt, asked_seconds);
            let Some(pause) = pause.filter(|_| is_worth_repeating(&error, call.may_repeat)) else {
                return Err(error);
            };
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    async fn call_once(&self, call: &Call<'_>) -> Result<Value, ApiError> {
        let request = self.build_request(call)?;
        let mut answer = self.transport.call(request).await?;

        // compat: on AWS, a large answer lies in the bucket.
        let location = answer.headers.get(LOCATION).cloned();
        if answer.status == StatusCode::SEE_OTHER
            && let Some(location) = location.as_ref().and_then(|value| value.to_str().ok())
        {
            answer = self.transport.fetch_stored(location).await?;
        }
        self.read_answer(answer)
    }

    fn build_request(&self, call: &Call<'_>) -> Result<Request<Bytes>, ApiError> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(self.transport.url_of(call.path));
        if let Some(content_type) = call.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(key) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(http::Error::from)?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        Ok(request.body(call.body.clone())?)
    }

    fn read_answer(&self, answer: Answer) -> Result<Value, ApiError> {
        let body = parse_body(&answer);
        if answer.status.is_success() {
            return body.ok_or_else(|| self.unexpected(answer.status));
        }

        let retry_after = answer.headers.get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let refusal = Refusal::parse(answer.status, &body.unwrap_or_default(), retry_after);
        match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Err(self.unexpected(answer.status)),
        }
    }

    fn unexpected(&self, status: StatusCode) -> ApiError {
        ApiError::Unexpected {
            address: self.address().to_owned(),
            status,
        }
    }
}

/// Returns the request for a form of the bucket, with the fields of a form of the API.
fn uploads_body(file: &UploadFile, fields: &[(&str, String)]) -> Value {
    let mut body = json!({"fileName": file.name, "mimeType": file.content_type});
    for (name, text) in fields {
        // These are JSON in a form as well.
        body[*name] = match *name {
            "metadata" | "filterByMetadata" => serde_json::from_str(text).unwrap_or_default(),
            _ => text.as_str().into(),
        };
    }
    body
}

/// Checks whether a request was refused because of its size, by the service or before it.
fn is_too_large(error: &ApiError) -> bool {
    let status = match error {
        ApiError::Refused(refusal) => refusal.status,
        ApiError::Unexpected { status, .. } => *status,
        _ => return false,
    };
    status == StatusCode::PAYLOAD_TOO_LARGE
}

/// Reads a body as JSON or, if its type says so, as text. Returns `None` for anything else, such as
/// a web page.
fn parse_body(answer: &Answer) -> Option<Value> {
    if answer.body.is_empty() {
        return Some(Value::Null);
    }
    let media_type = answer.headers.get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default();
    if media_type.starts_with("text/plain") || media_type.starts_with("text/markdown") {
        return Some(String::from_utf8_lossy(&answer.body).into());
    }
    serde_json::from_slice(&answer.body).ok()
}

/// Checks whether another attempt may succeed, and does no harm if this one arrived.
fn is_worth_repeating(error: &ApiError, may_repeat: bool) -> bool {
    match error {
        ApiError::Refused(refusal) => is_passing(refusal.status, may_repeat),
        // A request that was never sent can be sent again.
        ApiError::Unreachable { cause, .. } => may_repeat || was_never_sent(cause),
        // A proxy answers for a server that is about to start.
        ApiError::Unexpected { status, .. } => {
            may_repeat && *status == StatusCode::SERVICE_UNAVAILABLE
        }
        ApiError::TimedOut { .. } | ApiError::TooLarge | ApiError::InvalidRequest(_) => false,
    }
}

fn was_never_sent(error: &remote::ApiError) -> bool {
    match error {
        remote::ApiError::Request(error) => error.is_connect(),
        _ => false,
    }
}
