//! The whole state of the drive.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::channels::{Channel, Notification, SentNotification};
use crate::drive_contents::DriveContents;
use crate::faults::PlannedFault;
use crate::oauth::OAuthState;

/// A recorded request, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query parameters, sorted, with secrets masked by asterisks.
    pub query: BTreeMap<String, String>,
    /// The account of the access token.
    pub account: Option<String>,
    /// The API method, such as `files.list`.
    pub call: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The cost in quota units.
    pub units: u64,
}

/// An export that is prepared in the background.
#[derive(Debug, Clone)]
pub(crate) struct ExportOperation {
    pub(crate) email: String,
    pub(crate) file: String,
    pub(crate) export_type: Option<String>,
    pub(crate) polls: u32,
    pub(crate) started_at: i64,
}

pub(crate) struct DriveState {
    pub(crate) contents: DriveContents,
    pub(crate) oauth: OAuthState,
    pub(crate) channels: Vec<Channel>,
    pub(crate) faults: Vec<PlannedFault>,
    pub(crate) recorded_requests: Vec<RecordedRequest>,
    /// The quota units that each account has spent.
    pub(crate) units: BTreeMap<String, u64>,
    /// The current minute, and the quota units that each account has spent in it.
    pub(crate) units_this_minute: (i64, BTreeMap<String, u64>),
    /// The sorted listings that clients page through.
    pub(crate) sorted_listings: HashMap<u64, Vec<String>>,
    pub(crate) operations: HashMap<String, ExportOperation>,
    pub(crate) deliveries: Vec<SentNotification>,
    pub(crate) outbox: UnboundedSender<Notification>,
}

impl DriveState {
    pub(crate) fn new(
        contents: DriveContents,
        oauth: OAuthState,
        outbox: UnboundedSender<Notification>,
    ) -> Self {
        Self {
            contents,
            oauth,
            channels: Vec::new(),
            faults: Vec::new(),
            recorded_requests: Vec::new(),
            units: BTreeMap::new(),
            units_this_minute: (0, BTreeMap::new()),
            sorted_listings: HashMap::new(),
            operations: HashMap::new(),
            deliveries: Vec::new(),
            outbox,
        }
    }

    /// Charges quota units to an account. Returns whether the limit per minute, if there is one,
    /// allows them.
    pub(crate) fn charge_units(&mut self, email: &str, units: u64) -> bool {
        if let Some(limit) = self.contents.quirks.units_per_minute {
            let minute = self.contents.clock.now() / 60_000;
            if self.units_this_minute.0 != minute {
                self.units_this_minute = (minute, BTreeMap::new());
            }
            let spent = self
                .units_this_minute
                .1
                .entry(email.to_owned())
                .or_default();
            if *spent + units > limit {
                return false;
            }
            *spent += units;
        }

        *self.units.entry(email.to_owned()).or_default() += units;
        true
    }
}
