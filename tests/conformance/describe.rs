//! Conformance tests of descriptions that change in place: directly while search does not serve the
//! document, and by a commit when it does. A change that is based on outdated data is refused.

use domain::container::LogEntry;
use domain::document::Extracted;
use domain::ports::Committed;
use domain::{Change, ContainerId, Document, Metadata, PortError, Revision, Status};
use futures::future::{join_all, join3};
use serde_json::json;

use crate::promises;
use crate::setting::{Setting, again};

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
fn edited(document: &Document, n: u64) -> Document {
    let metadata = json!({"n": n}).as_object().expect("an object").clone();
    Document {
        metadata: Metadata::parse(metadata).expect("metadata"),
        filepath: Some(format!("/{n}.md")),
        filter_by_metadata: Some(Metadata::default()),
        edits: document.edits + 1,
        ..document.clone()
    }
}

fn replaced(old: &Document) -> Document {
    let revision_number = old.revision_number + 1;
    Document {
        revision: Revision::random(),
        revision_number,
        extracted: None,
        ..old.clone()
    }
}

async fn describe(setting: &Setting, document: &Document) -> bool {
    let now = setting.now();
    let describe = async || {
        setting
            .ctx()
            .documents
            .describe(&setting.alpha, document, now)
            .await
    };
    again(describe).await.expect("an answer")
}

fn change(document: &Document) -> [Change; 1] {
    [Change::Describe(Box::new(document.clone()))]
}

fn publish(document: &Document) -> [Change; 1] {
    [Change::Publish(Box::new(document.clone()))]
}

/// Creates a document that search serves.
async fn served(setting: &Setting, container: &ContainerId) -> Document {
    let document = setting.extracted(container, "Words.").await;
    setting.commit(container, 0, &publish(&document)).await;
    setting.record(&document.id).await.expect("a record")
}

async fn a_description_is_replaced_and_counted_and_nothing_else(setting: &Setting) {
    let container = ContainerId::random();
    for document in [
        setting.accepted(&container, "A.").await,
        setting.extracted(&container, "B.").await,
    ] {
        let wanted = edited(&document, 1);
        assert!(describe(setting, &wanted).await);
        let stored = setting.record(&document.id).await.expect("a record");
        assert!(stored.updated_at > document.updated_at);
        assert_eq!(
            stored,
            Document {
                updated_at: stored.updated_at,
                ..wanted.clone()
            }
        );
        assert!(describe(setting, &wanted).await, "our own edit again");
        assert_eq!(setting.record(&document.id).await, Some(stored.clone()));

        let cleared = Document {
            metadata: Metadata::default(),
            filepath: None,
            filter_by_metadata: None,
            edits: stored.edits + 1,
            ..stored
        };
        assert!(describe(setting, &cleared).await);

        let stored = setting.record(&document.id).await.expect("a record");
        assert_eq!(
            (&stored.metadata, &stored.filepath, stored.edits),
            (&Metadata::default(), &None, 2)
        );
        assert_eq!(stored.filter_by_metadata, None);
    }
}

async fn a_description_holds_only_over_what_was_read(setting: &Setting) {
    let container = ContainerId::random();
    let first = setting.accepted(&container, "First.").await;
    assert!(describe(setting, &edited(&first, 1)).await);
    let stored = setting.record(&first.id).await.expect("a record");
    assert!(
        !describe(setting, &edited(&first, 2)).await,
        "somebody else has edited it"
    );
    let other = Document {
        revision: Revision::random(),
        ..edited(&stored, 3)
    };

    assert!(!describe(setting, &other).await, "another revision");
    let early = Document {
        edits: 7,
        ..edited(&stored, 4)
    };

    assert!(
        !describe(setting, &early).await,
        "an edit that nobody has made"
    );
    assert_eq!(setting.record(&first.id).await, Some(stored.clone()));
    let missing = setting.composed(&container, "Never stored.").await;
    assert!(!describe(setting, &edited(&missing, 5)).await);
    assert_eq!(
        setting.record(&missing.id).await,
        None,
        "a description never makes a record"
    );
    assert!(
        !describe(&setting.turned().await, &edited(&stored, 6)).await,
        "of another organization"
    );
    assert_eq!(setting.record(&first.id).await, Some(stored));
}

