//! Conformance tests of [`domain::ports::Documents`]: records, their revisions and their stages.

use domain::document::{Document, Extracted, Failure, FailureCode};
use domain::ports::{Beginning, PortResult, Repeat};
use domain::{
    Change, ContainerId, CustomId, DocumentId, Metadata, PortError, Revision, Status, Timestamp,
};
use futures::future::join_all;
use serde_json::json;

use crate::promises;
use crate::setting::{Setting, again};

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

async fn a_record_is_read_back_whole(setting: &Setting) {
    let container = ContainerId::random();
    let mut full = setting.composed(&container, "Words.").await;
    full.custom_id = Some(CustomId::parse_conversation("ä talk / 1").expect("an id"));
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
    setting.accept(&full, None).await.expect("a new record");
    let plain = setting.accepted(&container, "Other words.").await;
    let missing = DocumentId::random();
    let ids = [
        plain.id.clone(),
        missing.clone(),
        full.id.clone(),
        plain.id.clone(),
    ];
    let get = async |tenant| {
        again(async || setting.ctx().documents.get(tenant, &ids).await)
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

fn replaced(old: &Document) -> Document {
    let revision_number = old.revision_number + 1;
    Document {
        revision: Revision::random(),
        revision_number,
        extracted: None,
        ..old.clone()
    }
}

async fn a_write_holds_only_over_the_expected_revision(setting: &Setting) {
    let container = ContainerId::random();
    let conflict = |result| matches!(result, Err(PortError::Conflict));
    let first = setting.composed(&container, "First.").await;
    assert!(
        conflict(setting.accept(&first, Some(&Revision::random())).await),
        "there is nothing to replace"
    );

    setting.accept(&first, None).await.expect("a new record");
    setting
        .accept(&first, None)
        .await
        .expect("our own write again");
    let second = replaced(&first);
    assert!(
        conflict(setting.accept(&second, None).await),
        "there is a record"
    );
    assert!(
        conflict(setting.accept(&second, Some(&Revision::random())).await),
        "it has another revision"
    );
    assert_eq!(
        setting.record(&first.id).await,
        Some(first.clone()),
        "a refused write changes nothing"
    );

    setting
        .accept(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    setting
        .accept(&second, Some(&first.revision))
        .await
        .expect("our own write again");
    assert!(
        conflict(
            setting
                .accept(&replaced(&first), Some(&first.revision))
                .await
        ),
        "it was replaced"
    );
    assert_eq!(setting.record(&first.id).await, Some(second));
}

/// Writes the record of a document that begins.
async fn begin(setting: &Setting, document: &Document, beginning: &Beginning) -> PortResult<()> {
    again(async || {
        setting
            .ctx()
            .documents
            .begin(&setting.alpha, document, beginning)
            .await
    })
    .await
}

fn beside(rivals: &[&Document]) -> Beginning {
    Beginning {
        rivals: rivals.iter().map(|rival| rival.id.clone()).collect(),
        request: None,
    }
}

async fn a_document_begins_only_where_nothing_else_of_its_kind_lives(setting: &Setting) {
    let container = ContainerId::random();
    let conflict = |result| matches!(result, Err(PortError::Conflict));
    let (first, second) = (
        setting.composed(&container, "First.").await,
        setting.composed(&container, "Second.").await,
    );
    begin(setting, &first, &beside(&[&second]))
        .await
        .expect("a first record");
    begin(setting, &first, &beside(&[&second]))
        .await
        .expect("our own write again");
    assert!(
        conflict(begin(setting, &second, &beside(&[&first])).await),
        "the other lives"
    );
    assert!(
        conflict(begin(setting, &replaced(&first), &beside(&[&second])).await),
        "it has begun"
    );
    assert_eq!(
        setting.record(&second.id).await,
        None,
        "a refused write changes nothing"
    );
    let superseded = Document {
        superseded_by: Some(second.id.clone()),
        ..setting.composed(&container, "Old.").await
    };

    setting.accept(&superseded, None).await.expect("a record");
    let third = setting.composed(&container, "Third.").await;
    begin(setting, &third, &beside(&[&superseded]))
        .await
        .expect("what is superseded is in nobody's way");
}

async fn of_many_that_begin_in_each_others_places_one_does(setting: &Setting) {
    let container = ContainerId::random();
    let mut all = Vec::new();
    for number in 0..6 {
        all.push(
            setting
                .composed(&container, &format!("Number {number}."))
                .await,
        );
    }

    let begun = all.iter().map(|document| {
        let rivals: Vec<&Document> = all.iter().filter(|other| other.id != document.id).collect();
        async move { begin(setting, document, &beside(&rivals)).await }
    });

    join_all(begun).await;
    let mut living = 0;
    for document in &all {
        living += usize::from(setting.record(&document.id).await.is_some());
    }

    assert!(living <= 1, "{living} live");
}

async fn a_request_makes_its_document_once(setting: &Setting) {
    let (container, now) = (ContainerId::random(), setting.now());
    let made = setting.composed(&container, "Made.").await;
    let repeat = Repeat {
        document: made.id.clone(),
        digest: "d".into(),
        made: None,
    };
    let remember = async || {
        let until = now.plus_seconds(120);
        again(async || {
            setting
                .ctx()
                .repeats
                .remember(&setting.alpha, "k", repeat.clone(), None, now, until)
                .await
        })
        .await
    };
    let once = Beginning {
        rivals: Vec::new(),
        request: Some("k".into()),
    };
    assert!(
        begin(setting, &made, &once).await.is_err(),
        "nothing is remembered of this request"
    );
    assert_eq!(remember().await.expect("an answer").made, None);

    begin(setting, &made, &once).await.expect("a first record");
    assert_eq!(
        remember().await.expect("an answer").made,
        Some(made.id.clone())
    );

    setting
        .commit(&container, 0, &[Change::Remove(Box::new(made.clone()))])
        .await;
    let late = Document {
        revision: Revision::random(),
        ..made.clone()
    };
    assert!(
        matches!(begin(setting, &late, &once).await, Err(PortError::Conflict)),
        "it was made and deleted"
    );
    assert_eq!(setting.record(&made.id).await, None);
}

async fn a_body_is_kept_for_the_newest_unfinished_revision_only(setting: &Setting) {
    let first = setting.accepted(&ContainerId::random(), "First.").await;
    let keep = async |document: &Document| {
        again(async || {
            setting
                .ctx()
                .documents
                .keep_body(&setting.alpha, document)
                .await
        })
        .await
        .expect("an answer")
    };
    let mut kept = first.clone();
    kept.body.size = 77;
    assert!(keep(&kept).await);
    assert_eq!(
        setting.record(&first.id).await.expect("a record").body,
        kept.body
    );

    let second = replaced(&first);
    setting
        .accept(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    assert!(!keep(&kept).await, "another revision came");
    assert_eq!(
        setting.record(&first.id).await.expect("a record").body,
        second.body
    );
}

async fn of_many_writes_at_the_same_time_one_holds(setting: &Setting) {
    let first = setting.accepted(&ContainerId::random(), "First.").await;
    let others: Vec<Document> = (0..12).map(|_| replaced(&first)).collect();
    let results = join_all(
        others
            .iter()
            .map(|new| setting.accept(new, Some(&first.revision))),
    )
    .await;
    let stored = setting.record(&first.id).await.expect("a record");
    for (new, result) in others.iter().zip(results) {
        assert_eq!(result.is_ok(), new.revision == stored.revision);
    }
}

/// Tries every change of stage on one revision, and returns which of them succeeded.
async fn stages(setting: &Setting, document: &Document, revision: &Revision) -> [bool; 3] {
    let (ports, tenant, id, now) = (
        &setting.ctx().documents,
        &setting.alpha,
        &document.id,
        setting.now(),
    );
    let found = Extracted {
        revision: revision.clone(),
        pack: document.body.blob.clone(),
        chunks: 1,
        learned: None,
        authorship: None,
    };
    let named = Document {
        revision: revision.clone(),
        extracted: Some(found),
        ..document.clone()
    };
    let advance = again(async || {
        ports
            .advance(tenant, id, revision, Status::Chunking, now)
            .await
    })
    .await;
    let recorded = again(async || ports.record_extracted(tenant, &named, now).await).await;
    let postponed = again(async || ports.postpone(tenant, id, revision, now).await).await;

    [advance, recorded, postponed].map(|result| result.expect("an answer"))
}

async fn a_stage_holds_only_for_the_newest_unfinished_revision(setting: &Setting) {
    let container = ContainerId::random();
    let first = setting.accepted(&container, "First.").await;
    assert_eq!(stages(setting, &first, &first.revision).await, [true; 3]);
    assert_eq!(
        setting.record(&first.id).await.expect("a record").status,
        Status::Indexing
    );

    let second = replaced(&first);
    setting
        .accept(&second, Some(&first.revision))
        .await
        .expect("a replacement");
    assert_eq!(stages(setting, &first, &first.revision).await, [false; 3]);
    assert_eq!(
        setting.record(&first.id).await,
        Some(second.clone()),
        "the old revision changes nothing"
    );

    let missing = setting.composed(&container, "Never stored.").await;
    assert_eq!(
        stages(setting, &missing, &missing.revision).await,
        [false; 3]
    );
    assert_eq!(
        setting.record(&missing.id).await,
        None,
        "a stage never makes a record"
    );

    let other = setting.turned().await;
    assert_eq!(
        stages(&other, &second, &second.revision).await,
        [false; 3],
        "of another organization"
    );
}

async fn a_failure_ends_a_revision_and_keeps_what_is_served(setting: &Setting) {
    let container = ContainerId::random();
    let served = setting.extracted(&container, "Served.").await;
    setting
        .commit(
            &container,
            0,
            &[domain::Change::Publish(Box::new(served.clone()))],
        )
        .await;
    let done = setting.record(&served.id).await.expect("a record");
    let next = Document {
        status: Status::Queued,
        ..replaced(&done)
    };
    setting
        .accept(&next, Some(&done.revision))
        .await
        .expect("a replacement");
    let failure = Failure {
        code: FailureCode::Corrupt,
        message: "It is broken.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let fail = async |revision: &Revision| {
        again(async || {
            ports
                .fail(&setting.alpha, &next.id, revision, &failure, None, now)
                .await
        })
        .await
        .expect("an answer")
    };
    assert!(!fail(&done.revision).await, "an older revision");

    // A call whose answer was lost may report on its repetition that the document has already
    // ended.
    fail(&next.revision).await;
    let failed = setting.record(&next.id).await.expect("a record");
    assert_eq!(
        (failed.status, failed.failure.clone()),
        (Status::Failed, Some(failure.clone()))
    );
    assert_eq!(failed.indexed, done.indexed);
    assert!(failed.indexed.is_some());
    assert!(!fail(&next.revision).await, "it has ended");
    assert_eq!(
        stages(setting, &next, &next.revision).await,
        [false; 3],
        "no stage follows the end"
    );
    assert_eq!(setting.record(&next.id).await, Some(failed));
}

async fn a_replacement_that_read_before_a_commit_is_refused(setting: &Setting) {
    let container = ContainerId::random();
    let read = setting
        .extracted(&container, "Read while it was indexing.")
        .await;
    setting
        .commit(
            &container,
            0,
            &[domain::Change::Publish(Box::new(read.clone()))],
        )
        .await;
    let done = setting.record(&read.id).await.expect("a record");
    let conflict = |result| matches!(result, Err(domain::PortError::Conflict));
    // Search now serves the revision that was read. A replacement based on the old record would
    // purge bytes that search needs.
    assert!(
        conflict(setting.accept(&replaced(&read), Some(&read.revision)).await),
        "the commit came between"
    );
    assert_eq!(setting.record(&read.id).await, Some(done.clone()));

    setting
        .accept(&replaced(&done), Some(&done.revision))
        .await
        .expect("a replacement that knows the commit");
}

async fn a_worker_whose_lease_is_over_cannot_end_a_revision(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Slow.").await;
    let failure = Failure {
        code: FailureCode::ContentLimit,
        message: "It took too long.".into(),
    };
    let (ports, now) = (&setting.ctx().documents, setting.now());
    let late = Some(document.lease_until.plus_seconds(1));
    let fail = async || {
        ports
            .fail(
                &setting.alpha,
                &document.id,
                &document.revision,
                &failure,
                late,
                now,
            )
            .await
    };
    assert!(!again(fail).await.expect("an answer"));
    assert_eq!(setting.record(&document.id).await, Some(document));
}

async fn documents_are_listed_newest_first_by_container_and_organization(setting: &Setting) {
    let (one, two) = (ContainerId::random(), ContainerId::random());
    let mut wanted = Vec::new();
    for i in 0..25 {
        wanted.insert(0, setting.accepted(&one, &format!("Number {i}.")).await);
        setting.app.world.clock.advance_seconds(1);
    }

    let other = setting.accepted(&two, "Elsewhere.").await;
    let list = async |tenant, container: &ContainerId| {
        again(async || setting.ctx().documents.list(tenant, container).await)
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
