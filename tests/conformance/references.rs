//! Conformance tests of the references by which a customId leads to a document with another id.

use domain::ports::{AlternativeId, CreationConditions, CustomIdReference, DocumentEntry};
use domain::{ContainerId, CustomId, Document, DocumentChange, DocumentId, Revision};

use crate::setting::{PortFixture, retry_unavailable};

super::promises!(
    a_move_leaves_a_reference_under_the_new_name,
    a_move_holds_only_while_the_alternatives_are_as_found,
    only_the_outdated_reference_that_was_found_is_replaced,
    a_new_document_comes_with_its_reference,
);

fn note_id(name: &str) -> (CustomId, DocumentId) {
    let custom_id = CustomId::parse(name).expect("a customId");
    let org = domain::OrgId::parse("alpha").expect("an organization");
    let id = DocumentId::of_custom_id(&org, &custom_id);
    (custom_id, id)
}

fn renamed(document: &Document, name: &str) -> Document {
    Document {
        custom_id: Some(note_id(name).0),
        revision: Revision::random(),
        ..document.clone()
    }
}

async fn find(setting: &PortFixture, id: &DocumentId) -> Option<DocumentEntry> {
    let ids = std::slice::from_ref(id);
    let found = retry_unavailable(async || setting.ctx().documents.find(&setting.alpha, ids).await);
    found.await.expect("an answer").pop().expect("one entry")
}

/// Moves a document, and returns whether it took effect.
async fn rename(
    setting: &PortFixture,
    from: &Document,
    to: &Document,
    reference: CustomIdReference,
    alternatives: Vec<AlternativeId>,
) -> bool {
    let change = DocumentChange::Move {
        from: Box::new(from.clone()),
        to: Box::new(to.clone()),
        reference: Some(reference),
        alternatives,
    };
    let head = setting.read_head(&from.container).await;
    setting.commit(&from.container, head.seq, &[change]).await;
    let stored = setting.read_record(&from.id).await.expect("a record");
    stored.revision == to.revision
}

fn new_reference(id: &DocumentId) -> CustomIdReference {
    CustomIdReference {
        id: id.clone(),
        replaces: None,
    }
}

async fn a_move_leaves_a_reference_under_the_new_name(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "A note.")
        .await;
    let (_, id) = note_id("note");
    let to = renamed(&document, "note");
    assert!(rename(setting, &document, &to, new_reference(&id), Vec::new()).await);

    let reference = DocumentEntry::Reference(document.id.clone());
    assert_eq!(find(setting, &id).await, Some(reference));
    assert_eq!(setting.read_record(&id).await, None, "it is no document");
    let Some(DocumentEntry::Document(found)) = find(setting, &document.id).await else {
        panic!("no document");
    };
    assert_eq!(found.custom_id, to.custom_id);
}

async fn a_move_holds_only_while_the_alternatives_are_as_found(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.accept_document(&container, "A note.").await;
    let other = setting.accept_document(&container, "Another.").await;
    let (_, id) = note_id("alternatives");
    let to = renamed(&document, "alternatives");

    let changed = Document {
        revision: Revision::random(),
        ..other.clone()
    };
    for wrong in [None, Some(&changed)] {
        let alternatives = vec![AlternativeId::found(other.id.clone(), wrong)];
        assert!(!rename(setting, &document, &to, new_reference(&id), alternatives).await);
        assert_eq!(find(setting, &id).await, None, "nothing is written");
    }
    let alternatives = vec![AlternativeId::found(other.id.clone(), Some(&other))];
    assert!(rename(setting, &document, &to, new_reference(&id), alternatives).await);
}

async fn only_the_outdated_reference_that_was_found_is_replaced(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.accept_document(&container, "A note.").await;
    let (custom_id, id) = note_id("outdated");
    let to = renamed(&document, "outdated");
    assert!(rename(setting, &document, &to, new_reference(&id), Vec::new()).await);

    let next = Document {
        id: id.clone(),
        custom_id: Some(custom_id),
        ..setting.compose_document(&container, "The next note.").await
    };
    for (replaces, is_right) in [
        (None, false),
        (Some(DocumentId::random()), false),
        (Some(document.id.clone()), true),
    ] {
        let conditions = CreationConditions {
            replaces: replaces.clone(),
            ..CreationConditions::default()
        };
        let documents = &setting.ctx().documents;
        let created =
            retry_unavailable(async || documents.create(&setting.alpha, &next, &conditions).await);
        assert_eq!(created.await.is_ok(), is_right, "{replaces:?}");
    }
    let stored = setting.read_record(&id).await.expect("a record");
    assert_eq!(stored.revision, next.revision);
}

async fn a_new_document_comes_with_its_reference(setting: &PortFixture) {
    let (custom_id, id) = note_id("created");
    let document = Document {
        custom_id: Some(custom_id),
        ..setting
            .compose_document(&ContainerId::random(), "A note.")
            .await
    };
    let conditions = CreationConditions {
        reference: Some(new_reference(&id)),
        ..CreationConditions::default()
    };
    let create = async |document: &Document| {
        let documents = &setting.ctx().documents;
        retry_unavailable(async || {
            documents
                .create(&setting.alpha, document, &conditions)
                .await
        })
        .await
    };
    create(&document).await.expect("a new document");
    create(&document).await.expect("its repetition");
    let reference = DocumentEntry::Reference(document.id.clone());
    assert_eq!(find(setting, &id).await, Some(reference));
    assert!(setting.read_record(&document.id).await.is_some());

    let other = Document {
        id: DocumentId::random(),
        revision: Revision::random(),
        ..document.clone()
    };
    assert!(create(&other).await.is_err(), "the customId is taken");
    assert_eq!(setting.read_record(&other.id).await, None);
}
