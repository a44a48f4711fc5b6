//! The meaning of a provider's errors for the caller and the user.

use domain::connection::ConnectionErrorKind;
use domain::ports::{ConnectorError, ConsentError};

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
