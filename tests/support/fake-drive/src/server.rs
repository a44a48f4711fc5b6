//! The HTTP server. It reads requests, answers them one after the other, and applies planned faults
//! to the answers.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::admin::DriveAdmin;
use crate::api::{self, CallRecord};
use crate::channels::{Notification, deliver_notification};
use crate::clock::format_http_date;
use crate::command::AdminCommand;
use crate::faults::{FaultEffect, PlannedFault, take_due_fault};
use crate::oauth;
use crate::state::{DriveState, RecordedRequest};
use crate::wire::{HttpCall, Reply};

/// The largest request body in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// The number of requests that are recorded.
const MAX_RECORDED_REQUESTS: usize = 200_000;

/// Serves requests until it is stopped.
pub(crate) async fn serve_requests(listener: TcpListener, admin: DriveAdmin) {
    let handler = move |request: Request| {
        let admin = admin.clone();
        async move { handle_request(&admin, request).await }
    };
    let router: Router = Router::new().fallback(handler);
    let _ended = axum::serve(listener, router).await;
}

/// Sends the notifications in order.
pub(crate) async fn send_notifications(
    mut notifications: UnboundedReceiver<Notification>,
    admin: DriveAdmin,
) {
    while let Some(notification) = notifications.recv().await {
        let delivery = deliver_notification(&notification).await;
        admin.with_state(|state| state.deliveries.push(delivery));
    }
}

async fn handle_request(admin: &DriveAdmin, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return Reply::empty_reply(413).into_response(Body::empty());
    };

    let query = parts.uri.query().unwrap_or_default();
    let call = HttpCall {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        headers: parts.headers,
        body,
        base: admin.base_url().to_owned(),
    };

    if call.path.starts_with("/admin") {
        let reply = run_admin_command(admin, &call);
        let body = Body::from(reply.body.clone());
        return reply.into_response(body);
    }

    let (reply, fault) = admin.with_state(|state| answer_and_record(state, &call));
    send(reply, fault).await
}

/// Answers a request and records it.
fn answer_and_record(state: &mut DriveState, call: &HttpCall) -> (Reply, Option<PlannedFault>) {
    let now = state.contents.clock.now();
    let account = call
        .bearer_token()
        .and_then(|token| state.oauth.find_access_token(token, now));
    let account = account.map(|access| access.email.clone());
    let fault = take_due_fault(&mut state.faults, call, account.as_deref());
    let (reply, record) = match fault.as_ref().and_then(PlannedFault::replacement_reply) {
        Some(reply) => (reply, CallRecord::default()),
        None => route_call(state, call, fault.as_ref().map(|fault| &fault.effect)),
    };

    if state.recorded_requests.len() < MAX_RECORDED_REQUESTS {
        state.recorded_requests.push(RecordedRequest {
            method: call.method.clone(),
            path: call.path.clone(),
            query: mask_secrets(&call.query),
            account,
            call: record.call,
            status: reply.status,
            units: record.units,
        });
    }

    state.notify_channels();
    // Clients compute with the drive's time, which a test may have advanced.
    (reply.with_header("date", format_http_date(now)), fault)
}

fn route_call(
    state: &mut DriveState,
    call: &HttpCall,
    fault_effect: Option<&FaultEffect>,
) -> (Reply, CallRecord) {
    if api::is_api(&call.path) {
        return api::answer_call(state, call, fault_effect);
    }
    let reply = oauth::answer_request(state, call).or_else(|| api::answer_direct_link(state, call));
    (
        reply.unwrap_or_else(|| {
            Reply::html_reply(404, "<title>Not found</title><p>There is nothing here.")
        }),
        CallRecord::default(),
    )
}

/// Returns the query with its secrets masked.
fn mask_secrets(query: &[(String, String)]) -> BTreeMap<String, String> {
    const SECRET_PARAMETERS: [&str; 7] = [
        "access_token",
        "oauth_token",
        "key",
        "token",
        "state",
        "nonce",
        "code_challenge",
    ];
    let mask_pair = |(name, value): &(String, String)| {
        let masked = if SECRET_PARAMETERS.contains(&name.as_str()) {
            "***"
        } else {
            value.as_str()
        };
        (name.clone(), masked.to_owned())
    };

    query.iter().map(mask_pair).collect()
}

/// Runs a command that arrives over HTTP: one JSON object, answered by the command's result.
fn run_admin_command(admin: &DriveAdmin, call: &HttpCall) -> Reply {
    let command = match serde_json::from_slice::<AdminCommand>(&call.body) {
        Ok(command) if call.method == "POST" => command,
        Ok(_) => return Reply::json_reply(405, &json!({ "error": "commands are posted" })),
        Err(error) => return Reply::json_reply(400, &json!({ "error": error.to_string() })),
    };
    match admin.run_command(command) {
        Ok(value) => Reply::json_reply(200, &value),
        Err(error) => Reply::json_reply(400, &json!({ "error": error.to_string() })),
    }
}

async fn send(reply: Reply, fault: Option<PlannedFault>) -> Response<Body> {
    let bytes = reply.body.clone();
    match fault.map(|fault| fault.effect) {
        Some(FaultEffect::Late { millis }) => {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            reply.into_response(Body::from(bytes))
        }
        Some(FaultEffect::Trickle {
            bytes: chunk_size,
            millis,
        }) => reply.into_response(Body::from_stream(trickle_body(bytes, chunk_size, millis))),
        Some(FaultEffect::Truncated { bytes: count }) => {
            let full_length = bytes.len().to_string();
            let head = bytes.slice(..count.min(bytes.len()));
            let interruption = stream::once(async {
                // The pause lets the earlier bytes leave before the connection breaks.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(io::Error::other("broken off as planned"))
            });
            let body = stream::iter([Ok(head)]).chain(interruption);
            reply
                .with_header("content-length", full_length)
                .into_response(Body::from_stream(body))
        }

        _ => reply.into_response(Body::from(bytes)),
    }
}

fn trickle_body(
    bytes: Bytes,
    chunk_size: usize,
    millis: u64,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let next = rest.split_to(chunk_size.clamp(1, rest.len()));
        Some((Ok(next), rest))
    })
}
