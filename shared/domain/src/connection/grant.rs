//! Grants: the permissions that users have given. There is one grant for each account and OAuth
//! app, shared by the connections of an organization, because revoking one token at the provider
//! ends all of them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Provider;
use crate::ids::{ConnectionId, GrantId};
use crate::time::Timestamp;
use crate::vault::Secret;

/// An account at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderAccount {
    /// The provider's own id of the account, which never changes, unlike its email address.
    pub subject: String,
    /// The email address, for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// The OAuth app that asked for a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "app", rename_all = "lowercase")]
pub enum OAuthAppRef {
    /// The app of the operator of the service.
    Operator {
        /// The client id.
        client_id: String,
    },
    /// The organization's own app.
    Organization {
        /// The client id.
        client_id: String,
        /// The name of the client secret in the vault.
        secret: String,
    },
}

impl OAuthAppRef {
    /// Returns the client id.
    pub fn client_id(&self) -> &str {
        match self {
            Self::Operator { client_id } | Self::Organization { client_id, .. } => client_id,
        }
    }
}

/// The record of a grant. Its tokens are in the vault under `secret`. Every write is conditional on
/// the `rev` that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The id, derived from the provider, the app and the account.
    pub id: GrantId,
    /// The provider that issued it.
    pub provider: Provider,
    /// The account that it belongs to.
    pub account: ProviderAccount,
    /// The app that asked for it.
    pub app: OAuthAppRef,
    /// The connections that use it.
    pub connections: BTreeSet<ConnectionId>,
    /// The name of its [`OAuthTokens`] in the vault. Each write uses a new name, so that no reader
    /// gets a mix of two writes.
    pub secret: String,
    /// The end of the lease of the worker that refreshes the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshing_until: Option<Timestamp>,
    /// The time until which the provider asked to send no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_until: Option<Timestamp>,
    /// The number of changes of the record.
    pub rev: u64,
}

/// The tokens that a provider issues. The `Debug` output shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthTokens {
    /// The access token, valid for about an hour.
    pub access: Secret,
    /// The time at which the access token expires.
    pub access_until: Timestamp,
    /// The refresh token, which obtains new tokens.
    pub refresh: Secret,
    /// The time at which the refresh token expires, if the provider gave one.
    pub refresh_until: Option<Timestamp>,
}

impl std::fmt::Debug for OAuthTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OAuthTokens(…)")
    }
}

/// The serialized form of tokens, before it is sealed.
#[derive(Serialize, Deserialize)]
struct SerializedTokens {
    access: String,
    access_until: Timestamp,
    refresh: String,
    refresh_until: Option<Timestamp>,
}

impl OAuthTokens {
    /// Serializes the tokens as one secret, for the vault.
    pub fn to_secret(&self) -> Secret {
        let serialized = SerializedTokens {
            access: self.access.expose().to_owned(),
            access_until: self.access_until,
            refresh: self.refresh.expose().to_owned(),
            refresh_until: self.refresh_until,
        };
        Secret::new(serde_json::to_string(&serialized).expect("texts and numbers"))
    }

    /// Parses a secret that [`OAuthTokens::to_secret`] returned. Returns `None` for anything else.
    pub fn from_secret(secret: &Secret) -> Option<Self> {
        let serialized: SerializedTokens = serde_json::from_str(secret.expose()).ok()?;
        Some(Self {
            access: Secret::new(serialized.access),
            access_until: serialized.access_until,
            refresh: Secret::new(serialized.refresh),
            refresh_until: serialized.refresh_until,
        })
    }
}
