//! Connections. A connection ties a container to an account of a provider: the items of the account
//! become documents, which are kept up to date.

mod claim;
mod grant;
mod item_record;
mod selection;
mod state;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use claim::{DocumentClaim, DocumentOrigin};
pub use grant::{Grant, OAuthAppRef, OAuthTokens, ProviderAccount};
pub use item_record::{ItemRecord, ItemState, SkipReason, SyncedDocument};
pub use selection::{ExcludedItem, MAX_SELECTED_ITEMS, SelectedItem, Selection};
pub use state::{
    DocumentIntent, FeedState, FolderWalk, NEW_FILES_END, NEW_FILES_START, NotificationChannel,
    PendingRemoval, Run, RunPhase, RunState, RunTrigger, SelectedItemState, SyncQueue,
    SyncQueueEntry, SyncState,
};

use crate::ids::{ConnectionId, GrantId};
use crate::metadata::Metadata;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// The providers of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Google Drive, called `cloud-drive` on the wire.
    CloudDrive,
    /// The pages of a website.
    WebCrawler,
}

impl Provider {
    /// All supported providers.
    pub const ALL: [Self; 2] = [Self::CloudDrive, Self::WebCrawler];

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CloudDrive => "cloud-drive",
            Self::WebCrawler => "web-crawler",
        }
    }

    /// Parses a name on the wire, or returns `None` for a provider that is not supported.
    pub fn parse(text: &str) -> Option<Self> {
        // compat: existing clients know the drive by the name of its vendor.
        let text = if text == "google-drive" {
            "cloud-drive"
        } else {
            text
        };
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text)
    }

    /// Returns the seconds between the end of a run and the next scheduled run.
    pub const fn run_interval_seconds(self) -> i64 {
        match self {
            Self::CloudDrive => 4 * 3600,
            Self::WebCrawler => 7 * 24 * 3600,
        }
    }
}

/// The part of an account that is synchronized: `metadata.syncScope` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncScope {
    /// The items that the user selects in the picker, with everything below the selected folders.
    #[default]
    Selected,
    /// Everything that the account can see.
    Full,
}

/// The status of a connection. A running synchronization is not a status, but a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionStatus {
    /// The user has not given permission yet.
    PendingOauth,
    /// The user has given permission, but has not selected anything yet.
    AwaitingSelection,
    /// The connection is synchronized.
    Active,
    /// The permission has ended, and the user has to give it again. The documents stay.
    Expired,
    /// Something outside of the service has to change first, which `problem` describes. The
    /// documents stay.
    Suspended,
    /// The connection is being deleted. The request has been answered, and nothing is synchronized
    /// any more.
    Deleting,
}

impl ConnectionStatus {
    /// Returns the name on the wire.
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

    /// Checks whether callers can still see the connection.
    pub const fn is_visible(self) -> bool {
        !matches!(self, Self::Deleting)
    }
}

/// The kinds of errors of a connection or of one of its runs: `errorKind` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ConnectionErrorKind {
    /// The permission was revoked or has expired, and the user has to give it again.
    ReauthRequired,
    /// The user denied permission.
    AccessDenied,
    /// The user gave permission without access to the drive.
    ScopeDenied,
    /// The provider gave permission for only an hour.
    MissingRefreshToken,
    /// The OAuth app was deleted, or its id or secret is wrong.
    AppMisconfigured,
    /// An administrator at the provider blocks the app.
    AdminPolicy,
    /// The provider asks to slow down.
    RateLimited,
    /// A quota of the provider is used up until the next day.
    QuotaExceeded,
    /// The provider does not answer, or answers incorrectly.
    ProviderUnavailable,
    /// So many documents were to be removed at once that a second run has to confirm it.
    RemovalHeld,
    /// The organization has a filter prompt, and the service has no model that could decide.
    ModelRequired,
    /// An internal fault.
    Internal,
}

impl ConnectionErrorKind {
    /// Returns the name on the wire.
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
            Self::ModelRequired => "model_required",
            Self::Internal => "internal",
        }
    }

    /// Returns the `errorCode` of a run in the API.
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
            Self::RemovalHeld | Self::ModelRequired | Self::Internal => "internal",
        }
    }
}

/// A problem of a connection, described for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionProblem {
    /// The kind of the error.
    pub kind: ConnectionErrorKind,
    /// One sentence that says what to do. It never contains a token or content.
    pub message: String,
    /// The time since which the problem exists.
    pub since: Timestamp,
    /// The number of consecutive failures.
    #[serde(default)]
    pub attempts: u32,
}

/// The record of a connection. Every write is conditional on the `rev` that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// The id.
    pub id: ConnectionId,
    /// The provider of its items.
    pub provider: Provider,
    /// The container tag to which its documents belong.
    pub tag: ContainerTag,
    /// The status.
    pub status: ConnectionStatus,
    /// The current problem, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ConnectionProblem>,
    /// The part of the account that is synchronized.
    pub scope: SyncScope,
    /// The largest number of documents.
    pub document_limit: u32,
    /// The caller's metadata.
    #[serde(default)]
    pub metadata: Metadata,
    /// The address to which the user's browser is finally sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_url: Option<String>,
    /// The grant that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// The account that it is tied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ProviderAccount>,
    /// The time at which the permission ends, or was found to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The number of saved selections, or 0 if there is none.
    #[serde(default)]
    pub selection: u64,
    /// The time at which the next run is to begin, or `None` while no run is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Timestamp>,
    /// The trigger of the next run, if one was requested. A request during a run is kept for the
    /// run after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<RunTrigger>,
    /// The newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// `true` if the documents are deleted together with the connection, once it is being deleted.
    #[serde(default)]
    pub delete_documents: bool,
    /// The number of changes of the record. It is the fence of concurrent changes.
    pub rev: u64,
    /// The time at which the connection was created.
    pub created_at: Timestamp,
    /// The time of its last change.
    pub updated_at: Timestamp,
}

/// The largest number of documents of a connection. This limit is part of the API.
pub const MAX_DOCUMENTS_PER_CONNECTION: u32 = 10_000;
/// The largest number of connections of an organization. They are listed from one partition, and
/// each of them costs a poll.
pub const MAX_CONNECTIONS_PER_ORGANIZATION: usize = 1_000;
/// The seconds for which the link that starts a connection is valid. The API says "1 hour".
pub const CONNECT_LINK_SECONDS: i64 = 3600;

impl Connection {
    /// Creates a connection that waits for its user.
    pub fn new(provider: Provider, tag: ContainerTag, now: Timestamp) -> Self {
        Self {
            id: ConnectionId::random(),
            provider,
            tag,
            status: ConnectionStatus::PendingOauth,
            problem: None,
            scope: SyncScope::default(),
            document_limit: MAX_DOCUMENTS_PER_CONNECTION,
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

    /// Checks whether a run may begin: the connection has permission and something to synchronize.
    pub fn can_run(&self) -> bool {
        self.status == ConnectionStatus::Active
    }

    /// Requests a run as soon as possible.
    pub fn request_run(&mut self, trigger: RunTrigger, now: Timestamp) {
        self.requested = Some(trigger);
        self.next_run_at = Some(now);
    }
}
