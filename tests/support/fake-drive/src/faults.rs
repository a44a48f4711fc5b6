//! Planned faults of chosen requests.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::DriveApiError;
use crate::wire::{HttpCall, Reply};

/// The effect of a fault, which replaces or alters the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FaultEffect {
    /// Replaces the answer with this one.
    Answer {
        /// The status.
        status: u16,
        /// The media type.
        media_type: String,
        /// The body.
        body: String,
    },
    /// Answers with the API's own error for a reason, such as 403 `userRateLimitExceeded`.
    Reason {
        /// The status.
        status: u16,
        /// The reason.
        reason: String,
    },
    /// Delays the correct answer.
    Late {
        /// The delay in milliseconds.
        millis: u64,
    },
    /// Sends the body of the correct answer in parts, with a pause before each part.
    Trickle {
        /// The length of a part.
        bytes: usize,
        /// The pause in milliseconds.
        millis: u64,
    },
    /// Cuts off the correct answer.
    Truncated {
        /// The number of bytes that are sent.
        bytes: usize,
    },
    /// Removes the entries from a listing or a page of changes.
    Emptied,
    /// Removes every second item from a listing and marks the listing as incomplete.
    Incomplete,
}

/// A fault and the requests that it affects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedFault {
    /// The beginning of the path; with `$` at the end, the whole path.
    pub path: String,
    /// The method; `None` for every method.
    #[serde(default)]
    pub method: Option<String>,
    /// A pair `name=value` that the query must contain; `None` for every query.
    #[serde(default)]
    pub query: Option<String>,
    /// The account; `None` for every account.
    #[serde(default)]
    pub account: Option<String>,
    /// The number of matching requests that succeed first.
    #[serde(default)]
    pub after: u32,
    /// The number of requests that are affected.
    #[serde(default = "default_times")]
    pub times: u32,
    /// The value of the header `Retry-After` in seconds.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// The effect.
    pub effect: FaultEffect,
}

fn default_times() -> u32 {
    1
}

impl PlannedFault {
    /// Creates a fault of the next request whose path begins with `path`.
    pub fn for_path(path: &str, effect: FaultEffect) -> Self {
        Self {
            path: path.to_owned(),
            method: None,
            query: None,
            account: None,
            after: 0,
            times: 1,
            retry_after: None,
            effect,
        }
    }

    /// Creates an API error with this reason for the next request whose path begins with `path`.
    pub fn api_error(path: &str, status: u16, reason: &str) -> Self {
        Self::for_path(
            path,
            FaultEffect::Reason {
                status,
                reason: reason.to_owned(),
            },
        )
    }

    /// Creates an HTML error page where the client expects a machine-readable answer.
    pub fn html_error(path: &str, status: u16) -> Self {
        let body =
            format!("<!DOCTYPE html><title>Error {status}</title><p>Come back in half a minute.");
        Self::for_path(
            path,
            FaultEffect::Answer {
                status,
                media_type: "text/html; charset=UTF-8".to_owned(),
                body,
            },
        )
    }

    /// Creates an error of the token endpoint, with an optional `error_subtype`.
    pub fn oauth_error(path: &str, status: u16, error: &str, subtype: Option<&str>) -> Self {
        let mut body = json!({ "error": error, "error_description": "A planned fault." });
        if let Some(subtype) = subtype {
            body["error_subtype"] = json!(subtype);
        }
        let media_type = "application/json; charset=utf-8".to_owned();
        Self::for_path(
            path,
            FaultEffect::Answer {
                status,
                media_type,
                body: body.to_string(),
            },
        )
    }

