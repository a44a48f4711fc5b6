//! Conformance tests of [`domain::ports::Index`] for containers whose index still holds deleted
//! data.

use domain::ports::ERASE_AFTER_SECONDS;
use domain::{Change, ContainerId, OrgId, Timestamp};

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    what_takes_content_away_makes_its_container_due,
    an_erasure_ends_only_what_it_covers,
);

async fn due(setting: &Setting, before: Timestamp) -> Vec<(OrgId, ContainerId)> {
    again(async || setting.ctx().index.due_erasures(before, 10).await)
        .await
        .expect("what is due")
}

async fn what_takes_content_away_makes_its_container_due(setting: &Setting) {
    let container = ContainerId::random();
    let wanted = vec![(setting.alpha.org().clone(), container.clone())];
    let document = setting.served(&container, "Words.").await;
    let queued = setting.accepted(&container, "Never served.").await;
    let far = setting.now().plus_seconds(ERASE_AFTER_SECONDS + 1);
    setting
        .commit(&container, 1, &[Change::Remove(Box::new(queued))])
        .await;
    assert_eq!(
        setting.head(&container).await.removed,
        None,
        "nothing of it was in the index"
    );
    assert!(due(setting, far).await.is_empty());

    setting
        .commit(&container, 2, &[Change::Remove(Box::new(document))])
        .await;
    assert_eq!(setting.head(&container).await.removed, Some(3));
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
        again(async || setting.ctx().documents.overdue(far, 10).await)
            .await
            .expect("what is overdue")
            .iter()
            .all(|overdue| matches!(overdue, domain::ports::Overdue::Purge(..))),
        "it is no unfinished work"
    );
    let later = far.plus_seconds(3600);
    let index = &setting.ctx().index;
    let postpone = async || {
        index
            .postpone_erasure(&setting.alpha, &container, later)
            .await
    };
    again(postpone).await.expect("an answer");
    assert!(due(setting, later).await.is_empty());
    assert_eq!(due(setting, later.plus_seconds(1)).await, wanted);
}

async fn an_erasure_ends_only_what_it_covers(setting: &Setting) {
    let container = ContainerId::random();
    let index = &setting.ctx().index;
    let (a, b) = (
        setting.served(&container, "A.").await,
        setting.served(&container, "B.").await,
    );
    let far = Timestamp::from_millis(i64::from(u32::MAX) * 1000);
    let erased = async |through| {
        again(async || index.erased(&setting.alpha, &container, through).await)
            .await
            .expect("an answer");
    };
    erased(5).await;
    let postpone = async || {
        index
            .postpone_erasure(&setting.alpha, &container, setting.now())
            .await
    };
    again(postpone).await.expect("nothing to postpone");
    assert!(due(setting, far).await.is_empty());

    setting
        .commit(&container, 2, &[Change::Remove(Box::new(a))])
        .await;
    setting
        .commit(&container, 3, &[Change::Remove(Box::new(b))])
        .await;
    erased(3).await;
    assert_eq!(
        due(setting, far).await.len(),
        1,
        "the second one came later"
    );
    assert_eq!(setting.head(&container).await.removed, Some(4));

    erased(4).await;
    assert!(due(setting, far).await.is_empty());
    assert_eq!(setting.head(&container).await.removed, None);
}
