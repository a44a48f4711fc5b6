//! Conformance tests of [`Change::Supersede`]: the document leaves the index and the listings, and
//! its record stays unchanged.

use domain::container::LogEntry;
use domain::ports::{CommitOutcome, DocumentListing};
use domain::{ContainerId, Document, DocumentChange, DocumentStatus, PortError, Revision};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_superseded_document_is_kept_and_served_no_more,
    a_document_is_superseded_only_as_it_was_read,
    what_is_superseded_changes_no_more,
);

fn superseded_document(document: &Document, by: &Document) -> Document {
    Document {
        superseded_by: Some(by.id.clone()),
        ..document.clone()
    }
}

fn supersede_change(document: &Document, by: &Document) -> [DocumentChange; 1] {
    [DocumentChange::Supersede(Box::new(superseded_document(
        document, by,
    )))]
}

async fn listed_ids(setting: &PortFixture, container: &ContainerId) -> Vec<Document> {
    let documents = &setting.ctx().documents;
    retry_unavailable(async || documents.list(&setting.alpha, container).await)
        .await
        .expect("a list")
}

async fn read_page(
    setting: &PortFixture,
    container: &ContainerId,
    listing: DocumentListing,
) -> Vec<Document> {
    let documents = &setting.ctx().documents;
    let page = async || {
        documents
            .list_page(&setting.alpha, container, listing, None, 100)
            .await
    };
    retry_unavailable(page).await.expect("a page").0
}

async fn a_superseded_document_is_kept_and_served_no_more(setting: &PortFixture) {
    let container = ContainerId::random();
    let (old, new) = (
        setting.served_document(&container, "Old.").await,
        setting.served_document(&container, "New.").await,
    );
    assert_eq!(setting.read_head(&container).await.document_count, Some(2));
    let committed = setting
        .commit(&container, 2, &supersede_change(&old, &new))
        .await;
    assert_eq!(committed, CommitOutcome::Done(Vec::new()), "its bytes stay");
    let wanted = superseded_document(&old, &new);
    assert_eq!(setting.read_record(&old.id).await.as_ref(), Some(&wanted));
    let log = async || {
        setting
            .ctx()
            .index
            .read_log(&setting.alpha, &container, 2)
            .await
    };
    assert_eq!(
        retry_unavailable(log).await.expect("a log")[0].entries,
        [LogEntry::Remove { id: old.id.clone() }]
    );
    assert_eq!(setting.read_head(&container).await.document_count, Some(1));
    for found in [
        listed_ids(setting, &container).await,
        read_page(setting, &container, DocumentListing::OldestFirst).await,
    ] {
        assert_eq!(found, std::slice::from_ref(&new));
    }

    assert_eq!(
        read_page(setting, &container, DocumentListing::Superseded).await,
        [wanted]
    );
    let count = async || {
        setting
            .ctx()
            .documents
            .count(&setting.alpha, &container, 10)
            .await
    };
    assert_eq!(retry_unavailable(count).await.expect("a count"), Some(1));

    let now = setting.read_record(&old.id).await.expect("a record");
    let removed = setting
        .commit(&container, 3, &[DocumentChange::Remove(Box::new(now))])
        .await;
    assert!(
        matches!(removed, CommitOutcome::Done(_)),
        "it can be deleted: {removed:?}"
    );
    assert_eq!(
        (
            setting.read_record(&old.id).await,
            read_page(setting, &container, DocumentListing::Superseded).await
        ),
        (None, Vec::new())
    );
    assert_eq!(
        setting.read_head(&container).await.document_count,
        Some(1),
        "it did not count any more"
    );
}

async fn a_document_is_superseded_only_as_it_was_read(setting: &PortFixture) {
    let container = ContainerId::random();
    let (first, new) = (
        setting.served_document(&container, "Old.").await,
        setting.served_document(&container, "New.").await,
    );
    let described = Document {
        description_changes: 1,
        filepath: Some("/a.md".into()),
        ..first.clone()
    };
    setting
        .commit(
            &container,
            2,
            &[DocumentChange::Describe(Box::new(described))],
        )
        .await;
    let old = setting.read_record(&first.id).await.expect("a record");
    let queued = setting.accept_document(&container, "Queued.").await;
    let missing = setting.compose_document(&container, "Never stored.").await;

    for read in [
        Document {
            revision: Revision::random(),
            ..old.clone()
        },
        first,
        Document {
            status: DocumentStatus::Done,
            ..queued.clone()
        },
        missing.clone(),
    ] {
        let stale = setting
            .commit(&container, 3, &supersede_change(&read, &new))
            .await;
        assert_eq!(stale, CommitOutcome::Stale(vec![read.id.clone()]));
    }

    assert_eq!(
        setting.read_record(&missing.id).await,
        None,
        "it makes no record"
    );
    assert_eq!(
        read_page(setting, &container, DocumentListing::Superseded).await,
        []
    );
    assert_eq!(setting.read_record(&old.id).await.as_ref(), Some(&old));

    setting
        .commit(&container, 3, &supersede_change(&old, &new))
        .await;
    let again = setting
        .commit(&container, 4, &supersede_change(&old, &queued))
        .await;
    assert_eq!(
        again,
        CommitOutcome::Stale(vec![old.id.clone()]),
        "once is for ever"
    );
    assert_eq!(
        setting.read_record(&old.id).await,
        Some(superseded_document(&old, &new))
    );
}

async fn what_is_superseded_changes_no_more(setting: &PortFixture) {
    let container = ContainerId::random();
    let (old, new) = (
        setting.served_document(&container, "Old.").await,
        setting.served_document(&container, "New.").await,
    );
    setting
        .commit(&container, 2, &supersede_change(&old, &new))
        .await;
    // A caller that read the document earlier must neither restore it nor subtract it from the
    // count again.
    let described = Document {
        description_changes: old.description_changes + 1,
        ..old.clone()
    };

    for change in [
        DocumentChange::Remove(Box::new(old.clone())),
        DocumentChange::Describe(Box::new(described)),
    ] {
        let stale = setting.commit(&container, 3, &[change]).await;
        assert_eq!(stale, CommitOutcome::Stale(vec![old.id.clone()]));
    }

    let now = superseded_document(&old, &new);
    for read in [&old, &now] {
        let revision_number = read.revision_number + 1;
        let next = Document {
            revision: Revision::random(),
            revision_number,
            ..read.clone()
        };
        let refused = setting.accept_record(&next, Some(&read.revision)).await;
        assert!(matches!(refused, Err(PortError::Conflict)), "{refused:?}");
    }

    assert_eq!(setting.read_record(&old.id).await, Some(now));
    assert_eq!(setting.read_head(&container).await.document_count, Some(1));
}
