//! Documents in every state, and the purge records of replaced content.

use domain::document::ProcessingResult;
use domain::ports::{
    AlternativeId, ClaimOutcome, CreationConditions, DocumentListing, OverdueWork,
};
use domain::{
    BlobRef, Document, DocumentStatus, DocumentType, Metadata, ProcessingFailure, Timestamp,
};
use serde_json::json;

use crate::values::{
    LAST_TIME, NOW, container_id, document_id, empty_document, failure, from_json,
    largest_document, longest_summary, longest_tenant, revision, smallest_document,
    smallest_result, tenant,
};
use crate::world::World;

const LEASE: Timestamp = NOW.plus_seconds(300);

fn edited_document() -> Document {
    Document {
        metadata: Metadata::from_stored(from_json(json!({"edited": true}))),
        filepath: Some("/edited".to_owned()),
        description_changes: 1,
        ..smallest_document("edited")
    }
}

/// Returns the document `claimed` after a worker has claimed it.
fn claimed_document(name: &str) -> Document {
    Document {
        status: DocumentStatus::Extracting,
        attempts: 1,
        lease_until: LEASE,
        ..smallest_document(name)
    }
}

fn extracted_document(name: &str, title: Option<&str>) -> Document {
    Document {
        status: DocumentStatus::Indexing,
        extracted: Some(ProcessingResult {
            chunks: 3,
            ..smallest_result(name)
        }),
        kind: DocumentType::Webpage,
        title: title.map(str::to_owned),
        ..claimed_document(name)
    }
}

/// Returns a processed document with a summary.
fn summarized_document() -> Document {
    let document = extracted_document("summarized", None);
    Document {
        extracted: document.extracted.map(|result| ProcessingResult {
            summary: Some(longest_summary()),
            ..result
        }),
        ..document
    }
}

fn replaced_document() -> Document {
    Document {
        revision: revision("next"),
        revision_number: 2,
        ..smallest_document("replaced")
    }
}

fn garbage() -> [BlobRef; 2] {
    [
        BlobRef::Inline("replaced/body".to_owned()),
        BlobRef::Object("an object".to_owned()),
    ]
}

fn failure_after(failure: ProcessingFailure, name: &str) -> Document {
    Document {
        status: DocumentStatus::Failed,
        failure: Some(failure),
        lease_until: Timestamp::from_millis(0),
        ..claimed_document(name)
    }
}

pub(crate) async fn write(world: &World) {
    let documents = &world.ctx.documents;
    let tenant = tenant();
    let accept = async |document: &Document| {
        documents
            .accept_revision(&tenant, document, None, &[])
            .await
            .expect("a new document");
    };
    let claim = async |name: &str| {
        accept(&smallest_document(name)).await;
        let id = document_id(name);
        let claimed = documents
            .claim_revision(&tenant, &id, &revision(name), NOW, LEASE)
            .await
            .expect("a claim");
        assert!(matches!(claimed, ClaimOutcome::Claimed(_)));
    };

    accept(&smallest_document("smallest")).await;
    accept(&empty_document("empty")).await;
    accept(&largest_document("largest")).await;
    documents
        .create(
            &longest_tenant(),
            &smallest_document("created"),
            &CreationConditions {
                alternatives: vec![AlternativeId::found(document_id("other"), None)],
                replaces: None,
                reference: None,
                request_key: None,
            },
        )
        .await
        .expect("a new document");

    accept(&smallest_document("edited")).await;
    let is_edited = documents
        .update_description(&tenant, &edited_document(), NOW)
        .await;
    assert!(is_edited.expect("an edit"));

    claim("claimed").await;
    for (name, title) in [("extracted", Some("")), ("untitled", None)] {
        claim(name).await;
        let extracted = documents
            .record_extracted(&tenant, &extracted_document(name, title), NOW)
            .await;
        assert!(extracted.expect("results"));
    }

    claim("summarized").await;
    let summarized = documents
        .record_extracted(&tenant, &summarized_document(), NOW)
        .await;
    assert!(summarized.expect("results"));

    claim("failed").await;
    let is_failed = documents
        .fail_revision(
            &tenant,
            &document_id("failed"),
            &revision("failed"),
            &failure(),
            Some(LEASE),
            NOW,
        )
        .await;
    assert!(is_failed.expect("a failure"));

    claim("postponed").await;
    let is_postponed = documents
        .postpone_revision(
            &tenant,
            &document_id("postponed"),
            &revision("postponed"),
            LEASE,
            LAST_TIME,
        )
        .await;
    assert!(is_postponed.expect("a later time"));

    claim("requeued").await;
    let is_requeued = documents
        .requeue_until(&tenant, &claimed_document("requeued"), LEASE)
        .await;
    assert!(is_requeued.expect("a queued document"));

    accept(&smallest_document("replaced")).await;
    documents
        .accept_revision(
            &tenant,
            &replaced_document(),
            Some(&revision("replaced")),
            &garbage(),
        )
        .await
        .expect("a new revision");
}

