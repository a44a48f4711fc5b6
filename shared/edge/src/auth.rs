//! Authorization as the type of an extractor: a handler that takes `Auth<WriteContent>` cannot
//! forget the check.

use std::marker::PhantomData;
use std::net::IpAddr;

use axum::extract::{FromRef, FromRequestParts};
use domain::key::KeyKind;
use domain::{Error, Result, Secret, Tenant};
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use http::request::Parts;
use service::{RateLimitName, check_rate_limit};

use crate::console_session::read_console_session;
use crate::error::ApiError;
use crate::extract::header_text;
use crate::request_log::{note_tenant, request_id};
use crate::router::App;

/// The header in which the command-line client sends the key.
const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// The permissions that a route demands of a key. Every new route has to choose one, and none is
/// open to scoped keys by accident.
pub trait RequiredPermission: Send {
    /// Refuses a key that lacks these permissions.
    ///
    /// # Errors
    /// [`Error::Forbidden`] that says what the key lacks.
    fn check(tenant: &Tenant) -> Result<()>;
}

/// Any valid key.
#[derive(Debug)]
pub struct AnyKey;

/// Reading content. Scoped keys may do so in their own container.
#[derive(Debug)]
pub struct ReadContent;

/// Changing content. Scoped keys may do so in their own container.
#[derive(Debug)]
pub struct WriteContent;

/// Reading what is beside content, such as container tags, connections and inferences. Closed to
/// scoped keys.
#[derive(Debug)]
pub struct ReadUnscoped;

/// Changing what is beside content, and adding conversations. Closed to scoped keys.
#[derive(Debug)]
pub struct WriteUnscoped;

/// Reading what covers all containers at once.
#[derive(Debug)]
pub struct ReadOrganization;

/// Administration: keys, settings, whole containers.
#[derive(Debug)]
pub struct Admin;

impl RequiredPermission for AnyKey {
    fn check(_: &Tenant) -> Result<()> {
        Ok(())
    }
}

impl RequiredPermission for ReadContent {
    fn check(_: &Tenant) -> Result<()> {
        Ok(())
    }
}

impl RequiredPermission for WriteContent {
    fn check(tenant: &Tenant) -> Result<()> {
        require(tenant.may_write(), "this key may only read")
    }
}

impl RequiredPermission for ReadUnscoped {
    fn check(tenant: &Tenant) -> Result<()> {
        let is_unscoped = tenant.key_kind() != KeyKind::Scoped;
        require(
            is_unscoped,
            "this key is limited to the content of one container tag and cannot use this endpoint",
        )
    }
}

impl RequiredPermission for WriteUnscoped {
    fn check(tenant: &Tenant) -> Result<()> {
        ReadUnscoped::check(tenant)?;
        WriteContent::check(tenant)
    }
}

impl RequiredPermission for ReadOrganization {
    fn check(tenant: &Tenant) -> Result<()> {
        ReadUnscoped::check(tenant)?;
        let reaches_organization = tenant.allowed_tags().is_none();
        require(
            reaches_organization,
            "this key reaches some container tags only, and this endpoint covers the whole organization",
        )
    }
}

impl RequiredPermission for Admin {
    fn check(tenant: &Tenant) -> Result<()> {
        let message = "this endpoint takes an administrator's key: a full one that may write, without a list of tags";
        require(tenant.may_administer(), message)
    }
}

fn require(is_allowed: bool, message: &str) -> Result<()> {
    if is_allowed {
        Ok(())
    } else {
        Err(Error::Forbidden(message.to_owned()))
    }
}

/// The authenticated tenant, whose key has the permissions that `D` demands.
#[derive(Debug)]
pub struct Auth<D: RequiredPermission> {
    /// The tenant that sent the request.
    pub tenant: Tenant,
    permission: PhantomData<D>,
}

