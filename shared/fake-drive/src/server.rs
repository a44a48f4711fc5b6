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

use crate::admin::Admin;
use crate::api::{self, Note};
use crate::channels::{Notification, deliver};
use crate::clock::http_date;
use crate::command::Command;
use crate::faults::{Effect, Fault, strike};
use crate::oauth;
use crate::state::{Seen, State};
use crate::wire::{Call, Reply};

/// The largest request body in bytes.
const LIMIT: usize = 64 * 1024 * 1024;
/// The number of requests that are recorded.
const REMEMBERED: usize = 200_000;

/// Serves requests until it is stopped.
pub(crate) async fn serve(listener: TcpListener, admin: Admin) {
    let handler = move |request: Request| {
        let admin = admin.clone();
        async move { handle(&admin, request).await }
    };
    let router: Router = Router::new().fallback(handler);
    let _ended = axum::serve(listener, router).await;
}

/// Sends the notifications in order.
pub(crate) async fn post(mut letters: UnboundedReceiver<Notification>, admin: Admin) {
    while let Some(letter) = letters.recv().await {
        let delivery = deliver(&letter).await;
        admin.with(|state| state.deliveries.push(delivery));
    }
}

async fn handle(admin: &Admin, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LIMIT).await else {
        return Reply::empty(413).into_response(Body::empty());
    };

    let query = parts.uri.query().unwrap_or_default();
    let call = Call {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect(),
        headers: parts.headers,
        body,
        base: admin.url().to_owned(),
    };

    if call.path.starts_with("/admin") {
        let reply = steer(admin, &call);
        let body = Body::from(reply.body.clone());
        return reply.into_response(body);
    }

    let (reply, fault) = admin.with(|state| answer(state, &call));
    send(reply, fault).await
}

/// Answers a request and records it.
fn answer(state: &mut State, call: &Call) -> (Reply, Option<Fault>) {
    let now = state.world.clock.now();
    let account = call
        .bearer()
        .and_then(|token| state.oauth.access(token, now));
    let account = account.map(|access| access.email.clone());
    let fault = strike(&mut state.faults, call, account.as_deref());
    let (reply, note) = match fault.as_ref().and_then(Fault::reply) {
        Some(reply) => (reply, Note::default()),
        None => route(state, call, fault.as_ref().map(|fault| &fault.effect)),
    };

    if state.seen.len() < REMEMBERED {
        state.seen.push(Seen {
            method: call.method.clone(),
            path: call.path.clone(),
            query: public(&call.query),
            account,
            call: note.call,
            status: reply.status,
            units: note.units,
        });
    }

    state.spread_news();
    // Clients compute with the drive's time, which a test may have advanced.
    (reply.with("date", http_date(now)), fault)
}

fn route(state: &mut State, call: &Call, twist: Option<&Effect>) -> (Reply, Note) {
    if api::is_api(&call.path) {
        return api::answer(state, call, twist);
    }
    let reply = oauth::answer(state, call).or_else(|| api::direct(state, call));
    (
        reply.unwrap_or_else(|| {
            Reply::html(404, "<title>Not found</title><p>There is nothing here.")
        }),
        Note::default(),
    )
}

/// Returns the query with its secrets masked.
fn public(query: &[(String, String)]) -> BTreeMap<String, String> {
    const SECRET: [&str; 7] = [
        "access_token",
        "oauth_token",
        "key",
        "token",
        "state",
        "nonce",
        "code_challenge",
    ];
    let pair = |(name, value): &(String, String)| {
        let shown = if SECRET.contains(&name.as_str()) {
            "***"
        } else {
            value.as_str()
        };
        (name.clone(), shown.to_owned())
    };

    query.iter().map(pair).collect()
}

/// Runs a command that arrives over HTTP: one JSON object, answered by the command's result.
fn steer(admin: &Admin, call: &Call) -> Reply {
    let command = match serde_json::from_slice::<Command>(&call.body) {
        Ok(command) if call.method == "POST" => command,
        Ok(_) => return Reply::json(405, &json!({ "error": "commands are posted" })),
        Err(error) => return Reply::json(400, &json!({ "error": error.to_string() })),
    };
    match admin.run(command) {
        Ok(value) => Reply::json(200, &value),
        Err(refused) => Reply::json(400, &json!({ "error": refused.to_string() })),
    }
}

async fn send(reply: Reply, fault: Option<Fault>) -> Response<Body> {
    let bytes = reply.body.clone();
    match fault.map(|fault| fault.effect) {
        Some(Effect::Late { millis }) => {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            reply.into_response(Body::from(bytes))
        }
        Some(Effect::Trickle {
            bytes: piece,
            millis,
        }) => reply.into_response(Body::from_stream(trickle(bytes, piece, millis))),
        Some(Effect::Truncated { bytes: count }) => {
            let whole = bytes.len().to_string();
            let begin = bytes.slice(..count.min(bytes.len()));
            let broken = stream::once(async {
                // The pause lets the earlier bytes leave before the connection breaks.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(io::Error::other("broken off as planned"))
            });
            let body = stream::iter([Ok(begin)]).chain(broken);
            reply
                .with("content-length", whole)
                .into_response(Body::from_stream(body))
        }

        _ => reply.into_response(Body::from(bytes)),
    }
}

fn trickle(
    bytes: Bytes,
    piece: usize,
    millis: u64,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let next = rest.split_to(piece.clamp(1, rest.len()));
        Some((Ok(next), rest))
    })
}
