//! Decides what is recorded about an item, and what follows for its document.

use domain::Timestamp;
use domain::connection::{ItemRecord, ItemState, PendingRemoval, SkipReason};
use domain::ports::{ItemKind, ProviderItem};

use crate::item_filter::ItemFilter;
use crate::queue::{self, FetchEntry, FileKey};

/// The state of the connection on which decisions about its items depend.
pub(crate) struct ConnectionFacts<'a> {
    /// The organization's rules.
    pub(crate) filter: &'a ItemFilter,
    /// `true` while a scan is in progress.
    pub(crate) is_scanning: bool,
    /// The number of documents.
    pub(crate) documents: u64,
    /// The document limit.
    pub(crate) document_limit: u64,
    /// The current time.
    pub(crate) now: Timestamp,
}

/// An item that was seen.
pub(crate) struct SeenItem<'a> {
    /// Its record so far.
    pub(crate) known: Option<&'a ItemRecord>,
    /// Its record as it was observed. The state is decided here.
    pub(crate) record: ItemRecord,
    /// The result of [`find_exclusion`].
    pub(crate) exclusion: Option<ItemState>,
    /// The entry of its document among the documents to remove.
    pub(crate) pending_removal: Option<PendingRemoval>,
    /// `true` if the removal of its document has already begun.
    pub(crate) is_being_removed: bool,
}

/// The writes that follow from an item that was seen.
#[derive(Debug, PartialEq)]
pub(crate) struct ItemDecision {
    /// The record to store.
    pub(crate) record: ItemRecord,
    /// The change to the documents to remove.
    pub(crate) removal: RemovalChange,
    /// `true` if the item is skipped, and was not skipped for this reason before.
    pub(crate) is_newly_skipped: bool,
    /// `true` if the document is lost because its removal has already begun. It is made again.
    pub(crate) loses_document: bool,
}

/// A change to the entry of an item among the documents to remove.
#[derive(Debug, PartialEq)]
pub(crate) enum RemovalChange {
    /// The entry stays as it is.
    Unchanged,
    /// The entry is deleted, because the document stays.
    Cancel,
    /// The document is to be removed.
    Enqueue(Box<PendingRemoval>),
}

/// Returns the record of an item as the provider shows it, with what is known about its document.
/// `seen` is the number to store as [`ItemRecord::seen`].
pub(crate) fn observe_item(
    item: &ProviderItem,
    path: String,
    seen: u64,
    known: Option<&ItemRecord>,
) -> ItemRecord {
    let (kind, target) = match &item.kind {
        ItemKind::File { document } => (*document, None),
        ItemKind::Shortcut { target } => (None, Some(target.clone())),
        ItemKind::Folder | ItemKind::Unreadable(_) => (None, None),
    };

    // The content of a shortcut is that of its target, and so is its content version once that is
    // known.
    let content_version = match known {
        Some(known) if target.is_some() && known.target == target => known.content_version.clone(),
        _ => item.content_version.clone(),
    };

    let mut record = ItemRecord {
        id: item.id.clone(),
        parent: item.parent.clone(),
        name: item.name.clone(),
        path,
        folder: matches!(item.kind, ItemKind::Folder),
        target,
        drive: item.drive.clone(),
        media_type: item.media_type.clone(),
        version: item.version.clone(),
        content_version,
        size: item.size,
        modified_at: item.modified_at,
        url: item.url.clone(),
        owner: item.owner.clone(),
        kind,
        seen,
        ..queue::empty_record()
    };
    if let Some(known) = known {
        record.filed.clone_from(&known.filed);
        record.attempts = known.attempts;
        record.verdict.clone_from(&known.verdict);
    }

    record
}

/// Returns the state of an item that the provider, a rule or an earlier attempt excludes, or `None`
/// if nothing does. `provider_reason` is the reason for which the provider excludes it.
pub(crate) fn find_exclusion(
    facts: &ConnectionFacts<'_>,
    known: Option<&ItemRecord>,
    record: &ItemRecord,
    provider_reason: Option<SkipReason>,
    ancestor_ids: &[String],
) -> Option<ItemState> {
    let reason = match provider_reason {
        Some(reason) => Some(reason),
        None => facts.filter.skip_reason(record, ancestor_ids),
    };
    if let Some(reason) = reason {
        return Some(ItemState::Skipped { reason });
    }

    let known = known?;
    if known.version != record.version || known.target != record.target {
        return None;
    }
    // A scan examines again what may change without a new version: the target of a shortcut, and
    // the cause of a failure.
    let has_failed = matches!(known.state, ItemState::Failed { .. });
    if facts.is_scanning && (known.target.is_some() || has_failed) {
        return None;
    }

    ends_with_version(&known.state).then(|| known.state.clone())
}

