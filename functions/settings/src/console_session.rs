//! Sessions of the console. A person signs in with an API key once. Then a cookie that no script can
//! read stands for the key, until the session ends or the key stops working.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{Error, Secret, Timestamp};
use edge::{AnyKey, ApiResult, App, Auth, HostCookie, Json, console_cookie, read_console_session};
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use service::CONSOLE_SESSION_SECONDS;

/// A session of the console. The browser has its token in a cookie.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConsoleSession {
    /// The time at which it ends; null after its end.
    expires_at: Option<Timestamp>,
}

/// Opens a session for the key of the request, and sets its cookie.
pub(crate) async fn open_console_session(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<AnyKey>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let cookie = require_console(&headers)?;
    let session = service::open_console_session(&app.ctx, &tenant).await?;
    let token = Secret::new(session.key_text);
    let set_cookie = cookie.set(&token, CONSOLE_SESSION_SECONDS);
    let answer = ConsoleSession {
        expires_at: session.record.expires_at,
    };

    answer_with_cookie(answer, set_cookie)
}

/// Ends the session of the cookie, and deletes the cookie. Without a session, it only deletes the
/// cookie.
pub(crate) async fn end_console_session(
    State(app): State<App>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let cookie = require_console(&headers)?;
    if let Some(token) = read_console_session(&headers)
        && let Some(id) = service::end_console_session(&app.ctx, &Secret::new(token)).await?
    {
        app.authenticator.invalidate_key(&id);
    }

    answer_with_cookie(ConsoleSession { expires_at: None }, cookie.delete())
}

/// Returns the cookie of the console that sends the request.
///
/// # Errors
/// Refuses a request that does not come from the console of this server.
fn require_console(headers: &HeaderMap) -> ApiResult<HostCookie> {
    let cookie = console_cookie(headers).ok_or_else(|| {
        Error::Forbidden("only the console of this server opens and ends its sessions".into())
    })?;
    Ok(cookie)
}

fn answer_with_cookie(answer: ConsoleSession, cookie: Option<HeaderValue>) -> ApiResult<Response> {
    let cookie = cookie.ok_or_else(|| Error::internal("the cookie of a session is no header"))?;
    let headers = [
        (SET_COOKIE, cookie),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Json(answer)).into_response())
}
