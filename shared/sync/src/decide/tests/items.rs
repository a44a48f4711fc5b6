//! Decisions about what is recorded about an item.

use domain::connection::{ItemRecord, ItemState, SkipReason};
use domain::document::DocumentType;
use domain::ports::{ItemKind, ProviderItem};
use domain::settings::{ItemRules, Settings};

use super::{after, failed, file_item, file_record, folder_item, removal, skipped, with_document};
use crate::decide::items::*;
use crate::item_filter::ItemFilter;
use crate::queue::{FetchEntry, FileKey, empty_record};

fn facts(filter: &ItemFilter) -> ConnectionFacts<'_> {
    ConnectionFacts {
        filter,
        is_scanning: false,
        documents: 3,
        document_limit: 10,
        now: after(0),
    }
}

fn settings_with_prompt() -> Settings {
    Settings {
        should_llm_filter: Some(true),
        filter_prompt: Some("Keep letters.".into()),
        ..Settings::default()
    }
}

/// Decides about an item without exclusion and without a waiting removal.
fn decide(
    facts: &ConnectionFacts<'_>,
    known: Option<&ItemRecord>,
    record: ItemRecord,
) -> ItemDecision {
    let item = SeenItem {
        known,
        record,
        exclusion: None,
        pending_removal: None,
        is_being_removed: false,
    };
    decide_item(facts, item)
}

#[test]
fn an_observation_keeps_what_is_known_about_the_document() {
    let known = ItemRecord {
        attempts: 2,
        verdict: Some("keep:x:".into()),
        version: "v0".into(),
        content_version: "c0".into(),
        ..with_document(file_record("a"))
    };
    let record = observe_item(&file_item("a"), "/new/a.txt".into(), 9, Some(&known));
    assert_eq!((record.path.as_str(), record.seen), ("/new/a.txt", 9));
    assert_eq!(record.version, "v1");
    assert_eq!(record.content_version, "c1");
    assert_eq!(
        (&record.filed, record.attempts, &record.verdict),
        (&known.filed, 2, &known.verdict)
    );
    assert!(!record.folder && record.target.is_none());

    let folder = observe_item(&folder_item("f"), "/f".into(), 1, None);
    assert!(folder.folder && folder.filed.is_none());
}

#[test]
fn a_record_has_all_that_the_provider_shows() {
    let item = ProviderItem {
        kind: ItemKind::File {
            document: Some(DocumentType::CloudDoc),
        },
        drive: Some("shared".into()),
        url: Some("https://drive.example/a".into()),
        owner: Some("ada@example.com".into()),
        ..file_item("a")
    };
    let record = observe_item(&item, "/folder/a.txt".into(), 9, None);
    let expected = ItemRecord {
        id: item.id,
        parent: item.parent,
        name: item.name,
        path: "/folder/a.txt".into(),
        drive: item.drive,
        media_type: item.media_type,
        version: item.version,
        content_version: item.content_version,
        size: item.size,
        modified_at: item.modified_at,
        url: item.url,
        owner: item.owner,
        kind: Some(DocumentType::CloudDoc),
        seen: 9,
        ..empty_record()
    };
    assert_eq!(record, expected);
}

#[test]
fn a_shortcut_has_the_content_version_of_its_target() {
    let shortcut = |target: &str| ProviderItem {
        kind: ItemKind::Shortcut {
            target: target.into(),
        },
        ..file_item("s")
    };
    let known = ItemRecord {
        target: Some("t".into()),
        content_version: "of the target".into(),
        ..file_record("s")
    };
    let observe = |target, known| observe_item(&shortcut(target), "/s".into(), 1, known);
    assert_eq!(observe("t", None).target.as_deref(), Some("t"));
    assert_eq!(observe("t", Some(&known)).content_version, "of the target");
    assert_eq!(observe("other", Some(&known)).content_version, "c1");
    assert_eq!(observe("t", None).content_version, "c1");
    let file = observe_item(&file_item("s"), "/s".into(), 1, Some(&file_record("s")));
    assert_eq!(file.content_version, "c1", "not a shortcut");
}

