//! Connections: a container's link to an account elsewhere, whose items become documents and stay in step.

mod claim;
mod grant;
mod node;
mod selection;
mod state;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, Origin};
pub use grant::{Account, AppRef, Grant, Tokens};
pub use node::{Filed, Node, NodeState, SkipReason};
pub use selection::{MAX_SELECTED, Selected, Selection};
pub use state::{
    Channel, FeedState, Intent, Leaving, Phase, Queue, QueueEntry, RootState, Run, RunState,
    SyncState, Trigger, WalkEntry,
};

use crate::ids::{ConnectionId, GrantId};
use crate::metadata::Metadata;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// Who items come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// A cloud drive.
    CloudDrive,
    /// The pages of a website.
    WebCrawler,
}

impl Provider {
    /// Those that work.
    pub const ALL: [Self; 2] = [Self::CloudDrive, Self::WebCrawler];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CloudDrive => "cloud-drive",
            Self::WebCrawler => "web-crawler",
        }
    }

    /// Reads a name of the wire; `None` for a provider that is not supported.
    pub fn parse(text: &str) -> Option<Self> {
        // compat: existing clients know the drive by its vendor's name.
        let text = if text == "google-drive" {
            "cloud-drive"
        } else {
            text
        };
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text)
    }

    /// How long after a run the next one begins by itself, in seconds.
    pub const fn pause_seconds(self) -> i64 {
        match self {
            Self::CloudDrive => 4 * 3600,
            Self::WebCrawler => 7 * 24 * 3600,
        }
    }
}

/// How much of an account is taken. `metadata.syncScope` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncScope {
    /// What the user selects in the picker, with everything below the selected folders.
    #[default]
    Selected,
    /// Everything that the account shows.
    Full,
}

/// Where a connection stands. Whether it syncs right now is no state of it but a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionStatus {
    /// The user has not given permission yet.
    PendingOauth,
    /// There is permission, and nothing is selected yet.
    AwaitingSelection,
    /// It syncs.
    Active,
    /// The permission has ended; the user has to give it again. Documents stay.
    Expired,
    /// Something outside has to change first, which `problem` names. Documents stay.
    Suspended,
    /// Being deleted: answered already, and nothing of it syncs any more.
    Deleting,
}

impl ConnectionStatus {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PendingOauth => "pending_oauth",
            Self::AwaitingSelection => "awaiting_selection",
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Suspended => "suspended",
            Self::Deleting => "deleting",
        }
    }

    /// Whether it still exists for those who ask.
    pub const fn is_visible(self) -> bool {
        !matches!(self, Self::Deleting)
    }
}

/// What is wrong with a connection or was with one of its runs. `errorKind` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The user has to give permission again: it was revoked or has expired.
    ReauthRequired,
    /// The user has denied permission.
    AccessDenied,
    /// The user has given permission without access to the drive.
    ScopeDenied,
    /// The provider gave permission for an hour only.
    MissingRefreshToken,
    /// The OAuth app was deleted, or its id or secret is wrong.
    AppMisconfigured,
    /// An administrator at the provider blocks the app.
    AdminPolicy,
    /// The provider asks to slow down.
    RateLimited,
    /// A quota of the provider is used up until tomorrow.
    QuotaExceeded,
    /// The provider does not answer, or not as it should.
    ProviderUnavailable,
    /// So much was to be removed at once that a second run has to confirm it.
    RemovalHeld,
    /// A fault of ours.
    Internal,
}

impl ErrorKind {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReauthRequired => "reauth_required",
            Self::AccessDenied => "access_denied",
            Self::ScopeDenied => "scope_denied",
            Self::MissingRefreshToken => "missing_refresh_token",
            Self::AppMisconfigured => "app_misconfigured",
            Self::AdminPolicy => "admin_policy",
            Self::RateLimited => "rate_limited",
            Self::QuotaExceeded => "quota_exceeded",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::RemovalHeld => "removal_held",
            Self::Internal => "internal",
        }
    }

    /// The contract's `errorCode` of a run.
    pub const fn error_code(self) -> &'static str {
        match self {
            Self::ReauthRequired
            | Self::AccessDenied
            | Self::ScopeDenied
            | Self::MissingRefreshToken
            | Self::AppMisconfigured
            | Self::AdminPolicy => "auth_expired",
            Self::RateLimited | Self::QuotaExceeded => "rate_limited",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::RemovalHeld | Self::Internal => "internal",
        }
    }
}

/// What is wrong, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind.
    pub kind: ErrorKind,
    /// One sentence that says what to do; never a token, never content.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
    /// How often in a row.
    #[serde(default)]
    pub attempts: u32,
}

/// A connection's record. Every change is written on condition that `rev` is as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Identity.
    pub id: ConnectionId,
    /// Who its items come from.
    pub provider: Provider,
    /// The container that its documents go to.
    pub tag: ContainerTag,
    /// Where it stands.
    pub status: ConnectionStatus,
    /// What is wrong, if something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// How much is taken.
    pub scope: SyncScope,
    /// The most documents.
    pub document_limit: u32,
    /// What the caller said about it.
    #[serde(default)]
    pub metadata: Metadata,
    /// Where the user's browser goes in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// The permission that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// Whose account it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// When the permission ends, or was found to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Counts saved selections; 0 is none.
    #[serde(default)]
    pub selection: u64,
    /// When the next run is to begin; none while nothing may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Timestamp>,
    /// What asked for the next run. A request during a run is kept for the one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Trigger>,
    /// The newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// Whether its documents go with it, once it is being deleted.
    #[serde(default)]
    pub delete_documents: bool,
    /// Counts changes of the record: the fence of concurrent ones.
    pub rev: u64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The most documents of a connection. Contract.
pub const MAX_DOCUMENTS: u32 = 10_000;
/// The most connections of an organization: they are listed from one partition, and each costs a poll.
pub const MAX_CONNECTIONS: usize = 1_000;
/// How long the link that starts a connection works. Contract: "1 hour".
pub const LINK_SECONDS: i64 = 3600;

impl Connection {
    /// A connection that waits for its user.
    pub fn new(provider: Provider, tag: ContainerTag, now: Timestamp) -> Self {
        Self {
            id: ConnectionId::random(),
            provider,
            tag,
            status: ConnectionStatus::PendingOauth,
            problem: None,
            scope: SyncScope::default(),
            document_limit: MAX_DOCUMENTS,
            metadata: Metadata::default(),
            redirect_url: None,
            grant: None,
            account: None,
            expires_at: None,
            selection: 0,
            next_run_at: None,
            requested: None,
            last_run: None,
            delete_documents: false,
            rev: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether a run may begin: it has permission, and something to sync.
    pub fn may_run(&self) -> bool {
        self.status == ConnectionStatus::Active
    }

    /// Asks for a run as soon as possible.
    pub fn request(&mut self, trigger: Trigger, now: Timestamp) {
        self.requested = Some(trigger);
        self.next_run_at = Some(now);
    }
}
