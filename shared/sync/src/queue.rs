//! The entries of the queues of a connection. Their keys order them, and their values are JSON.

use std::fmt;

use domain::connection::{ItemRecord, ItemState, NEW_FILES_START, SkipReason, SyncQueueEntry};
use domain::ports::PortResult;
use domain::{PortError, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The beginning of the keys of files that failed before, in
/// [`domain::connection::SyncQueue::Fetch`]. It sorts before all of them, and after all others.
pub(crate) const RETRIES_START: &str = "9";

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

/// The key of an entry of [`domain::connection::SyncQueue::Walk`]. Removals come before walks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FolderKey {
    /// The known children of a folder are to be removed.
    RemoveBelow(String),
    /// A folder is to be walked.
    Walk(String),
}

impl FolderKey {
    /// # Errors
    /// Returns [`PortError::Corrupt`] for any other key.
    pub(crate) fn parse(key: &str) -> PortResult<Self> {
        match key.split_once('#') {
            Some(("0", folder)) => Ok(Self::RemoveBelow(folder.to_owned())),
            Some(("1", folder)) => Ok(Self::Walk(folder.to_owned())),
            _ => Err(corrupt_key(key)),
        }
    }
}

impl fmt::Display for FolderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemoveBelow(folder) => write!(f, "0#{folder}"),
            Self::Walk(folder) => write!(f, "1#{folder}"),
        }
    }
}

/// The key of an entry of [`domain::connection::SyncQueue::Fetch`]. Updates come first, then new
/// files from newest to oldest, then files that failed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKey {
    /// A file with a document.
    Update(String),
    /// A file without a document.
    New {
        /// The milliseconds from its last change to the end of time.
        age: u64,
        id: String,
    },
    /// A file that could not be fetched.
    Retry { attempts: u32, id: String },
}

impl FileKey {
    /// Returns the key of a file that waits, or `None` for any other record.
    pub(crate) fn of(record: &ItemRecord) -> Option<Self> {
        if !is_queued(record) {
            return None;
        }

        let id = record.id.clone();
        Some(if record.attempts > 0 {
            let attempts = record.attempts.min(9);
            Self::Retry { attempts, id }
        } else if record.filed.is_some() {
            Self::Update(id)
        } else {
            let age = i64::MAX.abs_diff(record.modified_at.as_millis().max(0));
            Self::New { age, id }
        })
    }

    /// # Errors
    /// Returns [`PortError::Corrupt`] for any other key.
    pub(crate) fn parse(key: &str) -> PortResult<Self> {
        let (class, rest) = key.split_once('#').ok_or_else(|| corrupt_key(key))?;
        if class == "0" {
            return Ok(Self::Update(rest.to_owned()));
        }

        let (order, id) = rest.split_once('#').ok_or_else(|| corrupt_key(key))?;
        let id = id.to_owned();
        match class {
            NEW_FILES_START => match u64::from_str_radix(order, 16) {
                Ok(age) => Ok(Self::New { age, id }),
                Err(_) => Err(corrupt_key(key)),
            },
            RETRIES_START => match order.parse() {
                Ok(attempts) => Ok(Self::Retry { attempts, id }),
                Err(_) => Err(corrupt_key(key)),
            },
            _ => Err(corrupt_key(key)),
        }
    }

    /// Returns the id of the file.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Update(id) | Self::New { id, .. } | Self::Retry { id, .. } => id,
        }
    }

    pub(crate) fn is_retry(&self) -> bool {
        matches!(self, Self::Retry { .. })
    }
}

impl fmt::Display for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Update(id) => write!(f, "0#{id}"),
            Self::New { age, id } => write!(f, "{NEW_FILES_START}#{age:016x}#{id}"),
            Self::Retry { attempts, id } => write!(f, "{RETRIES_START}#{attempts}#{id}"),
        }
    }
}

/// Checks whether a file waits to be fetched.
pub(crate) fn is_queued(record: &ItemRecord) -> bool {
    matches!(
        record.state,
        ItemState::Pending
            | ItemState::Skipped {
                reason: SkipReason::Limit
            }
    )
}

