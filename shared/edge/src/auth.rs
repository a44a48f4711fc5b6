//! Authorization as the type of an extractor: a handler that takes `Auth<Write>` cannot forget the check.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequestParts};
use domain::{Error, Tenant};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::error::ApiError;
use crate::router::App;

/// What a route demands of a key.
pub trait Demand: Send {
    /// Whether the tenant may.
    fn allows(tenant: &Tenant) -> bool;
}

/// Recall and listings.
#[derive(Debug)]
pub struct Read;

/// Changes.
#[derive(Debug)]
pub struct Write;

impl Demand for Read {
    fn allows(_: &Tenant) -> bool {
        true
    }
}

impl Demand for Write {
    fn allows(tenant: &Tenant) -> bool {
        tenant.may_write()
    }
}

/// The authenticated tenant, with at least the permission `D`.
#[derive(Debug)]
pub struct Auth<D: Demand> {
    /// Who asks.
    pub tenant: Tenant,
    demand: PhantomData<D>,
}

/// Marks a request that came from this machine itself. Only a server that knows its peers' addresses may set it.
#[derive(Debug, Clone, Copy)]
pub struct LoopbackPeer;

impl<D: Demand, S: Send + Sync> FromRequestParts<S> for Auth<D>
where
    App: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let from_loopback = parts.extensions.get::<LoopbackPeer>().is_some();
        let tenant = app.authenticator.authenticate(credential(&parts.headers), from_loopback).await?;
        if !D::allows(&tenant) {
            return Err(ApiError(Error::Forbidden("this key may only read".into())));
        }
        Ok(Self { tenant, demand: PhantomData })
    }
}

/// The key in `Authorization: Bearer` or, as the command-line client sends it, in `x-api-key`.
fn credential(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|text| {
        let (scheme, key) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| headers.get("x-api-key").and_then(|value| value.to_str().ok()).map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_comes_from_either_header() {
        let headers = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            credential(&headers).map(str::to_owned)
        };
        assert_eq!(headers("authorization", "Bearer abc").as_deref(), Some("abc"));
        assert_eq!(headers("authorization", "bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(headers("x-api-key", "abc").as_deref(), Some("abc"));
        assert_eq!(headers("authorization", "Basic abc"), None);
        assert_eq!(headers("authorization", "abc"), None);
    }
}