/// Marks a request that came from this machine itself, without a proxy. Only a server that knows
/// its peers' addresses may set it.
#[derive(Debug, Clone, Copy)]
pub struct LoopbackPeer;

/// The address of the client, by which wrong keys are counted. A server that knows the address sets
/// it; on AWS the gateway throttles instead.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

impl<D: RequiredPermission, S: Send + Sync> FromRequestParts<S> for Auth<D>
where
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let tenant = authenticate(&app, parts).await?;

        // A request that is refused later appears in the request log of this organization.
        note_tenant(&app, &tenant);
        if let Some(key) = tenant.authenticated_key()
            && let Some(rate) = key.rate
        {
            let name = RateLimitName::Key(key.id.clone());
            check_rate_limit(&app.ctx, &tenant, &name, rate, &request_id()).await?;
        }

        D::check(&tenant)?;
        Ok(Self {
            tenant,
            permission: PhantomData,
        })
    }
}

/// A valid key, for a route that only passes the request on to other routes. These authenticate the
/// key again, count the request and log it, so none of this is done here.
#[derive(Debug, Clone)]
pub struct ForwardedKey {
    /// The tenant whose key it is.
    pub tenant: Tenant,
    /// The key as it was sent.
    pub key: Secret,
    /// `true` if the request came from this machine itself: see [`LoopbackPeer`].
    pub from_loopback: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for ForwardedKey
where
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let tenant = authenticate(&App::from_ref(state), parts).await?;
        let key = read_credential(&parts.headers).unwrap_or_default();
        Ok(Self {
            tenant,
            key: Secret::new(key.to_owned()),
            from_loopback: parts.extensions.get::<LoopbackPeer>().is_some(),
        })
    }
}

/// Returns the tenant of the key in a request.
async fn authenticate(app: &App, parts: &Parts) -> Result<Tenant> {
    let from_loopback = parts.extensions.get::<LoopbackPeer>().is_some();
    let credential = read_credential(&parts.headers);
    let result = app
        .authenticator
        .authenticate(credential, from_loopback)
        .await;

    match result {
        Err(error) if credential.is_some() => Err(slow_down_refusal(app, parts, error)),
        result => result,
    }
}

/// Returns the error for a refused key. A client that has sent too many wrong keys is told to wait.
/// A valid key is never slowed down, so a stranger behind the same address cannot lock anybody out.
fn slow_down_refusal(app: &App, parts: &Parts, error: Error) -> Error {
    let Some(client) = parts.extensions.get::<ClientAddress>() else {
        return error;
    };
    if !matches!(error, Error::Unauthenticated(_)) {
        return error;
    }

    match app
        .wrong_keys
        .count_wrong_key(client.0, app.ctx.clock.now())
    {
        None => error,
        Some(retry_after_seconds) => Error::RateLimited {
            message: format!("too many wrong keys came from this address; the last one: {error}"),
            retry_after_seconds,
        },
    }
}

/// Returns the key from `Authorization: Bearer` or, as the command-line client sends it, from
/// `x-api-key`, or else the session of the console from its cookie.
fn read_credential(headers: &HeaderMap) -> Option<&str> {
    read_bearer_token(headers)
        .or_else(|| header_text(headers, &API_KEY_HEADER).map(str::trim))
        .or_else(|| read_console_session(headers))
}

/// Returns the token from `Authorization: Bearer`.
pub fn read_bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = header_text(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_comes_from_either_header() {
        let headers = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            read_credential(&headers).map(str::to_owned)
        };

        assert_eq!(
            headers("authorization", "Bearer abc").as_deref(),
            Some("abc")
        );
        assert_eq!(
            headers("authorization", "bearer  abc ").as_deref(),
            Some("abc")
        );
        assert_eq!(headers("x-api-key", "abc").as_deref(), Some("abc"));
        assert_eq!(headers("authorization", "Basic abc"), None);
        assert_eq!(headers("authorization", "abc"), None);
    }
}