#[test]
fn the_provider_a_rule_and_an_earlier_attempt_exclude() {
    let rules = ItemRules {
        patterns: vec!["*.txt".into()],
        ..ItemRules::default()
    };
    let settings = Settings {
        should_llm_filter: Some(true),
        exclude_items: Some(rules),
        ..Settings::default()
    };
    let filter = ItemFilter::of(&settings, false);
    let excluded = |reason| {
        let record = file_record("a");
        find_exclusion(&facts(&filter), None, &record, reason, &[])
    };
    assert_eq!(excluded(None), Some(skipped(SkipReason::Excluded)));
    assert_eq!(
        excluded(Some(SkipReason::UnsupportedType)),
        Some(skipped(SkipReason::UnsupportedType))
    );

    let open = ItemFilter::default();
    let after_attempt = |state: ItemState, version: &str, is_scanning| {
        let known = ItemRecord {
            state,
            version: version.into(),
            ..file_record("a")
        };
        let facts = ConnectionFacts {
            is_scanning,
            ..facts(&open)
        };
        find_exclusion(&facts, Some(&known), &file_record("a"), None, &[])
    };
    let empty = skipped(SkipReason::Empty);
    assert_eq!(
        after_attempt(empty.clone(), "v1", false),
        Some(empty.clone())
    );
    assert_eq!(
        after_attempt(empty.clone(), "v1", true),
        Some(empty.clone())
    );
    assert_eq!(after_attempt(empty, "v0", false), None, "another version");
    assert_eq!(after_attempt(failed(), "v1", false), Some(failed()));
    assert_eq!(after_attempt(failed(), "v1", true), None, "a scan");
    assert_eq!(after_attempt(ItemState::Filed, "v1", false), None);
    for reason in [
        SkipReason::Excluded,
        SkipReason::NotIncluded,
        SkipReason::FilteredOut,
        SkipReason::PendingFilter,
        SkipReason::Limit,
    ] {
        assert_eq!(after_attempt(skipped(reason), "v1", false), None);
    }
    let nothing_known = find_exclusion(&facts(&open), None, &file_record("a"), None, &[]);
    assert_eq!(nothing_known, None);
}

#[test]
fn a_scan_examines_the_targets_of_shortcuts_again() {
    let shortcut = |target: &str| ItemRecord {
        target: Some(target.into()),
        state: skipped(SkipReason::Shortcut),
        ..file_record("s")
    };
    let open = ItemFilter::default();
    let excluded = |is_scanning, target| {
        let facts = ConnectionFacts {
            is_scanning,
            ..facts(&open)
        };
        find_exclusion(&facts, Some(&shortcut("t")), &shortcut(target), None, &[])
    };
    assert_eq!(excluded(false, "t"), Some(skipped(SkipReason::Shortcut)));
    assert_eq!(excluded(false, "other"), None);
    assert_eq!(excluded(true, "t"), None);
}

#[test]
fn the_state_follows_from_the_document_the_limit_and_the_model() {
    let open = ItemFilter::default();
    let state = |facts: &ConnectionFacts<'_>, record| decide(facts, None, record).record.state;
    assert_eq!(state(&facts(&open), file_record("a")), ItemState::Pending);
    let current = with_document(file_record("a"));
    assert_eq!(state(&facts(&open), current.clone()), ItemState::Filed);
    let outdated = ItemRecord {
        content_version: "c2".into(),
        ..current.clone()
    };
    assert_eq!(state(&facts(&open), outdated.clone()), ItemState::Pending);

    let full = ConnectionFacts {
        documents: 10,
        ..facts(&open)
    };
    assert_eq!(state(&full, file_record("a")), skipped(SkipReason::Limit));
    assert_eq!(state(&full, outdated), ItemState::Pending, "it has room");

    let scanning = ConnectionFacts {
        is_scanning: true,
        ..facts(&open)
    };
    let shortcut = ItemRecord {
        target: Some("t".into()),
        ..current.clone()
    };
    assert_eq!(state(&scanning, shortcut.clone()), ItemState::Pending);
    assert_eq!(state(&facts(&open), shortcut), ItemState::Filed);
    assert_eq!(state(&scanning, current), ItemState::Filed);

    let folder = ItemRecord {
        folder: true,
        ..file_record("f")
    };
    assert_eq!(state(&facts(&open), folder), ItemState::Folder);
}

