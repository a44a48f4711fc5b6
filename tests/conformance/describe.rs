//! Conformance tests of descriptions that change in place: directly while search does not serve the
//! document, and by a commit when it does. A change that is based on outdated data is refused.

use domain::container::LogEntry;
use domain::document::ProcessingResult;
use domain::ports::CommitOutcome;
use domain::{
    ContainerId, Document, DocumentChange, DocumentStatus, Metadata, PortError, Revision,
};
use futures::future::{join_all, join3};
use serde_json::json;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_description_is_replaced_and_counted_and_nothing_else,
    a_description_holds_only_over_what_was_read,
    of_many_descriptions_at_the_same_time_one_holds,
    what_search_serves_is_described_by_a_commit,
    a_commit_that_read_before_a_description_is_stale,
    a_replacement_that_read_before_a_description_is_refused,
    a_description_that_was_told_to_hold_is_never_lost,
    a_description_that_read_before_a_publication_is_stale,
);

/// Returns the document with different metadata, a different path and an incremented edit counter.
fn edited_document(document: &Document, n: u64) -> Document {
    let metadata = json!({"n": n}).as_object().expect("an object").clone();
    Document {
        metadata: Metadata::parse(metadata).expect("metadata"),
        filepath: Some(format!("/{n}.md")),
        filter_by_metadata: Some(Metadata::default()),
        description_changes: document.description_changes + 1,
        ..document.clone()
    }
}

fn replaced_document(old: &Document) -> Document {
    let revision_number = old.revision_number + 1;
    Document {
        revision: Revision::random(),
        revision_number,
        extracted: None,
        ..old.clone()
    }
}

async fn describe_document(setting: &PortFixture, document: &Document) -> bool {
    let now = setting.now();
    let describe = async || {
        setting
            .ctx()
            .documents
            .update_description(&setting.alpha, document, now)
            .await
    };
    retry_unavailable(describe).await.expect("an answer")
}

fn describe_change(document: &Document) -> [DocumentChange; 1] {
    [DocumentChange::Describe(Box::new(document.clone()))]
}

fn publish_change(document: &Document) -> [DocumentChange; 1] {
    [DocumentChange::Publish(Box::new(document.clone()))]
}

/// Creates a document that search serves.
async fn served_document(setting: &PortFixture, container: &ContainerId) -> Document {
    let document = setting.extracted_document(container, "Words.").await;
    setting
        .commit(container, 0, &publish_change(&document))
        .await;
    setting.read_record(&document.id).await.expect("a record")
}

async fn a_description_is_replaced_and_counted_and_nothing_else(setting: &PortFixture) {
    let container = ContainerId::random();
    for document in [
        setting.accept_document(&container, "A.").await,
        setting.extracted_document(&container, "B.").await,
    ] {
        let wanted = edited_document(&document, 1);
        assert!(describe_document(setting, &wanted).await);
        let stored = setting.read_record(&document.id).await.expect("a record");
        assert!(stored.updated_at > document.updated_at);
        assert_eq!(
            stored,
            Document {
                updated_at: stored.updated_at,
                ..wanted.clone()
            }
        );
        assert!(
            describe_document(setting, &wanted).await,
            "our own edit again"
        );
        assert_eq!(
            setting.read_record(&document.id).await,
            Some(stored.clone())
        );

        let cleared = Document {
            metadata: Metadata::default(),
            filepath: None,
            filter_by_metadata: None,
            description_changes: stored.description_changes + 1,
            ..stored
        };
        assert!(describe_document(setting, &cleared).await);

        let stored = setting.read_record(&document.id).await.expect("a record");
        assert_eq!(
            (
                &stored.metadata,
                &stored.filepath,
                stored.description_changes
            ),
            (&Metadata::default(), &None, 2)
        );
        assert_eq!(stored.filter_by_metadata, None);
    }
}

async fn a_description_holds_only_over_what_was_read(setting: &PortFixture) {
    let container = ContainerId::random();
    let first = setting.accept_document(&container, "First.").await;
    assert!(describe_document(setting, &edited_document(&first, 1)).await);
    let stored = setting.read_record(&first.id).await.expect("a record");
    assert!(
        !describe_document(setting, &edited_document(&first, 2)).await,
        "somebody else has edited it"
    );
    let other = Document {
        revision: Revision::random(),
        ..edited_document(&stored, 3)
    };

    assert!(
        !describe_document(setting, &other).await,
        "another revision"
    );
    let early = Document {
        description_changes: 7,
        ..edited_document(&stored, 4)
    };

    assert!(
        !describe_document(setting, &early).await,
        "an edit that nobody has made"
    );
    assert_eq!(setting.read_record(&first.id).await, Some(stored.clone()));
    let missing = setting.compose_document(&container, "Never stored.").await;
    assert!(!describe_document(setting, &edited_document(&missing, 5)).await);
    assert_eq!(
        setting.read_record(&missing.id).await,
        None,
        "a description never makes a record"
    );
    assert!(
        !describe_document(
            &setting.with_organizations_swapped().await,
            &edited_document(&stored, 6)
        )
        .await,
        "of another organization"
    );
    assert_eq!(setting.read_record(&first.id).await, Some(stored));
}

