//! Conformance tests of [`domain::ports::Documents::overdue`]: all unfinished work appears when it
//! is due.

use domain::ports::{OVERDUE_AFTER_SECONDS, OverdueWork};
use domain::{ContainerId, Document, DocumentChange, Revision, Timestamp};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    unfinished_documents_are_overdue_from_their_time_on,
    finished_documents_are_not_overdue,
    replaced_bytes_are_overdue_until_they_are_purged,
    the_oldest_come_first_and_no_more_than_asked,
);

async fn list_overdue(setting: &PortFixture, before: Timestamp, limit: usize) -> Vec<OverdueWork> {
    retry_unavailable(async || setting.ctx().documents.list_overdue(before, limit).await)
        .await
        .expect("what is overdue")
}

async fn end_of_time(setting: &PortFixture) -> Vec<OverdueWork> {
    list_overdue(setting, Timestamp::from_millis(i64::MAX), 100).await
}

fn work_name(setting: &PortFixture, document: &Document) -> OverdueWork {
    OverdueWork::Document(setting.alpha.org().clone(), document.id.clone())
}

async fn unfinished_documents_are_overdue_from_their_time_on(setting: &PortFixture) {
    let document = setting
        .accept_document(&ContainerId::random(), "Words.")
        .await;
    let due = document.updated_at.plus_seconds(OVERDUE_AFTER_SECONDS);
    assert!(list_overdue(setting, due, 10).await.is_empty());
    assert_eq!(
        list_overdue(setting, due.plus_seconds(1), 10).await,
        [work_name(setting, &document)]
    );

    setting.take_lease(&document).await;
    let lease = setting
        .read_record(&document.id)
        .await
        .expect("a record")
        .lease_until;
    assert!(
        list_overdue(setting, lease, 10).await.is_empty(),
        "a worker has it"
    );
    assert_eq!(
        list_overdue(setting, lease.plus_seconds(1), 10).await.len(),
        1,
        "the worker's time is over"
    );

    let later = setting.now().plus_seconds(5000);
    let (ports, id) = (&setting.ctx().documents, &document.id);
    retry_unavailable(async || {
        ports
            .postpone_revision(&setting.alpha, id, &document.revision, lease, later)
            .await
    })
    .await
    .expect("an answer");
    assert!(list_overdue(setting, later, 10).await.is_empty());
    assert_eq!(
        list_overdue(setting, later.plus_seconds(1), 10).await.len(),
        1
    );
}

async fn finished_documents_are_not_overdue(setting: &PortFixture) {
    let container = ContainerId::random();
    let document = setting.extracted_document(&container, "Words.").await;
    assert_eq!(
        end_of_time(setting).await.len(),
        1,
        "it waits for its commit"
    );
    setting
        .commit(
            &container,
            0,
            &[DocumentChange::Publish(Box::new(document.clone()))],
        )
        .await;
    assert!(end_of_time(setting).await.is_empty());
}

async fn replaced_bytes_are_overdue_until_they_are_purged(setting: &PortFixture) {
    let container = ContainerId::random();
    let old = setting.accept_document(&container, "Old.").await;
    let new = Document {
        revision: Revision::random(),
        revision_number: 2,
        ..old.clone()
    };
    let garbage = [old.body.blob.clone()];
    let ports = setting.ctx();
    let accept = async || {
        ports
            .documents
            .accept_revision(&setting.alpha, &new, Some(&old.revision), &garbage)
            .await
    };
    retry_unavailable(accept).await.expect("a replacement");
    let all = end_of_time(setting).await;
    let purges: Vec<&OverdueWork> = all
        .iter()
        .filter(|found| matches!(found, OverdueWork::Purge(..)))
        .collect();
    let [OverdueWork::Purge(org, of, purge)] = purges.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((org, of), (setting.alpha.org(), &container));

    let read = async || {
        ports
            .index
            .get_purge(&setting.alpha, &container, purge)
            .await
    };
    assert_eq!(
        retry_unavailable(read).await.expect("an answer").as_deref(),
        Some(garbage.as_slice())
    );

    for _ in 0..2 {
        let forget = async || {
            ports
                .index
                .delete_purge(&setting.alpha, &container, purge)
                .await
        };
        retry_unavailable(forget).await.expect("a forgotten purge");
        assert_eq!(retry_unavailable(read).await.expect("an answer"), None);
    }

    assert_eq!(end_of_time(setting).await, [work_name(setting, &new)]);
}

async fn the_oldest_come_first_and_no_more_than_asked(setting: &PortFixture) {
    let container = ContainerId::random();
    let mut wanted = Vec::new();
    for i in 0..12 {
        let document = setting
            .accept_document(&container, &format!("Number {i}."))
            .await;
        wanted.push(work_name(setting, &document));
        setting.app.environment.clock.advance_seconds(1);
    }
    for limit in [1, 5, 12, 100] {
        let found = list_overdue(setting, Timestamp::from_millis(i64::MAX), limit).await;
        assert_eq!(found, wanted[..limit.min(12)]);
    }
}
