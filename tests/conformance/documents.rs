//! Conformance tests of [`domain::ports::Documents`]: records, their revisions and their stages.

use domain::document::{Document, FailureCode, ProcessingFailure, ProcessingResult};
use domain::ports::{AlternativeId, CreationConditions, PortResult, RememberedRequest};
use domain::{
    ContainerId, CustomId, DocumentChange, DocumentId, DocumentStatus, Metadata, PortError,
    Revision, Timestamp,
};
use futures::future::join_all;
use serde_json::json;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_record_is_read_back_whole,
    a_write_holds_only_over_the_expected_revision,
    of_many_writes_at_the_same_time_one_holds,
    a_document_begins_only_where_nothing_else_of_its_kind_lives,
    of_many_that_begin_in_each_others_places_one_does,
    a_request_makes_its_document_once,
    a_body_is_kept_for_the_newest_unfinished_revision_only,
    a_stage_holds_only_for_the_newest_unfinished_revision,
    a_failure_ends_a_revision_and_keeps_what_is_served,
    a_replacement_that_read_before_a_commit_is_refused,
    a_worker_whose_lease_is_over_cannot_end_a_revision,
    documents_are_listed_newest_first_by_container_and_organization,
);

async fn a_record_is_read_back_whole(setting: &PortFixture) {
    let container = ContainerId::random();
    let mut full = setting.compose_document(&container, "Words.").await;
    full.custom_id = Some(CustomId::parse_conversation_id("ä talk / 1").expect("an id"));
    full.metadata = Metadata::parse(
        json!({"a": 1, "b": ["x"], "c": "ü"})
            .as_object()
            .expect("an object")
            .clone(),
    )
    .expect("metadata");
    full.filepath = Some("/a/b".into());
    full.title = Some("A title".into());
    full.document_date = Some(Timestamp::from_millis(-1));
    setting
        .accept_record(&full, None)
        .await
        .expect("a new record");
    let plain = setting.accept_document(&container, "Other words.").await;
    let missing = DocumentId::random();
    let ids = [
        plain.id.clone(),
        missing.clone(),
        full.id.clone(),
        plain.id.clone(),
    ];
    let get = async |tenant| {
        retry_unavailable(async || setting.ctx().documents.get(tenant, &ids).await)
            .await
            .expect("records")
    };

    let wanted = [Some(plain.clone()), None, Some(full.clone()), Some(plain)];
    assert_eq!(get(&setting.alpha).await, wanted);
    assert_eq!(
        get(&setting.beta).await,
        [None, None, None, None],
        "another organization has none of these"
    );
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

async fn a_write_holds_only_over_the_expected_revision(setting: &PortFixture) {
    let container = ContainerId::random();
    let conflict = |result| matches!(result, Err(PortError::Conflict));
    let first = setting.compose_document(&container, "First.").await;
    assert!(
        conflict(
            setting
                .accept_record(&first, Some(&Revision::random()))
                .await
        ),
        "there is nothing to replace"
    );

    setting
        .accept_record(&first, None)
        .await
        .expect("a new record");
    setting
        .accept_record(&first, None)
        .await
        .expect("our own write again");
    let second = replaced_document(&first);
    assert!(
        conflict(setting.accept_record(&second, None).await),
        "there is a record"
    );
    assert!(
        conflict(
            setting
                .accept_record(&second, Some(&Revision::random()))
                .await
        ),
        "it has another revision"
    );
    assert_eq!(
        setting.read_record(&first.id).await,
        Some(first.clone()),
        "a refused write changes nothing"
    );

    setting
        .accept_record(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    setting
        .accept_record(&second, Some(&first.revision))
        .await
        .expect("our own write again");
    assert!(
        conflict(
            setting
                .accept_record(&replaced_document(&first), Some(&first.revision))
                .await
        ),
        "it was replaced"
    );
    assert_eq!(setting.read_record(&first.id).await, Some(second));
}

/// Writes the record of a document that begins.
async fn begin_document(
    setting: &PortFixture,
    document: &Document,
    beginning: &CreationConditions,
) -> PortResult<()> {
    retry_unavailable(async || {
        setting
            .ctx()
            .documents
            .create(&setting.alpha, document, beginning)
            .await
    })
    .await
}

fn beside(rivals: &[&Document]) -> CreationConditions {
    CreationConditions {
        alternatives: rivals
            .iter()
            .map(|rival| AlternativeId::found(rival.id.clone(), None))
            .collect(),
        replaces: None,
        reference: None,
        request_key: None,
    }
}

async fn a_document_begins_only_where_nothing_else_of_its_kind_lives(setting: &PortFixture) {
    let container = ContainerId::random();
    let conflict = |result| matches!(result, Err(PortError::Conflict));
    let (first, second) = (
        setting.compose_document(&container, "First.").await,
        setting.compose_document(&container, "Second.").await,
    );
    begin_document(setting, &first, &beside(&[&second]))
        .await
        .expect("a first record");
    begin_document(setting, &first, &beside(&[&second]))
        .await
        .expect("our own write again");
    assert!(
        conflict(begin_document(setting, &second, &beside(&[&first])).await),
        "the other lives"
    );
    assert!(
        conflict(begin_document(setting, &replaced_document(&first), &beside(&[&second])).await),
        "it has begun"
    );
    assert_eq!(
        setting.read_record(&second.id).await,
        None,
        "a refused write changes nothing"
    );
    let superseded = Document {
        superseded_by: Some(second.id.clone()),
        ..setting.compose_document(&container, "Old.").await
    };

    setting
        .accept_record(&superseded, None)
        .await
        .expect("a record");
    let third = setting.compose_document(&container, "Third.").await;
    begin_document(setting, &third, &beside(&[&superseded]))
        .await
        .expect("what is superseded is in nobody's way");
}

async fn of_many_that_begin_in_each_others_places_one_does(setting: &PortFixture) {
    let container = ContainerId::random();
    let mut all = Vec::new();
    for number in 0..6 {
        all.push(
            setting
                .compose_document(&container, &format!("Number {number}."))
                .await,
        );
    }

    let begun = all.iter().map(|document| {
        let rivals: Vec<&Document> = all.iter().filter(|other| other.id != document.id).collect();
        async move { begin_document(setting, document, &beside(&rivals)).await }
    });

    join_all(begun).await;
    let mut living = 0;
    for document in &all {
        living += usize::from(setting.read_record(&document.id).await.is_some());
    }

    assert!(living <= 1, "{living} live");
}

async fn a_request_makes_its_document_once(setting: &PortFixture) {
    let (container, now) = (ContainerId::random(), setting.now());
    let made = setting.compose_document(&container, "Made.").await;
    let repeat = RememberedRequest {
        document: made.id.clone(),
        request_digest: "d".into(),
        created_document: None,
    };
    let remember = async || {
        let until = now.plus_seconds(120);
        retry_unavailable(async || {
            setting
                .ctx()
                .idempotency
                .remember(&setting.alpha, "k", repeat.clone(), None, now, until)
                .await
        })
        .await
    };
    let once = CreationConditions {
        alternatives: Vec::new(),
        replaces: None,
        reference: None,
        request_key: Some("k".into()),
    };
    assert!(
        begin_document(setting, &made, &once).await.is_err(),
        "nothing is remembered of this request"
    );
    assert_eq!(remember().await.expect("an answer").created_document, None);

    begin_document(setting, &made, &once)
        .await
        .expect("a first record");
    assert_eq!(
        remember().await.expect("an answer").created_document,
        Some(made.id.clone())
    );

    setting
        .commit(
            &container,
            0,
            &[DocumentChange::Remove(Box::new(made.clone()))],
        )
        .await;
    let late = Document {
        revision: Revision::random(),
        ..made.clone()
    };
    assert!(
        matches!(
            begin_document(setting, &late, &once).await,
            Err(PortError::Conflict)
        ),
        "it was made and deleted"
    );
    assert_eq!(setting.read_record(&made.id).await, None);
}

async fn a_body_is_kept_for_the_newest_unfinished_revision_only(setting: &PortFixture) {
    let first = setting
        .accept_document(&ContainerId::random(), "First.")
        .await;
    let keep = async |document: &Document| {
        retry_unavailable(async || {
            setting
                .ctx()
                .documents
                .record_body(&setting.alpha, document)
                .await
        })
        .await
        .expect("an answer")
    };
    let mut kept = first.clone();
    kept.body.size = 77;
    assert!(keep(&kept).await);
    assert_eq!(
        setting.read_record(&first.id).await.expect("a record").body,
        kept.body
    );

    let second = replaced_document(&first);
    setting
        .accept_record(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    assert!(!keep(&kept).await, "another revision came");
    assert_eq!(
        setting.read_record(&first.id).await.expect("a record").body,
        second.body
    );
}

async fn of_many_writes_at_the_same_time_one_holds(setting: &PortFixture) {
    let first = setting
        .accept_document(&ContainerId::random(), "First.")
        .await;
    let others: Vec<Document> = (0..12).map(|_| replaced_document(&first)).collect();
    let results = join_all(
        others
            .iter()
            .map(|new| setting.accept_record(new, Some(&first.revision))),
    )
    .await;
    let stored = setting.read_record(&first.id).await.expect("a record");
    for (new, result) in others.iter().zip(results) {
        assert_eq!(result.is_ok(), new.revision == stored.revision);
    }
}

/// Tries every change of stage on one revision, and returns which of them succeeded.
async fn try_stages(setting: &PortFixture, document: &Document, revision: &Revision) -> [bool; 3] {
    let (ports, tenant, id, now) = (
        &setting.ctx().documents,
        &setting.alpha,
        &document.id,
        setting.now(),
    );
    let found = ProcessingResult {
        revision: revision.clone(),
        pack: document.body.blob.clone(),
        chunks: 1,
        statements_ref: None,
        authorship: None,
        summary: None,
    };
    let named = Document {
        revision: revision.clone(),
        extracted: Some(found),
        ..document.clone()
    };
    let advance = retry_unavailable(async || {
        ports
            .advance_status(tenant, id, revision, DocumentStatus::Chunking, now)
            .await
    })
    .await;
    let recorded =
        retry_unavailable(async || ports.record_extracted(tenant, &named, now).await).await;
    let postponed = retry_unavailable(async || {
        ports
            .postpone_revision(tenant, id, revision, document.lease_until, now)
            .await
    })
    .await;

    [advance, recorded, postponed].map(|result| result.expect("an answer"))
}

async fn a_stage_holds_only_for_the_newest_unfinished_revision(setting: &PortFixture) {
    let container = ContainerId::random();
    let first = setting.accept_document(&container, "First.").await;
    assert_eq!(
        try_stages(setting, &first, &first.revision).await,
        [true; 3]
    );
    assert_eq!(
        setting
            .read_record(&first.id)
            .await
            .expect("a record")
            .status,
        DocumentStatus::Indexing
    );

    let second = replaced_document(&first);
    setting
        .accept_record(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    assert_eq!(
        try_stages(setting, &first, &first.revision).await,
        [false; 3]
    );
    assert_eq!(
        setting.read_record(&first.id).await,
        Some(second.clone()),
        "the old revision changes nothing"
    );

    let missing = setting.compose_document(&container, "Never stored.").await;
    assert_eq!(
        try_stages(setting, &missing, &missing.revision).await,
        [false; 3]
    );
    assert_eq!(
        setting.read_record(&missing.id).await,
        None,
        "a stage never makes a record"
    );

    let other = setting.with_organizations_swapped().await;
    assert_eq!(
        try_stages(&other, &second, &second.revision).await,
        [false; 3],
        "of another organization"
    );
}

async fn a_failure_ends_a_revision_and_keeps_what_is_served(setting: &PortFixture) {
    let container = ContainerId::random();
    let served = setting.extracted_document(&container, "Served.").await;
    setting
        .commit(
            &container,
            0,
            &[domain::DocumentChange::Publish(Box::new(served.clone()))],
        )
        .await;
    let done = setting.read_record(&served.id).await.expect("a record");
    let next = Document {
        status: DocumentStatus::Queued,
        ..replaced_document(&done)
    };
    setting
        .accept_record(&next, Some(&done.revision))
        .await
        .expect("a replacement");
    let failure = ProcessingFailure {
        code: FailureCode::Corrupt,
        message: "It is broken.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let fail = async |revision: &Revision| {
        retry_unavailable(async || {
            ports
                .fail_revision(&setting.alpha, &next.id, revision, &failure, None, now)
                .await
        })
        .await
        .expect("an answer")
    };
    assert!(!fail(&done.revision).await, "an older revision");

    // A call whose answer was lost may report on its repetition that the document has already
    // ended.
    fail(&next.revision).await;
    let failed = setting.read_record(&next.id).await.expect("a record");
    assert_eq!(
        (failed.status, failed.failure.clone()),
        (DocumentStatus::Failed, Some(failure.clone()))
    );
    assert_eq!(failed.indexed, done.indexed);
    assert!(failed.indexed.is_some());
    assert!(!fail(&next.revision).await, "it has ended");
    assert_eq!(
        try_stages(setting, &next, &next.revision).await,
        [false; 3],
        "no stage follows the end"
    );
    assert_eq!(setting.read_record(&next.id).await, Some(failed));
}

async fn a_replacement_that_read_before_a_commit_is_refused(setting: &PortFixture) {
    let container = ContainerId::random();
    let read = setting
        .extracted_document(&container, "Read while it was indexing.")
        .await;
    setting
        .commit(
            &container,
            0,
            &[domain::DocumentChange::Publish(Box::new(read.clone()))],
        )
        .await;
    let done = setting.read_record(&read.id).await.expect("a record");
    let conflict = |result| matches!(result, Err(domain::PortError::Conflict));
    // Search now serves the revision that was read. A replacement based on the old record would
    // purge bytes that search needs.
    assert!(
        conflict(
            setting
                .accept_record(&replaced_document(&read), Some(&read.revision))
                .await
        ),
        "the commit came between"
    );
    assert_eq!(setting.read_record(&read.id).await, Some(done.clone()));

    setting
        .accept_record(&replaced_document(&done), Some(&done.revision))
        .await
        .expect("a replacement that knows the commit");
}

async fn a_worker_whose_lease_is_over_cannot_end_a_revision(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Slow.")
        .await;
    let failure = ProcessingFailure {
        code: FailureCode::ContentLimit,
        message: "It took too long.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let late = Some(document.lease_until.plus_seconds(1));
    let fail = async || {
        ports
            .fail_revision(
                &setting.alpha,
                &document.id,
                &document.revision,
                &failure,
                late,
                now,
            )
            .await
    };
    assert!(!retry_unavailable(fail).await.expect("an answer"));
    assert_eq!(setting.read_record(&document.id).await, Some(document));
}

async fn documents_are_listed_newest_first_by_container_and_organization(setting: &PortFixture) {
    let (one, two) = (ContainerId::random(), ContainerId::random());
    let mut wanted = Vec::new();
    for i in 0..25 {
        wanted.insert(
            0,
            setting.accept_document(&one, &format!("Number {i}.")).await,
        );
        setting.app.environment.clock.advance_seconds(1);
    }

    let other = setting.accept_document(&two, "Elsewhere.").await;
    let list = async |tenant, container: &ContainerId| {
        retry_unavailable(async || setting.ctx().documents.list(tenant, container).await)
            .await
            .expect("a list")
    };
    assert_eq!(list(&setting.alpha, &one).await, wanted);
    assert_eq!(list(&setting.alpha, &two).await, [other]);
    assert!(list(&setting.beta, &one).await.is_empty());
    assert!(
        list(&setting.alpha, &ContainerId::random())
            .await
            .is_empty()
    );
}
