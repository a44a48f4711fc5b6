//! The stored shapes of the items of connections.

use domain::PortError;
use domain::connection::{ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry, SyncState};
use domain::ports::PortResult;

use super::item_keys;
use crate::item::{Item, ReadItem, bytes_value, json_value, key_item, number_value, string_value};

/// The largest state as JSON, in bytes. A larger state is neither written nor read.
const MAX_STATE_BYTES: usize = 4 * 1024 * 1024;
/// The largest state as it is stored, in bytes. An item of DynamoDB has at most 400 KB, including
/// its keys.
const MAX_COMPRESSED_BYTES: usize = 390 * 1024;

fn new_item(pk: &str, sk: String) -> Item {
    let mut item = key_item(&(pk.to_owned(), sk));
    item.insert("v".into(), number_value(1));
    item
}

/// Returns the item of the state. The state is compressed, because it names each folder above each
/// selected item, and a large step pays for the size of the state several times.
pub(super) fn state_item(pk: &str, state: &SyncState) -> PortResult<Item> {
    let text = serde_json::to_vec(state).map_err(|error| PortError::Internal(error.into()))?;
    let compressed =
        zstd::bulk::compress(&text, 3).map_err(|error| PortError::Internal(error.into()))?;
    if text.len() > MAX_STATE_BYTES || compressed.len() > MAX_COMPRESSED_BYTES {
        return Err(state_too_large(text.len(), compressed.len()));
    }
    let mut item = new_item(pk, item_keys::STATE_KEY.into());
    item.insert("rev".into(), number_value(state.step));
    item.insert("state".into(), bytes_value(compressed));
    Ok(item)
}

fn state_too_large(bytes: usize, compressed: usize) -> PortError {
    let message = format!(
        "the state of a connection has {bytes} bytes, {compressed} compressed: more than a record may"
    );
    PortError::Internal(message.into())
}

pub(super) fn read_state(item: &Item) -> PortResult<SyncState> {
    let corrupt = || PortError::Corrupt("attribute state".into());
    let compressed = item
        .get("state")
        .and_then(|value| value.as_b().ok())
        .ok_or_else(corrupt)?;
    let text =
        zstd::bulk::decompress(compressed.as_ref(), MAX_STATE_BYTES).map_err(|_| corrupt())?;
    serde_json::from_slice(&text).map_err(|_| corrupt())
}

pub(super) fn selection_item(pk: &str, selection: &Selection) -> Item {
    let mut item = new_item(pk, item_keys::SELECTION_KEY.into());
    item.insert("rev".into(), number_value(selection.rev));
    item.insert("sel".into(), json_value(selection));
    item
}

pub(super) fn node_item(pk: &str, node: &ItemRecord) -> Item {
    let mut item = new_item(pk, item_keys::node_key(&node.id));
    item.insert("node".into(), json_value(node));
    item
}

pub(super) fn read_node(item: &Item) -> PortResult<ItemRecord> {
    item.get_json("node")
}

/// Returns a hint to a node. All of it is in the key.
pub(super) fn hint_item(pk: &str, sk: String) -> Item {
    key_item(&(pk.to_owned(), sk))
}

pub(super) fn entry_item(pk: &str, queue: SyncQueue, entry: &SyncQueueEntry) -> Item {
    let mut item = new_item(pk, item_keys::queue_entry_key(queue, &entry.key));
    item.insert("key".into(), string_value(&entry.key));
    item.insert("val".into(), string_value(&entry.value));
    item
}

pub(super) fn read_entry(item: &Item) -> PortResult<SyncQueueEntry> {
    Ok(SyncQueueEntry {
        key: item.get_text("key")?.to_owned(),
        value: item.get_text("val")?.to_owned(),
    })
}

pub(super) fn run_item(pk: &str, run: &Run) -> Item {
    let mut item = new_item(pk, item_keys::run_key(run.number));
    item.insert("run".into(), json_value(run));
    item
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
                Ok(item) => assert!(fits && read_state(&item).expect("a state") == state),
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
