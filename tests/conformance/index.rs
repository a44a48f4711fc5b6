//! Conformance tests of [`domain::ports::Index`].

use std::collections::BTreeMap;

use domain::container::LogEntry;
use domain::ports::{ClaimOutcome, CommitOutcome};
use domain::{
    BlobRef, ContainerId, Document, DocumentChange, DocumentStatus, DocumentType, IndexHead,
    LogRecord, Revision, SegmentRef,
};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_commit_does_all_of_it,
    a_commit_publishes_results_that_are_not_recorded,
    a_commit_over_another_number_changes_nothing,
    a_commit_of_a_changed_document_changes_nothing,
    of_many_commits_at_the_same_time_one_holds,
    what_a_commit_leaves_behind_is_recorded_for_purging,
    segments_are_replaced_only_over_the_expected_generation,
    the_log_is_read_from_anywhere_and_trimmed_from_its_start,
    the_head_comes_with_the_records_that_no_segment_covers,
    the_head_counts_what_search_serves,
    an_index_is_erased_item_by_item,
);

async fn read_log(setting: &PortFixture, container: &ContainerId, after: u64) -> Vec<LogRecord> {
    retry_unavailable(async || {
        setting
            .ctx()
            .index
            .read_log(&setting.alpha, container, after)
            .await
    })
    .await
    .expect("a log")
}

/// Publishes documents in an empty container, one in each commit.
async fn commit_documents(setting: &PortFixture, container: &ContainerId, count: u64) {
    for seq in 0..count {
        let document = setting
            .extracted_document(container, &format!("Number {seq}."))
            .await;
        setting
            .commit(container, seq, &[publish_change(&document)])
            .await;
    }
}

fn publish_change(document: &Document) -> DocumentChange {
    DocumentChange::Publish(Box::new(document.clone()))
}

fn remove_change(document: &Document) -> DocumentChange {
    DocumentChange::Remove(Box::new(document.clone()))
}

async fn a_commit_does_all_of_it(setting: &PortFixture) {
    let container = ContainerId::random();
    assert_eq!(setting.read_head(&container).await, IndexHead::default());
    assert!(read_log(setting, &container, 0).await.is_empty());
    let (a, b) = (
        setting.extracted_document(&container, "A.").await,
        setting.extracted_document(&container, "B.").await,
    );
    let queued = setting
        .accept_document(&container, "Deleted before any work.")
        .await;
    let changes = [
        publish_change(&a),
        remove_change(&queued),
        publish_change(&b),
    ];
    assert!(matches!(
        setting.commit(&container, 0, &changes).await,
        CommitOutcome::Done(_)
    ));
    assert_eq!(setting.read_head(&container).await.seq, 1);
    for document in [&a, &b] {
        let done = setting.read_record(&document.id).await.expect("a record");
        let (indexed, extracted) = (
            done.indexed.expect("served"),
            document.extracted.as_ref().expect("extracted"),
        );
        assert_eq!((done.status, done.extracted), (DocumentStatus::Done, None));
        assert_eq!(
            (indexed.revision, indexed.pack),
            (document.revision.clone(), extracted.pack.clone())
        );
        assert_eq!(indexed.body, document.body.blob);
    }

    assert_eq!(setting.read_record(&queued.id).await, None);
    let records = read_log(setting, &container, 0).await;
    let [LogRecord { seq: 1, entries }] = records.as_slice() else {
        panic!("{records:?}")
    };

    let is_put = |entry: &LogEntry, of: &Document| {
        matches!(entry, LogEntry::Put { document, pack, .. } if document.id == of.id
            && document.revision == of.revision && Some(pack) == of.extracted.as_ref().map(|found| &found.pack))
    };
    assert!(is_put(&entries[0], &a) && is_put(&entries[2], &b));
    assert_eq!(entries[1], LogEntry::Remove { id: queued.id });
}

