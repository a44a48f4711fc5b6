//! The request log: collects notes about a request while it is answered, and writes them as one
//! record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use domain::activity::RequestRecord;
use domain::settings::LogContentMode;
use domain::{OrgId, Revision, Tenant, Timestamp};
use http::header::CONTENT_TYPE;
use http::{Method, Uri};
use serde_json::{Map, Value, json};
use service::{Ctx, LOCAL_KEY};
use tokio::sync::oneshot;
use tracing::warn;

use crate::error::format_error_chain;
use crate::extract::{header_text, query_pairs};
use crate::redact::redact_value;
use crate::request_type::classify_request;
use crate::router::App;

/// The largest answer in bytes that is parsed for the request log.
const MAX_PARSED_BYTES: u64 = 64 * 1024;
/// The most containers of a request whose content is logged. The content has to be found again when
/// one of the containers is deleted.
const MAX_CONTAINERS: usize = 16;
/// The time in seconds for which an organization's choice of logged content is cached.
const CACHE_SECONDS: i64 = 30;
/// The number of cached choices at which the cache is cleared.
const MAX_CACHED_CHOICES: usize = 10_000;

tokio::task_local! {
    static CURRENT: Arc<CurrentRequest>;
}

/// Returns the id of the request that is being answered, or an empty string outside of one.
pub fn request_id() -> String {
    CURRENT
        .try_with(|current| current.id.clone())
        .unwrap_or_default()
}

/// The id of a request that another process has received and passed on to this one. Both answer and
/// log it under this id, and it counts once for the limit of its key.
#[derive(Debug, Clone)]
pub struct ForwardedRequestId(pub Revision);

/// The notes about the request that is being answered.
struct CurrentRequest {
    id: String,
    notes: Mutex<RequestNotes>,
}

#[derive(Default)]
struct RequestNotes {
    /// The tenant, and what its organization wants to be logged as soon as it is read. `None` until the
    /// key is verified.
    requester: Option<(Tenant, Option<LogContentMode>)>,
    /// Passes the tenant on to what reads the mode.
    noted_tenant: Option<oneshot::Sender<Tenant>>,
    body: NotedBody,
    error: Option<&'static str>,
}

/// The body of a request in each form that may be logged.
#[derive(Default)]
struct NotedBody {
    redacted: Option<Value>,
    /// `None` if the organization does not want it.
    full: Option<Value>,
}

impl NotedBody {
    fn new(body: &Value, may_be_full: bool) -> Self {
        let full = may_be_full.then(|| redact_value(body, LogContentMode::Full, false));
        Self {
            redacted: redact_value(body, LogContentMode::Redacted, false),
            full: full.flatten(),
        }
    }

    /// Returns the form for a mode.
    fn logged(self, mode: LogContentMode) -> Option<Value> {
        match mode {
            LogContentMode::Off => None,
            LogContentMode::Redacted => self.redacted,
            LogContentMode::Full => self.full,
        }
    }
}

/// Notes which tenant sent the request.
pub(crate) fn note_tenant(app: &App, tenant: &Tenant) {
    CURRENT
        .try_with(|current| {
            let cached = app.log_content_cache.find(&app.ctx, tenant);
            let mut notes = current.lock();
            notes.requester = Some((tenant.clone(), cached));
            if cached.is_none()
                && let Some(noted) = notes.noted_tenant.take()
            {
                // The receiver lives as long as the request is answered.
                noted.send(tenant.clone()).ok();
            }
        })
        .ok();
}

/// Notes the body of the request, or its known fields if it is not JSON. It is redacted before it is
/// stored.
pub fn note_request_body(body: &Value) {
    CURRENT
        .try_with(|current| {
            let mut notes = current.lock();
            notes.body = match notes.requester {
                Some((_, Some(LogContentMode::Off))) | None => NotedBody::default(),
                Some((_, Some(LogContentMode::Redacted))) => NotedBody::new(body, false),
                Some((_, Some(LogContentMode::Full) | None)) => NotedBody::new(body, true),
            };
        })
        .ok();
}

/// Notes the kind of error that is answered.
pub(crate) fn note_error(kind: &'static str) {
    CURRENT
        .try_with(|current| current.lock().error = Some(kind))
        .ok();
}

impl CurrentRequest {
    fn lock(&self) -> MutexGuard<'_, RequestNotes> {
        // A panic while the lock is held cannot leave the notes half-changed.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cache of what each organization wants to be logged. A process has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogContentCache {
    modes: Arc<Mutex<HashMap<OrgId, (LogContentMode, Timestamp)>>>,
}

