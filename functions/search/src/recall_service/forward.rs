//! Sends a request to a task, and returns its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Tenant;
use edge::{AnyKey, ApiError, App, Auth, ForwardedKey, read_body, request_id};
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, ORIGIN, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE, VARY,
};
use http::request::Parts;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use remote::ApiError as ApiCallError;
use serde::Deserialize;
use tracing::warn;

use super::{REQUEST_ID_HEADER, RecallService, VERSION, VERSION_HEADER};

/// The most tasks that are asked about one request: the one that keeps the container warm, and the one
/// that would without it.
const MAX_TASKS: usize = 2;
/// The longest wait for a task. After two of these and a look-up, the function has 12 seconds of its 29
/// left to answer itself.
const TASK_TIMEOUT: Duration = Duration::from_secs(8);
/// The largest answer of a task in bytes. The function answers itself what is larger.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// The answers after which the function answers itself: those of a task of another version, or of one
/// that fails.
const FAILURES: [StatusCode; 4] = [
    StatusCode::MISDIRECTED_REQUEST,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::BAD_GATEWAY,
    StatusCode::SERVICE_UNAVAILABLE,
];
/// The headers that hold for one connection only (RFC 9110, section 7.6.1), or that the client of the
/// next one sets.
const CONNECTION_HEADERS: [HeaderName; 9] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// The state of the layer that passes requests on.
#[derive(Clone)]
pub(super) struct Forwarding {
    service: Arc<RecallService>,
    app: App,
}

impl Forwarding {
    pub(super) fn new(service: RecallService, app: App) -> Self {
        Self {
            service: Arc::new(service),
            app,
        }
    }
}

/// The reason why a task gives no answer that can be used.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    #[error("it was not reached, or did not answer")]
    Call(#[from] ApiCallError),
    #[error("it answered {0}")]
    Failed(StatusCode),
    #[error("its answer is too large")]
    TooLarge,
}

/// Sends a request to a task, or to the handlers of this process if no task answers. Whoever answers
/// counts the request, once in all, and records it under one id.
pub(super) async fn forward_request(
    State(forwarding): State<Forwarding>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let key = match ForwardedKey::from_request_parts(&mut parts, &forwarding.app).await {
        Ok(key) => key,
        Err(refusal) => return refusal.into_response(),
    };
    let request = Request::from_parts(parts.clone(), body);
    let body = match read_body(request, &forwarding.app).await {
        Ok(body) => body,
        Err(error) => {
            // No task counts and records this request.
            let counted = Auth::<AnyKey>::from_request_parts(&mut parts, &forwarding.app).await;
            let error = counted.err().unwrap_or(ApiError(error));
            return error.into_response();
        }
    };

    let container = container_key(&key.tenant, &mut parts, &body).await;
    if let Some(answer) = forwarding.service.ask(&container, &parts, &body).await {
        return answer;
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

impl RecallService {
    /// Returns the answer of the task that keeps this container warm, or of the next one. Returns `None`
    /// if neither answers.
    async fn ask(&self, container: &str, parts: &Parts, body: &Bytes) -> Option<Response> {
        let tasks = self.tasks.tasks_by_preference(container).await;
        for task in tasks.into_iter().take(MAX_TASKS) {
            let error = match self.ask_task(task, parts, body).await {
                Ok(answer) => return Some(answer),
                Err(error) => error,
            };
            // A slow task has work, maybe with this container, and a failing one may answer the next.
            if matches!(&error, TaskError::Call(call) if !matches!(call, ApiCallError::TimedOut)) {
                self.tasks.pause(task);
            }
            let error: &dyn std::error::Error = &error;
            warn!(%task, error, "a task of the recall service did not answer");
        }
        None
    }

    /// Sends a request to a task.
    async fn ask_task(
        &self,
        task: SocketAddr,
        parts: &Parts,
        body: &Bytes,
    ) -> Result<Response, TaskError> {
        let request = request_to(task, parts, body);
        let answer = self.client.send(request, TASK_TIMEOUT).await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        if FAILURES.contains(&status) {
            return Err(TaskError::Failed(status));
        }
        let body = answer.read_body(MAX_ANSWER_BYTES).await?;
        Ok(copy_answer(
            status,
            headers,
            body.ok_or(TaskError::TooLarge)?,
        ))
    }
}

/// Returns the request as a task gets it.
fn request_to(task: SocketAddr, parts: &Parts, body: &Bytes) -> http::Request<Bytes> {
    let mut headers = parts.headers.clone();
    remove_headers(&mut headers, &CONNECTION_HEADERS);
    // The function sets the CORS headers itself.
    headers.remove(ORIGIN);
    headers.insert(VERSION_HEADER, HeaderValue::from_static(VERSION));
    headers.remove(REQUEST_ID_HEADER);
    if let Ok(id) = request_id().parse() {
        headers.insert(REQUEST_ID_HEADER, id);
    }
    if let Some(parent) = spans::current_trace_parent().and_then(|text| text.parse().ok()) {
        headers.insert(TRACE_PARENT, parent);
    }

    let mut request = http::Request::new(body.clone());
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = uri_at(task, &parts.uri);
    *request.headers_mut() = headers;
    request
}

/// Returns the answer of a task as that of the function.
fn copy_answer(status: StatusCode, mut headers: HeaderMap, body: Bytes) -> Response {
    remove_headers(&mut headers, &CONNECTION_HEADERS);
    remove_headers(&mut headers, &[CONTENT_ENCODING, VARY]);
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names {
        if name.as_str().starts_with("access-control-") {
            headers.remove(name);
        }
    }

    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn remove_headers(headers: &mut HeaderMap, names: &[HeaderName]) {
    for name in names {
        headers.remove(name);
    }
}

/// Returns the address of this path and query at a task.
fn uri_at(task: SocketAddr, uri: &Uri) -> Uri {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Uri::builder()
        .scheme(Scheme::HTTP)
        .authority(task.to_string())
        .path_and_query(path)
        .build()
        .expect("the parts of two valid addresses")
}

/// The fields of a body that name containers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScopeFields {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
}

/// Returns a text that is the same for all requests about one container. Requests about several
/// containers have the one of the first of them, and those about none the one of the organization. It
/// chooses a task, and decides nothing else: handlers read and check the request themselves.
async fn container_key(tenant: &Tenant, parts: &mut Parts, body: &Bytes) -> String {
    let in_path = RawPathParams::from_request_parts(parts, &()).await.ok();
    let in_path = in_path.as_ref().and_then(|params| params.iter().next());
    let in_body: ScopeFields = serde_json::from_slice(body).unwrap_or_default();

    let tag = in_path
        .map(|(_, tag)| tag.to_owned())
        .or(in_body.container_tag)
        .or_else(|| in_body.container_tags?.into_iter().next())
        .or_else(|| Some(tenant.allowed_tags()?.first()?.to_string()));
    format!("{}/{}", tenant.org(), tag.unwrap_or_default())
}
