//! How far a connection's synchronization is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ErrorKind, Node};
use crate::time::Timestamp;

/// What began a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The provider told of a change.
    Event,
    /// Its time had come.
    Cron,
    /// Somebody asked.
    Manual,
}

impl Trigger {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Cron => "cron",
            Self::Manual => "manual",
        }
    }
}

/// How a run ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It goes on.
    Running,
    /// It came to its end. Single items may have failed.
    Completed,
    /// It was given up, and says why; the next one goes on from where this one was.
    Failed,
}

/// One synchronization, from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Counts the runs of a connection from 1.
    pub number: u64,
    /// What began it.
    pub trigger: Trigger,
    /// How it ended.
    pub state: RunState,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Items that were filed, described anew or removed.
    pub processed: u64,
    /// Items that could not be.
    pub failed: u64,
    /// Items that were left out by a rule or the limit.
    pub skipped: u64,
    /// Documents that were removed.
    pub removed: u64,
    /// Requests to the provider.
    pub requests: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<(ErrorKind, String)>,
}

impl Run {
    /// A run that begins.
    pub const fn begin(number: u64, trigger: Trigger, now: Timestamp) -> Self {
        Self {
            number,
            trigger,
            state: RunState::Running,
            started_at: now,
            completed_at: None,
            processed: 0,
            failed: 0,
            skipped: 0,
            removed: 0,
            requests: 0,
            error: None,
        }
    }
}

/// What a run is at. They come in this order; which of them have anything to do depends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Which feeds there are, and where those begin that have no cursor yet.
    Feeds,
    /// Whether the selected items are still there, and what lies above them.
    Roots {
        /// The next of the selection.
        next: usize,
    },
    /// Everything in a feed, page by page, or the selected folders.
    Scan {
        /// The feed at hand.
        feed: Option<String>,
        /// The next page of it.
        page: Option<String>,
    },
    /// Folders that wait in [`Queue::Walk`].
    Walk,
    /// What changed in the feeds since their cursors.
    Changes {
        /// Feeds that are done.
        done: Vec<String>,
    },
    /// Items that a scan has not seen are looked at one by one.
    Sweep {
        /// The last one.
        after: Option<String>,
    },
    /// Rules or the selection have changed: all known items are looked at again.
    Refilter {
        /// The last one.
        after: Option<String>,
    },
    /// Items that wait in [`Queue::Fetch`].
    Fetch,
    /// Documents that wait in [`Queue::Leave`].
    Leave,
    /// Notifications are asked for.
    Watch,
    /// Deleting: what is known of items is forgotten, with or without their documents.
    Forget,
}

/// What waits in a connection, in the order of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Folders whose known children are to be forgotten (`0#` and the folder's id), then folders whose children are to
    /// be listed (`1#` and the id).
    Walk,
    /// Files to fetch or describe. The key begins with how urgent that is.
    Fetch,
    /// Documents to remove. The key is the item's id.
    Leave,
}

/// Something that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    /// Its key: the same one again replaces it.
    pub key: String,
    /// What is to be known about it, as JSON.
    pub value: String,
}

/// A folder that waits to be walked, or whose known children wait to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WalkEntry {
    /// The shared drive that it lies in.
    pub drive: Option<String>,
    /// The step at which the walk through this and all folders around it began: a folder below that was seen since then
    /// has been walked, or waits for it.
    pub stamp: u64,
    /// The step at which the listing began; 0 before.
    pub since: u64,
    /// Where the listing goes on or, when everything is listed, the last child that was looked at.
    pub page: Option<String>,
    /// Whether everything is listed, and only what was not seen is left to look at.
    pub listed: bool,
    /// Whether a user has taken what is forgotten out of the selection.
    pub deselected: bool,
}

/// A document that waits to be removed: perhaps its item was only moved, and comes back from another feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// The item as it was last known.
    pub node: Node,
    /// When it was found to be gone.
    pub since: Timestamp,
    /// Whether a user has taken it out of the selection: then nothing has to be waited for.
    pub deselected: bool,
}

/// A document that is being made or removed: whoever comes after a crash finds out what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The item that claims the document.
    pub item: String,
    /// The item that it is made of: another one for shortcuts.
    pub of: String,
}

/// A feed of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedState {
    /// Changes up to here are in the nodes.
    pub cursor: Option<String>,
    /// Where changes begin that a scan under way may have missed; the cursor once the scan is done.
    pub pending: Option<String>,
    /// Notifications of it.
    pub channel: Option<Channel>,
}

/// Notifications that the provider sends of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Our name of it.
    pub id: String,
    /// The provider's name of it.
    pub resource: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What is known of a selected item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RootState {
    /// Whether it is there, and neither it nor anything above it lies in the bin.
    pub active: bool,
    /// Where it lies, without its own name.
    pub above: String,
    /// What lies above it: a change of any of these is a reason to look again.
    pub chain: Vec<String>,
}

/// The record of how far synchronization is. Everything that a step writes, it writes on condition that `step` is as the
/// step found it, and counts it on at its end: whoever comes late has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    /// Counts steps.
    pub step: u64,
    /// Until when a worker has the connection for itself.
    pub leased_until: Option<Timestamp>,
    /// The run under way, with what it is at.
    pub run: Option<Run>,
    /// What that is at.
    pub phase: Option<Phase>,
    /// The step at which the scan under way began; none when the run follows changes only.
    pub scanning_since: Option<u64>,
    /// Counts runs.
    pub runs: u64,
    /// The feeds.
    pub feeds: BTreeMap<String, FeedState>,
    /// The selected items.
    pub roots: BTreeMap<String, RootState>,
    /// The selection that the nodes follow.
    pub selection: u64,
    /// A digest of the rules that the nodes follow.
    pub rules: String,
    /// Items that have a document.
    pub documents: u64,
    /// When all items were last looked at.
    pub reconciled_at: Option<Timestamp>,
    /// A scan has to come, whatever the time: after an error, or when a cursor was lost.
    pub must_scan: bool,
    /// The run that held back a mass removal.
    pub held_by_run: Option<u64>,
    /// How often in a row a step has failed.
    pub attempts: u32,
    /// A selected item, or what lies above one, has changed since they were looked at.
    pub roots_changed: bool,
    /// The files that the next step fetches.
    pub fetching: Vec<Intent>,
    /// The documents that the next step removes.
    pub releasing: Vec<Intent>,
    /// Files that a model was asked about in this run.
    pub judged: u64,
    /// Up to where the new files that wait are marked as over the limit.
    pub limited: Option<String>,
    /// Whether there ever was a shortcut.
    pub shortcuts: bool,
}