#[test]
fn a_file_waits_for_a_model_and_goes_where_the_model_says() {
    let without_model = ItemFilter::of(&settings_with_prompt(), false);
    let waiting = decide(
        &facts(&without_model),
        None,
        with_document(file_record("a")),
    );
    assert_eq!(waiting.record.state, skipped(SkipReason::PendingFilter));
    assert!(waiting.record.filed.is_some(), "its document stays");
    assert_eq!(waiting.removal, RemovalChange::Unchanged);
    assert!(waiting.is_newly_skipped);

    let with_model = ItemFilter::of(&settings_with_prompt(), true);
    let unasked = decide(&facts(&with_model), None, file_record("a"));
    assert_eq!(unasked.record.state, ItemState::Pending);

    let rejected = ItemRecord {
        verdict: with_model.format_verdict("c1", false, "no letter"),
        ..with_document(file_record("a"))
    };
    let decision = decide(&facts(&with_model), None, rejected.clone());
    assert_eq!(decision.record.state, skipped(SkipReason::FilteredOut));
    assert_eq!(decision.record.filed, None);
    let RemovalChange::Enqueue(pending) = decision.removal else {
        panic!("{:?}", decision.removal);
    };
    assert!(pending.deselected);
    assert_eq!(pending.since, after(0));
    assert_eq!(pending.record.filed, rejected.filed);
}

#[test]
fn an_excluded_item_loses_its_document_and_is_counted_once() {
    let open = ItemFilter::default();
    let excluded = |known: Option<&ItemRecord>, reason| {
        let item = SeenItem {
            known,
            record: with_document(file_record("a")),
            exclusion: Some(skipped(reason)),
            pending_removal: None,
            is_being_removed: false,
        };
        decide_item(&facts(&open), item)
    };
    for (reason, deselected) in [
        (SkipReason::Excluded, true),
        (SkipReason::NotIncluded, true),
        (SkipReason::FilteredOut, true),
        (SkipReason::UnsupportedType, false),
    ] {
        let decision = excluded(None, reason);
        assert!(decision.is_newly_skipped);
        let RemovalChange::Enqueue(pending) = decision.removal else {
            panic!("{:?}", decision.removal);
        };
        assert_eq!(pending.deselected, deselected, "{reason:?}");
    }

    let known = ItemRecord {
        state: skipped(SkipReason::Excluded),
        ..file_record("a")
    };
    assert!(!excluded(Some(&known), SkipReason::Excluded).is_newly_skipped);
    assert!(excluded(Some(&known), SkipReason::NotIncluded).is_newly_skipped);
}

#[test]
fn an_item_that_reappears_keeps_its_document_unless_the_removal_has_begun() {
    let open = ItemFilter::default();
    let old = ItemRecord {
        verdict: Some("keep:old:".into()),
        ..with_document(file_record("a"))
    };
    let reappears = |is_being_removed, documents, pending: ItemRecord, verdict: Option<&str>| {
        let facts = ConnectionFacts {
            documents,
            ..facts(&open)
        };
        let item = SeenItem {
            known: None,
            record: ItemRecord {
                verdict: verdict.map(str::to_owned),
                ..file_record("a")
            },
            exclusion: None,
            pending_removal: Some(removal(pending, -5, false)),
            is_being_removed,
        };
        decide_item(&facts, item)
    };

    let restored = reappears(false, 10, old.clone(), None);
    assert_eq!(restored.removal, RemovalChange::Cancel);
    assert_eq!(restored.record.filed, old.filed);
    assert_eq!(restored.record.verdict, old.verdict);
    assert_eq!(restored.record.state, ItemState::Filed);
    assert!(!restored.loses_document);

    let kept = reappears(false, 10, old.clone(), Some("keep:new:"));
    assert_eq!(kept.record.verdict.as_deref(), Some("keep:new:"));

    let lost = reappears(true, 10, old.clone(), None);
    assert_eq!(lost.removal, RemovalChange::Cancel);
    assert_eq!(lost.record.filed, None);
    assert!(lost.loses_document);
    assert_eq!(lost.record.state, ItemState::Pending, "its room is free");

    assert!(!reappears(true, 0, old, None).loses_document);
    let without = reappears(true, 10, file_record("a"), None);
    assert!(!without.loses_document);
    assert_eq!(without.record.state, skipped(SkipReason::Limit));
}