impl LogContentCache {
    /// Returns what an organization wants to be logged if it is cached.
    fn find(&self, ctx: &Ctx, tenant: &Tenant) -> Option<LogContentMode> {
        let (mode, until) = self.lock().get(tenant.org()).copied()?;
        (until > ctx.clock.now()).then_some(mode)
    }

    /// Reads what an organization wants to be logged, and caches it. If it cannot be read, the last
    /// known mode counts, and without one nothing is logged.
    async fn read(&self, ctx: &Ctx, tenant: &Tenant) -> LogContentMode {
        let settings = ctx.settings.get(tenant).await;
        let mut modes = self.lock();
        let Ok(settings) = settings else {
            let last_known = modes.get(tenant.org());
            return last_known.map_or(LogContentMode::Off, |(mode, _)| *mode);
        };

        if modes.len() >= MAX_CACHED_CHOICES {
            modes.clear();
        }
        let until = ctx.clock.now().plus_seconds(CACHE_SECONDS);
        modes.insert(tenant.org().clone(), (settings.log_content, until));
        settings.log_content
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, (LogContentMode, Timestamp)>> {
        // A panic while the lock is held cannot leave the map half-changed.
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request as it arrived.
pub(crate) struct IncomingRequest {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// The path template of the route, or `unknown` if no route matches.
    pub(crate) route: String,
    uri: Uri,
    at: Timestamp,
    started: Instant,
    current: Arc<CurrentRequest>,
}

impl IncomingRequest {
    /// Starts the notes of a request that has just arrived.
    pub(crate) fn new(ctx: &Ctx, request: &Request) -> Self {
        let id = match request.extensions().get::<ForwardedRequestId>() {
            Some(ForwardedRequestId(id)) => id.as_str().to_owned(),
            None => Revision::random().as_str().to_owned(),
        };
        let route = match request.extensions().get::<MatchedPath>() {
            Some(path) => path.as_str().to_owned(),
            None => "unknown".to_owned(),
        };

        Self {
            current: Arc::new(CurrentRequest {
                id: id.clone(),
                notes: Mutex::default(),
            }),
            id,
            method: request.method().clone(),
            route,
            uri: request.uri().clone(),
            at: ctx.clock.now(),
            started: Instant::now(),
        }
    }

    /// Runs `handler` with this request as the current one, so that handlers can add notes to it. What
    /// the organization wants to be logged is read at the same time.
    pub(crate) async fn run_as_current<T>(&self, app: &App, handler: impl Future<Output = T>) -> T {
        let (noted_tenant, tenant) = oneshot::channel();
        self.current.lock().noted_tenant = Some(noted_tenant);
        let answer = async {
            let answer = CURRENT.scope(self.current.clone(), handler).await;
            // Without a verified key, nothing is read.
            self.current.lock().noted_tenant = None;
            answer
        };
        let read_mode = async {
            let Ok(tenant) = tenant.await else {
                return;
            };
            let mode = app.log_content_cache.read(&app.ctx, &tenant).await;
            if let Some((_, chosen)) = &mut self.current.lock().requester {
                *chosen = Some(mode);
            }
        };
        tokio::join!(answer, read_mode).0
    }

    /// Returns the microseconds since the request arrived.
    pub(crate) fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Writes the record of the answered request before the answer leaves, because a function may
    /// be frozen afterwards. An error here never changes the answer.
    pub(crate) async fn write_record(
        &self,
        app: &App,
        response: Response,
        micros: u64,
    ) -> Response {
        let mut notes = std::mem::take(&mut *self.current.lock());
        let Some((tenant, chosen)) = notes.requester.take() else {
            return response;
        };

        let chosen = chosen.unwrap_or(LogContentMode::Off);
        let is_error = !response.status().is_success();
        let mut containers = tenant.accessed_containers();
        let mode = allowed_log_content(chosen, containers.len());
        if containers.len() > MAX_CONTAINERS {
            containers.clear();
        }

        let status = response.status().as_u16();
        let (response, output) = outline_response(response, mode).await;
        let body = notes.body.logged(mode);
        let error = if is_error { notes.error } else { None };

        let (key, key_name) = match tenant.authenticated_key() {
            Some(key) => (key.id.to_string(), key.name.clone()),
            None => (LOCAL_KEY.to_owned(), LOCAL_KEY.to_owned()),
        };

        let record = RequestRecord {
            id: self.id.clone(),
            at: self.at,
            kind: classify_request(&self.method, &self.route),
            route: format!("{} {}", self.method, self.route),
            status,
            error: error.map(str::to_owned),
            micros,
            key,
            key_name,
            containers,
            input: self.logged_input(body, mode),
            output,
        };

        if let Err(error) = app
            .ctx
            .request_log
            .record(&tenant, &record, app.ctx.clock.now())
            .await
        {
            warn!(request.id = %self.id, error = %format_error_chain(&error), "the request {} is missing in the log", self.id);
        }

        response
    }

    /// Returns the input of the request: its parameters, and its body as noted.
    fn logged_input(&self, body: Option<Value>, mode: LogContentMode) -> Option<Value> {
        let path = path_parameters(&self.route, self.uri.path());
        let mut query = Map::new();
        for (name, value) in query_pairs(&self.uri) {
            query.insert(name, value.into());
        }

        let mut input = Map::new();
        for (name, part) in [("path", path), ("query", query)] {
            if !part.is_empty()
                && let Some(part) = redact_value(&Value::Object(part), mode, false)
            {
                input.insert(name.to_owned(), part);
            }
        }
        if let Some(body) = body {
            input.insert("body".to_owned(), body);
        }

        (!input.is_empty()).then_some(Value::Object(input))
    }
}

/// Returns what may be logged of a request to `containers` containers.
fn allowed_log_content(chosen: LogContentMode, containers: usize) -> LogContentMode {
    match chosen {
        _ if containers > MAX_CONTAINERS => LogContentMode::Off,
        // Text that belongs to no container would never be deleted with one.
        LogContentMode::Full if containers == 0 => LogContentMode::Redacted,
        chosen => chosen,
    }
}

/// Returns the segments of a path for which its route has names.
fn path_parameters(route: &str, path: &str) -> Map<String, Value> {
    let mut parameters = Map::new();
    for (part, segment) in route.split('/').zip(path.split('/')) {
        let Some(name) = parameter_name(part) else {
            continue;
        };
        // An escaped segment could hold anything.
        let value = if segment.contains('%') {
            format!("[{} characters]", segment.len())
        } else {
            segment.to_owned()
        };
        parameters.insert(name.to_owned(), value.into());
    }

    parameters
}

/// Returns the name in a part of a route such as `{id}`.
fn parameter_name(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// Returns the answer and the part of it that is logged.
async fn outline_response(response: Response, mode: LogContentMode) -> (Response, Option<Value>) {
    let bytes = response.body().size_hint().exact();
    let kind = header_text(response.headers(), &CONTENT_TYPE).unwrap_or_default();
    if mode == LogContentMode::Off || bytes == Some(0) {
        return (response, None);
    }

    if !kind.starts_with("application/json") || bytes.is_none_or(|bytes| bytes > MAX_PARSED_BYTES) {
        return (response, Some(json!({"bytes": bytes})));
    }

    let is_error = !response.status().is_success();
    let (parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_PARSED_BYTES as usize).await else {
        // The body is in memory and has exactly the size that it reports, so this read cannot fail
        // in practice.
        return (Response::from_parts(parts, Body::empty()), None);
    };

    let output = match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => redact_value(&value, mode, is_error),
        Err(_) => None,
    };
    (Response::from_parts(parts, Body::from(bytes)), output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_path_are_told_by_the_route() {
        let parameters = |route, path| Value::Object(path_parameters(route, path));
        let review = "/v3/container-tags/{tag}/inferred/{memoryId}/review";
        let expected = json!({"tag": "box", "memoryId": "m1"});
        assert_eq!(
            parameters(review, "/v3/container-tags/box/inferred/m1/review"),
            expected
        );
        assert_eq!(
            parameters("/v3/documents/{id}", "/v3/documents/a%40b.c"),
            json!({"id": "[7 characters]"})
        );
        assert_eq!(parameters("/v3/documents", "/v3/documents"), json!({}));
    }

    #[tokio::test]
    async fn an_answer_leaves_as_it_came() {
        let small = json!({"id": "a", "content": "words"});
        let large = json!({"content": "x".repeat(70_000)});

        for (body, mode, expected) in [
            (
                &small,
                LogContentMode::Redacted,
                Some(json!({"id": "a", "content": "[5 characters]"})),
            ),
            (&small, LogContentMode::Off, None),
            (
                &large,
                LogContentMode::Full,
                Some(json!({"bytes": large.to_string().len()})),
            ),
        ] {
            let response = axum::response::IntoResponse::into_response(crate::Json(body));
            let (response, output) = outline_response(response, mode).await;
            assert_eq!(output, expected);
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(bytes, body.to_string());
        }
    }
}
