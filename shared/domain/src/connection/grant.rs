//! Permission that a user has given: one for each account and OAuth app, shared by the connections of an organization,
//! because revoking one token at the provider ends them all.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Provider;
use crate::ids::{ConnectionId, GrantId};
use crate::time::Timestamp;
use crate::vault::Secret;

/// An account with a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The provider's own name of it, which never changes, unlike its address.
    pub subject: String,
    /// Its address, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// Which OAuth app asked for a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "app", rename_all = "lowercase")]
pub enum AppRef {
    /// The one of whoever runs the service.
    Operator {
        /// Its client id.
        client_id: String,
    },
    /// The organization's own.
    Organization {
        /// Its client id.
        client_id: String,
        /// The name of its secret in the vault.
        secret: String,
    },
}

impl AppRef {
    /// The client id.
    pub fn client_id(&self) -> &str {
        match self {
            Self::Operator { client_id } | Self::Organization { client_id, .. } => client_id,
        }
    }
}

/// A permission's record; its tokens lie in the vault under `secret`. Written on condition that `rev` is as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Derived from provider, app and account.
    pub id: GrantId,
    /// Who gave it.
    pub provider: Provider,
    /// Whose account it is.
    pub account: Account,
    /// The app that asked.
    pub app: AppRef,
    /// The connections that use it.
    pub connections: BTreeSet<ConnectionId>,
    /// The name of its [`Tokens`] in the vault; each write takes a new one, so that nobody reads half of it.
    pub secret: String,
    /// Until when somebody refreshes the tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshing_until: Option<Timestamp>,
    /// Until when the provider asked to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_until: Option<Timestamp>,
    /// Counts changes of the record.
    pub rev: u64,
}

/// What a provider hands out. There is no way to show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Good for about an hour.
    pub access: Secret,
    /// Until when.
    pub access_until: Timestamp,
    /// Gets new ones.
    pub refresh: Secret,
    /// Until when that works, if the provider said so.
    pub refresh_until: Option<Timestamp>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// How tokens lie sealed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    access: String,
    access_until: Timestamp,
    refresh: String,
    refresh_until: Option<Timestamp>,
}

impl Tokens {
    /// As one secret, for the vault.
    pub fn to_secret(&self) -> Secret {
        let sealed = Sealed {
            access: self.access.expose().to_owned(),
            access_until: self.access_until,
            refresh: self.refresh.expose().to_owned(),
            refresh_until: self.refresh_until,
        };
        Secret::new(serde_json::to_string(&sealed).expect("texts and numbers"))
    }

    /// Reads what [`Tokens::to_secret`] made; `None` for anything else.
    pub fn of_secret(secret: &Secret) -> Option<Self> {
        let sealed: Sealed = serde_json::from_str(secret.expose()).ok()?;
        Some(Self {
            access: Secret::new(sealed.access),
            access_until: sealed.access_until,
            refresh: Secret::new(sealed.refresh),
            refresh_until: sealed.refresh_until,
        })
    }
}
