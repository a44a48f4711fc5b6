//! Tables of the decisions. `cargo mutants` changes the decisions one by one; some test has to
//! notice each change.

mod changes;
mod failures;
mod files;
mod items;
mod removals;
mod scans;
mod schedule;
mod selection;
mod walks;

use domain::connection::{ItemRecord, ItemState, PendingRemoval, SkipReason, SyncedDocument};
use domain::ports::{ItemKind, ProviderItem};
use domain::{DocumentId, Timestamp};

use crate::queue::empty_record;

/// The time of the tests, in seconds.
const NOW_SECONDS: i64 = 1_000_000;

/// Returns the time `seconds` after the time of the tests.
fn after(seconds: i64) -> Timestamp {
    Timestamp::from_millis(NOW_SECONDS * 1000).plus_seconds(seconds)
}

/// Returns a record of a file in a folder.
fn file_record(id: &str) -> ItemRecord {
    ItemRecord {
        id: id.into(),
        parent: Some("folder".into()),
        name: format!("{id}.txt"),
        path: format!("/folder/{id}.txt"),
        version: "v1".into(),
        content_version: "c1".into(),
        ..empty_record()
    }
}

/// Returns the record with a current document.
fn with_document(record: ItemRecord) -> ItemRecord {
    let filed = SyncedDocument {
        document: DocumentId::random(),
        content_version: record.content_version.clone(),
        name: record.name.clone(),
        path: record.path.clone(),
    };
    ItemRecord {
        state: ItemState::Filed,
        filed: Some(filed),
        ..record
    }
}

/// Returns the item that [`file_record`] records.
fn file_item(id: &str) -> ProviderItem {
    ProviderItem {
        id: id.into(),
        parent: Some("folder".into()),
        name: format!("{id}.txt"),
        kind: ItemKind::File { document: None },
        drive: None,
        media_type: "text/plain".into(),
        version: "v1".into(),
        content_version: "c1".into(),
        size: Some(10),
        modified_at: after(-60),
        url: None,
        owner: None,
        is_trashed: false,
    }
}

fn folder_item(id: &str) -> ProviderItem {
    ProviderItem {
        kind: ItemKind::Folder,
        ..file_item(id)
    }
}

fn skipped(reason: SkipReason) -> ItemState {
    ItemState::Skipped { reason }
}

fn failed() -> ItemState {
    ItemState::Failed {
        reason: "damaged".into(),
    }
}

/// Returns the entry of a document whose item was gone `seconds` after the time of the tests.
fn removal(record: ItemRecord, seconds: i64, deselected: bool) -> PendingRemoval {
    PendingRemoval {
        record,
        since: after(seconds),
        deselected,
    }
}