async fn of_many_descriptions_at_the_same_time_one_holds(setting: &Setting) {
    let first = setting.accepted(&ContainerId::random(), "First.").await;
    let all: Vec<Document> = (0..12).map(|n| edited(&first, n)).collect();
    let held = join_all(all.iter().map(|document| describe(setting, document))).await;
    let stored = setting.record(&first.id).await.expect("a record");
    assert_eq!(stored.edits, 1);
    for (document, held) in all.iter().zip(held) {
        assert_eq!(held, document.metadata == stored.metadata);
    }
}

async fn what_search_serves_is_described_by_a_commit(setting: &Setting) {
    let container = ContainerId::random();
    let done = served(setting, &container).await;
    let wanted = edited(&done, 1);
    assert!(
        !describe(setting, &wanted).await,
        "the index would not know it"
    );
    assert_eq!(setting.record(&done.id).await, Some(done.clone()));
    assert!(
        matches!(setting.commit(&container, 1, &change(&wanted)).await, Committed::Done(purges) if purges.is_empty())
    );
    let stored = setting.record(&done.id).await.expect("a record");
    assert_eq!(
        stored,
        Document {
            updated_at: stored.updated_at,
            ..wanted.clone()
        }
    );
    assert_eq!(
        (stored.status, &stored.indexed),
        (Status::Done, &done.indexed),
        "its content stays"
    );
    let log = async || setting.ctx().index.log(&setting.alpha, &container, 1).await;
    let records = again(log).await.expect("a log");
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
    let stale = setting.commit(&container, 2, &change(&wanted)).await;
    // A caller whose answer was lost learns that the change happened, and so does one that asks
    // again.
    assert!(
        matches!(stale, Committed::Stale(_) | Committed::Done(_)),
        "{stale:?}"
    );
    assert_eq!(
        setting.record(&done.id).await.map(|record| record.edits),
        Some(1)
    );
}

async fn a_commit_that_read_before_a_description_is_stale(setting: &Setting) {
    let container = ContainerId::random();
    let read = setting.extracted(&container, "Words.").await;
    assert!(describe(setting, &edited(&read, 1)).await);
    assert_eq!(
        setting.commit(&container, 0, &publish(&read)).await,
        Committed::Stale(vec![read.id.clone()])
    );
    let now = setting.record(&read.id).await.expect("a record");
    assert_eq!(
        (now.status, now.edits, setting.head(&container).await.seq),
        (Status::Indexing, 1, 0)
    );
    assert!(matches!(
        setting.commit(&container, 0, &publish(&now)).await,
        Committed::Done(_)
    ));
    let done = setting.record(&read.id).await.expect("a record");
    assert_eq!(done.metadata, now.metadata);
    setting
        .commit(&container, 1, &change(&edited(&done, 2)))
        .await;
    let late = setting
        .commit(&container, 2, &change(&edited(&done, 3)))
        .await;
    assert_eq!(late, Committed::Stale(vec![read.id.clone()]));
    let missing = setting.composed(&container, "Never stored.").await;
    let never = Document {
        indexed: done.indexed.clone(),
        ..edited(&missing, 4)
    };

    assert_eq!(
        setting.commit(&container, 2, &change(&never)).await,
        Committed::Stale(vec![missing.id.clone()])
    );
    assert_eq!(setting.record(&missing.id).await, None);
    assert_eq!(setting.head(&container).await.seq, 2);
}

