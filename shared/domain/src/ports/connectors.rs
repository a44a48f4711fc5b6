//! The interface to providers of items. The connector of a provider implements [`Connector`], and
//! [`OAuthFlow`] if its users have to give permission.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::connection::{OAuthAppRef, OAuthTokens, Provider, ProviderAccount, SkipReason};
use crate::document::{BodyForm, DocumentType};
use crate::error::{Error, ErrorSource, PortError};
use crate::metadata::Metadata;
use crate::time::Timestamp;
use crate::vault::Secret;

/// The number of seconds after which a request is worth another try when a quota is used up. The
/// provider only says "tomorrow".
const QUOTA_SECONDS: u64 = 3600;
/// The same when the provider asks to slow down without saying for how long.
const THROTTLE_SECONDS: u64 = 30;

/// The result of a request to a provider.
pub type ConnectorResult<T> = std::result::Result<T, ConnectorError>;

/// The reasons for which a request to a provider fails. None of them says whether an item exists:
/// an item that is gone is `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// The provider asks to slow down.
    #[error("the provider asks to slow down")]
    Throttled {
        /// The seconds to wait, if the provider gave them.
        retry_after: Option<u64>,
    },
    /// The provider does not answer, or answers incorrectly. The same request may succeed a moment
    /// later.
    #[error("the provider does not answer")]
    Unavailable(#[source] ErrorSource),
    /// A quota is used up until the next day.
    #[error("a quota of the provider is used up")]
    QuotaExceeded,
    /// The permission has ended, with the provider's name for the reason.
    #[error("the permission has ended: {0}")]
    Reauth(String),
    /// The app is misconfigured, with the provider's message.
    #[error("the OAuth app does not work: {0}")]
    App(String),
    /// An administrator blocks the app.
    #[error("an administrator blocks the app: {0}")]
    Policy(String),
    /// The provider no longer accepts a cursor, so everything has to be scanned.
    #[error("the provider no longer knows the cursor")]
    CursorLost,
    /// The provider no longer accepts a page token of a listing, so the listing has to start again.
    #[error("the provider no longer knows the page")]
    PageLost,
    /// The item cannot be read, and another attempt will not change that.
    #[error("the item cannot be read: {}", .0.as_str())]
    Item(SkipReason),
    /// There is a fault in this program, or the provider behaves differently than expected.
    #[error("{0}")]
    Fault(String),
}

/// A port of ours that fails is as good as a provider that does not answer.
impl From<PortError> for ConnectorError {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Unavailable(source) => Self::Unavailable(source),
            error => Self::Unavailable(Box::new(error)),
        }
    }
}

impl From<ConnectorError> for Error {
    fn from(error: ConnectorError) -> Self {
        match error {
            ConnectorError::Throttled { retry_after } => Self::RateLimited {
                message: "the provider asks to slow down".into(),
                retry_after_seconds: retry_after.unwrap_or(THROTTLE_SECONDS),
            },
            ConnectorError::QuotaExceeded => Self::RateLimited {
                message: "a quota of the provider is used up until tomorrow".into(),
                retry_after_seconds: QUOTA_SECONDS,
            },
            ConnectorError::Unavailable(source) => Self::Unavailable(source),
            ConnectorError::Reauth(_) => Self::invalid(
                "the permission has ended: the account has to be connected again (POST \
                 /v3/connections/{id}/reconnect gives the link)",
            ),
            ConnectorError::App(message) => Self::invalid(message),
            ConnectorError::Policy(_) => {
                Self::invalid("an administrator at the provider does not allow the OAuth app")
            }
            ConnectorError::CursorLost | ConnectorError::PageLost => {
                Self::invalid("the listing has changed; begin again with its first page")
            }
            ConnectorError::Item(_) => Self::NotFound("Item"),
            ConnectorError::Fault(message) => Self::Internal(message.into()),
        }
    }
}

/// The data that a request to a provider needs.
#[derive(Debug, Clone)]
pub struct ProviderAccess {
    /// The access token of the user, or `None` for providers without accounts.
    pub token: Option<Secret>,
    /// The metadata that the caller gave the connection.
    pub metadata: Metadata,
}

