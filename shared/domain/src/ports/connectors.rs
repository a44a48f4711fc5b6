//! What a provider of items can do. An adapter for one more provider implements [`Connector`], and [`OAuth`] where its
//! users have to give permission.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::connection::{Account, AppRef, Provider, SkipReason, Tokens};
use crate::document::{BodyForm, DocumentType};
use crate::error::Source;
use crate::metadata::Metadata;
use crate::time::Timestamp;
use crate::vault::Secret;

/// The result of asking a provider.
pub type ConnectorResult<T> = std::result::Result<T, ConnectorError>;

/// Why a provider did not do what was asked. None of these says anything about whether an item exists: what is gone is
/// `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// It asks to slow down.
    #[error("the provider asks to slow down")]
    Throttled {
        /// For so many seconds, if it said so.
        retry_after: Option<u64>,
    },
    /// It does not answer, or not as it should; the same request may succeed a moment later.
    #[error("the provider does not answer")]
    Unavailable(#[source] Source),
    /// A quota is used up until tomorrow.
    #[error("a quota of the provider is used up")]
    QuotaExceeded,
    /// The permission is gone, as its name at the provider says.
    #[error("the permission has ended: {0}")]
    Reauth(String),
    /// The app is misconfigured, as the provider says.
    #[error("the OAuth app does not work: {0}")]
    App(String),
    /// An administrator blocks the app.
    #[error("an administrator blocks the app: {0}")]
    Policy(String),
    /// A cursor is no longer good: everything has to be scanned.
    #[error("the provider no longer knows the cursor")]
    CursorLost,
    /// A page of a listing is no longer good: the listing has to begin again.
    #[error("the provider no longer knows the page")]
    PageLost,
    /// This item cannot be had, and no other try will change that.
    #[error("the item cannot be read: {}", .0.as_str())]
    Item(SkipReason),
    /// A fault of ours, or a provider that is not what it was.
    #[error("{0}")]
    Fault(String),
}

/// What a request to a provider needs.
#[derive(Debug, Clone)]
pub struct Access {
    /// The user's permission; none for providers without accounts.
    pub token: Option<Secret>,
    /// What the connection's caller said about it.
    pub metadata: Metadata,
}

/// An item as its provider shows it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The provider's name of it, of `[A-Za-z0-9_.:-]` or anything else.
    pub id: String,
    /// The folder that it lies in.
    pub parent: Option<String>,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ItemKind,
    /// The shared drive that it lies in.
    pub drive: Option<String>,
    /// Its media type.
    pub media_type: String,
    /// As [`crate::connection::Node::version`].
    pub version: String,
    /// As [`crate::connection::Node::mark`].
    pub mark: String,
    /// Bytes, where the provider counts them.
    pub size: Option<u64>,
    /// When its content last changed; the epoch where that is not known.
    pub modified_at: Timestamp,
    /// Where people look at it.
    pub url: Option<String>,
    /// Whose it is.
    pub owner: Option<String>,
    /// Whether it, or anything above it, lies in the bin.
    pub trashed: bool,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// Other items lie in it.
    Folder,
    /// It can be fetched.
    File {
        /// What kind of document it makes, where the provider knows better than the content.
        document: Option<DocumentType>,
    },
    /// It leads to another item.
    Shortcut {
        /// Which.
        target: String,
    },
    /// It is left out.
    Unreadable(SkipReason),
}

/// A part of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The items.
    pub items: Vec<Item>,
    /// The next page.
    pub next: Option<String>,
    /// Whether the provider says that items are missing: nothing may be concluded from absence.
    pub incomplete: bool,
}

/// One change of a feed: the item as it is now, or that it is gone from the account's sight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The item's id.
    pub id: String,
    /// As it is now.
    pub item: Option<Item>,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The changes; the same item may occur more than once, the last time counts.
    pub changes: Vec<Changed>,
    /// Where to go on.
    pub cursor: String,
    /// Whether there is more now.
    pub more: bool,
    /// Whether the list of feeds is another than before.
    pub feeds_changed: bool,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes.
    pub bytes: Bytes,
    /// How to read them.
    pub form: BodyForm,
}

/// Where a user looks for items to select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// What is the user's own.
    My,
    /// What others have shared with the user.
    Shared,
    /// Shared drives.
    Drives,
}

/// Notifications that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// The provider's name of them.
    pub resource: String,
    /// When they end.
    pub expires_at: Timestamp,
}

