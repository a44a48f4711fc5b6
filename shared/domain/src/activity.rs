//! The request log: one record for each answered request, and counts of requests by hour.
//!
//! Counts are never incremented. A [`RequestTally`] is computed from the records of a span of time,
//! so computing it again after a crash or a late record gives the same figures as a recount.

mod slices;
mod span;
mod tally;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::ContainerId;
use crate::time::Timestamp;

pub use slices::TallySlices;
pub use span::TimeSpan;
pub use tally::{RequestCount, RequestDimension, RequestTally};

/// The number of days for which records and counts are kept and shown. This number is part of
/// the API.
pub const RETENTION_DAYS: i64 = 90;
/// The same period in seconds.
pub const RETENTION_SECONDS: i64 = RETENTION_DAYS * 24 * 3600;

/// The number of milliseconds in an hour.
const HOUR_MS: i64 = 3_600_000;

/// An hour of UTC, counted from the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hour(pub i64);

impl Hour {
    /// Returns the hour that contains a time.
    pub const fn containing(time: Timestamp) -> Self {
        Self(time.as_millis().div_euclid(HOUR_MS))
    }

    /// Returns the first moment of the hour.
    pub const fn start_time(self) -> Timestamp {
        Timestamp::from_millis(self.0 * HOUR_MS)
    }

    /// Returns the first moment after the hour.
    pub const fn end_time(self) -> Timestamp {
        self.next().start_time()
    }

    /// Returns the hour after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The type of a request: `type` in the API.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RequestType {
    /// Adding content or memories.
    Add,
    /// Searching.
    Search,
    /// Changing existing data.
    Update,
    /// Deleting or forgetting.
    Delete,
    /// Everything else: reading, listing, administration.
    Request,
}

impl RequestType {
    /// All request types.
    pub const ALL: [Self; 5] = [
        Self::Add,
        Self::Search,
        Self::Update,
        Self::Delete,
        Self::Request,
    ];

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Search => "search",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Request => "request",
        }
    }

    /// Parses a name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The record of one answered request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The id of the request, as in `x-request-id`.
    pub id: String,
    /// The time at which it arrived.
    pub at: Timestamp,
    /// The type of the request.
    pub kind: RequestType,
    /// The method and the route, as in `POST /v3/documents`.
    pub route: String,
    /// The status code of the response.
    pub status: u16,
    /// The `type` of the error in the response, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The duration of the request in microseconds.
    pub micros: u64,
    /// The public part of the API key, or `local` for the key of that name.
    pub key: String,
    /// The name that a person gave the key.
    pub key_name: String,
    /// The containers that the request concerns. When one of them is deleted, `input` and `output`
    /// are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerId>,
    /// The request body, redacted and truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The response body, redacted and truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}
