//! Conformance tests of documents that come from items of a provider: the item's names become the
//! document's names.

use domain::connection::{Origin, Provider};
use domain::container::LogEntry;
use domain::ports::Committed;
use domain::{Change, ConnectionId, ContainerId, Document, DocumentType, SearchDocument};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    an_items_name_is_the_title_whatever_its_content_says,
    a_name_that_changes_while_a_document_is_processed_holds,
    what_search_shows_follows_the_item,
    a_removal_that_read_before_an_adoption_is_stale,
);

fn origin(title: &str, kind: Option<DocumentType>) -> Origin {
    let connection = ConnectionId::random();
    Origin {
        provider: Provider::CloudDrive,
        connection,
        title: title.into(),
        kind,
        mark: "m#1".into(),
    }
}

/// Returns the document as the item's document, with an incremented edit counter.
fn adopted(document: &Document, origin: &Origin) -> Document {
    Document {
        origin: Some(origin.clone()),
        title: Some(origin.title.clone()),
        kind: origin.kind.unwrap_or(document.kind),
        url: Some(format!("https://drive.example/{}", origin.title)),
        edits: document.edits + 1,
        ..document.clone()
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

/// Records the results of a worker that read the document in the state `read`.
async fn found(setting: &Setting, read: &Document, title: &str) -> Document {
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
    assert!(again(record).await.expect("an answer"));
    setting.record(&read.id).await.expect("a record")
}

async fn shown(setting: &Setting, container: &ContainerId, seq: u64) -> SearchDocument {
    let log = async || {
        setting
            .ctx()
            .index
            .log(&setting.alpha, container, seq - 1)
            .await
    };
    let records = again(log).await.expect("a log");
    let LogEntry::Put { document, .. } = &records[0].entries[0] else {
        panic!("{records:?}")
    };
    (**document).clone()
}

async fn an_items_name_is_the_title_whatever_its_content_says(setting: &Setting) {
    for (kind, wanted) in [
        (None, DocumentType::Pdf),
        (Some(DocumentType::CloudDoc), DocumentType::CloudDoc),
    ] {
        let composed = setting.composed(&ContainerId::random(), "Words.").await;
        let mut made = adopted(&composed, &origin("plan", kind));
        made.edits = 0;
        setting.accept(&made, None).await.expect("a new record");
        assert_eq!(setting.record(&made.id).await, Some(made.clone()));
        let stored = found(setting, &made, "A heading").await;
        assert_eq!(
            (stored.title.as_deref(), stored.kind),
            (Some("plan"), wanted)
        );
        assert_eq!((stored.origin, stored.url), (made.origin, made.url));
    }
}

async fn a_name_that_changes_while_a_document_is_processed_holds(setting: &Setting) {
    let first = setting.accepted(&ContainerId::random(), "Words.").await;
    let wanted = adopted(&first, &origin("new name", Some(DocumentType::CloudSheet)));
    assert!(describe(setting, &wanted).await);
    // The worker read the document before the change.
    let stored = found(setting, &first, "A heading").await;
    assert_eq!(stored.title.as_deref(), Some("new name"));
    assert_eq!(
        (stored.kind, &stored.origin, &stored.url),
        (wanted.kind, &wanted.origin, &wanted.url)
    );
    assert_eq!(stored.edits, 1);
}

async fn what_search_shows_follows_the_item(setting: &Setting) {
    let container = ContainerId::random();
    let mut done = setting.served(&container, "Words.").await;

    for (seq, title, kind) in [(2, "one", Some(DocumentType::CloudDoc)), (3, "two", None)] {
        let wanted = adopted(&done, &origin(title, kind));
        let change = [Change::Describe(Box::new(wanted.clone()))];
        assert!(matches!(
            setting.commit(&container, seq - 1, &change).await,
            Committed::Done(_)
        ));
        let shown = shown(setting, &container, seq).await;
        assert_eq!(shown.title.as_deref(), Some(title));
        assert_eq!(
            shown.kind,
            kind.unwrap_or(DocumentType::Text),
            "as its content was understood"
        );
        done = setting.record(&done.id).await.expect("a record");
        assert_eq!(done.title.as_deref(), Some(title));
        assert_eq!((&done.origin, &done.url), (&wanted.origin, &wanted.url));
    }
}

async fn a_removal_that_read_before_an_adoption_is_stale(setting: &Setting) {
    let container = ContainerId::random();
    let read = setting.served(&container, "Words.").await;
    let adopted = adopted(&read, &origin("plan", None));
    setting
        .commit(&container, 1, &[Change::Describe(Box::new(adopted))])
        .await;
    let removal = [Change::Remove(Box::new(read.clone()))];
    let ended = setting.commit(&container, 2, &removal).await;

    assert_eq!(ended, Committed::Stale(vec![read.id.clone()]));
    assert!(
        setting
            .record(&read.id)
            .await
            .is_some_and(|kept| kept.origin.is_some())
    );
}
