//! The meaning of the errors of the API.

use domain::connection::SkipReason;
use domain::ports::ConnectorError;
use http::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::exchange::unavailable_error;

/// The reasons for which a request to the API failed, as far as callers distinguish them.
#[derive(Debug)]
pub(super) enum ApiFailure {
    /// The item does not exist, or the account does not see it.
    NotFound,
    /// The request itself is not valid or no longer valid, with the provider's reason.
    Refused(String),
    /// The content is too large for this method.
    TooLarge,
    /// Any other error.
    Other(ConnectorError),
}

impl From<ConnectorError> for ApiFailure {
    fn from(error: ConnectorError) -> Self {
        Self::Other(error)
    }
}

impl From<ApiFailure> for ConnectorError {
    fn from(failure: ApiFailure) -> Self {
        match failure {
            ApiFailure::NotFound => Self::Fault("the drive has no such item".into()),
            ApiFailure::Refused(reason) => {
                Self::Fault(format!("the drive refused the request: {reason}"))
            }
            ApiFailure::TooLarge => Self::Item(SkipReason::TooLarge),
            ApiFailure::Other(error) => error,
        }
    }
}

impl ApiFailure {
    /// Converts an answer with an error status.
    pub(super) fn of(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        if status == 429 {
            return Self::Other(throttled_error(headers));
        }
        let Some(reasons) = parse_reasons(body) else {
            // Pages for people, for example about an overload or a login, say nothing about the
            // request.
            return Self::Other(unavailable_error("the answer is not from the API"));
        };

        match status {
            // It is our address for notifications that is rejected, not the access token.
            401 if reasons.iter().any(|reason| reason.contains("webhook")) => {
                Self::Refused(first_reason(&reasons, status))
            }
            401 => Self::Other(ConnectorError::Reauth("authError".into())),
            403 => interpret_forbidden(&reasons, headers),
            404 => Self::NotFound,
            400..=499 => Self::Refused(first_reason(&reasons, status)),
            _ => Self::Other(unavailable_error("the API has a fault")),
        }
    }
}

/// Interprets a 403, which may mean anything from a request to slow down to a permanent refusal.
fn interpret_forbidden(reasons: &[String], headers: &HeaderMap) -> ApiFailure {
    for reason in reasons {
        if let Some(failure) = interpret_reason(reason, headers) {
            return failure;
        }
    }

    ApiFailure::Other(ConnectorError::Fault(format!(
        "the drive denied the request: {}",
        first_reason(reasons, 403)
    )))
}

/// Interprets one reason of a 403. Returns `None` for an unknown reason.
fn interpret_reason(reason: &str, headers: &HeaderMap) -> Option<ApiFailure> {
    let error = match reason {
        "ratelimitexceeded" | "userratelimitexceeded" | "sharingratelimitexceeded" => {
            throttled_error(headers)
        }
        "backenderror" | "internalerror" => unavailable_error("the API has a fault"),
        "dailylimitexceeded" | "quotaexceeded" => ConnectorError::QuotaExceeded,
        // Too many people downloaded this one file. Other files are not affected.
        "downloadquotaexceeded" => {
            ConnectorError::Fault("the file was downloaded too often".into())
        }
        "autherror"
        | "insufficientpermissions"
        | "insufficientscopes"
        | "accesstokenscopeinsufficient" => ConnectorError::Reauth(reason.to_owned()),
        "accessnotconfigured" | "servicedisabled" => ConnectorError::App(reason.to_owned()),
        "domainpolicy" => ConnectorError::Policy(reason.to_owned()),
        "cannotdownloadabusivefile" => ConnectorError::Item(SkipReason::FlaggedMalware),
        "exportsizelimitexceeded" => return Some(ApiFailure::TooLarge),
        "filenotdownloadable"
        | "filenotexportable"
        | "exportrestricted"
        | "cannotexportfile"
        | "cannotdownloadfile"
        | "insufficientfilepermissions"
        | "appnotauthorizedtofile" => ConnectorError::Item(SkipReason::NotDownloadable),
        "notfound" | "teamdrivemembershiprequired" => return Some(ApiFailure::NotFound),
        _ => return None,
    };

    Some(ApiFailure::Other(error))
}

/// Returns the reasons in an answer, in lower case and without punctuation, the most specific
/// first. Returns `None` for an answer that does not come from the API.
fn parse_reasons(body: &[u8]) -> Option<Vec<String>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;

    let mut values = Vec::new();
    for list in ["errors", "details"] {
        for entry in error[list].as_array().into_iter().flatten() {
            values.push(&entry["reason"]);
        }
    }
    values.push(&error["status"]);

    let mut reasons = Vec::new();
    for value in values {
        let reason = normalize_reason(value.as_str().unwrap_or_default());
        if !reason.is_empty() {
            reasons.push(reason);
        }
    }

    Some(reasons)
}

fn normalize_reason(reason: &str) -> String {
    let characters = reason.chars().filter(char::is_ascii_alphanumeric).take(60);
    characters.collect::<String>().to_ascii_lowercase()
}

