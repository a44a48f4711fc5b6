//! Conformance tests of documents that come from items of a provider: the item's names become the
//! document's names.

use domain::connection::{DocumentOrigin, Provider};
use domain::container::LogEntry;
use domain::ports::CommitOutcome;
use domain::{ConnectionId, ContainerId, Document, DocumentChange, DocumentType, IndexedDocument};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    an_items_name_is_the_title_whatever_its_content_says,
    a_name_that_changes_while_a_document_is_processed_holds,
    what_search_shows_follows_the_item,
    a_removal_that_read_before_an_adoption_is_stale,
);

fn new_origin(title: &str, kind: Option<DocumentType>) -> DocumentOrigin {
    let connection = ConnectionId::random();
    DocumentOrigin {
        provider: Provider::CloudDrive,
        connection,
        title: title.into(),
        kind,
        content_version: "m#1".into(),
    }
}

/// Returns the document as the item's document, with an incremented edit counter.
fn adopted_document(document: &Document, origin: &DocumentOrigin) -> Document {
    Document {
        origin: Some(origin.clone()),
        title: Some(origin.title.clone()),
        kind: origin.kind.unwrap_or(document.kind),
        url: Some(format!("https://drive.example/{}", origin.title)),
        description_changes: document.description_changes + 1,
        ..document.clone()
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

/// Records the results of a worker that read the document in the state `read`.
async fn record_findings(setting: &PortFixture, read: &Document, title: &str) -> Document {
    let mut read = setting.extracted_from(read).await;
    (read.title, read.kind) = (Some(title.into()), DocumentType::Pdf);
    let now = setting.now();
    let record = async || {
        setting
            .ctx()
            .documents
            .record_extracted(&setting.alpha, &read, now)
            .await
    };
    assert!(retry_unavailable(record).await.expect("an answer"));
    setting.read_record(&read.id).await.expect("a record")
}

async fn shown_fields(setting: &PortFixture, container: &ContainerId, seq: u64) -> IndexedDocument {
    let log = async || {
        setting
            .ctx()
            .index
            .read_log(&setting.alpha, container, seq - 1)
            .await
    };
    let records = retry_unavailable(log).await.expect("a log");
    let LogEntry::Put { document, .. } = &records[0].entries[0] else {
        panic!("{records:?}")
    };
    (**document).clone()
}

async fn an_items_name_is_the_title_whatever_its_content_says(setting: &PortFixture) {
    for (kind, wanted) in [
        (None, DocumentType::Pdf),
        (Some(DocumentType::CloudDoc), DocumentType::CloudDoc),
    ] {
        let composed = setting
            .compose_document(&ContainerId::random(), "Words.")
            .await;
        let mut made = adopted_document(&composed, &new_origin("plan", kind));
        made.description_changes = 0;
        setting
            .accept_record(&made, None)
            .await
            .expect("a new record");
        assert_eq!(setting.read_record(&made.id).await, Some(made.clone()));
        let stored = record_findings(setting, &made, "A heading").await;
        assert_eq!(
            (stored.title.as_deref(), stored.kind),
            (Some("plan"), wanted)
        );
        assert_eq!((stored.origin, stored.url), (made.origin, made.url));
    }
}

async fn a_name_that_changes_while_a_document_is_processed_holds(setting: &PortFixture) {
    let first = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let wanted = adopted_document(
        &first,
        &new_origin("new name", Some(DocumentType::CloudSheet)),
    );
    assert!(describe_document(setting, &wanted).await);
    // The worker read the document before the change.
    let stored = record_findings(setting, &first, "A heading").await;
    assert_eq!(stored.title.as_deref(), Some("new name"));
    assert_eq!(
        (stored.kind, &stored.origin, &stored.url),
        (wanted.kind, &wanted.origin, &wanted.url)
    );
    assert_eq!(stored.description_changes, 1);
}

async fn what_search_shows_follows_the_item(setting: &PortFixture) {
    let container = ContainerId::random();
    let mut done = setting.served_document(&container, "Words.").await;

    for (seq, title, kind) in [(2, "one", Some(DocumentType::CloudDoc)), (3, "two", None)] {
        let wanted = adopted_document(&done, &new_origin(title, kind));
        let change = [DocumentChange::Describe(Box::new(wanted.clone()))];
        assert!(matches!(
            setting.commit(&container, seq - 1, &change).await,
            CommitOutcome::Done(_)
        ));
        let shown = shown_fields(setting, &container, seq).await;
        assert_eq!(shown.title.as_deref(), Some(title));
        assert_eq!(
            shown.kind,
            kind.unwrap_or(DocumentType::Text),
            "as its content was understood"
        );
        done = setting.read_record(&done.id).await.expect("a record");
        assert_eq!(done.title.as_deref(), Some(title));
        assert_eq!((&done.origin, &done.url), (&wanted.origin, &wanted.url));
    }
}

async fn a_removal_that_read_before_an_adoption_is_stale(setting: &PortFixture) {
    let container = ContainerId::random();
    let read = setting.served_document(&container, "Words.").await;
    let adopted = adopted_document(&read, &new_origin("plan", None));
    setting
        .commit(
            &container,
            1,
            &[DocumentChange::Describe(Box::new(adopted))],
        )
        .await;
    let removal = [DocumentChange::Remove(Box::new(read.clone()))];
    let ended = setting.commit(&container, 2, &removal).await;

    assert_eq!(ended, CommitOutcome::Stale(vec![read.id.clone()]));
    assert!(
        setting
            .read_record(&read.id)
            .await
            .is_some_and(|kept| kept.origin.is_some())
    );
}