async fn a_commit_publishes_results_that_are_not_recorded(setting: &PortFixture) {
    let container = ContainerId::random();
    let queued = setting.accept_document(&container, "A.").await;
    let mut read = setting.extracted_from(&queued).await;
    (read.kind, read.title) = (DocumentType::Webpage, Some("A title".to_owned()));
    read.properties = BTreeMap::from([("author".to_owned(), "Ada".to_owned())]);
    let outcome = setting
        .commit(&container, 0, &[publish_change(&read)])
        .await;
    assert!(matches!(outcome, CommitOutcome::Done(_)), "{outcome:?}");

    let done = setting.read_record(&read.id).await.expect("a record");
    assert_eq!(
        (done.status, &done.extracted),
        (DocumentStatus::Done, &None)
    );
    assert_eq!(
        (done.kind, &done.title, &done.properties),
        (read.kind, &read.title, &read.properties)
    );
    let indexed = done.indexed.expect("served");
    assert_eq!((indexed.kind, &indexed.title), (read.kind, &read.title));

    // A worker that has taken a lease since then decides alone.
    let claimed = setting.accept_document(&container, "B.").await;
    let read = setting.extracted_from(&claimed).await;
    assert!(matches!(
        setting.take_lease(&claimed).await,
        ClaimOutcome::Claimed(_)
    ));
    assert_eq!(
        setting
            .commit(&container, 1, &[publish_change(&read)])
            .await,
        CommitOutcome::Stale(vec![read.id])
    );
}

async fn a_commit_over_another_number_changes_nothing(setting: &PortFixture) {
    let container = ContainerId::random();
    let (a, b) = (
        setting.extracted_document(&container, "A.").await,
        setting.extracted_document(&container, "B.").await,
    );
    assert_eq!(
        setting.commit(&container, 3, &[publish_change(&a)]).await,
        CommitOutcome::Moved
    );

    setting.commit(&container, 0, &[publish_change(&a)]).await;
    for expected in [0, 2] {
        let (index, changes) = (&setting.ctx().index, [publish_change(&b)]);
        let head = IndexHead {
            seq: expected,
            ..IndexHead::default()
        };
        let commit = async || {
            index
                .commit(&setting.alpha, &container, &head, &changes, setting.now())
                .await
        };
        assert_eq!(
            retry_unavailable(commit).await.expect("an answer"),
            CommitOutcome::Moved
        );
    }

    assert_eq!(setting.read_record(&b.id).await, Some(b));
    assert_eq!(
        (
            setting.read_head(&container).await.seq,
            read_log(setting, &container, 0).await.len()
        ),
        (1, 1)
    );
}

async fn a_commit_of_a_changed_document_changes_nothing(setting: &PortFixture) {
    let container = ContainerId::random();
    let (a, b) = (
        setting.extracted_document(&container, "A.").await,
        setting.extracted_document(&container, "B.").await,
    );
    let newer = Document {
        revision: Revision::random(),
        revision_number: 2,
        extracted: None,
        ..b.clone()
    };

    setting
        .accept_record(&newer, Some(&b.revision))
        .await
        .expect("a replacement");
    let missing = setting.compose_document(&container, "Never stored.").await;
    for (changes, stale) in [
        (vec![publish_change(&a), publish_change(&b)], vec![&b.id]),
        (vec![remove_change(&b), publish_change(&a)], vec![&b.id]),
        (
            vec![publish_change(&a), remove_change(&missing)],
            vec![&missing.id],
        ),
        (
            vec![remove_change(&missing), publish_change(&b)],
            vec![&missing.id, &b.id],
        ),
    ] {
        let CommitOutcome::Stale(found) = setting.commit(&container, 0, &changes).await else {
            panic!("not stale")
        };
        assert_eq!(found.iter().collect::<Vec<_>>(), stale);
    }

    assert_eq!(setting.read_record(&a.id).await, Some(a));
    assert_eq!(setting.read_record(&b.id).await, Some(newer));
    assert_eq!(setting.read_head(&container).await, IndexHead::default());
    assert!(read_log(setting, &container, 0).await.is_empty());
}

