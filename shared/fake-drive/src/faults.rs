//! Faults that are planned for certain requests.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::Failure;
use crate::wire::{Call, Reply};

/// What happens instead of, or to, an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Effect {
    /// This answer is given.
    Answer {
        /// Its status.
        status: u16,
        /// Its media type.
        media_type: String,
        /// Its body.
        body: String,
    },
    /// The API's own error of a reason, such as 403 `userRateLimitExceeded`.
    Reason {
        /// Its status.
        status: u16,
        /// The reason.
        reason: String,
    },
    /// The right answer, so many milliseconds late.
    Late {
        /// How late.
        millis: u64,
    },
    /// The right answer, whose body comes in pieces with a pause before each.
    Trickle {
        /// The length of a piece.
        bytes: usize,
        /// The pause.
        millis: u64,
    },
    /// The right answer, which breaks off after so many bytes.
    Truncated {
        /// What comes.
        bytes: usize,
    },
    /// A listing or a page of changes without its entries.
    Emptied,
    /// A listing that lacks every second item and says that it is incomplete.
    Incomplete,
}

/// A fault and the requests that it hits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// How the path begins; with `$` at the end, the whole path.
    pub path: String,
    /// The method, if only one is meant.
    #[serde(default)]
    pub method: Option<String>,
    /// `name=value` that the query must have, if not all are meant.
    #[serde(default)]
    pub query: Option<String>,
    /// The account, if not all are meant.
    #[serde(default)]
    pub account: Option<String>,
    /// How many such requests pass unharmed before.
    #[serde(default)]
    pub after: u32,
    /// How many are hit.
    #[serde(default = "once")]
    pub times: u32,
    /// Seconds of the header Retry-After.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// What happens.
    pub effect: Effect,
}

fn once() -> u32 {
    1
}

impl Fault {
    /// A fault of the next request whose path begins so.
    pub fn on(path: &str, effect: Effect) -> Self {
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

    /// The API's error of a reason for the next request whose path begins so.
    pub fn reason(path: &str, status: u16, reason: &str) -> Self {
        Self::on(
            path,
            Effect::Reason {
                status,
                reason: reason.to_owned(),
            },
        )
    }

    /// An error page for people where a machine asked.
    pub fn html(path: &str, status: u16) -> Self {
        let body =
            format!("<!DOCTYPE html><title>Error {status}</title><p>Come back in half a minute.");
        Self::on(
            path,
            Effect::Answer {
                status,
                media_type: "text/html; charset=UTF-8".to_owned(),
                body,
            },
        )
    }

    /// The token endpoint's error, with an `error_subtype` if one is given.
    pub fn oauth(path: &str, status: u16, error: &str, subtype: Option<&str>) -> Self {
        let mut body = json!({ "error": error, "error_description": "A planned fault." });
        if let Some(subtype) = subtype {
            body["error_subtype"] = json!(subtype);
        }
        let media_type = "application/json; charset=utf-8".to_owned();
        Self::on(
            path,
            Effect::Answer {
                status,
                media_type,
                body: body.to_string(),
            },
        )
    }

    /// Only for a method.
    #[must_use]
    pub fn method(self, method: &str) -> Self {
        Self {
            method: Some(method.to_owned()),
            ..self
        }
    }

    /// Only where the query has this `name=value`.
    #[must_use]
    pub fn query(self, pair: &str) -> Self {
        Self {
            query: Some(pair.to_owned()),
            ..self
        }
    }

    /// Only for an account.
    #[must_use]
    pub fn account(self, email: &str) -> Self {
        Self {
            account: Some(email.to_owned()),
            ..self
        }
    }

    /// Lets some requests pass before.
    #[must_use]
    pub fn after(self, after: u32) -> Self {
        Self { after, ..self }
    }

    /// Hits more than one request.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Says in how many seconds to come back.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    fn hits(&self, call: &Call, account: Option<&str>) -> bool {
        let path = match self.path.strip_suffix('$') {
            Some(whole) => call.path == whole,
            None => call.path.starts_with(&self.path),
        };

        let query = self.query.as_deref().and_then(|pair| pair.split_once('='));
        path && self.times > 0
            && self
                .method
                .as_ref()
                .is_none_or(|method| *method == call.method)
            && self
                .account
                .as_deref()
                .is_none_or(|email| Some(email) == account)
            && (self.query.is_none()
                || query.is_some_and(|(name, value)| call.param(name) == Some(value)))
    }

    /// The answer in place of the right one, if this is that kind of fault.
    pub(crate) fn reply(&self) -> Option<Reply> {
        let reply = match &self.effect {
            Effect::Answer {
                status,
                media_type,
                body,
            } => Reply::new(*status, media_type, body.clone()),
            Effect::Reason { status, reason } => Failure::of_reason(*status, reason).reply(),
            _ => return None,
        };
        Some(match self.retry_after {
            Some(seconds) => reply.with("retry-after", seconds.to_string()),
            None => reply,
        })
    }
}

/// The fault that hits a request. Every plan for such requests counts it; the first that is due acts, and is used up.
pub(crate) fn strike(faults: &mut Vec<Fault>, call: &Call, account: Option<&str>) -> Option<Fault> {
    let mut struck = None;
    for fault in faults.iter_mut().filter(|fault| fault.hits(call, account)) {
        if fault.after > 0 {
            fault.after -= 1;
        } else if struck.is_none() {
            fault.times -= 1;
            struck = Some(fault.clone());
        }
    }
    faults.retain(|fault| fault.times > 0);
    struck
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    fn call(method: &str, path: &str, query: &[(&str, &str)]) -> Call {
        Call {
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
            Fault::html("/a", 502)
                .method("GET")
                .query("alt=media")
                .after(1)
                .times(2),
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
        .map(|call| strike(&mut faults, call, None).is_some())
        .collect();
        assert_eq!(hits, [false, false, false, false, true, true, false]);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_whole_path_and_an_account_can_be_meant() {
        let mut faults = vec![
            Fault::reason("/files$", 403, "rateLimitExceeded")
                .account("ada@x")
                .times(9),
        ];
        assert!(strike(&mut faults, &call("GET", "/files/1", &[]), Some("ada@x")).is_none());
        assert!(strike(&mut faults, &call("GET", "/files", &[]), None).is_none());
        assert!(strike(&mut faults, &call("GET", "/files", &[]), Some("ada@x")).is_some());
    }
}
