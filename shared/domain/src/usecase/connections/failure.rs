//! The meaning of a provider's errors for the caller and the user.

use crate::connection::ConnectionErrorKind;
use crate::error::Error;
use crate::ports::{ConnectorError, ConsentError};

/// The number of seconds after which a request is worth another try when a quota is used up. The
/// provider only says "tomorrow".
const QUOTA_SECONDS: u64 = 3600;
/// The same when the provider asks to slow down without saying for how long.
const THROTTLE_SECONDS: u64 = 30;

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

/// Returns the error kind and a message that says what to do, when there is no permission.
pub(super) fn of_consent(error: &ConsentError) -> (ConnectionErrorKind, String) {
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
        ConsentError::Provider(error) => return of_provider(error),
    };

    (kind, message.to_owned())
}

fn of_provider(error: &ConnectorError) -> (ConnectionErrorKind, String) {
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

    (kind, message.to_owned())
}

const APP_MESSAGE: &str = "The OAuth app's id or secret is not accepted by the provider. Whoever runs the app has to correct it \
                   in the settings; then open the link again.";
const POLICY_MESSAGE: &str = "An administrator at the provider does not allow this app. Ask them to allow it, then open the link \
                      again.";
const BUSY_MESSAGE: &str =
    "The provider does not answer as it should. Open the link again in a few minutes.";

/// Returns the meaning of an `error` in the provider's answer.
pub(super) fn of_answer(error: &str) -> (ConnectionErrorKind, String) {
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

    (kind, message.to_owned())
}