/// An item as the provider currently shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderItem {
    /// The provider's id of the item. It may contain any characters, not only `[A-Za-z0-9_.:-]`.
    pub id: String,
    /// The id of the folder that contains it.
    pub parent: Option<String>,
    /// The name of the item.
    pub name: String,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The shared drive that contains it.
    pub drive: Option<String>,
    /// Its media type.
    pub media_type: String,
    /// The version, as in [`crate::connection::ItemRecord::version`].
    pub version: String,
    /// The content version, as in [`crate::connection::ItemRecord::content_version`].
    pub content_version: String,
    /// Its size in bytes, if the provider states it.
    pub size: Option<u64>,
    /// The time at which its content last changed, or the epoch if that is not known.
    pub modified_at: Timestamp,
    /// The address at which people view it.
    pub url: Option<String>,
    /// The owner of the item.
    pub owner: Option<String>,
    /// `true` if the item or a folder above it is in the bin.
    pub is_trashed: bool,
}

/// The kind of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// A folder, which contains other items.
    Folder,
    /// A file, which can be fetched.
    File {
        /// The type of the document that it becomes, if the provider knows better than the content.
        document: Option<DocumentType>,
    },
    /// A shortcut, which leads to another item.
    Shortcut {
        /// The id of that item.
        target: String,
    },
    /// An item that is skipped.
    Unreadable(SkipReason),
}

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemPage {
    /// The items.
    pub items: Vec<ProviderItem>,
    /// The token of the next page.
    pub next: Option<String>,
    /// `true` if the provider reports that items are missing. Nothing may then be concluded from
    /// the absence of an item.
    pub is_incomplete: bool,
}

/// One change in a change feed: the current state of an item, or the fact that the account no
/// longer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemChange {
    /// The item's id.
    pub id: String,
    /// The item in its current state, or `None` if the account no longer sees it.
    pub item: Option<ProviderItem>,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangePage {
    /// The changes. When an item occurs more than once, its last change counts.
    pub changes: Vec<ItemChange>,
    /// The cursor from which to continue.
    pub cursor: String,
    /// `true` if more changes are available now.
    pub has_more: bool,
    /// `true` if the list of feeds has changed.
    pub feeds_changed: bool,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemContent {
    /// The bytes.
    pub bytes: Bytes,
    /// The form in which the bytes are to be read.
    pub form: BodyForm,
}

/// A place in which a user browses for items to select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickerView {
    /// The user's own items.
    My,
    /// The items that others have shared with the user.
    Shared,
    /// The shared drives.
    Drives,
}

/// A subscription to notifications of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationSubscription {
    /// The provider's id of the subscription.
    pub resource: String,
    /// The time at which it ends.
    pub expires_at: Timestamp,
}

/// The connector of a provider of items. All methods may be called concurrently. No method keeps
/// state between calls that another connection could see, except for what is public.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Returns the provider.
    fn provider(&self) -> Provider;

    /// Returns the way in which users give permission, or `None` if the provider needs none.
    fn oauth_flow(&self) -> Option<&dyn OAuthFlow>;

    /// Checks whether the provider reports changes. Without them, new items and changed ones are
    /// found by scans alone: once a week, and in each run that a user requests.
    fn reports_changes(&self) -> bool;

    /// Returns the number of items that a connection looks up or fetches at a time.
    fn parallel_requests(&self) -> usize {
        8
    }

    /// Checks the metadata that a caller gives a new connection. It is the configuration of
    /// providers without a picker.
    ///
    /// # Errors
    /// Returns a sentence for the caller that names the invalid field.
    fn check_metadata(&self, metadata: &Metadata) -> std::result::Result<(), String>;

    /// Returns the feeds that together cover the account. Each feed can be listed completely and
    /// has its own changes. The first one is the account's own.
    async fn list_feeds(&self, access: &ProviderAccess) -> ConnectorResult<Vec<String>>;

    /// Returns the cursor from which the future changes of a feed begin.
    async fn current_cursor(&self, access: &ProviderAccess, feed: &str) -> ConnectorResult<String>;

    /// Returns a page of everything in a feed that is not in the bin.
    async fn list_feed(
        &self,
        access: &ProviderAccess,
        feed: &str,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage>;

    /// Returns a page of the items in a folder that are not in the bin. `drive` is the shared drive
    /// that contains the folder.
    async fn list_children(
        &self,
        access: &ProviderAccess,
        folder: &str,
        drive: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage>;

    /// Returns a page of the changes of a feed after `cursor`.
    async fn list_changes(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
    ) -> ConnectorResult<ChangePage>;

    /// Returns the item in its current state, or `None` when the account does not see it.
    async fn get_item(
        &self,
        access: &ProviderAccess,
        id: &str,
    ) -> ConnectorResult<Option<ProviderItem>>;

    /// Fetches the content of an item that was listed a moment ago. Fails with
    /// [`SkipReason::TooLarge`] when the content has more than `limit` bytes.
    async fn fetch_content(
        &self,
        access: &ProviderAccess,
        item: &ProviderItem,
        limit: usize,
    ) -> ConnectorResult<ItemContent>;

    /// Returns a page of the items that a user may select: those of a view, or those in the folder
    /// `parent`. With `query`, returns all items whose names contain it.
    async fn list_selectable(
        &self,
        access: &ProviderAccess,
        view: &PickerView,
        parent: Option<&str>,
        query: Option<&str>,
        page: Option<&str>,
    ) -> ConnectorResult<ItemPage>;

    /// Subscribes to notifications of the changes of a feed. The provider sends them to `address`
    /// with `token`, under the id `id` that we choose. Returns `None` where the provider does not
    /// support this.
    async fn watch_feed(
        &self,
        access: &ProviderAccess,
        feed: &str,
        cursor: &str,
        id: &str,
        address: &str,
        token: &str,
    ) -> ConnectorResult<Option<NotificationSubscription>>;

    /// Ends a subscription to notifications.
    async fn stop_watching(
        &self,
        access: &ProviderAccess,
        id: &str,
        resource: &str,
    ) -> ConnectorResult<()>;
}

/// An OAuth app with its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// The reference to the app.
    pub app: OAuthAppRef,
    /// The client secret of the app.
    pub secret: Secret,
}

