//! Conformance tests of [`domain::ports::Documents::overdue`]: all unfinished work appears when it
//! is due.

use domain::ports::{OVERDUE_AFTER_SECONDS, Overdue};
use domain::{Change, ContainerId, Document, Revision, Timestamp};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    unfinished_documents_are_overdue_from_their_time_on,
    finished_documents_are_not_overdue,
    replaced_bytes_are_overdue_until_they_are_purged,
    the_oldest_come_first_and_no_more_than_asked,
);

async fn overdue(setting: &Setting, before: Timestamp, limit: usize) -> Vec<Overdue> {
    again(async || setting.ctx().documents.overdue(before, limit).await)
        .await
        .expect("what is overdue")
}

async fn ever(setting: &Setting) -> Vec<Overdue> {
    overdue(setting, Timestamp::from_millis(i64::MAX), 100).await
}

fn named(setting: &Setting, document: &Document) -> Overdue {
    Overdue::Document(setting.alpha.org().clone(), document.id.clone())
}

async fn unfinished_documents_are_overdue_from_their_time_on(setting: &Setting) {
    let document = setting.accepted(&ContainerId::random(), "Words.").await;
    let due = document.updated_at.plus_seconds(OVERDUE_AFTER_SECONDS);
    assert!(overdue(setting, due, 10).await.is_empty());
    assert_eq!(
        overdue(setting, due.plus_seconds(1), 10).await,
        [named(setting, &document)]
    );

    setting.claim(&document).await;
    let lease = setting
        .record(&document.id)
        .await
        .expect("a record")
        .lease_until;
    assert!(
        overdue(setting, lease, 10).await.is_empty(),
        "a worker has it"
    );
    assert_eq!(
        overdue(setting, lease.plus_seconds(1), 10).await.len(),
        1,
        "the worker's time is over"
    );

    let later = setting.now().plus_seconds(5000);
    let (ports, id) = (&setting.ctx().documents, &document.id);
    again(async || {
        ports
            .postpone(&setting.alpha, id, &document.revision, later)
            .await
    })
    .await
    .expect("an answer");
    assert!(overdue(setting, later, 10).await.is_empty());
    assert_eq!(overdue(setting, later.plus_seconds(1), 10).await.len(), 1);
}

async fn finished_documents_are_not_overdue(setting: &Setting) {
    let container = ContainerId::random();
    let document = setting.extracted(&container, "Words.").await;
    assert_eq!(ever(setting).await.len(), 1, "it waits for its commit");
    setting
        .commit(
            &container,
            0,
            &[Change::Publish(Box::new(document.clone()))],
        )
        .await;
    assert!(ever(setting).await.is_empty());
}

async fn replaced_bytes_are_overdue_until_they_are_purged(setting: &Setting) {
    let container = ContainerId::random();
    let old = setting.accepted(&container, "Old.").await;
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
            .accept(&setting.alpha, &new, Some(&old.revision), &garbage)
            .await
    };
    again(accept).await.expect("a replacement");
    let all = ever(setting).await;
    let purges: Vec<&Overdue> = all
        .iter()
        .filter(|found| matches!(found, Overdue::Purge(..)))
        .collect();
    let [Overdue::Purge(org, of, purge)] = purges.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((org, of), (setting.alpha.org(), &container));

    let read = async || ports.index.purge(&setting.alpha, &container, purge).await;
    assert_eq!(
        again(read).await.expect("an answer").as_deref(),
        Some(garbage.as_slice())
    );

    for _ in 0..2 {
        let forget = async || {
            ports
                .index
                .forget_purge(&setting.alpha, &container, purge)
                .await
        };
        again(forget).await.expect("a forgotten purge");
        assert_eq!(again(read).await.expect("an answer"), None);
    }

    assert_eq!(ever(setting).await, [named(setting, &new)]);
}

async fn the_oldest_come_first_and_no_more_than_asked(setting: &Setting) {
    let container = ContainerId::random();
    let mut wanted = Vec::new();
    for i in 0..12 {
        let document = setting.accepted(&container, &format!("Number {i}.")).await;
        wanted.push(named(setting, &document));
        setting.app.world.clock.advance_seconds(1);
    }
    for limit in [1, 5, 12, 100] {
        let found = overdue(setting, Timestamp::from_millis(i64::MAX), limit).await;
        assert_eq!(found, wanted[..limit.min(12)]);
    }
}
