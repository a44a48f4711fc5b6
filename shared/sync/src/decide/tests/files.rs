//! Decisions about the files to fetch, and what follows from their outcomes.

use domain::DocumentId;
use domain::connection::{ItemRecord, ItemState, Run, RunTrigger, SkipReason, SyncState};

use super::{after, failed, file_record, skipped, with_document};
use crate::decide::files::*;
use crate::limits::{FILE_RETRY_SECONDS, MAX_FILE_ATTEMPTS, PROVIDER_FAILURES};
use crate::queue::{FetchEntry, FileKey};

const RUN: u64 = 6;

fn stored(known: &ItemRecord, outcome: FetchOutcome) -> StoredFile {
    match decide_outcome(known, outcome, RUN, after(0)) {
        FileDecision::Store(stored) => *stored,
        FileDecision::RemoveItem => panic!("removed"),
    }
}

fn synced(record: ItemRecord, document: &DocumentId) -> FetchOutcome {
    FetchOutcome::Synced {
        document: document.clone(),
        record: Box::new(record),
    }
}

#[test]
fn a_fetched_file_has_its_document() {
    let known = ItemRecord {
        attempts: 3,
        ..file_record("a")
    };
    let document = DocumentId::random();
    let fresh = ItemRecord {
        content_version: "c2".into(),
        ..known.clone()
    };
    let decision = stored(&known, synced(fresh, &document));
    assert_eq!(decision.record.state, ItemState::Filed);
    assert_eq!(decision.record.attempts, 0);
    assert!(!decision.record.is_outdated());
    assert_eq!(decision.record.filed.as_ref().unwrap().document, document);
    assert_eq!(decision.counts, FileCount::Processed);
    assert!(decision.is_new_document && !decision.may_have_stray);
    assert_eq!(decision.former_document, None);
    assert!(decision.removal.is_none() && decision.retry.is_none());
}

#[test]
fn a_shortcut_with_a_new_target_releases_its_former_document() {
    let known = with_document(file_record("a"));
    let former = known.filed.clone().unwrap().document;
    let same = stored(&known, synced(known.clone(), &former));
    assert_eq!(same.former_document, None);
    assert!(!same.is_new_document);

    let other = stored(&known, synced(known.clone(), &DocumentId::random()));
    assert_eq!(other.former_document, Some(former));
    assert!(!other.is_new_document);
}

#[test]
fn a_skipped_file_loses_its_document_unless_it_waits_for_a_model() {
    let known = ItemRecord {
        verdict: Some("keep:x:".into()),
        ..with_document(file_record("a"))
    };
    let skip = |reason, verdict: Option<&str>| {
        let verdict = verdict.map(str::to_owned);
        stored(&known, FetchOutcome::Skip { reason, verdict })
    };
    let empty = skip(SkipReason::Empty, None);
    assert_eq!(empty.record.state, skipped(SkipReason::Empty));
    assert_eq!(empty.record.filed, None);
    assert_eq!(empty.record.verdict, known.verdict);
    assert_eq!(empty.counts, FileCount::Skipped);
    assert!(!empty.removal.unwrap().deselected);
    assert!(empty.may_have_stray && empty.retry.is_none());

    let rejected = skip(SkipReason::FilteredOut, Some("drop:y:"));
    assert_eq!(rejected.record.verdict.as_deref(), Some("drop:y:"));
    assert!(rejected.removal.unwrap().deselected);

    let waiting = skip(SkipReason::PendingFilter, None);
    assert!(waiting.removal.is_none() && waiting.record.filed.is_some());
}

#[test]
fn a_file_that_is_gone_is_removed_and_one_that_waits_stays() {
    let known = file_record("a");
    let gone = decide_outcome(&known, FetchOutcome::Gone, RUN, after(0));
    assert!(matches!(gone, FileDecision::RemoveItem));

    let waits = stored(&known, FetchOutcome::Wait);
    assert_eq!(waits.record, known);
    assert_eq!(waits.counts, FileCount::None);
    assert!(waits.retry.is_none());
}

