//! The connector of Google Drive, over its HTTP API.

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

/// The connector of Google Drive. It keeps no state except open HTTP connections.
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

/// The name of the account's own feed. The name of any other feed is the id of a shared drive.
const OWN: &str = "user";

fn token_of(access: &Access) -> Result<&Secret, ConnectorError> {
    access
        .token
        .as_ref()
        .ok_or_else(|| ConnectorError::Reauth("no permission was given".into()))
}
