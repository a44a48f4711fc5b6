//! The spans of traces: requests, messages, steps of the work, and calls to other servers. Names and
//! attributes follow the semantic conventions of OpenTelemetry. No span has content.
//!
//! While no traces are exported, every span is disabled and costs nothing. The crate `telemetry`
//! exports them.

use std::collections::HashMap;

use http::{HeaderMap, Method, StatusCode};
use opentelemetry::Context;
use opentelemetry::global::get_text_map_propagator;
use opentelemetry::trace::TraceContextExt;
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The target of all spans of this crate, by which filters recognize them.
pub const TARGET: &str = module_path!();

/// The header and message attribute with the id of a trace and of the span that continues in another
/// process, as in W3C Trace Context.
pub const TRACE_PARENT: &str = "traceparent";
/// The header with what the tracing systems of callers add.
const TRACE_STATE: &str = "tracestate";

/// Returns the span of an incoming request. `route` is the template of its path. The span continues
/// the trace that the caller names in `headers`.
pub fn request_span(method: &Method, route: &str, request_id: &str, headers: &HeaderMap) -> Span {
    let span = info_span!(
        "request",
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = %method,
        http.route = route,
        http.response.status_code = Empty,
        request.id = request_id,
    );

    if !span.is_disabled() {
        let context = [TRACE_PARENT, TRACE_STATE].into_iter().filter_map(|name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some((name.to_owned(), value.to_owned()))
        });
        continue_trace(&span, &context.collect());
    }
    span
}

/// Records the status of the answer in the span of its request.
pub fn record_status(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        record_failure(span);
    }
}

/// Returns the span of handling messages. It continues the trace in which the first one was sent,
/// and has links to those of the others.
pub fn message_span<'a>(
    name: &'static str,
    trace_parents: impl IntoIterator<Item = Option<&'a str>>,
) -> Span {
    let span = info_span!(
        "message",
        otel.name = name,
        otel.kind = "consumer",
        otel.status_code = Empty,
    );
    if span.is_disabled() {
        return span;
    }

    let contexts = trace_parents.into_iter().flatten();
    for (i, trace_parent) in contexts.enumerate() {
        let context = HashMap::from([(TRACE_PARENT.to_owned(), trace_parent.to_owned())]);
        if i == 0 {
            continue_trace(&span, &context);
        } else {
            span.add_link(extract(&context).span().span_context().clone());
        }
    }
    span
}

/// Returns the span of work that nobody asked for, such as a sweep. It begins a trace.
pub fn schedule_span(name: &'static str) -> Span {
    info_span!(
        parent: None,
        "schedule",
        otel.name = name,
        otel.status_code = Empty,
    )
}

/// Returns the span of a step within a request or a message.
pub fn step_span(name: &'static str) -> Span {
    info_span!("step", otel.name = name, otel.status_code = Empty)
}

/// Returns the span of a call to another server.
pub fn call_span(name: &'static str) -> Span {
    info_span!(
        "call",
        otel.name = name,
        otel.kind = "client",
        otel.status_code = Empty,
    )
}

/// Does work in a span, and marks the span as failed if the work fails.
///
/// # Errors
/// Those of the work.
pub async fn trace<T, E>(span: Span, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let result = work.instrument(span.clone()).await;
    if result.is_err() {
        record_failure(&span);
    }
    result
}

/// Marks a span as failed.
pub fn record_failure(span: &Span) {
    span.record("otel.status_code", "ERROR");
}

/// Returns the trace context of the current span, to be sent with a message. Returns `None` if
/// nothing is traced.
pub fn current_trace_parent() -> Option<String> {
    let span = Span::current();
    if span.is_disabled() {
        return None;
    }
    let mut context = HashMap::new();
    get_text_map_propagator(|propagator| {
        propagator.inject_context(&span.context(), &mut context);
    });
    context.remove(TRACE_PARENT)
}

/// Returns the id of the trace of a span for log lines. Returns `None` if it is not traced.
pub fn trace_id(span: &Span) -> Option<String> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let id = context.span().span_context().trace_id();
    Some(id.to_string())
}

fn continue_trace(span: &Span, context: &HashMap<String, String>) {
    let parent = extract(context);
    if parent.span().span_context().is_valid() {
        // It fails only for a span that has begun, and this one is new.
        span.set_parent(parent).ok();
    }
}

/// Returns the context of another process. It is not valid if the text is not.
fn extract(context: &HashMap<String, String>) -> Context {
    get_text_map_propagator(|propagator| propagator.extract_with_context(&Context::new(), context))
}
