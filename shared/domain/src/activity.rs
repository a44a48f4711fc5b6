//! What the organization's keys have asked for: one record a request, and counts of them by the hour.
//!
//! Counts are never incremented: a [`Tally`] is computed from the records of a whole hour, so computing it again, after a
//! crash or a late record, gives what a recount gives.

mod tally;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::ContainerId;
use crate::time::Timestamp;

pub use tally::{Cell, Dimension, Tally};

/// How long records and counts are kept, and shown. Contract.
pub const RETENTION_DAYS: i64 = 90;
/// The same in seconds.
pub const RETENTION_SECONDS: i64 = RETENTION_DAYS * 24 * 3600;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// An hour of UTC, counted from the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hour(pub i64);

impl Hour {
    /// The hour that a time lies in.
    pub const fn of(time: Timestamp) -> Self {
        Self(time.as_millis().div_euclid(HOUR_MS))
    }

    /// Its first moment.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_millis(self.0 * HOUR_MS)
    }

    /// The first moment after it.
    pub const fn end(self) -> Timestamp {
        self.next().start()
    }

    /// The hour after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What a request was for: the contract's `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestType {
    /// New content or memories.
    Add,
    /// Recall.
    Search,
    /// A change of what is there.
    Update,
    /// A deletion, or forgetting.
    Delete,
    /// Everything else: reading, listing, administration.
    Request,
}

impl RequestType {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Add,
        Self::Search,
        Self::Update,
        Self::Delete,
        Self::Request,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Search => "search",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Request => "request",
        }
    }

    /// Reads a name of the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One answered request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The request's id, as in `x-request-id`.
    pub id: String,
    /// When it came.
    pub at: Timestamp,
    /// What it was for.
    pub kind: RequestType,
    /// Method and route, as in `POST /v3/documents`.
    pub route: String,
    /// The status of the answer.
    pub status: u16,
    /// The `type` of the error that it was answered with, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the answer took, in microseconds.
    pub micros: u64,
    /// The key's public part; `local` for the key of that name.
    pub key: String,
    /// What a person called the key.
    pub key_name: String,
    /// The containers that it came to: when one is deleted, `input` and `output` go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerId>,
    /// What was sent, redacted and cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What was answered, redacted and cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}
