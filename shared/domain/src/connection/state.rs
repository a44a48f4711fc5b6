//! The synchronization state of a connection.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ConnectionErrorKind, ItemRecord};
use crate::time::Timestamp;

/// The triggers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunTrigger {
    /// The provider reported a change.
    Event,
    /// The schedule.
    Cron,
    /// A request by a user.
    Manual,
}

impl RunTrigger {
    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Cron => "cron",
            Self::Manual => "manual",
        }
    }
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// The run is in progress.
    Running,
    /// The run reached its end. Individual items may have failed.
    Completed,
    /// The run was abandoned, with a reason. The next run continues where it ended.
    Failed,
}

/// One run: a synchronization from beginning to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The number of the run, counted from 1 for each connection.
    pub number: u64,
    /// The trigger of the run.
    pub trigger: RunTrigger,
    /// The state of the run.
    pub state: RunState,
    /// The time at which it began.
    pub started_at: Timestamp,
    /// The time at which it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The number of items whose documents were added, updated or removed.
    pub processed: u64,
    /// The number of items for which this failed.
    pub failed: u64,
    /// The number of items that were skipped because of a rule or the limit.
    pub skipped: u64,
    /// The number of documents that were removed.
    pub removed: u64,
    /// The number of requests to the provider.
    pub requests: u64,
    /// The reason for which it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<(ConnectionErrorKind, String)>,
}

/// The shortest time between the beginnings of two runs that notifications cause, in seconds.
const SECONDS_BETWEEN_EVENT_RUNS: i64 = 30;

impl Run {
    /// Returns the earliest time at which a notification may begin the run after this one.
    pub const fn next_event_run_at(&self) -> Timestamp {
        self.started_at.plus_seconds(SECONDS_BETWEEN_EVENT_RUNS)
    }

    /// Creates a run that begins now.
    pub const fn start(number: u64, trigger: RunTrigger, now: Timestamp) -> Self {
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

/// The phases of a run, in their order. Phases without work are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum RunPhase {
    /// Lists the feeds, and obtains the first cursor of those that have none yet.
    Feeds,
    /// Checks whether the selected items still exist, and finds the folders above them.
    #[serde(rename = "roots")]
    SelectedItems {
        /// The index of the next selected item.
        next: usize,
    },
    /// Lists everything in a feed, page by page, or the selected folders.
    Scan {
        /// The current feed.
        feed: Option<String>,
        /// The token of its next page.
        page: Option<String>,
    },
    /// Lists the folders in [`SyncQueue::Walk`].
    Walk,
    /// Reads the changes of the feeds since their cursors.
    Changes {
        /// The feeds that are done.
        done: Vec<String>,
    },
    /// Examines the items that a scan has not seen, one by one.
    #[serde(rename = "sweep")]
    UnseenItems {
        /// The last item that was examined.
        after: Option<String>,
    },
    /// Examines all known items again, because the rules or the selection have changed.
    Refilter {
        /// The last item that was examined.
        after: Option<String>,
    },
    /// Fetches the items in [`SyncQueue::Fetch`].
    Fetch,
    /// Removes the documents in [`SyncQueue::Remove`].
    #[serde(rename = "leave")]
    Remove,
    /// Subscribes to notifications.
    Watch,
    /// Deletes the records of all items, with or without their documents, while the connection is
    /// deleted.
    #[serde(rename = "forget")]
    Delete,
}

/// The queues of a connection. The entries of each are ordered by their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncQueue {
    /// Folders whose known children are to be removed (`0#` and the id of the folder), then folders
    /// whose children are to be listed (`1#` and the id).
    Walk,
    /// Files to fetch or to describe. The key begins with the urgency.
    Fetch,
    /// Documents to remove. The key is the id of the item.
    Remove,
}

/// The beginning of the keys of new files, which have no document yet, in [`SyncQueue::Fetch`]. It
/// sorts before all new files and after all updates.
pub const NEW_FILES_START: &str = "1";
/// A key in [`SyncQueue::Fetch`] that sorts after all new files.
pub const NEW_FILES_END: &str = "2";

/// An entry of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncQueueEntry {
    /// The key. A new entry with the same key replaces this one.
    pub key: String,
    /// The data of the entry, as JSON.
    pub value: String,
}

/// A folder that waits to be walked, or whose known children wait to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FolderWalk {
    /// The shared drive that contains it.
    pub drive: Option<String>,
    /// The step at which the walk through this folder and all folders around it began. A folder
    /// below that has been seen since then has already been walked or is waiting for it.
    pub stamp: u64,
    /// The step at which the listing began, or 0 before.
    pub since: u64,
    /// The token of the next page of the listing or, once everything is listed, the last child that
    /// was examined.
    pub page: Option<String>,
    /// `true` if everything is listed, so that only the children that were not seen remain to be
    /// examined.
    pub listed: bool,
    /// `true` if the items are removed because a user has deselected them.
    pub deselected: bool,
}