#[test]
fn attempts_start_again_with_a_new_version_and_after_a_failure() {
    let open = ItemFilter::default();
    let attempts = |known: Option<ItemRecord>| {
        let record = ItemRecord {
            attempts: 4,
            ..file_record("a")
        };
        decide(&facts(&open), known.as_ref(), record)
            .record
            .attempts
    };
    assert_eq!(attempts(Some(file_record("a"))), 4);
    assert_eq!(attempts(None), 0);
    let other_version = ItemRecord {
        version: "v0".into(),
        ..file_record("a")
    };
    assert_eq!(attempts(Some(other_version)), 0);
    let has_failed = ItemRecord {
        state: failed(),
        ..file_record("a")
    };
    assert_eq!(attempts(Some(has_failed)), 0);
}

#[test]
fn documents_are_taken_once() {
    let mut record = with_document(file_record("a"));
    let filed = record.filed.clone();
    let pending = take_document(&mut record, true, after(0)).unwrap();
    assert_eq!(pending.record.filed, filed);
    assert_eq!((pending.since, pending.deselected), (after(0), true));
    assert_eq!(record.filed, None);
    assert_eq!(take_document(&mut record, true, after(0)), None);

    let mut record = with_document(file_record("a"));
    let waiting = SkipReason::PendingFilter;
    assert_eq!(take_skipped_document(&mut record, waiting, after(0)), None);
    assert!(record.filed.is_some());
}

#[test]
fn the_queue_of_files_follows_the_record() {
    let waiting = file_record("a");
    let key = FileKey::of(&waiting).unwrap();
    let synced = with_document(file_record("a"));
    let enqueued = change_fetch_queue(None, &waiting);
    let entry = FetchEntry {
        new: true,
        ..FetchEntry::default()
    };
    assert_eq!(
        (enqueued.dequeue, enqueued.enqueue),
        (None, Some((key.clone(), entry)))
    );

    let unchanged = change_fetch_queue(Some(&waiting), &waiting);
    assert_eq!(unchanged, FetchQueueChange::default());
    let done = change_fetch_queue(Some(&waiting), &synced);
    assert_eq!((done.dequeue, done.enqueue), (Some(key), None));

    let update = ItemRecord {
        state: ItemState::Pending,
        ..synced.clone()
    };
    let (_, entry) = change_fetch_queue(Some(&synced), &update).enqueue.unwrap();
    assert!(!entry.new);
}

#[test]
fn only_reasons_of_the_provider_outlast_a_change_of_the_rules() {
    let reason_of = |state| {
        let record = ItemRecord {
            state,
            ..file_record("a")
        };
        provider_reason(&record)
    };
    for reason in [SkipReason::UnsupportedType, SkipReason::Empty] {
        assert_eq!(reason_of(skipped(reason)), Some(reason));
    }
    for reason in [
        SkipReason::TooLarge,
        SkipReason::Excluded,
        SkipReason::NotIncluded,
        SkipReason::FilteredOut,
        SkipReason::PendingFilter,
        SkipReason::Limit,
    ] {
        assert_eq!(reason_of(skipped(reason)), None);
    }
    assert_eq!(reason_of(ItemState::Filed), None);
}