/// A request for a user's permission. It contains secrets, so its `Debug` output shows none of it.
#[derive(Clone)]
pub struct ConsentRequest {
    /// The state, which comes back with the answer.
    pub state: String,
    /// The nonce, which comes back in the identity token.
    pub nonce: String,
    /// The PKCE verifier, which only this service knows. The request carries its digest (S256).
    pub verifier: Secret,
    /// The address to which the provider sends the answer.
    pub redirect_uri: String,
}

impl std::fmt::Debug for ConsentRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConsentRequest(…)")
    }
}

/// A permission that a user has given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedPermission {
    /// The account that it belongs to.
    pub account: ProviderAccount,
    /// The tokens.
    pub tokens: OAuthTokens,
}

/// The reasons for which asking a user for permission fails.
#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    /// The user did not grant the required access.
    #[error("access to the items was not permitted")]
    ScopeDenied,
    /// The provider gave no refresh token, so the permission would last for only an hour.
    #[error("the provider gave no refresh token")]
    MissingRefreshToken,
    /// The code is invalid or has expired, or the identity token does not answer this request.
    #[error("the answer is not valid: {0}")]
    Invalid(String),
    /// The provider failed.
    #[error(transparent)]
    Provider(#[from] ConnectorError),
}

/// The OAuth flow with which users of a provider give permission: OAuth 2.0 with a code, PKCE and
/// offline access.
#[async_trait]
pub trait OAuthFlow: Send + Sync {
    /// Returns the operator's app, or `None` if none is configured.
    fn operator_client(&self) -> Option<OAuthClient>;

    /// Returns the address at which the user is asked for permission.
    fn consent_url(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
    ) -> ConnectorResult<String>;

    /// Exchanges the code of the answer for tokens.
    async fn exchange_code(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
        code: &Secret,
        now: Timestamp,
    ) -> std::result::Result<GrantedPermission, ConsentError>;

    /// Obtains new tokens in place of those that expire.
    async fn refresh_tokens(
        &self,
        client: &OAuthClient,
        tokens: &OAuthTokens,
        now: Timestamp,
    ) -> ConnectorResult<OAuthTokens>;

    /// Revokes the permission. A permission that has already ended is ignored.
    async fn revoke_permission(&self, tokens: &OAuthTokens) -> ConnectorResult<()>;
}

/// The connectors of this process, one for each provider. Cheap to clone.
#[derive(Clone, Default)]
pub struct Connectors(Vec<Arc<dyn Connector>>);

impl Connectors {
    /// Creates the set from connectors, one for each provider.
    pub fn new(connectors: Vec<Arc<dyn Connector>>) -> Self {
        Self(connectors)
    }

    /// Returns the connector of a provider.
    pub fn for_provider(&self, provider: Provider) -> Option<&dyn Connector> {
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
