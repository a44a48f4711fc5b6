//! Decides which files are fetched, and what follows from the outcome.

use domain::connection::{
    ItemRecord, ItemState, PendingRemoval, RunTrigger, SkipReason, SyncState, SyncedDocument,
};
use domain::{DocumentId, Timestamp};

use crate::decide::items::take_skipped_document;
use crate::limits::{
    FILE_RETRY_DOUBLINGS, FILE_RETRY_SECONDS, MAX_FILE_ATTEMPTS, PROVIDER_FAILURES,
};
use crate::queue::{FetchEntry, FileKey};

/// The fewest failing files for which the provider is blamed.
const MIN_FAILING_FILES: usize = 3;

/// The outcome of fetching one file.
#[derive(Debug)]
pub(crate) enum FetchOutcome {
    /// The document is up to date, and the record is to be stored as given.
    Synced {
        /// The document.
        document: DocumentId,
        /// The record of the item.
        record: Box<ItemRecord>,
    },
    /// The file is skipped.
    Skip {
        /// The reason.
        reason: SkipReason,
        /// The verdict of the model, if it was asked.
        verdict: Option<String>,
    },
    /// The file no longer exists.
    Gone,
    /// The file is fetched later.
    Wait,
    /// The provider failed, with the reason, and the attempt is to be repeated.
    ProviderFailed(String),
    /// The attempt failed for another reason, which is given, and is to be repeated.
    Retry(String),
    /// The file failed for good, with the reason.
    Failed(String),
}

/// The count of a run that an outcome increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileCount {
    /// None of them.
    None,
    /// The processed files.
    Processed,
    /// The skipped files.
    Skipped,
    /// The failed files.
    Failed,
}

/// The writes that follow from an outcome.
#[derive(Debug)]
pub(crate) enum FileDecision {
    /// The record is stored.
    Store(Box<StoredFile>),
    /// The item is removed.
    RemoveItem,
}

/// The writes for a file that still exists.
#[derive(Debug)]
pub(crate) struct StoredFile {
    /// The record to store.
    pub(crate) record: ItemRecord,
    /// The entry for the removal of its document.
    pub(crate) removal: Option<PendingRemoval>,
    /// The entry in the queue of files, if the file is tried again later.
    pub(crate) retry: Option<(FileKey, FetchEntry)>,
    /// The count to increase.
    pub(crate) counts: FileCount,
    /// `true` if the file has its first document.
    pub(crate) is_new_document: bool,
    /// The document that the file had before and has no longer. A shortcut may have a new target,
    /// which makes another document.
    pub(crate) former_document: Option<DocumentId>,
    /// `true` if a document that was made before a crash may have to be released.
    pub(crate) may_have_stray: bool,
}

/// Decides what follows from the outcome of fetching a file. `run` is the number of the run.
pub(crate) fn decide_outcome(
    known: &ItemRecord,
    outcome: FetchOutcome,
    run: u64,
    now: Timestamp,
) -> FileDecision {
    let mut record = known.clone();
    let mut counts = FileCount::None;
    let mut removal = None;
    let mut is_worth_repeating = false;
    match outcome {
        FetchOutcome::Synced { document, record } => {
            return FileDecision::Store(Box::new(store_document(known, document, *record)));
        }
        FetchOutcome::Gone => return FileDecision::RemoveItem,
        FetchOutcome::Skip { reason, verdict } => {
            record.verdict = verdict.or(record.verdict);
            record.state = ItemState::Skipped { reason };
            counts = FileCount::Skipped;
            removal = take_skipped_document(&mut record, reason, now);
        }
        FetchOutcome::Wait => {}
        FetchOutcome::ProviderFailed(reason)
        | FetchOutcome::Retry(reason)
        | FetchOutcome::Failed(reason)
            if known.attempts + 1 >= MAX_FILE_ATTEMPTS =>
        {
            record.attempts = MAX_FILE_ATTEMPTS;
            record.state = ItemState::Failed { reason };
            counts = FileCount::Failed;
        }
        FetchOutcome::ProviderFailed(_) | FetchOutcome::Retry(_) => {
            record.attempts += 1;
            is_worth_repeating = true;
        }
        FetchOutcome::Failed(reason) => {
            record.state = ItemState::Failed { reason };
            counts = FileCount::Failed;
        }
    }

    let retry = match FileKey::of(&record) {
        Some(key) if is_worth_repeating => Some((key, retry_entry(&record, run, now))),
        _ => None,
    };

    FileDecision::Store(Box::new(StoredFile {
        record,
        removal,
        retry,
        counts,
        is_new_document: false,
        former_document: None,
        may_have_stray: true,
    }))
}

/// Returns the writes for a file whose document is up to date.
fn store_document(known: &ItemRecord, document: DocumentId, mut record: ItemRecord) -> StoredFile {
    let mut former_document = None;
    if let Some(synced) = &known.filed
        && synced.document != document
    {
        former_document = Some(synced.document.clone());
    }

    record.filed = Some(SyncedDocument {
        document,
        content_version: record.content_version.clone(),
        name: record.name.clone(),
        path: record.path.clone(),
    });
    record.state = ItemState::Filed;
    record.attempts = 0;

    StoredFile {
        record,
        removal: None,
        retry: None,
        counts: FileCount::Processed,
        is_new_document: known.filed.is_none(),
        former_document,
        may_have_stray: false,
    }
}

/// Returns the entry of a file that failed, which waits longer after each failure.
fn retry_entry(record: &ItemRecord, run: u64, now: Timestamp) -> FetchEntry {
    let doublings = record.attempts.saturating_sub(1).min(FILE_RETRY_DOUBLINGS);
    FetchEntry {
        run,
        from: Some(now.plus_seconds(FILE_RETRY_SECONDS << doublings)),
        new: record.filed.is_none(),
    }
}

/// Decides whether the provider is to blame for failing files, rather than the files. `failing` of
/// `fetched` files failed. After [`PROVIDER_FAILURES`] failures in a row, the files are to blame
/// after all.
pub(crate) fn blames_provider(failing: usize, fetched: usize, attempts: u32) -> bool {
    failing >= MIN_FAILING_FILES && failing == fetched && attempts < PROVIDER_FAILURES
}

/// Checks whether it is too early for another attempt at a file. A user who requests a run may have
/// removed the cause of a failure.
pub(crate) fn is_too_early(
    key: &FileKey,
    entry: &FetchEntry,
    state: &SyncState,
    now: Timestamp,
) -> bool {
    if !key.is_retry() {
        return false;
    }

    let (run, is_requested) = match &state.run {
        Some(run) => (run.number, run.trigger == RunTrigger::Manual),
        None => (0, false),
    };
    let waits = entry.from.is_some_and(|from| from > now);

    entry.run == run || (waits && !is_requested)
}
