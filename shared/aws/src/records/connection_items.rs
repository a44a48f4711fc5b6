//! The records in the partition of a connection: state, selection, provider items, queues and runs.

use bytes::Bytes;
use domain::PortError;
use domain::connection::{ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry, SyncState};
use domain::ports::PortResult;

use super::connections::RevisionRecord;
use super::{
    Item, Json, add_record, compress_json, decompress_json, key_item, read_record, record_item,
};
use crate::table_keys::connection_items as item_keys;

/// The largest state as JSON, in bytes. A larger state is neither written nor read.
const MAX_STATE_BYTES: usize = 4 * 1024 * 1024;
/// The largest state as it is stored, in bytes. An item of DynamoDB has at most 400 KB, including
/// its keys.
const MAX_COMPRESSED_BYTES: usize = 390 * 1024;

record! {
    /// The state of a synchronization. It also has [`RevisionRecord`], with the number of the step.
    struct StateRecord, StateAttributes {
        /// The compressed JSON of the state.
        #[serde(rename = "state")]
        compressed_state: Bytes,
    }
}

record! {
    /// The selection of a connection. It also has [`RevisionRecord`].
    struct SelectionRecord, SelectionAttributes {
        #[serde(rename = "sel")]
        selection: Json<Selection>,
    }
}

record! {
    /// A provider item: a file or a folder.
    struct ProviderItemRecord, ProviderItemAttributes {
        #[serde(rename = "node")]
        provider_item: Json<ItemRecord>,
    }
}

record! {
    /// An entry of a queue. The key is an attribute as well, because a long one is shortened in the
    /// key of the item.
    struct QueueEntryRecord, QueueEntryAttributes {
        #[serde(rename = "key")]
        key: String,
        #[serde(rename = "val")]
        value: String,
    }
}

record! {
    /// A run.
    struct RunRecord, RunAttributes {
        #[serde(rename = "run")]
        run: Json<Run>,
    }
}

/// Returns the item of the state. The state is compressed, because it names each folder above each
/// selected item, and a large step pays for the size of the state several times.
pub(crate) fn state_item(pk: &str, state: &SyncState) -> PortResult<Item> {
    let (compressed, json_bytes) = compress_json(state)?;
    if json_bytes > MAX_STATE_BYTES || compressed.len() > MAX_COMPRESSED_BYTES {
        return Err(state_too_large(json_bytes, compressed.len()));
    }

    let record = StateRecord {
        compressed_state: Bytes::from(compressed),
    };
    let mut item = record_item(&(pk.to_owned(), item_keys::STATE_KEY.to_owned()), &record)?;
    add_record(&mut item, &RevisionRecord::new(state.step))?;
    Ok(item)
}

fn state_too_large(bytes: usize, compressed: usize) -> PortError {
    let message = format!(
        "the state of a connection has {bytes} bytes, {compressed} compressed: more than a record may"
    );
    PortError::Internal(message.into())
}

/// Reads the state from its item.
pub(crate) fn read_state(item: Item) -> PortResult<SyncState> {
    let record: StateRecord = read_record(item)?;
    match decompress_json(&record.compressed_state, MAX_STATE_BYTES) {
        Some(state) => Ok(state),
        None => Err(PortError::Corrupt("state of a connection".into())),
    }
}

/// Returns the item of the selection.
pub(crate) fn selection_item(pk: &str, selection: &Selection) -> PortResult<Item> {
    let record = SelectionRecord {
        selection: Json::encode(selection)?,
    };

    let key = (pk.to_owned(), item_keys::SELECTION_KEY.to_owned());
    let mut item = record_item(&key, &record)?;
    add_record(&mut item, &RevisionRecord::new(selection.rev))?;
    Ok(item)
}

/// Reads the selection from its item.
pub(crate) fn read_selection(item: Item) -> PortResult<Selection> {
    let record: SelectionRecord = read_record(item)?;
    record.selection.decode()
}

/// Returns the stored form of a provider item.
pub(crate) fn encode_provider_item(pk: &str, provider_item: &ItemRecord) -> PortResult<Item> {
    let record = ProviderItemRecord {
        provider_item: Json::encode(provider_item)?,
    };
    record_item(
        &(
            pk.to_owned(),
            item_keys::provider_item_key(&provider_item.id),
        ),
        &record,
    )
}

/// Reads a provider item from its stored form.
pub(crate) fn read_provider_item(item: Item) -> PortResult<ItemRecord> {
    let record: ProviderItemRecord = read_record(item)?;
    record.provider_item.decode()
}

/// Returns a hint to a provider item. All of it is in the key.
pub(crate) fn hint_item(pk: &str, sk: String) -> Item {
    key_item(&(pk.to_owned(), sk))
}

/// Returns the item of an entry of a queue.
pub(crate) fn queue_entry_item(
    pk: &str,
    queue: SyncQueue,
    entry: &SyncQueueEntry,
) -> PortResult<Item> {
    let record = QueueEntryRecord {
        key: entry.key.clone(),
        value: entry.value.clone(),
    };
    let key = item_keys::queue_entry_key(queue, &entry.key);
    record_item(&(pk.to_owned(), key), &record)
}

/// Reads an entry of a queue from its item.
pub(crate) fn read_queue_entry(item: Item) -> PortResult<SyncQueueEntry> {
    let QueueEntryRecord { key, value } = read_record(item)?;
    Ok(SyncQueueEntry { key, value })
}

/// Returns the item of a run.
pub(crate) fn run_item(pk: &str, run: &Run) -> PortResult<Item> {
    let record = RunRecord {
        run: Json::encode(run)?,
    };
    record_item(&(pk.to_owned(), item_keys::run_key(run.number)), &record)
}

/// Reads a run from its item.
pub(crate) fn read_run(item: Item) -> PortResult<Run> {
    let record: RunRecord = read_record(item)?;
    record.run.decode()
}

#[cfg(test)]
mod tests {
    use domain::connection::RunPhase;
    use sha2::{Digest, Sha256};

    use super::*;

    fn with_page(page: String) -> SyncState {
        let feed = Some("user".to_owned());
        SyncState {
            phase: Some(RunPhase::Scan {
                feed,
                page: Some(page),
            }),
            ..SyncState::default()
        }
    }

    #[test]
    fn a_state_that_no_record_takes_or_gives_back_is_not_written() {
        // Digests do not compress below their bytes.
        let digests = |count: u32| -> String {
            let digest = |n: u32| hex::encode(Sha256::digest(n.to_be_bytes()));
            (0..count).map(digest).collect()
        };

        for (page, fits) in [
            (digests(10_000), true),
            (digests(14_000), false),
            ("x".repeat(4_000_000), true),
            ("x".repeat(4_200_000), false),
        ] {
            let state = with_page(page);
            match state_item("pk", &state) {
                Ok(item) => assert!(fits && read_state(item).expect("a state") == state),
                Err(error) => {
                    let source_message = std::error::Error::source(&error)
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    assert!(
                        !fits
                            && !error.is_retryable()
                            && source_message.contains("more than a record may"),
                        "{source_message}"
                    );
                }
            }
        }
    }
}