async fn of_many_commits_at_the_same_time_one_holds(setting: &PortFixture) {
    let container = ContainerId::random();
    let mut documents = Vec::new();
    for i in 0..10 {
        documents.push(
            setting
                .extracted_document(&container, &format!("Number {i}."))
                .await,
        );
    }

    let (index, now) = (&setting.ctx().index, setting.now());
    let commit = async |document: &Document| {
        let changes = [publish_change(document)];
        index
            .commit(
                &setting.alpha,
                &container,
                &IndexHead::default(),
                &changes,
                now,
            )
            .await
    };
    let answers = futures::future::join_all(documents.iter().map(commit)).await;

    let mut done = 0;
    for (document, answer) in documents.iter().zip(&answers) {
        let committed = setting
            .read_record(&document.id)
            .await
            .expect("a record")
            .status
            == DocumentStatus::Done;
        done += usize::from(committed);
        match answer {
            Ok(CommitOutcome::Done(_)) => assert!(committed),
            Ok(_) => assert!(!committed, "told that nothing happened"),
            // The commit may or may not have happened, and the caller knows no more than that.
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
    }

    let seq = setting.read_head(&container).await.seq;
    assert!(
        seq <= 1 && done as u64 == seq,
        "{done} are done after {seq} commits"
    );
    assert_eq!(read_log(setting, &container, 0).await.len() as u64, seq);
}

async fn what_a_commit_leaves_behind_is_recorded_for_purging(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.extracted_document(&container, "Words.").await;
    setting
        .commit(&container, 0, &[publish_change(&document)])
        .await;
    let done = setting.read_record(&document.id).await.expect("a record");
    let change = remove_change(&done);
    setting
        .commit(&container, 1, std::slice::from_ref(&change))
        .await;
    let far = domain::Timestamp::from_millis(i64::MAX);
    let left = retry_unavailable(async || setting.ctx().documents.list_overdue(far, 10).await)
        .await
        .expect("what is overdue");
    let [domain::ports::OverdueWork::Purge(_, of, purge)] = left.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!(*of, container);

    let read = async || {
        setting
            .ctx()
            .index
            .get_purge(&setting.alpha, &container, purge)
            .await
    };
    let mut blobs = retry_unavailable(read)
        .await
        .expect("an answer")
        .expect("blobs");
    blobs.sort();
    assert_eq!(blobs, change.unneeded_blobs());

    let pack = &done.indexed.as_ref().expect("served").pack;
    assert!(blobs.contains(pack) && blobs.contains(&done.body.blob));
}

fn new_segment(name: &str, through: u64) -> SegmentRef {
    SegmentRef {
        edits: None,
        blob: BlobRef::Object(format!("c/segments/{name}")),
        through,
        chunks: 3,
        bytes: 99,
        core_bytes: None,
        search_bytes: None,
        memories: None,
        memory_index: None,
    }
}

async fn segments_are_replaced_only_over_the_expected_generation(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.extracted_document(&container, "Words.").await;
    setting
        .commit(&container, 0, &[publish_change(&document)])
        .await;
    let publish = async |expected: u64, segments: &[SegmentRef]| {
        let index = &setting.ctx().index;
        retry_unavailable(async || {
            index
                .publish_segments(&setting.alpha, &container, expected, segments, 7 + expected)
                .await
        })
        .await
        .expect("an answer")
    };
    let (one, two) = (
        [new_segment("a", 1)],
        [new_segment("a", 1), new_segment("b", 2)],
    );
    assert!(!publish(1, &one).await);
    assert!(publish(0, &one).await);
    assert!(publish(0, &one).await, "our own publication again");
    assert!(!publish(0, &two).await);

    let found = setting.read_head(&container).await;
    assert_eq!(
        (found.seq, found.generation, found.segments.as_slice()),
        (1, 1, one.as_slice())
    );
    assert_eq!((found.document_count, found.memories), (Some(1), Some(7)));
    assert!(publish(1, &two).await);

    let other = setting.extracted_document(&container, "Other words.").await;
    setting
        .commit(&container, 1, &[DocumentChange::Publish(Box::new(other))])
        .await;
    let found = setting.read_head(&container).await;
    assert_eq!(
        (found.seq, found.generation, found.segments.as_slice()),
        (2, 2, two.as_slice())
    );
    assert_eq!(
        (
            found.covered_through(),
            found.document_count,
            found.memories
        ),
        (2, Some(2), Some(8))
    );
}

async fn the_log_is_read_from_anywhere_and_trimmed_from_its_start(setting: &PortFixture) {
    let container = ContainerId::random();
    commit_documents(setting, &container, 12).await;

    let numbers = async |after| {
        read_log(setting, &container, after)
            .await
            .iter()
            .map(|record| record.seq)
            .collect::<Vec<_>>()
    };

    for after in [0, 1, 5, 11, 12, 100] {
        assert_eq!(numbers(after).await, (after + 1..=12).collect::<Vec<_>>());
    }

    for through in [0, 5, 5, 3] {
        let trim = async || {
            setting
                .ctx()
                .index
                .trim_log(&setting.alpha, &container, through)
                .await
        };
        retry_unavailable(trim).await.expect("a trimmed log");
        assert_eq!(
            numbers(0).await,
            (if through == 0 { 1 } else { 6 }..=12).collect::<Vec<_>>()
        );
    }

    assert_eq!(setting.read_head(&container).await.seq, 12);
}

async fn the_head_comes_with_the_records_that_no_segment_covers(setting: &PortFixture) {
    let container = ContainerId::random();
    let index = &setting.ctx().index;
    let read = async || {
        let read = async || index.read_head_and_log(&setting.alpha, &container).await;
        retry_unavailable(read).await.expect("a head and a log")
    };
    assert_eq!(read().await, (IndexHead::default(), Vec::new()));

    commit_documents(setting, &container, 3).await;
    let segments = [new_segment("a", 2)];
    let publish = async || {
        index
            .publish_segments(&setting.alpha, &container, 0, &segments, 0)
            .await
    };
    assert!(retry_unavailable(publish).await.expect("an answer"));

    let (head, records) = read().await;
    assert_eq!(head, setting.read_head(&container).await);
    assert_eq!(records, read_log(setting, &container, 2).await);
    assert_eq!(records.len(), 1);
}

async fn the_head_counts_what_search_serves(setting: &PortFixture) {
    let (container, other) = (ContainerId::random(), ContainerId::random());
    let counted = async |container: &ContainerId| setting.read_head(container).await.document_count;
    assert_eq!(counted(&container).await, None);
    let a = setting.served_document(&container, "A.").await;
    let b = setting.served_document(&container, "B.").await;
    assert_eq!(counted(&container).await, Some(2));
    let queued = setting.accept_document(&container, "Never served.").await;
    setting
        .commit(&container, 2, &[remove_change(&queued)])
        .await;
    assert_eq!(counted(&container).await, Some(2), "it was not among them");
    let made = setting.compose_document(&container, "Made at once.").await;
    let made = Document {
        status: DocumentStatus::Done,
        indexed: a.indexed.clone(),
        ..made
    };

    setting
        .commit(
            &container,
            3,
            &[DocumentChange::create(made), remove_change(&b)],
        )
        .await;
    assert_eq!(counted(&container).await, Some(2), "one came, one went");
    let to = Document {
        id: a.id.clone(),
        ..setting.compose_document(&other, "A.").await
    };
    setting
        .commit(
            &container,
            4,
            &[DocumentChange::Move {
                from: Box::new(a),
                to: Box::new(to),
                reference: None,
                alternatives: Vec::new(),
            }],
        )
        .await;
    assert_eq!(
        (counted(&container).await, counted(&other).await),
        (Some(1), None)
    );
    // A head from the time before documents were counted remains without a count.
    let unknown = IndexHead {
        document_count: None,
        ..setting.read_head(&container).await
    };

    assert_eq!(unknown.document_count_after(&[]), None);
}

async fn an_index_is_erased_item_by_item(setting: &PortFixture) {
    let container = ContainerId::random();
    let (ctx, tenant) = (setting.ctx(), &setting.alpha);
    for i in 0..4 {
        setting
            .served_document(&container, &format!("Number {i}."))
            .await;
    }

    for _ in 0..2 {
        let purge = async || {
            ctx.index
                .record_purge(tenant, &container, &[], setting.now())
                .await
        };
        retry_unavailable(purge).await.expect("a purge record");
    }

    let items = async |tenant: &domain::Tenant, limit: usize| {
        retry_unavailable(async || ctx.index.list_items(tenant, &container, limit).await)
            .await
            .expect("names")
    };

    let erase = async |tenant: &domain::Tenant, names: &[String]| {
        retry_unavailable(async || ctx.index.delete_items(tenant, &container, names).await)
            .await
            .expect("erased items");
    };

    let all = items(tenant, 100).await;
    let kinds: String = all.iter().filter_map(|name| name.chars().next()).collect();
    // A purge whose answer was lost is recorded again.
    assert_eq!(kinds.trim_start_matches('P'), "LLLLH");
    assert!(
        kinds.starts_with("PP") && (kinds.len() == 7 || !setting.is_calm()),
        "{kinds}"
    );
    assert_eq!(items(tenant, 3).await, all[..3]);
    assert!(items(&setting.beta, 100).await.is_empty());
    erase(&setting.beta, &all).await;
    assert_eq!(items(tenant, 100).await, all, "not theirs to erase");
    for _ in 0..2 {
        erase(tenant, &all[..4]).await;
        assert_eq!(items(tenant, 100).await, all[4..]);
    }

    erase(tenant, &all).await;
    assert!(items(tenant, 100).await.is_empty());
    assert_eq!(setting.read_head(&container).await, IndexHead::default());
}