async fn a_replacement_that_read_before_a_description_is_refused(setting: &Setting) {
    let container = ContainerId::random();
    let done = served(setting, &container).await;
    setting
        .commit(&container, 1, &change(&edited(&done, 1)))
        .await;
    let queued = setting.accepted(&container, "Queued.").await;
    assert!(describe(setting, &edited(&queued, 1)).await);

    for read in [done, queued] {
        let refused = setting.accept(&replaced(&read), Some(&read.revision)).await;
        assert!(
            matches!(refused, Err(PortError::Conflict)),
            "it would take the description back"
        );
        let now = setting.record(&read.id).await.expect("a record");
        assert_eq!((&now.revision, now.edits), (&read.revision, 1));
        let next = replaced(&now);
        setting
            .accept(&next, Some(&now.revision))
            .await
            .expect("a replacement that knows the description");
        assert_eq!(setting.record(&read.id).await, Some(next));
    }
}

async fn a_description_that_was_told_to_hold_is_never_lost(setting: &Setting) {
    for _ in 0..4 {
        let container = ContainerId::random();
        let done = served(setting, &container).await;
        setting
            .accept(
                &replaced(&Document {
                    status: Status::Queued,
                    ..done.clone()
                }),
                Some(&done.revision),
            )
            .await
            .expect("new content");
        let queued = setting.record(&done.id).await.expect("a record");
        let found = domain::document::Extracted {
            revision: queued.revision.clone(),
            pack: queued.body.blob.clone(),
            chunks: 1,
            learned: None,
            authorship: None,
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
        assert!(again(recorded).await.expect("an answer"));

        let read = setting.record(&done.id).await.expect("a record");
        let (index, documents) = (&setting.ctx().index, &setting.ctx().documents);
        let (publishing, describing, next) =
            (publish(&read), change(&edited(&read, 1)), replaced(&read));
        let head = setting.head(&container).await;
        let (published, described, accepted) = join3(
            index.commit(&setting.alpha, &container, &head, &publishing, now),
            index.commit(&setting.alpha, &container, &head, &describing, now),
            documents.accept(&setting.alpha, &next, Some(&read.revision), &[]),
        )
        .await;
        let stored = setting.record(&done.id).await.expect("a record");
        if matches!(described, Ok(Committed::Done(_))) {
            assert_eq!(stored.metadata, edited(&read, 1).metadata);
        }

        if matches!(published, Ok(Committed::Done(_))) {
            assert_eq!(
                stored.indexed.as_ref().map(|indexed| &indexed.revision),
                Some(&read.revision)
            );
        }

        if accepted.is_ok() {
            assert_eq!(stored.revision, next.revision);
        }
        let held = [
            matches!(published, Ok(Committed::Done(_))),
            matches!(described, Ok(Committed::Done(_))),
            accepted.is_ok(),
        ];
        assert!(
            held.iter().filter(|held| **held).count() <= 1,
            "all of them read the same: {held:?}"
        );

        let log = async || setting.ctx().index.log(&setting.alpha, &container, 0).await;
        let last = again(log).await.expect("a log").pop().expect("a record");
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
async fn a_description_that_read_before_a_publication_is_stale(setting: &Setting) {
    let container = ContainerId::random();
    let old = served(setting, &container).await;
    let new = Document {
        status: Status::Queued,
        ..replaced(&old)
    };
    setting
        .accept(&new, Some(&old.revision))
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
    let pack = again(put).await.expect("a blob");
    let found = Extracted {
        revision: new.revision.clone(),
        pack,
        chunks: 1,
        learned: None,
        authorship: None,
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
    assert!(again(record).await.expect("an answer"));

    let read = setting.record(&old.id).await.expect("a record");
    let published = setting.commit(&container, 1, &publish(&read)).await;
    assert!(matches!(published, Committed::Done(_)), "{published:?}");

    let committed = setting
        .commit(&container, 2, &change(&edited(&read, 1)))
        .await;
    assert_eq!(committed, Committed::Stale(vec![old.id]));
}
