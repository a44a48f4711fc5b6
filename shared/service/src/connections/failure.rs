//! The reasons why there is no permission, and what they mean for the caller and the user.

use domain::connection::ConnectionErrorKind;
use domain::error::{Error, PortError};
use domain::ports::{ConnectorError, ConsentError};

/// The reason why there is no permission.
#[derive(Debug)]
pub struct ConsentRefusal {
    /// The error kind that the connection gets; `None` when nothing is wrong with it, because the
    /// answer was for another account.
    pub kind: Option<ConnectionErrorKind>,
    /// One or two sentences that say what to do.
    pub message: String,
}

impl ConsentRefusal {
    /// Creates a refusal that the connection notes as an error of this kind.
    fn new(kind: ConnectionErrorKind, message: &str) -> Self {
        Self {
            kind: Some(kind),
            message: message.to_owned(),
        }
    }

    /// Returns the name on the wire.
    pub const fn code(&self) -> &'static str {
        match self.kind {
            Some(kind) => kind.as_str(),
            None => "account_mismatch",
        }
    }
}

/// The reasons why a provider's answer leads to no permission.
#[derive(Debug)]
pub(super) enum ConsentFailure {
    /// There is no permission. The connection notes the reason, and the user learns it.
    Refused(ConsentRefusal),
    /// The request failed.
    Failed(Error),
}

impl From<Error> for ConsentFailure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<PortError> for ConsentFailure {
    fn from(error: PortError) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns the refusal that an error of the OAuth flow means.
pub(super) fn consent_refusal(error: &ConsentError) -> ConsentRefusal {
    let (kind, message) = match error {
        ConsentError::ScopeDenied => (
            ConnectionErrorKind::ScopeDenied,
            "Access to the files was left out. Open the link again and leave the box for the files ticked.",
        ),
        ConsentError::MissingRefreshToken => (
            ConnectionErrorKind::MissingRefreshToken,
            "The provider gave permission for an hour only. Remove this app in the account's security settings, then \
             open the link again.",
        ),
        ConsentError::Invalid(_) => (
            ConnectionErrorKind::ReauthRequired,
            "The provider's answer was not valid (any more). Open the link again.",
        ),
        ConsentError::Provider(error) => return provider_refusal(error),
    };

    ConsentRefusal::new(kind, message)
}

/// Returns the refusal that an error of the provider means.
fn provider_refusal(error: &ConnectorError) -> ConsentRefusal {
    let (kind, message) = match error {
        ConnectorError::App(_) => (ConnectionErrorKind::AppMisconfigured, APP_MESSAGE),
        ConnectorError::Policy(_) => (ConnectionErrorKind::AdminPolicy, POLICY_MESSAGE),
        ConnectorError::Throttled { .. } => (ConnectionErrorKind::RateLimited, BUSY_MESSAGE),
        ConnectorError::QuotaExceeded => (ConnectionErrorKind::QuotaExceeded, BUSY_MESSAGE),
        ConnectorError::Unavailable(_) => (ConnectionErrorKind::ProviderUnavailable, BUSY_MESSAGE),
        ConnectorError::Reauth(_) => (
            ConnectionErrorKind::ReauthRequired,
            "The provider did not accept the permission. Open the link again.",
        ),
        _ => (
            ConnectionErrorKind::Internal,
            "Something went wrong on our side. Open the link again.",
        ),
    };

    ConsentRefusal::new(kind, message)
}

const APP_MESSAGE: &str = "The OAuth app's id or secret is not accepted by the provider. Whoever runs the app has to correct it \
                   in the settings; then open the link again.";
const POLICY_MESSAGE: &str = "An administrator at the provider does not allow this app. Ask them to allow it, then open the link \
                      again.";
const BUSY_MESSAGE: &str =
    "The provider does not answer as it should. Open the link again in a few minutes.";

/// Returns the refusal that an `error` in the provider's answer means.
pub(super) fn answer_refusal(error: &str) -> ConsentRefusal {
    let (kind, message) = match error {
        "access_denied" => (
            ConnectionErrorKind::AccessDenied,
            "Permission was not given. Nothing is read. To connect after all, open the link again.",
        ),
        "admin_policy_enforced" | "disallowed_useragent" => {
            (ConnectionErrorKind::AdminPolicy, POLICY_MESSAGE)
        }
        "invalid_client"
        | "unauthorized_client"
        | "org_internal"
        | "invalid_scope"
        | "invalid_request"
        | "redirect_uri_mismatch"
        | "unsupported_response_type" => (ConnectionErrorKind::AppMisconfigured, APP_MESSAGE),
        _ => (ConnectionErrorKind::ProviderUnavailable, BUSY_MESSAGE),
    };

    ConsentRefusal::new(kind, message)
}
