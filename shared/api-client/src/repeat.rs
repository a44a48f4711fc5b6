//! The rules for repeating a failed call.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::Value;

/// The requests with POST that only read.
const READING_PATHS: [&str; 10] = [
    "/v3/search",
    "/v4/search",
    "/v4/profile",
    "/v4/profile/buckets",
    "/v3/documents/list",
    "/v3/documents/documents",
    "/v3/documents/documents/by-ids",
    "/v3/memories/list",
    "/v4/memories/list",
    "/v3/settings/suggest-buckets",
];
/// The longest pause that a server may ask for. With a longer one, the caller gets the error.
const MAX_PAUSE: Duration = Duration::from_secs(20);

/// The number of attempts at a call, and the pauses between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy {
    /// The number of attempts, at least one.
    pub(crate) attempts: u32,
    /// The pause before the second attempt. Each further pause is four times as long.
    pub(crate) pause: Duration,
}

impl RetryPolicy {
    pub(crate) const DEFAULT: Self = Self {
        attempts: 4,
        pause: Duration::from_millis(200),
    };
    pub(crate) const ONCE: Self = Self {
        attempts: 1,
        pause: Duration::ZERO,
    };

    /// Returns the pause after the failure of the attempt with this number, counted from 1, or
    /// `None` if no further attempt follows.
    pub(crate) fn pause_after(&self, attempt: u32, asked_seconds: Option<u64>) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let own = self.pause * 4u32.saturating_pow(attempt - 1);
        let pause = match asked_seconds {
            Some(seconds) => own.max(Duration::from_secs(seconds)),
            None => own,
        };
        (pause <= MAX_PAUSE).then_some(pause)
    }
}

/// Checks whether a request may arrive twice without changing more than once.
pub(crate) fn may_repeat(method: &Method, path: &str, body: Option<&Value>) -> bool {
    if method.is_idempotent() {
        return true;
    }
    let path = path.split('?').next().unwrap_or_default();
    let reads = READING_PATHS.contains(&path);
    // Content that is sent again under a customId is found to be the same.
    let has_id = path == "/v3/documents" && body.is_some_and(|body| body["customId"].is_string());
    method == Method::POST && (reads || has_id)
}

/// Checks whether a refusal is worth another attempt. A request over a rate is refused before it
/// does anything.
pub(crate) fn is_passing(status: StatusCode, may_repeat: bool) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::SERVICE_UNAVAILABLE && may_repeat)
}
