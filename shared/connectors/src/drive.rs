//! The connector of Google Drive, over its HTTP API.

mod api;
mod browse;
mod connector;
mod exchange;
mod export;
mod failure;
mod feeds;
mod fetch;
mod file;
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

use domain::ports::{ConnectorError, OAuthClient, ProviderAccess};
use domain::vault::Secret;

use crate::settings::{DriveAddresses, DriveSettings, DriveSettingsError};
use exchange::USER_AGENT;
use remote::ApiClient;

/// The connector of Google Drive. It keeps no state except open HTTP connections.
pub(crate) struct DriveConnector {
    addresses: DriveAddresses,
    operator_client: Option<OAuthClient>,
    http: ApiClient,
}

impl DriveConnector {
    pub(crate) fn new(settings: &DriveSettings) -> Result<Self, DriveSettingsError> {
        let addresses = settings.addresses()?;
        Ok(Self {
            addresses,
            operator_client: settings.operator_app(),
            http: ApiClient::new(USER_AGENT),
        })
    }
}

/// The name of the account's own feed. The name of any other feed is the id of a shared drive.
const OWN_FEED: &str = "user";

fn token_of(access: &ProviderAccess) -> Result<&Secret, ConnectorError> {
    access
        .token
        .as_ref()
        .ok_or_else(|| ConnectorError::Reauth("no permission was given".into()))
}
