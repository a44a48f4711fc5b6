//! Heads, log records and purge records of containers, and the records of committed documents.

use domain::container::LogEntry;
use domain::document::{IndexedRevision, ProcessingResult};
use domain::ports::CommitOutcome;
use domain::{
    BlobRef, ContainerId, Document, DocumentChange, DocumentStatus, IndexHead, IndexedDocument,
    MemoryEdit, OrgId, SegmentRef,
};
use serde_json::json;

use crate::values::{
    LAST_TIME, NOW, container_id, document_id, from_json, largest_document, longest_summary,
    smallest_document, smallest_indexed_revision, smallest_result, tenant,
};
use crate::world::World;

/// Returns a document whose newest revision is about to be committed.
fn processed_document(name: &str) -> Document {
    Document {
        status: DocumentStatus::Indexing,
        extracted: Some(smallest_result(name)),
        ..smallest_document(name)
    }
}

fn committed_document(name: &str) -> Document {
    Document {
        status: DocumentStatus::Done,
        extracted: None,
        indexed: Some(smallest_indexed_revision(name)),
        ..smallest_document(name)
    }
}

fn described_document() -> Document {
    Document {
        filepath: Some("/described".to_owned()),
        description_changes: 1,
        ..committed_document("first")
    }
}

/// Returns a document with a summary that is alone in its container.
fn summarized_document() -> Document {
    let document = processed_document("summarized");
    Document {
        container: container_id("summarized"),
        extracted: document.extracted.map(|result| ProcessingResult {
            summary: Some(longest_summary()),
            ..result
        }),
        ..document
    }
}

/// Returns a served document with everything that search shows of it.
fn largest_served_document() -> Document {
    let document = largest_document("largest");
    Document {
        status: DocumentStatus::Done,
        extracted: None,
        superseded_by: None,
        description_changes: 0,
        indexed: document.indexed.map(|indexed| IndexedRevision {
            pack: BlobRef::Object("pack".to_owned()),
            ..indexed
        }),
        ..document
    }
}

fn superseded_document() -> Document {
    Document {
        superseded_by: Some(document_id("first")),
        ..committed_document("second")
    }
}

fn forgetting_edit() -> MemoryEdit {
    MemoryEdit::Forget {
        memory: from_json(json!("memory0000000000000000")),
        topic: None,
        reason: Some("no \"longer\" true".to_owned()),
        at: LAST_TIME,
    }
}

fn largest_segment() -> SegmentRef {
    SegmentRef {
        blob: BlobRef::Object("segment".to_owned()),
        through: u64::MAX,
        chunks: u64::MAX,
        bytes: u64::MAX,
        core_bytes: Some(u64::MAX),
        search_bytes: Some(u64::MAX),
        memories: Some(BlobRef::Object("memories".to_owned())),
        edits: Some(BlobRef::Object("actions".to_owned())),
        memory_index: None,
    }
}

fn smallest_segment() -> SegmentRef {
    SegmentRef {
        through: 0,
        chunks: 0,
        bytes: 0,
        core_bytes: None,
        search_bytes: None,
        memories: None,
        edits: None,
        memory_index: None,
        ..largest_segment()
    }
}

async fn commit(world: &World, container: &ContainerId, changes: &[DocumentChange]) {
    let tenant = tenant();
    let head = world.ctx.index.get_head(&tenant, container).await;
    let outcome = world
        .ctx
        .index
        .commit(&tenant, container, &head.expect("a head"), changes, NOW)
        .await;
    assert!(matches!(outcome.expect("a commit"), CommitOutcome::Done(_)));
}

pub(crate) async fn write(world: &World) {
    let tenant = tenant();
    let container = container_id("box");
    for name in ["first", "second", "third"] {
        world
            .ctx
            .documents
            .accept_revision(&tenant, &processed_document(name), None, &[])
            .await
            .expect("a new document");
    }

    let boxed = |document: Document| Box::new(document);
    let publish = |name| DocumentChange::Publish(boxed(processed_document(name)));
    let changes = ["first", "second", "third"].map(publish);
    commit(world, &container, &changes).await;
    commit(
        world,
        &container,
        &[
            DocumentChange::Describe(boxed(described_document())),
            DocumentChange::create(largest_served_document()),
            DocumentChange::Supersede(boxed(superseded_document())),
            DocumentChange::Edit(forgetting_edit()),
        ],
    )
    .await;
    let third = DocumentChange::Remove(boxed(committed_document("third")));
    commit(world, &container, &[third]).await;

    let segments = [smallest_segment(), largest_segment()];
    let is_published = world
        .ctx
        .index
        .publish_segments(&tenant, &container, 0, &segments, u64::MAX)
        .await;
    assert!(is_published.expect("segments"));

    // A head without segments, and a head whose erasure is done.
    for name in ["plain", "erased"] {
        let container = container_id(name);
        let edit = DocumentChange::Edit(forgetting_edit());
        commit(world, &container, &[edit]).await;
    }
    let edited = Document {
        container: container_id("erased"),
        ..committed_document("moved")
    };
    let create = DocumentChange::create(edited.clone());
    commit(world, &edited.container, &[create]).await;
    let remove = DocumentChange::Remove(boxed(edited.clone()));
    commit(world, &edited.container, &[remove]).await;
    let erased = world
        .ctx
        .index
        .record_erasure(&tenant, &edited.container, 3);
    erased.await.expect("an erasure");

    let summarized = summarized_document();
    let accepted = world
        .ctx
        .documents
        .accept_revision(&tenant, &summarized, None, &[]);
    accepted.await.expect("a new document");
    let publish = DocumentChange::Publish(boxed(summarized.clone()));
    commit(world, &summarized.container, &[publish]).await;

    world
        .ctx
        .index
        .record_purge(&tenant, &container_id("purged"), &[], NOW)
        .await
        .expect("a purge record");
}