/// A provider of items. All methods may be called at the same time; none keeps anything between calls that another
/// connection could see.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Who it is.
    fn provider(&self) -> Provider;

    /// How users give permission; none where there is nothing to permit.
    fn oauth(&self) -> Option<&dyn OAuth>;

    /// Whether it tells changes. Without them every run is a scan.
    fn has_changes(&self) -> bool;

    /// Checks what a caller says about a new connection, which is its configuration where there is no picker.
    ///
    /// # Errors
    /// A sentence for the caller that names the field.
    fn check(&self, metadata: &Metadata) -> std::result::Result<(), String>;

    /// The feeds: lists of changes, and of everything, that together cover the account. The first is the account's own.
    async fn feeds(&self, access: &Access) -> ConnectorResult<Vec<String>>;

    /// Where changes of a feed begin that come from now on.
    async fn head(&self, access: &Access, feed: &str) -> ConnectorResult<String>;

    /// A page of everything in a feed that is not in the bin.
    async fn everything(
        &self,
        access: &Access,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<Listing>;

    /// A page of what lies in a folder and not in the bin; `drive` is the shared drive that it lies in.
    async fn children(
        &self,
        access: &Access,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing>;

    /// A page of the changes of a feed after `cursor`.
    async fn changes(&self, access: &Access, feed: &str, cursor: &str) -> ConnectorResult<Changes>;

    /// The item as it is now; `None` when the account does not see it.
    async fn stat(&self, access: &Access, id: &str) -> ConnectorResult<Option<Item>>;

    /// The content of an item that was listed a moment ago; at most `limit` bytes, else [`SkipReason::TooLarge`].
    async fn fetch(&self, access: &Access, item: &Item, limit: usize) -> ConnectorResult<Fetched>;

    /// A page of what a user may select: of a view, or in the folder `parent`; with `query`, of all whose names have it.
    async fn browse(
        &self,
        access: &Access,
        view: &View,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<Listing>;

    /// Asks that changes of a feed be told to `address` with `token`, under our name `id`; `None` where that cannot be.
    async fn watch(
        &self,
        access: &Access,
        feed: &str,
        cursor: &str,
        id: &str,
        address: &str,
        token: &str,
    ) -> ConnectorResult<Option<Watched>>;

    /// Asks that they be told no longer.
    async fn unwatch(&self, access: &Access, id: &str, resource: &str) -> ConnectorResult<()>;
}

/// An OAuth app with its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// Which it is.
    pub app: AppRef,
    /// Its secret.
    pub secret: Secret,
}

/// What is asked of a user. There is no way to show it.
#[derive(Clone)]
pub struct Consent {
    /// Comes back with the answer.
    pub state: String,
    /// Comes back in the identity token.
    pub nonce: String,
    /// Known to us alone; its digest goes along (PKCE, S256).
    pub verifier: Secret,
    /// Where the answer comes.
    pub redirect_uri: String,
}

impl std::fmt::Debug for Consent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Consent(…)")
    }
}

/// A permission that a user has given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Whose account it is.
    pub account: Account,
    /// The tokens.
    pub tokens: Tokens,
}

/// Why there is no permission.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// The user left the access out that is needed.
    #[error("access to the items was not permitted")]
    ScopeDenied,
    /// It would last for an hour only.
    #[error("the provider gave no refresh token")]
    MissingRefreshToken,
    /// The code is not good (any more), or the identity is not the one that was asked.
    #[error("the answer is not valid: {0}")]
    Invalid(String),
    /// The provider.
    #[error(transparent)]
    Provider(#[from] ConnectorError),
}

/// How users of a provider give permission: OAuth 2.0 with a code, PKCE and offline access.
#[async_trait]
pub trait OAuth: Send + Sync {
    /// The operator's app; none where it is not configured.
    fn operator(&self) -> Option<OAuthClient>;

    /// The address at which the user is asked.
    fn consent_url(&self, client: &OAuthClient, consent: &Consent) -> ConnectorResult<String>;

    /// Exchanges the code of the answer.
    async fn exchange(
        &self,
        client: &OAuthClient,
        consent: &Consent,
        code: &Secret,
        now: Timestamp,
    ) -> std::result::Result<Permission, ConsentError>;

    /// New tokens for those that expire.
    async fn refresh(
        &self,
        client: &OAuthClient,
        tokens: &Tokens,
        now: Timestamp,
    ) -> ConnectorResult<Tokens>;

    /// Ends the permission; one that has ended is fine.
    async fn revoke(&self, tokens: &Tokens) -> ConnectorResult<()>;
}

/// The providers that this process reaches. Cheap to clone.
#[derive(Clone, Default)]
pub struct Connectors(Vec<Arc<dyn Connector>>);

impl Connectors {
    /// Those given, one of a provider.
    pub fn new(connectors: Vec<Arc<dyn Connector>>) -> Self {
        Self(connectors)
    }

    /// The one of a provider.
    pub fn of(&self, provider: Provider) -> Option<&dyn Connector> {
        self.0
            .iter()
            .find(|connector| connector.provider() == provider)
            .map(AsRef::as_ref)
    }
}

impl std::fmt::Debug for Connectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|connector| connector.provider()))
            .finish()
    }
}
