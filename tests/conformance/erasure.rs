//! Conformance tests of [`domain::ports::Index`] for containers whose index still holds deleted
//! data.

use domain::ports::ERASE_AFTER_SECONDS;
use domain::{ContainerId, DocumentChange, OrgId, Timestamp};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    what_takes_content_away_makes_its_container_due,
    an_erasure_ends_only_what_it_covers,
);

async fn due(setting: &PortFixture, before: Timestamp) -> Vec<(OrgId, ContainerId)> {
    retry_unavailable(async || setting.ctx().index.list_due_erasures(before, 10).await)
        .await
        .expect("what is due")
}

async fn what_takes_content_away_makes_its_container_due(setting: &PortFixture) {
    let container = ContainerId::random();
    let wanted = vec![(setting.alpha.org().clone(), container.clone())];
    let document = setting.served_document(&container, "Words.").await;
    let queued = setting.accept_document(&container, "Never served.").await;
    let far = setting.now().plus_seconds(ERASE_AFTER_SECONDS + 1);
    setting
        .commit(&container, 1, &[DocumentChange::Remove(Box::new(queued))])
        .await;
    assert_eq!(
        setting.read_head(&container).await.last_removal,
        None,
        "nothing of it was in the index"
    );
    assert!(due(setting, far).await.is_empty());

    setting
        .commit(&container, 2, &[DocumentChange::Remove(Box::new(document))])
        .await;
    assert_eq!(setting.read_head(&container).await.last_removal, Some(3));
    assert_eq!(due(setting, far).await, wanted);
    assert!(
        due(
            setting,
            setting.now().plus_seconds(ERASE_AFTER_SECONDS - 60)
        )
        .await
        .is_empty()
    );
    assert!(
        retry_unavailable(async || setting.ctx().documents.list_overdue(far, 10).await)
            .await
            .expect("what is overdue")
            .iter()
            .all(|overdue| matches!(overdue, domain::ports::OverdueWork::Purge(..))),
        "it is no unfinished work"
    );
    let later = far.plus_seconds(3600);
    let index = &setting.ctx().index;
    let postpone = async || {
        index
            .postpone_erasure(&setting.alpha, &container, later)
            .await
    };
    retry_unavailable(postpone).await.expect("an answer");
    assert!(due(setting, later).await.is_empty());
    assert_eq!(due(setting, later.plus_seconds(1)).await, wanted);
}

async fn an_erasure_ends_only_what_it_covers(setting: &PortFixture) {
    let container = ContainerId::random();
    let index = &setting.ctx().index;
    let (a, b) = (
        setting.served_document(&container, "A.").await,
        setting.served_document(&container, "B.").await,
    );
    let far = Timestamp::from_millis(i64::from(u32::MAX) * 1000);
    let erased = async |through| {
        retry_unavailable(async || {
            index
                .record_erasure(&setting.alpha, &container, through)
                .await
        })
        .await
        .expect("an answer");
    };
    erased(5).await;
    let postpone = async || {
        index
            .postpone_erasure(&setting.alpha, &container, setting.now())
            .await
    };
    retry_unavailable(postpone)
        .await
        .expect("nothing to postpone");
    assert!(due(setting, far).await.is_empty());

    setting
        .commit(&container, 2, &[DocumentChange::Remove(Box::new(a))])
        .await;
    setting
        .commit(&container, 3, &[DocumentChange::Remove(Box::new(b))])
        .await;
    erased(3).await;
    assert_eq!(
        due(setting, far).await.len(),
        1,
        "the second one came later"
    );
    assert_eq!(setting.read_head(&container).await.last_removal, Some(4));

    erased(4).await;
    assert!(due(setting, far).await.is_empty());
    assert_eq!(setting.read_head(&container).await.last_removal, None);
}