/// Checks items that were written before unfinished documents were listed as such, and before the index had the
/// times of their last changes.
pub(crate) async fn check_former(world: &World) {
    check_items(world, true).await;
}

pub(crate) async fn check(world: &World) {
    check_items(world, false).await;
}

async fn check_items(world: &World, are_former: bool) {
    check_heads(world, !are_former).await;
    check_log(world, are_former).await;
    check_purges(world).await;

    let tenant = tenant();
    let wanted = [
        described_document(),
        largest_served_document(),
        superseded_document(),
    ];
    let ids = wanted.clone().map(|document| document.id);
    let found = world.ctx.documents.get(&tenant, &ids).await;
    assert_eq!(found.expect("documents"), wanted.map(Some));

    let ids = [document_id("summarized")];
    let found = world.ctx.documents.get(&tenant, &ids).await;
    let summarized = found.expect("a record").pop().flatten();
    let summarized = summarized.expect("a document");
    assert_eq!(summarized.summary(), Some(longest_summary().as_str()));
    assert_eq!(summarized.extracted, None);
}

async fn check_heads(world: &World, pending_listed: bool) {
    let index = &world.ctx.index;
    let tenant = tenant();
    // Former heads have neither.
    let core_bytes = pending_listed.then_some(u64::MAX);
    let largest = SegmentRef {
        core_bytes,
        search_bytes: core_bytes,
        ..largest_segment()
    };
    let wanted = [
        (
            "box",
            IndexHead {
                seq: 3,
                segments: vec![smallest_segment(), largest],
                generation: 1,
                document_count: Some(2),
                memories: Some(u64::MAX),
                last_removal: Some(3),
                pending_listed,
                incarnation: None,
            },
        ),
        (
            "plain",
            IndexHead {
                seq: 1,
                document_count: Some(0),
                pending_listed,
                ..IndexHead::default()
            },
        ),
        (
            "erased",
            IndexHead {
                seq: 3,
                document_count: Some(0),
                pending_listed,
                ..IndexHead::default()
            },
        ),
        ("unknown", IndexHead::default()),
    ];

    for (name, head) in wanted {
        let found = index.get_head(&tenant, &container_id(name)).await;
        let mut found = found.expect("a head");
        // Former heads have no incarnation, and the others a random one.
        let incarnation = found.incarnation.take();
        let has_one = pending_listed && head.seq > 0;
        assert_eq!(incarnation.is_some(), has_one, "{name}");
        assert_eq!(found, head, "{name}");
    }

    let due = index.list_due_erasures(LAST_TIME, 10).await;
    let org = OrgId::parse("acme").expect("an organization");
    assert_eq!(due.expect("erasures"), [(org, container_id("box"))]);
}

async fn check_log(world: &World, is_former: bool) {
    let tenant = tenant();
    let container = container_id("box");
    let log = world.ctx.index.read_log(&tenant, &container, 0).await;
    let log = log.expect("a log");
    let entries: Vec<_> = log.iter().map(|record| record.entries.len()).collect();
    assert_eq!(entries, [3, 4, 1]);
    assert!(log.iter().zip(1..).all(|(record, seq)| record.seq == seq));

    let first = processed_document("first");
    let mut indexed = IndexedDocument::for_revision(&first, &first.revision);
    indexed.changed_at = indexed.changed_at.filter(|_| !is_former);
    let published = LogEntry::Put {
        pack: BlobRef::Inline("first/pack".to_owned()),
        statements: None,
        document: Box::new(indexed),
    };
    let removed = |name| LogEntry::Remove {
        id: document_id(name),
    };
    let forgotten = LogEntry::Edit {
        edit: forgetting_edit(),
    };
    assert_eq!(log[0].entries[0], published);
    assert_eq!(log[1].entries[2..], [removed("second"), forgotten]);
    assert_eq!(log[2].entries, [removed("third")]);
}

async fn check_purges(world: &World) {
    let index = &world.ctx.index;
    let tenant = tenant();
    for (name, count) in [("box", 6), ("purged", 0)] {
        let container = container_id(name);
        let items = index.list_items(&tenant, &container, 100).await;
        let items = items.expect("items");
        let purges: Vec<_> = items
            .iter()
            .filter_map(|sk| sk.strip_prefix("P#"))
            .collect();
        assert_eq!(purges.len(), 1, "{items:?}");

        let blobs = index.get_purge(&tenant, &container, purges[0]).await;
        let blobs = blobs.expect("blobs").expect("a purge record");
        assert_eq!(blobs.len(), count, "{blobs:?}");
    }
}
