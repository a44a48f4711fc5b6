//! The cloud drive, by its HTTP API.

mod api;
mod browse;
mod connector;
mod export;
mod failure;
mod feeds;
mod fetch;
mod file;
mod http;
mod identity;
mod kinds;
mod listing;
mod markdown;
mod oauth;
mod stat;
#[cfg(test)]
mod tests;
mod tokens;
mod watch;

use domain::ports::{Access, ConnectorError, OAuthClient};
use domain::vault::Secret;

use crate::settings::{Addresses, Settings, SettingsError};
use http::Http;

/// The drive. It keeps nothing but open connections.
pub(crate) struct Drive {
    addresses: Addresses,
    operator: Option<OAuthClient>,
    http: Http,
}

impl Drive {
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let addresses = settings.addresses()?;
        Ok(Self {
            addresses,
            operator: settings.operator(),
            http: Http::default(),
        })
    }
}

/// The feed of the account itself. All others are shared drives, by their ids.
const OWN: &str = "user";

fn token_of(access: &Access) -> Result<&Secret, ConnectorError> {
    access
        .token
        .as_ref()
        .ok_or_else(|| ConnectorError::Reauth("no permission was given".into()))
}