/// Returns the id of the item whose content the document of a file has: the target of a shortcut, or
/// the file itself.
pub(crate) fn source_item(record: &ItemRecord) -> &str {
    record.target.as_deref().unwrap_or(&record.id)
}

/// Serializes the value of an entry.
///
/// # Errors
/// Returns [`PortError::Corrupt`] for a value without a JSON form, which no entry has.
pub(crate) fn to_value<T: Serialize>(value: &T) -> PortResult<String> {
    serde_json::to_string(value)
        .map_err(|error| PortError::Corrupt(format!("a queue entry to write: {error}")))
}

/// Parses the value of an entry.
///
/// # Errors
/// Returns [`PortError::Corrupt`] unless [`to_value`] produced it. No version of the program has
/// written anything else.
pub(crate) fn parse_value<T: DeserializeOwned>(entry: &SyncQueueEntry) -> PortResult<T> {
    serde_json::from_str(&entry.value)
        .map_err(|error| PortError::Corrupt(format!("the queue entry {}: {error}", entry.key)))
}

fn corrupt_key(key: &str) -> PortError {
    PortError::Corrupt(format!("the key {key} of a queue entry"))
}

/// Returns an empty record to be filled.
pub(crate) fn empty_record() -> ItemRecord {
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
        content_version: String::new(),
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
    use domain::connection::{NEW_FILES_END, SyncedDocument};

    fn record(id: &str, ms: i64, has_document: bool, attempts: u32) -> ItemRecord {
        let filed = has_document.then(|| SyncedDocument {
            document: DocumentId::random(),
            content_version: String::new(),
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
            ..empty_record()
        }
    }

    #[test]
    fn updates_come_first_then_the_newest_then_what_has_failed() {
        let records = [
            record("z#1", 5, true, 0),
            record("new", 2_000, false, 0),
            record("old#", 1_000, false, 0),
            record("odd", -7, false, 0),
            record("once", 9_000, false, 1),
            record("twice", 9_000, true, 2),
        ];
        let waiting: Vec<FileKey> = records.iter().filter_map(FileKey::of).collect();
        let keys: Vec<String> = waiting.iter().map(FileKey::to_string).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let ids: Vec<&str> = waiting.iter().map(FileKey::id).collect();
        assert_eq!(ids, ["z#1", "new", "old#", "odd", "once", "twice"]);
        for (key, text) in waiting.iter().zip(&keys) {
            assert_eq!(&FileKey::parse(text).unwrap(), key);
        }
        assert!(
            keys[1..4]
                .iter()
                .all(|key| (NEW_FILES_START..NEW_FILES_END).contains(&key.as_str()))
        );

        let synced = ItemRecord {
            state: ItemState::Filed,
            ..record("a", 1, true, 0)
        };
        assert_eq!(FileKey::of(&synced), None);
    }

    #[test]
    fn folders_are_found_in_their_keys() {
        let remove_below = FolderKey::RemoveBelow("zzz#b".into());
        let walk = FolderKey::Walk("a#b".into());
        assert!(remove_below.to_string() < walk.to_string());
        for key in [remove_below, walk] {
            assert_eq!(FolderKey::parse(&key.to_string()).unwrap(), key);
        }
    }

    #[test]
    fn what_no_version_has_written_is_an_error() {
        for key in ["", "x", "2#a", "#a"] {
            assert!(FolderKey::parse(key).is_err(), "{key}");
        }
        for key in ["", "x", "1#a", "1#zz#a", "9#x#a", "9#1", "5#1#a"] {
            assert!(FileKey::parse(key).is_err(), "{key}");
        }
        let entry = |value: &str| SyncQueueEntry {
            key: "0#a".into(),
            value: value.into(),
        };
        for value in ["", "7", "[", "{\"run\": \"x\"}"] {
            let error = parse_value::<FetchEntry>(&entry(value)).unwrap_err();
            assert!(error.to_string().contains("0#a"), "{error}");
        }
        let waiting = FetchEntry::default();
        let value = to_value(&waiting).unwrap();
        assert_eq!(parse_value::<FetchEntry>(&entry(&value)).unwrap(), waiting);
    }
}