    /// Limits the fault to a method.
    #[must_use]
    pub fn for_method(self, method: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            ..self
        }
    }

    /// Limits the fault to requests whose query contains this `name=value`.
    #[must_use]
    pub fn for_query(self, pair: &str) -> Self {
        Self {
            query: Some(pair.to_owned()),
            ..self
        }
    }

    /// Limits the fault to an account.
    #[must_use]
    pub fn for_account(self, email: &str) -> Self {
        Self {
            account: Some(email.to_owned()),
            ..self
        }
    }

    /// Lets `after` matching requests succeed first.
    #[must_use]
    pub fn after_requests(self, after: u32) -> Self {
        Self { after, ..self }
    }

    /// Sets the number of requests that are affected.
    #[must_use]
    pub fn repeat(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Sets the header `Retry-After` in seconds.
    #[must_use]
    pub fn with_retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    fn matches_request(&self, call: &HttpCall, account: Option<&str>) -> bool {
        let is_path_match = match self.path.strip_suffix('$') {
            Some(exact_path) => call.path == exact_path,
            None => call.path.starts_with(&self.path),
        };

        let query_pair = self.query.as_deref().and_then(|pair| pair.split_once('='));
        is_path_match
            && self.times > 0
            && self
                .method
                .as_ref()
                .is_none_or(|method| *method == call.method)
            && self
                .account
                .as_deref()
                .is_none_or(|email| Some(email) == account)
            && (self.query.is_none()
                || query_pair.is_some_and(|(name, value)| call.query_param(name) == Some(value)))
    }

    /// Returns the answer that replaces the correct one, if this fault replaces answers.
    pub(crate) fn replacement_reply(&self) -> Option<Reply> {
        let reply = match &self.effect {
            FaultEffect::Answer {
                status,
                media_type,
                body,
            } => Reply::new(*status, media_type, body.clone()),
            FaultEffect::Reason { status, reason } => {
                DriveApiError::planned_error(*status, reason).to_reply()
            }
            _ => return None,
        };
        Some(match self.retry_after {
            Some(seconds) => reply.with_header("retry-after", seconds.to_string()),
            None => reply,
        })
    }
}

/// Returns the fault that affects a request. Every matching plan counts the request. Only the first
/// plan that is due takes effect, and one of its uses is spent.
pub(crate) fn take_due_fault(
    faults: &mut Vec<PlannedFault>,
    call: &HttpCall,
    account: Option<&str>,
) -> Option<PlannedFault> {
    let mut due_fault = None;
    for fault in faults
        .iter_mut()
        .filter(|fault| fault.matches_request(call, account))
    {
        if fault.after > 0 {
            fault.after -= 1;
        } else if due_fault.is_none() {
            fault.times -= 1;
            due_fault = Some(fault.clone());
        }
    }
    faults.retain(|fault| fault.times > 0);
    due_fault
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    fn call(method: &str, path: &str, query: &[(&str, &str)]) -> HttpCall {
        HttpCall {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            base: String::new(),
        }
    }

    #[test]
    fn the_nth_request_that_matches_is_hit() {
        let mut faults = vec![
            PlannedFault::html_error("/a", 502)
                .for_method("GET")
                .for_query("alt=media")
                .after_requests(1)
                .repeat(2),
        ];
        let media = [("alt", "media")];
        let hits: Vec<_> = [
            call("GET", "/a/1", &media),
            call("POST", "/a/1", &media),
            call("GET", "/a/1", &[]),
            call("GET", "/b", &media),
            call("GET", "/a/2", &media),
            call("GET", "/a", &media),
            call("GET", "/a", &media),
        ]
        .iter()
        .map(|call| take_due_fault(&mut faults, call, None).is_some())
        .collect();

        assert_eq!(hits, [false, false, false, false, true, true, false]);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_whole_path_and_an_account_can_be_meant() {
        let mut faults = vec![
            PlannedFault::api_error("/files$", 403, "rateLimitExceeded")
                .for_account("ada@x")
                .repeat(9),
        ];
        assert!(
            take_due_fault(&mut faults, &call("GET", "/files/1", &[]), Some("ada@x")).is_none()
        );
        assert!(take_due_fault(&mut faults, &call("GET", "/files", &[]), None).is_none());
        assert!(take_due_fault(&mut faults, &call("GET", "/files", &[]), Some("ada@x")).is_some());
    }
}