fn first_reason(reasons: &[String], status: u16) -> String {
    match reasons.first() {
        Some(reason) => reason.clone(),
        None => status.to_string(),
    }
}

/// Returns the error for a request to slow down.
pub(super) fn throttled_error(headers: &HeaderMap) -> ConnectorError {
    ConnectorError::Throttled {
        retry_after: retry_after(headers),
    }
}

/// Returns the seconds that an answer asks to wait. The header has either a number or a time, which
/// is compared with the time of the answer itself.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let wait = parse_http_time(text)?
        .duration_since(answer_time(headers)?)
        .as_secs();
    u64::try_from(wait).ok()
}

/// Returns the time of an answer according to the clock of the server.
pub(super) fn answer_time(headers: &HeaderMap) -> Option<jiff::Timestamp> {
    parse_http_time(headers.get(DATE)?.to_str().ok()?)
}

fn parse_http_time(text: &str) -> Option<jiff::Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn from_answer(status: u16, body: &Value) -> ConnectorError {
        ApiFailure::of(status, &HeaderMap::new(), body.to_string().as_bytes()).into()
    }

    fn reason(reason: &str) -> Value {
        json!({"error": {"code": 403, "message": "private words", "errors": [{"domain": "x", "reason": reason}]}})
    }

    #[test]
    fn a_refusal_means_what_its_reason_says() {
        let cases = [
            ("rateLimitExceeded", "Throttled"),
            ("userRateLimitExceeded", "Throttled"),
            ("sharingRateLimitExceeded", "Throttled"),
            ("RATE_LIMIT_EXCEEDED", "Throttled"),
            ("backendError", "Unavailable"),
            (
                "downloadQuotaExceeded",
                "Fault(\"the file was downloaded too often\")",
            ),
            ("dailyLimitExceeded", "QuotaExceeded"),
            ("quotaExceeded", "QuotaExceeded"),
            ("insufficientPermissions", "Reauth"),
            ("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "Reauth"),
            ("accessNotConfigured", "App"),
            ("SERVICE_DISABLED", "App"),
            ("domainPolicy", "Policy"),
            ("cannotDownloadAbusiveFile", "Item(FlaggedMalware)"),
            ("exportSizeLimitExceeded", "Item(TooLarge)"),
            ("fileNotDownloadable", "Item(NotDownloadable)"),
            ("cannotExportFile", "Item(NotDownloadable)"),
            ("insufficientFilePermissions", "Item(NotDownloadable)"),
            ("appNotAuthorizedToFile", "Item(NotDownloadable)"),
            (
                "teamDriveMembershipRequired",
                "Fault(\"the drive has no such item\")",
            ),
            (
                "somethingNew",
                "Fault(\"the drive denied the request: somethingnew\")",
            ),
        ];

        for (reason_name, expected) in cases {
            let meant = format!("{:?}", from_answer(403, &reason(reason_name)));
            assert!(meant.starts_with(expected), "{reason_name}: {meant}");
            assert!(!meant.contains("private"), "{meant}");
        }
    }

    #[test]
    fn a_status_means_the_same_whatever_the_reason() {
        for (status, expected) in [
            (401, "Reauth(\"authError\")"),
            (429, "Throttled"),
            (500, "Unav"),
            (503, "Unav"),
        ] {
            let meant = format!("{:?}", from_answer(status, &reason("notFound")));
            assert!(meant.starts_with(expected), "{status}: {meant}");
        }

        assert!(matches!(
            ApiFailure::of(404, &HeaderMap::new(), b"{\"error\":{}}"),
            ApiFailure::NotFound
        ));

        let details = json!({"error": {"code": 403, "status": "PERMISSION_DENIED",
            "details": [{"@type": "x"}, {"reason": "RATE_LIMIT_EXCEEDED"}]}});
        assert!(matches!(
            from_answer(403, &details),
            ConnectorError::Throttled { .. }
        ));

        for status in [400, 410] {
            let failure = ApiFailure::of(
                status,
                &HeaderMap::new(),
                reason("in-Valid").to_string().as_bytes(),
            );
            assert!(
                matches!(failure, ApiFailure::Refused(why) if why == "invalid"),
                "{status}"
            );
        }
    }

    #[test]
    fn a_page_for_people_says_nothing_about_the_request() {
        for status in [302, 400, 401, 403, 404, 410, 502] {
            for body in ["<html>not found</html>", "", "{}", "[]", "{\"error\""] {
                let meant = ApiFailure::of(status, &HeaderMap::new(), body.as_bytes());
                assert!(
                    matches!(meant, ApiFailure::Other(ConnectorError::Unavailable(_))),
                    "{status} {body}"
                );
            }
        }
    }

    #[test]
    fn the_wait_is_read_in_both_forms() {
        let wait = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(
                    http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    value.parse().unwrap(),
                );
            }

            retry_after(&headers)
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait(&[("retry-after", " 17 ")]), Some(17));
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date]),
            Some(30)
        );
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), date]),
            None
        );
        assert_eq!(wait(&[("retry-after", "soon"), date]), None);
        assert_eq!(wait(&[date]), None);
    }
}