/// A document that waits to be removed. Its item may only have been moved, and may reappear in
/// another feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRemoval {
    /// The last known record of the item.
    #[serde(rename = "node")]
    pub record: ItemRecord,
    /// The time at which it was found to be gone.
    pub since: Timestamp,
    /// `true` if a user has deselected the item, so that the removal need not wait.
    pub deselected: bool,
}

/// A document that is about to be made or removed, recorded so that after a crash its outcome can
/// be found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentIntent {
    /// The item that claims the document.
    #[serde(rename = "item")]
    pub claiming_item: String,
    /// The item that the document is made from: the target of a shortcut, or else the claiming item.
    #[serde(rename = "of")]
    pub source_item: String,
}

/// The state of a change feed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedState {
    /// The cursor up to which the changes are included in the item records.
    pub cursor: Option<String>,
    /// The cursor from which changes may be missing in the scan in progress. It becomes the cursor
    /// when the scan is done.
    pub pending: Option<String>,
    /// The subscription to notifications of the feed.
    pub channel: Option<NotificationChannel>,
}

/// A subscription to a provider's notifications of a feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationChannel {
    /// The id that this service chose.
    pub id: String,
    /// The id that the provider assigned.
    pub resource: String,
    /// The time at which it ends.
    pub expires_at: Timestamp,
}

/// The state of a selected item.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SelectedItemState {
    /// `true` if the item exists, and neither it nor a folder above it is in the bin.
    pub active: bool,
    /// The path of the folder that contains it.
    pub above: String,
    /// The ids of the folders above it. A change of any of them is a reason to examine the item
    /// again.
    pub chain: Vec<String>,
}

/// The record of a connection's synchronization state. All writes of a step are conditional on the
/// `step` that it read, and its end increases `step`. A step that comes too late therefore changes
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    /// The number of steps.
    pub step: u64,
    /// The end of the lease of the worker that synchronizes the connection.
    pub leased_until: Option<Timestamp>,
    /// The run in progress.
    pub run: Option<Run>,
    /// The phase of the run.
    pub phase: Option<RunPhase>,
    /// The step at which the scan in progress began, or `None` when the run only follows changes.
    pub scanning_since: Option<u64>,
    /// The number of runs.
    pub runs: u64,
    /// The feeds.
    pub feeds: BTreeMap<String, FeedState>,
    /// The selected items as they were last examined.
    #[serde(rename = "roots")]
    pub selected_items: BTreeMap<String, SelectedItemState>,
    /// The number of the selection that the item records follow.
    pub selection: u64,
    /// A digest of the rules that the item records follow.
    pub rules: String,
    /// The number of items that have a document.
    pub documents: u64,
    /// The time at which all items were last examined.
    pub reconciled_at: Option<Timestamp>,
    /// `true` if a scan is required regardless of the schedule, after an error or the loss of a
    /// cursor.
    pub must_scan: bool,
    /// The number of the run that held back a mass removal.
    pub held_by_run: Option<u64>,
    /// The number of consecutive failed steps.
    pub attempts: u32,
    /// `true` if a selected item or a folder above one has changed since they were last examined.
    #[serde(rename = "roots_changed")]
    pub selected_items_changed: bool,
    /// The files that the next step fetches.
    pub fetching: Vec<DocumentIntent>,
    /// The documents that the next step removes.
    pub releasing: Vec<DocumentIntent>,
    /// The number of files about which a model was asked in this run.
    pub judged: u64,
    /// The queue key up to which the new files in the queue are marked as over the limit.
    pub limited: Option<String>,
    /// `true` if there has ever been a shortcut.
    pub shortcuts: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn renamed_phases_and_fields_keep_their_stored_names() {
        let phases = [
            (
                RunPhase::SelectedItems { next: 2 },
                json!({"phase": "roots", "next": 2}),
            ),
            (
                RunPhase::UnseenItems { after: None },
                json!({"phase": "sweep", "after": null}),
            ),
            (RunPhase::Remove, json!({"phase": "leave"})),
            (RunPhase::Delete, json!({"phase": "forget"})),
        ];
        for (phase, stored) in phases {
            assert_eq!(serde_json::to_value(&phase).unwrap(), stored);
            assert_eq!(serde_json::from_value::<RunPhase>(stored).unwrap(), phase);
        }

        let intent = DocumentIntent {
            claiming_item: "a".into(),
            source_item: "b".into(),
        };
        let state = SyncState {
            selected_items: BTreeMap::from([("a".into(), SelectedItemState::default())]),
            selected_items_changed: true,
            fetching: vec![intent],
            ..SyncState::default()
        };
        let stored = serde_json::to_value(&state).unwrap();
        assert_eq!(
            stored["roots"],
            json!({"a": {"active": false, "above": "", "chain": []}})
        );
        assert_eq!(stored["roots_changed"], true);
        assert_eq!(stored["fetching"], json!([{"item": "a", "of": "b"}]));
        assert_eq!(serde_json::from_value::<SyncState>(stored).unwrap(), state);
    }
}