/// Decides the state of an item, and whether its document is removed or restored.
pub(crate) fn decide_item(facts: &ConnectionFacts<'_>, item: SeenItem<'_>) -> ItemDecision {
    let mut record = item.record;
    let mut removal = RemovalChange::Unchanged;
    let mut documents = facts.documents;
    if item
        .known
        .is_none_or(|known| known.version != record.version)
    {
        record.attempts = 0;
    }

    record.state = match item.exclusion {
        _ if record.folder => ItemState::Folder,
        Some(state) => state,
        None => {
            if let Some(pending) = item.pending_removal {
                removal = RemovalChange::Cancel;
                if record.verdict.is_none() {
                    record.verdict = pending.record.verdict;
                }
                if !item.is_being_removed {
                    record.filed = pending.record.filed;
                } else if pending.record.filed.is_some() {
                    documents = documents.saturating_sub(1);
                }
            }
            if let Some(known) = item.known
                && matches!(known.state, ItemState::Failed { .. })
            {
                record.attempts = 0;
            }
            included_state(facts, documents, &record)
        }
    };

    let mut is_newly_skipped = false;
    if let ItemState::Skipped { reason } = record.state {
        is_newly_skipped = item.known.is_none_or(|known| known.state != record.state);
        if let Some(pending) = take_skipped_document(&mut record, reason, facts.now) {
            removal = RemovalChange::Enqueue(Box::new(pending));
        }
    }

    ItemDecision {
        record,
        removal,
        is_newly_skipped,
        loses_document: documents < facts.documents,
    }
}

/// Returns the state of an item that nothing excludes.
fn included_state(facts: &ConnectionFacts<'_>, documents: u64, record: &ItemRecord) -> ItemState {
    let skipped = |reason| ItemState::Skipped { reason };
    let is_full = documents >= facts.document_limit;
    // The target of a shortcut may have changed without a report, so a scan fetches it again.
    let may_have_changed = record.target.is_some() && facts.is_scanning;

    match facts.filter.model_verdict(record) {
        Some(false) => skipped(SkipReason::FilteredOut),
        None if !facts.filter.has_model => skipped(SkipReason::PendingFilter),
        Some(true) if !record.is_outdated() && !may_have_changed => ItemState::Filed,
        _ if record.filed.is_none() && is_full => skipped(SkipReason::Limit),
        _ => ItemState::Pending,
    }
}

/// Takes the document from the record of a skipped item, and returns the entry for its removal. The
/// document of an item that waits for the model stays.
pub(crate) fn take_skipped_document(
    record: &mut ItemRecord,
    reason: SkipReason,
    now: Timestamp,
) -> Option<PendingRemoval> {
    if reason == SkipReason::PendingFilter {
        return None;
    }

    // A user has excluded these items, so nothing has to be confirmed.
    let is_excluded_by_user = matches!(
        reason,
        SkipReason::Excluded | SkipReason::NotIncluded | SkipReason::FilteredOut
    );
    take_document(record, is_excluded_by_user, now)
}

/// Takes the document from the record of an item that is skipped or gone, and returns the entry for
/// its removal. `deselected` says that a user no longer wants the item.
pub(crate) fn take_document(
    record: &mut ItemRecord,
    deselected: bool,
    now: Timestamp,
) -> Option<PendingRemoval> {
    record.filed.as_ref()?;

    let pending = PendingRemoval {
        record: record.clone(),
        since: now,
        deselected,
    };
    record.filed = None;

    Some(pending)
}

/// The changes to the queue of files to fetch when a record is stored.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FetchQueueChange {
    /// The key of the entry to delete.
    pub(crate) dequeue: Option<FileKey>,
    /// The entry to write.
    pub(crate) enqueue: Option<(FileKey, FetchEntry)>,
}

/// Returns the changes to the queue of files when `record` replaces `known`.
pub(crate) fn change_fetch_queue(
    known: Option<&ItemRecord>,
    record: &ItemRecord,
) -> FetchQueueChange {
    let before = known.and_then(FileKey::of);
    let after = FileKey::of(record);
    if before == after {
        return FetchQueueChange::default();
    }

    let entry = FetchEntry {
        new: record.filed.is_none(),
        ..FetchEntry::default()
    };
    FetchQueueChange {
        dequeue: before,
        enqueue: after.map(|key| (key, entry)),
    }
}

/// Returns the reason for which the provider itself excludes an item, or `None` if only rules of
/// this service do.
pub(crate) fn provider_reason(record: &ItemRecord) -> Option<SkipReason> {
    use SkipReason as R;
    match record.state {
        ItemState::Skipped { reason } => match reason {
            R::TooLarge => None,
            reason if is_found_by_rule(reason) => None,
            reason => Some(reason),
        },
        _ => None,
    }
}

/// Checks whether only another version of the item ends a state. Such states result from an attempt
/// to fetch the item, and not from rules.
fn ends_with_version(state: &ItemState) -> bool {
    match state {
        ItemState::Failed { .. } => true,
        ItemState::Skipped { reason } => !is_found_by_rule(*reason),
        _ => false,
    }
}

fn is_found_by_rule(reason: SkipReason) -> bool {
    use SkipReason as R;
    matches!(
        reason,
        R::Excluded | R::NotIncluded | R::FilteredOut | R::PendingFilter | R::Limit
    )
}