#[test]
fn a_failed_attempt_is_repeated_later_and_later() {
    for (attempts, wait) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 8), (9, 8)] {
        let known = ItemRecord {
            attempts,
            ..file_record("a")
        };
        let again = stored(&known, FetchOutcome::ProviderFailed("busy".into()));
        assert_eq!(again.record.attempts, attempts + 1);
        assert_eq!(again.record.state, ItemState::Pending);
        assert_eq!(again.counts, FileCount::None);
        let (key, entry) = again.retry.unwrap();
        assert!(key.is_retry());
        let expected = FetchEntry {
            run: RUN,
            from: Some(after(wait * FILE_RETRY_SECONDS)),
            new: true,
        };
        assert_eq!(entry, expected, "{attempts}");
    }

    let known = ItemRecord {
        state: ItemState::Pending,
        ..with_document(file_record("a"))
    };
    let again = stored(&known, FetchOutcome::Retry("busy".into()));
    assert!(!again.retry.unwrap().1.new);
}

#[test]
fn a_file_fails_for_good_or_after_the_last_attempt() {
    let with_attempts = |attempts| ItemRecord {
        attempts,
        ..file_record("a")
    };
    let fails = |attempts, outcome| stored(&with_attempts(attempts), outcome);
    let (again, provider, for_good) = (
        || FetchOutcome::Retry("damaged".into()),
        || FetchOutcome::ProviderFailed("damaged".into()),
        || FetchOutcome::Failed("damaged".into()),
    );

    let first = fails(0, for_good());
    assert_eq!((&first.record.state, first.record.attempts), (&failed(), 0));
    assert_eq!(first.counts, FileCount::Failed);
    for outcome in [again(), provider(), for_good()] {
        let last = fails(MAX_FILE_ATTEMPTS - 1, outcome);
        assert_eq!(last.record.state, failed());
        assert_eq!(last.record.attempts, MAX_FILE_ATTEMPTS);
        assert_eq!(last.counts, FileCount::Failed);
        assert!(last.retry.is_none());
    }
    let one_more = fails(MAX_FILE_ATTEMPTS - 2, again());
    assert_eq!(one_more.record.state, ItemState::Pending);
}

#[test]
fn the_provider_is_blamed_when_all_files_fail() {
    assert!(blames_provider(3, 3, 0));
    assert!(!blames_provider(2, 2, 0), "few");
    assert!(!blames_provider(3, 4, 0), "one succeeded");
    assert!(blames_provider(5, 5, PROVIDER_FAILURES - 1));
    assert!(!blames_provider(5, 5, PROVIDER_FAILURES), "too often");
}

#[test]
fn a_file_that_failed_waits_unless_a_user_asks() {
    let state = |trigger| SyncState {
        run: Some(Run::start(RUN, trigger, after(0))),
        ..SyncState::default()
    };
    let (cron, manual) = (state(RunTrigger::Cron), state(RunTrigger::Manual));
    let retry = FileKey::Retry {
        attempts: 1,
        id: "a".into(),
    };
    let entry = |run, seconds| FetchEntry {
        run,
        from: Some(after(seconds)),
        new: true,
    };
    let now = after(0);
    assert!(is_too_early(&retry, &entry(5, 1), &cron, now));
    assert!(!is_too_early(&retry, &entry(5, 0), &cron, now), "due");
    assert!(!is_too_early(&retry, &entry(5, 1), &manual, now));
    assert!(is_too_early(&retry, &entry(RUN, 0), &manual, now), "tried");
    assert!(is_too_early(
        &retry,
        &entry(5, 1),
        &SyncState::default(),
        now
    ));
    let update = FileKey::Update("a".into());
    assert!(!is_too_early(&update, &entry(RUN, 1), &cron, now));
}