pub(crate) async fn check(world: &World) {
    let documents = &world.ctx.documents;
    let tenant = tenant();
    let wanted = [
        smallest_document("smallest"),
        empty_document("empty"),
        largest_document("largest"),
        edited_document(),
        claimed_document("claimed"),
        extracted_document("extracted", Some("")),
        extracted_document("untitled", None),
        summarized_document(),
        failure_after(failure(), "failed"),
        Document {
            lease_until: Timestamp::from_millis(0),
            ..claimed_document("postponed")
        },
        Document {
            status: DocumentStatus::Queued,
            lease_until: Timestamp::from_millis(0),
            attempts: 0,
            ..claimed_document("requeued")
        },
        replaced_document(),
    ];

    for document in &wanted {
        let ids = [document.id.clone()];
        let found = documents.get(&tenant, &ids).await.expect("a document");
        assert_eq!(found, [Some(document.clone())]);
    }

    let ids: Vec<_> = wanted.iter().map(|document| document.id.clone()).collect();
    let found = documents.get(&tenant, &ids).await.expect("documents");
    assert_eq!(found, wanted.clone().map(Some));

    let created = documents
        .get(&longest_tenant(), &[document_id("created")])
        .await;
    assert_eq!(
        created.expect("a document"),
        [Some(smallest_document("created"))]
    );

    let container = container_id("box");
    let listed = documents.list(&tenant, &container).await.expect("a list");
    assert_eq!(listed.len(), wanted.len() - 1);
    assert_eq!(listed.last(), Some(&wanted[1]), "the oldest");
    let superseded = documents
        .list_page(&tenant, &container, DocumentListing::Superseded, None, 10)
        .await;
    assert_eq!(superseded.expect("a page"), (vec![wanted[2].clone()], None));

    check_unfinished_work(world).await;
    check_pending(world, &wanted).await;
}

/// Checks items that were written before unfinished documents were listed as such: they are listed
/// once they are added.
pub(crate) async fn check_former(world: &World) {
    let (tenant, container) = (tenant(), container_id("box"));
    let documents = &world.ctx.documents;
    let pending = documents.list_pending(&tenant, &container, None, 100).await;
    assert_eq!(pending.expect("a page"), (Vec::new(), None));

    for _ in 0..2 {
        let added = documents.add_missing_pending(&tenant, &container).await;
        added.expect("added documents");
        check(world).await;
    }
}

async fn check_pending(world: &World, documents: &[Document]) {
    let is_pending = |document: &&Document| {
        document.status != DocumentStatus::Done && document.superseded_by.is_none()
    };
    let mut wanted: Vec<&Document> = documents.iter().filter(is_pending).collect();
    wanted.sort_by_key(|document| (document.created_at, &document.id));
    let wanted: Vec<_> = wanted.iter().map(|document| document.id.clone()).collect();

    let (tenant, container) = (tenant(), container_id("box"));
    let ports = &world.ctx.documents;
    let pending = ports.list_pending(&tenant, &container, None, 100).await;
    assert_eq!(pending.expect("a page"), (wanted.clone(), None));
    let unserved = ports.count_unserved(&tenant, &container).await;
    assert_eq!(unserved.expect("a count"), wanted.len());
}

async fn check_unfinished_work(world: &World) {
    let overdue = world.ctx.documents.list_overdue(LAST_TIME, 100).await;
    let overdue = overdue.expect("unfinished work");

    // The purge record of the replaced document, and all documents without a final status that are
    // due before the last time. One is due at that time, another one later.
    assert_eq!(overdue.len(), 1 + 9);
    let purge = overdue.iter().find_map(|work| match work {
        OverdueWork::Purge(_, container, name) => Some((container, name)),
        _ => None,
    });
    let (container, name) = purge.expect("a purge record");
    assert_eq!(name, revision("next").as_str());

    let blobs = world.ctx.index.get_purge(&tenant(), container, name).await;
    assert_eq!(blobs.expect("a purge record"), Some(garbage().to_vec()));
}
