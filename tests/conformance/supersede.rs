//! Conformance tests of [`Change::Supersede`]: the document leaves the index and the listings, and
//! its record stays unchanged.

use domain::container::LogEntry;
use domain::ports::Committed;
use domain::{Change, ContainerId, Document, PortError, Revision, Status};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_superseded_document_is_kept_and_served_no_more,
    a_document_is_superseded_only_as_it_was_read,
    what_is_superseded_changes_no_more,
);

fn superseded(document: &Document, by: &Document) -> Document {
    Document {
        superseded_by: Some(by.id.clone()),
        ..document.clone()
    }
}

fn supersede(document: &Document, by: &Document) -> [Change; 1] {
    [Change::Supersede(Box::new(superseded(document, by)))]
}

async fn listed(setting: &Setting, container: &ContainerId) -> Vec<Document> {
    let documents = &setting.ctx().documents;
    again(async || documents.list(&setting.alpha, container).await)
        .await
        .expect("a list")
}

async fn page(setting: &Setting, container: &ContainerId, superseded: bool) -> Vec<Document> {
    let documents = &setting.ctx().documents;
    let page = async || {
        documents
            .page(&setting.alpha, container, superseded, None, 100)
            .await
    };
    again(page).await.expect("a page").0
}

async fn a_superseded_document_is_kept_and_served_no_more(setting: &Setting) {
    let container = ContainerId::random();
    let (old, new) = (
        setting.served(&container, "Old.").await,
        setting.served(&container, "New.").await,
    );
    assert_eq!(setting.head(&container).await.documents, Some(2));
    let committed = setting.commit(&container, 2, &supersede(&old, &new)).await;
    assert_eq!(committed, Committed::Done(Vec::new()), "its bytes stay");
    let wanted = superseded(&old, &new);
    assert_eq!(setting.record(&old.id).await.as_ref(), Some(&wanted));
    let log = async || setting.ctx().index.log(&setting.alpha, &container, 2).await;
    assert_eq!(
        again(log).await.expect("a log")[0].entries,
        [LogEntry::Remove { id: old.id.clone() }]
    );
    assert_eq!(setting.head(&container).await.documents, Some(1));
    for found in [
        listed(setting, &container).await,
        page(setting, &container, false).await,
    ] {
        assert_eq!(found, std::slice::from_ref(&new));
    }

    assert_eq!(page(setting, &container, true).await, [wanted]);
    let count = async || {
        setting
            .ctx()
            .documents
            .count(&setting.alpha, &container, 10)
            .await
    };
    assert_eq!(again(count).await.expect("a count"), Some(1));

    let now = setting.record(&old.id).await.expect("a record");
    let removed = setting
        .commit(&container, 3, &[Change::Remove(Box::new(now))])
        .await;
    assert!(
        matches!(removed, Committed::Done(_)),
        "it can be deleted: {removed:?}"
    );
    assert_eq!(
        (
            setting.record(&old.id).await,
            page(setting, &container, true).await
        ),
        (None, Vec::new())
    );
    assert_eq!(
        setting.head(&container).await.documents,
        Some(1),
        "it did not count any more"
    );
}

async fn a_document_is_superseded_only_as_it_was_read(setting: &Setting) {
    let container = ContainerId::random();
    let (first, new) = (
        setting.served(&container, "Old.").await,
        setting.served(&container, "New.").await,
    );
    let described = Document {
        edits: 1,
        filepath: Some("/a.md".into()),
        ..first.clone()
    };
    setting
        .commit(&container, 2, &[Change::Describe(Box::new(described))])
        .await;
    let old = setting.record(&first.id).await.expect("a record");
    let queued = setting.accepted(&container, "Queued.").await;
    let missing = setting.composed(&container, "Never stored.").await;

    for read in [
        Document {
            revision: Revision::random(),
            ..old.clone()
        },
        first,
        Document {
            status: Status::Done,
            ..queued.clone()
        },
        missing.clone(),
    ] {
        let stale = setting.commit(&container, 3, &supersede(&read, &new)).await;
        assert_eq!(stale, Committed::Stale(vec![read.id.clone()]));
    }

    assert_eq!(
        setting.record(&missing.id).await,
        None,
        "it makes no record"
    );
    assert_eq!(page(setting, &container, true).await, []);
    assert_eq!(setting.record(&old.id).await.as_ref(), Some(&old));

    setting.commit(&container, 3, &supersede(&old, &new)).await;
    let again = setting
        .commit(&container, 4, &supersede(&old, &queued))
        .await;
    assert_eq!(
        again,
        Committed::Stale(vec![old.id.clone()]),
        "once is for ever"
    );
    assert_eq!(setting.record(&old.id).await, Some(superseded(&old, &new)));
}

async fn what_is_superseded_changes_no_more(setting: &Setting) {
    let container = ContainerId::random();
    let (old, new) = (
        setting.served(&container, "Old.").await,
        setting.served(&container, "New.").await,
    );
    setting.commit(&container, 2, &supersede(&old, &new)).await;
    // A caller that read the document earlier must neither restore it nor subtract it from the
    // count again.
    let described = Document {
        edits: old.edits + 1,
        ..old.clone()
    };

    for change in [
        Change::Remove(Box::new(old.clone())),
        Change::Describe(Box::new(described)),
    ] {
        let stale = setting.commit(&container, 3, &[change]).await;
        assert_eq!(stale, Committed::Stale(vec![old.id.clone()]));
    }

    let now = superseded(&old, &new);
    for read in [&old, &now] {
        let revision_number = read.revision_number + 1;
        let next = Document {
            revision: Revision::random(),
            revision_number,
            ..read.clone()
        };
        let refused = setting.accept(&next, Some(&read.revision)).await;
        assert!(matches!(refused, Err(PortError::Conflict)), "{refused:?}");
    }

    assert_eq!(setting.record(&old.id).await, Some(now));
    assert_eq!(setting.head(&container).await.documents, Some(1));
}