async fn of_many_descriptions_at_the_same_time_one_holds(setting: &PortFixture) {
    let first = setting
        .accept_document(&ContainerId::random(), "First.")
        .await;
    let all: Vec<Document> = (0..12).map(|n| edited_document(&first, n)).collect();
    let held = join_all(
        all.iter()
            .map(|document| describe_document(setting, document)),
    )
    .await;
    let stored = setting.read_record(&first.id).await.expect("a record");
    assert_eq!(stored.description_changes, 1);
    for (document, held) in all.iter().zip(held) {
        assert_eq!(held, document.metadata == stored.metadata);
    }
}

async fn what_search_serves_is_described_by_a_commit(setting: &PortFixture) {
    let container = ContainerId::random();
    let done = served_document(setting, &container).await;
    let wanted = edited_document(&done, 1);
    assert!(
        !describe_document(setting, &wanted).await,
        "the index would not know it"
    );
    assert_eq!(setting.read_record(&done.id).await, Some(done.clone()));
    assert!(
        matches!(setting.commit(&container, 1, &describe_change(&wanted)).await, CommitOutcome::Done(purges) if purges.is_empty())
    );
    let stored = setting.read_record(&done.id).await.expect("a record");
    assert_eq!(
        stored,
        Document {
            updated_at: stored.updated_at,
            ..wanted.clone()
        }
    );
    assert_eq!(
        (stored.status, &stored.indexed),
        (DocumentStatus::Done, &done.indexed),
        "its content stays"
    );
    let log = async || {
        setting
            .ctx()
            .index
            .read_log(&setting.alpha, &container, 1)
            .await
    };
    let records = retry_unavailable(log).await.expect("a log");
    let LogEntry::Put { pack, document, .. } = &records[0].entries[0] else {
        panic!("{records:?}")
    };

    let indexed = done.indexed.as_ref().expect("served");
    assert_eq!(
        (pack, &document.revision),
        (&indexed.pack, &indexed.revision)
    );
    assert_eq!(
        (document.metadata.get("n"), document.filepath.as_deref()),
        (Some(&json!(1)), Some("/1.md"))
    );
    let stale = setting
        .commit(&container, 2, &describe_change(&wanted))
        .await;
    // A caller whose answer was lost learns that the change happened, and so does one that asks
    // again.
    assert!(
        matches!(stale, CommitOutcome::Stale(_) | CommitOutcome::Done(_)),
        "{stale:?}"
    );
    assert_eq!(
        setting
            .read_record(&done.id)
            .await
            .map(|record| record.description_changes),
        Some(1)
    );
}

async fn a_commit_that_read_before_a_description_is_stale(setting: &PortFixture) {
    let container = ContainerId::random();
    let read = setting.extracted_document(&container, "Words.").await;
    assert!(describe_document(setting, &edited_document(&read, 1)).await);
    assert_eq!(
        setting.commit(&container, 0, &publish_change(&read)).await,
        CommitOutcome::Stale(vec![read.id.clone()])
    );
    let now = setting.read_record(&read.id).await.expect("a record");
    assert_eq!(
        (
            now.status,
            now.description_changes,
            setting.read_head(&container).await.seq
        ),
        (DocumentStatus::Indexing, 1, 0)
    );
    assert!(matches!(
        setting.commit(&container, 0, &publish_change(&now)).await,
        CommitOutcome::Done(_)
    ));
    let done = setting.read_record(&read.id).await.expect("a record");
    assert_eq!(done.metadata, now.metadata);
    setting
        .commit(&container, 1, &describe_change(&edited_document(&done, 2)))
        .await;
    let late = setting
        .commit(&container, 2, &describe_change(&edited_document(&done, 3)))
        .await;
    assert_eq!(late, CommitOutcome::Stale(vec![read.id.clone()]));
    let missing = setting.compose_document(&container, "Never stored.").await;
    let never = Document {
        indexed: done.indexed.clone(),
        ..edited_document(&missing, 4)
    };

    assert_eq!(
        setting
            .commit(&container, 2, &describe_change(&never))
            .await,
        CommitOutcome::Stale(vec![missing.id.clone()])
    );
    assert_eq!(setting.read_record(&missing.id).await, None);
    assert_eq!(setting.read_head(&container).await.seq, 2);
}

async fn a_replacement_that_read_before_a_description_is_refused(setting: &PortFixture) {
    let container = ContainerId::random();
    let done = served_document(setting, &container).await;
    setting
        .commit(&container, 1, &describe_change(&edited_document(&done, 1)))
        .await;
    let queued = setting.accept_document(&container, "Queued.").await;
    assert!(describe_document(setting, &edited_document(&queued, 1)).await);

    for read in [done, queued] {
        let refused = setting
            .accept_record(&replaced_document(&read), Some(&read.revision))
            .await;
        assert!(
            matches!(refused, Err(PortError::Conflict)),
            "it would take the description back"
        );
        let now = setting.read_record(&read.id).await.expect("a record");
        assert_eq!(
            (&now.revision, now.description_changes),
            (&read.revision, 1)
        );
        let next = replaced_document(&now);
        setting
            .accept_record(&next, Some(&now.revision))
            .await
            .expect("a replacement that knows the description");
        assert_eq!(setting.read_record(&read.id).await, Some(next));
    }
}

