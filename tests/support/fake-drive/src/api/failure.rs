//! The errors that the API answers with.

use serde_json::{Map, Value, json};

use crate::wire::Reply;

/// An API error with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DriveApiError {
    pub(crate) status: u16,
    pub(crate) reason: String,
    // Boxed to keep results small.
    details: Box<ErrorDetails>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ErrorDetails {
    message: String,
    domain: &'static str,
    /// The location in the request: the kind of place and its name.
    location: Option<(&'static str, String)>,
    /// The status and the reason in the newer error format, which some answers have in addition.
    new_format: Option<(&'static str, &'static str)>,
}

impl DriveApiError {
    pub(crate) fn new(status: u16, reason: &str, message: impl Into<String>) -> Self {
        let details = ErrorDetails {
            message: message.into(),
            domain: "global",
            location: None,
            new_format: None,
        };
        Self {
            status,
            reason: reason.to_owned(),
            details: Box::new(details),
        }
    }

    fn with_location(mut self, kind: &'static str, name: &str) -> Self {
        self.details.location = Some((kind, name.to_owned()));
        self
    }

    fn with_new_format(mut self, status: &'static str, reason: &'static str) -> Self {
        self.details.new_format = Some((status, reason));
        self
    }

    fn with_usage_domain(mut self) -> Self {
        self.details.domain = "usageLimits";
        self
    }

    /// Reports a parameter with a value that is not allowed.
    pub(crate) fn invalid_parameter(parameter: &str, message: impl Into<String>) -> Self {
        Self::new(400, "invalid", message).with_location("parameter", parameter)
    }

    pub(crate) fn invalid_value(parameter: &str) -> Self {
        Self::invalid_parameter(parameter, "Invalid Value")
    }

    pub(crate) fn missing_parameter(parameter: &str) -> Self {
        Self::new(400, "required", format!("Required parameter: {parameter}"))
            .with_location("parameter", parameter)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "badRequest", message)
    }

    pub(crate) fn unknown_parameter(name: &str) -> Self {
        let message = format!("Unknown name \"{name}\": cannot bind the query parameter.");
        Self::new(400, "badRequest", message).with_new_format("INVALID_ARGUMENT", "")
    }

    pub(crate) fn unauthorized() -> Self {
        let message = "The request has no valid access token: it is unknown, expired or revoked.";
        Self::new(401, "authError", message)
            .with_location("header", "Authorization")
            .with_new_format("UNAUTHENTICATED", "")
    }

    pub(crate) fn insufficient_scopes() -> Self {
        let failure = Self::new(
            403,
            "insufficientPermissions",
            "The access token's scopes do not allow this.",
        );
        failure.with_new_format("PERMISSION_DENIED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }

    pub(crate) fn file_not_found(id: &str) -> Self {
        Self::new(404, "notFound", format!("File not found: {id}."))
            .with_location("parameter", "fileId")
    }

    pub(crate) fn drive_not_found(id: &str) -> Self {
        Self::new(404, "notFound", format!("Shared drive not found: {id}"))
            .with_location("parameter", "driveId")
    }

    pub(crate) fn method_not_found(path: &str) -> Self {
        Self::new(404, "notFound", format!("There is nothing at {path}."))
    }

    pub(crate) fn user_rate_limit() -> Self {
        let failure = Self::new(
            403,
            "userRateLimitExceeded",
            "The user has spent the units of this minute.",
        )
        .with_usage_domain();
        failure.with_new_format("PERMISSION_DENIED", "RATE_LIMIT_EXCEEDED")
    }

    /// Builds the error that the real drive answers with for this reason. Planned faults use it.
    pub(crate) fn planned_error(status: u16, reason: &str) -> Self {
        let failure = Self::new(status, reason, format!("A planned fault: {reason}."));
        match (status, reason) {
            (_, "userRateLimitExceeded" | "rateLimitExceeded" | "sharingRateLimitExceeded") => {
                let status_name = if status == 429 {
                    "RESOURCE_EXHAUSTED"
                } else {
                    "PERMISSION_DENIED"
                };
                failure
                    .with_usage_domain()
                    .with_new_format(status_name, "RATE_LIMIT_EXCEEDED")
            }
            (_, "dailyLimitExceeded" | "quotaExceeded" | "downloadQuotaExceeded") => {
                failure.with_usage_domain()
            }

            (_, "accessNotConfigured") => failure
                .with_usage_domain()
                .with_new_format("PERMISSION_DENIED", "SERVICE_DISABLED"),
            (401, _) => Self::unauthorized(),
            _ => failure,
        }
    }

    fn render_body(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("message".to_owned(), json!(self.details.message));
        entry.insert("domain".to_owned(), json!(self.details.domain));
        entry.insert("reason".to_owned(), json!(self.reason));
        if let Some((kind, name)) = &self.details.location {
            entry.insert("location".to_owned(), json!(name));
            entry.insert("locationType".to_owned(), json!(kind));
        }

        let mut error =
            json!({ "code": self.status, "message": self.details.message, "errors": [entry] });
        if let Some((status, reason)) = self.details.new_format {
            error["status"] = json!(status);
            if !reason.is_empty() {
                let info = "type.googleapis.com/google.rpc.ErrorInfo";
                let detail = json!({ "@type": info, "reason": reason, "domain": "googleapis.com" });
                error["details"] = json!([detail]);
            }
        }

        json!({ "error": error })
    }

    pub(crate) fn to_reply(&self) -> Reply {
        let reply = Reply::json_reply(self.status, &self.render_body());
        if self.status == 401 {
            return reply.with_header(
                "www-authenticate",
                "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\"",
            );
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_old_form_and_where_it_is_used_the_new_one() {
        assert_eq!(
            DriveApiError::file_not_found("x").render_body(),
            json!({ "error": { "code": 404, "message": "File not found: x.", "errors": [{
                "message": "File not found: x.", "domain": "global", "reason": "notFound",
                "location": "fileId", "locationType": "parameter",
            }] } })
        );

        let limit = DriveApiError::user_rate_limit().render_body();
        assert_eq!(limit["error"]["errors"][0]["domain"], "usageLimits");
        assert_eq!(
            limit["error"]["details"][0]["reason"],
            "RATE_LIMIT_EXCEEDED"
        );
        assert_eq!(
            DriveApiError::planned_error(429, "rateLimitExceeded").render_body()["error"]["status"],
            "RESOURCE_EXHAUSTED"
        );
        assert_eq!(
            DriveApiError::unauthorized().render_body()["error"]["status"],
            "UNAUTHENTICATED"
        );
    }
}
