//! The keys of queue entries, and their values.

use domain::Timestamp;
use domain::connection::{ItemRecord, ItemState, SkipReason};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The beginning of the keys of new files in [`domain::connection::SyncQueue::Fetch`]. It sorts
/// before all new files and after all updates.
pub(crate) const NEW_FILES_START: &str = "1";
/// A key that sorts after all new files.
pub(crate) const NEW_FILES_END: &str = "2";

/// The value of the queue entry of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FetchEntry {
    /// The run that last tried to fetch it.
    pub(crate) run: u64,
    /// The time from which another attempt is worthwhile.
    pub(crate) from: Option<Timestamp>,
    /// `true` if the file has no document yet.
    pub(crate) new: bool,
}

/// Returns the key of a folder whose known children are to be removed.
pub(crate) fn drop_key(folder: &str) -> String {
    format!("0#{folder}")
}

/// Returns the key of a folder that is to be walked.
pub(crate) fn walk_key(folder: &str) -> String {
    format!("1#{folder}")
}

/// Splits a key into the id of the folder and whether the key is one of [`drop_key`] rather than
/// [`walk_key`].
pub(crate) fn parse_folder_key(key: &str) -> (bool, &str) {
    let (class, id) = key.split_once('#').unwrap_or(("1", key));
    (class == "0", id)
}

/// Checks whether a file waits to be fetched.
pub(crate) fn is_queued(node: &ItemRecord) -> bool {
    matches!(
        node.state,
        ItemState::Pending
            | ItemState::Skipped {
                reason: SkipReason::Limit
            }
    )
}

/// Returns the queue key of a file that waits, or `None` for any other node. Updates come first,
/// then new files from newest to oldest, then files that failed before.
pub(crate) fn fetch_key(node: &ItemRecord) -> Option<String> {
    let id = &node.id;
    let key = if node.attempts > 0 {
        format!("9#{}#{id}", node.attempts.min(9))
    } else if node.filed.is_some() {
        format!("0#{id}")
    } else {
        let age = i64::MAX.saturating_sub(node.modified_at.as_millis().max(0));
        format!("{NEW_FILES_START}#{age:016x}#{id}")
    };
    is_queued(node).then_some(key)
}

/// Returns the id of the file in a queue key.
pub(crate) fn parse_file_key(key: &str) -> &str {
    let (class, rest) = key.split_once('#').unwrap_or(("0", key));
    let after_second = rest.split_once('#').map_or(rest, |(_, id)| id);
    if class == "0" { rest } else { after_second }
}

/// Serializes the value of a queue entry.
pub(crate) fn to_entry_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Parses the result of [`to_entry_text`]. Any other text gives the default; no version of the
/// program has ever written one.
pub(crate) fn parse_entry<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns an empty node to be filled.
pub(crate) fn empty_node() -> ItemRecord {
    ItemRecord {
        id: String::new(),
        parent: None,
        name: String::new(),
        path: String::new(),
        folder: false,
        target: None,
        drive: None,
        media_type: String::new(),
        version: String::new(),
        mark: String::new(),
        size: None,
        modified_at: Timestamp::from_millis(0),
        url: None,
        owner: None,
        kind: None,
        seen: 0,
        state: ItemState::Pending,
        filed: None,
        attempts: 0,
        verdict: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::DocumentId;
    use domain::connection::FiledItem;

    fn node(id: &str, ms: i64, filed: bool, attempts: u32) -> ItemRecord {
        let filed = filed.then(|| FiledItem {
            document: DocumentId::random(),
            mark: String::new(),
            name: String::new(),
            path: String::new(),
        });

        let (modified_at, state) = (Timestamp::from_millis(ms), ItemState::Pending);
        ItemRecord {
            id: id.into(),
            modified_at,
            filed,
            attempts,
            state,
            ..empty_node()
        }
    }

    #[test]
    fn updates_come_first_then_the_newest_then_what_has_failed() {
        let nodes = [
            node("z#1", 5, true, 0),
            node("new", 2_000, false, 0),
            node("old#", 1_000, false, 0),
            node("odd", -7, false, 0),
            node("once", 9_000, false, 1),
            node("twice", 9_000, true, 2),
        ];
        let keys: Vec<String> = nodes.iter().filter_map(fetch_key).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let ids: Vec<&str> = keys.iter().map(|key| parse_file_key(key)).collect();
        assert_eq!(ids, ["z#1", "new", "old#", "odd", "once", "twice"]);
        assert!(
            keys[1..4]
                .iter()
                .all(|key| (NEW_FILES_START..NEW_FILES_END).contains(&key.as_str()))
        );

        let filed = ItemRecord {
            state: ItemState::Filed,
            ..node("a", 1, true, 0)
        };
        assert_eq!(fetch_key(&filed), None);
    }

    #[test]
    fn folders_are_found_in_their_keys() {
        assert_eq!(parse_folder_key(&drop_key("a#b")), (true, "a#b"));
        assert_eq!(parse_folder_key(&walk_key("a#b")), (false, "a#b"));
        assert!(drop_key("zzz") < walk_key("a"));
    }
}