async fn a_description_that_was_told_to_hold_is_never_lost(setting: &PortFixture) {
    for _ in 0..4 {
        let container = ContainerId::random();
        let done = served_document(setting, &container).await;
        setting
            .accept_record(
                &replaced_document(&Document {
                    status: DocumentStatus::Queued,
                    ..done.clone()
                }),
                Some(&done.revision),
            )
            .await
            .expect("new content");
        let queued = setting.read_record(&done.id).await.expect("a record");
        let found = domain::document::ProcessingResult {
            revision: queued.revision.clone(),
            pack: queued.body.blob.clone(),
            chunks: 1,
            statements_ref: None,
            authorship: None,
            summary: None,
        };
        let extracted = Document {
            extracted: Some(found),
            ..queued
        };
        let now = setting.now();
        let recorded = async || {
            setting
                .ctx()
                .documents
                .record_extracted(&setting.alpha, &extracted, now)
                .await
        };
        assert!(retry_unavailable(recorded).await.expect("an answer"));

        let read = setting.read_record(&done.id).await.expect("a record");
        let (index, documents) = (&setting.ctx().index, &setting.ctx().documents);
        let (publishing, describing, next) = (
            publish_change(&read),
            describe_change(&edited_document(&read, 1)),
            replaced_document(&read),
        );
        let head = setting.read_head(&container).await;
        let (published, described, accepted) = join3(
            index.commit(&setting.alpha, &container, &head, &publishing, now),
            index.commit(&setting.alpha, &container, &head, &describing, now),
            documents.accept_revision(&setting.alpha, &next, Some(&read.revision), &[]),
        )
        .await;
        let stored = setting.read_record(&done.id).await.expect("a record");
        if matches!(described, Ok(CommitOutcome::Done(_))) {
            assert_eq!(stored.metadata, edited_document(&read, 1).metadata);
        }

        if matches!(published, Ok(CommitOutcome::Done(_))) {
            assert_eq!(
                stored.indexed.as_ref().map(|indexed| &indexed.revision),
                Some(&read.revision)
            );
        }

        if accepted.is_ok() {
            assert_eq!(stored.revision, next.revision);
        }
        let held = [
            matches!(published, Ok(CommitOutcome::Done(_))),
            matches!(described, Ok(CommitOutcome::Done(_))),
            accepted.is_ok(),
        ];
        assert!(
            held.iter().filter(|held| **held).count() <= 1,
            "all of them read the same: {held:?}"
        );

        let log = async || {
            setting
                .ctx()
                .index
                .read_log(&setting.alpha, &container, 0)
                .await
        };
        let last = retry_unavailable(log)
            .await
            .expect("a log")
            .pop()
            .expect("a record");
        let Some(LogEntry::Put { document, .. }) = last.entries.last() else {
            panic!("{last:?}")
        };
        let served = stored.indexed.as_ref().expect("served");
        assert_eq!(
            document.revision, served.revision,
            "the index serves what the record says"
        );
    }
}

/// The log must not name again a pack that a publication has just replaced, not even after that
/// publication.
async fn a_description_that_read_before_a_publication_is_stale(setting: &PortFixture) {
    let container = ContainerId::random();
    let old = served_document(setting, &container).await;
    let new = Document {
        status: DocumentStatus::Queued,
        ..replaced_document(&old)
    };
    setting
        .accept_record(&new, Some(&old.revision))
        .await
        .expect("a replacement");
    let path = new.pack_path();
    let put = async || {
        setting
            .ctx()
            .blobs
            .put(&setting.alpha, &path, "Pack.".into())
            .await
    };
    let pack = retry_unavailable(put).await.expect("a blob");
    let found = ProcessingResult {
        revision: new.revision.clone(),
        pack,
        chunks: 1,
        statements_ref: None,
        authorship: None,
        summary: None,
    };
    let new = Document {
        extracted: Some(found),
        ..new
    };
    let now = setting.now();
    let record = async || {
        setting
            .ctx()
            .documents
            .record_extracted(&setting.alpha, &new, now)
            .await
    };
    assert!(retry_unavailable(record).await.expect("an answer"));

    let read = setting.read_record(&old.id).await.expect("a record");
    let published = setting.commit(&container, 1, &publish_change(&read)).await;
    assert!(matches!(published, CommitOutcome::Done(_)), "{published:?}");

    let committed = setting
        .commit(&container, 2, &describe_change(&edited_document(&read, 1)))
        .await;
    assert_eq!(committed, CommitOutcome::Stale(vec![old.id]));
}
