//! Conformance tests of [`domain::ports::Containers`]: the deletion of tags, and the tag to which a
//! physical container belongs.

use domain::task::{Purge, PurgePhase};
use domain::{Container, ContainerId, ContainerTag, Merging, Owner, Task, TaskId, Tenant, Work};
use futures::future::join_all;

use crate::promises;
use crate::setting::{Setting, again};

promises!(
    a_deleted_tag_is_gone_together_with_its_containers,
    a_deletion_holds_only_over_what_was_read,
    of_many_deletions_at_the_same_time_one_holds,
);

pub(crate) fn tag(text: &str) -> ContainerTag {
    ContainerTag::parse(text).expect("a tag")
}

pub(crate) async fn create(setting: &Setting, tenant: &Tenant, name: &str) -> Container {
    let (tag, id, now) = (tag(name), ContainerId::random(), setting.now());
    let create = async || {
        setting
            .ctx()
            .containers
            .create(tenant, &tag, id.clone(), now)
            .await
    };
    again(create).await.expect("a container")
}

pub(crate) async fn get(setting: &Setting, name: &str) -> Option<Container> {
    let tag = tag(name);
    again(async || setting.ctx().containers.get(&setting.alpha, &tag).await)
        .await
        .expect("an answer")
}

pub(crate) async fn owners(setting: &Setting, tenant: &Tenant, ids: &[&ContainerId]) -> Vec<Owner> {
    let ids: Vec<ContainerId> = ids.iter().copied().cloned().collect();
    again(async || setting.ctx().containers.owners(tenant, &ids).await)
        .await
        .expect("owners")
}

pub(crate) fn purge(setting: &Setting, container: &Container) -> Task {
    let now = setting.now();
    let work = Purge {
        tag: container.tag.clone(),
        containers: container.ids.clone(),
        tag_created_at: container.created_at,
        deleted_at: now,
        container: 0,
        phase: PurgePhase::Documents,
        cursor: None,
        pending: Default::default(),
        report: Default::default(),
        verifying: false,
    };

    Task::new(Work::Purge(work), now)
}

pub(crate) async fn delete(
    setting: &Setting,
    tenant: &Tenant,
    container: &Container,
    task: &Task,
) -> bool {
    let delete = async || {
        setting
            .ctx()
            .containers
            .delete(tenant, container, task)
            .await
    };
    again(delete).await.expect("an answer")
}

pub(crate) async fn forget(setting: &Setting, tenant: &Tenant, ids: &[ContainerId]) {
    let forget = async || setting.ctx().containers.forget_deleted(tenant, ids).await;
    again(forget).await.expect("forgotten marks");
}

pub(crate) async fn stored(setting: &Setting, tenant: &Tenant, task: &Task) -> Option<Task> {
    again(async || setting.ctx().tasks.get(tenant, &task.id).await)
        .await
        .expect("an answer")
}

async fn a_deleted_tag_is_gone_together_with_its_containers(setting: &Setting) {
    let (container, other) = (
        create(setting, &setting.alpha, "box").await,
        create(setting, &setting.alpha, "other").await,
    );
    let theirs = create(setting, &setting.beta, "box").await;
    let (id, kept) = (container.primary(), other.primary());
    assert_eq!(
        owners(setting, &setting.alpha, &[id, kept]).await,
        [Owner::Original, Owner::Original]
    );

    let task = purge(setting, &container);
    for _ in 0..2 {
        assert!(
            delete(setting, &setting.alpha, &container, &task).await,
            "also when it is sent again"
        );
        assert_eq!(get(setting, "box").await, None);
        let wanted = [Owner::Original, Owner::Gone, Owner::Original, Owner::Gone];
        assert_eq!(
            owners(setting, &setting.alpha, &[kept, id, kept, id]).await,
            wanted
        );
        assert_eq!(owners(setting, &setting.alpha, &[id]).await, [Owner::Gone]);
    }

    assert_eq!(
        stored(setting, &setting.alpha, &task).await.as_ref(),
        Some(&task)
    );
    assert_eq!(stored(setting, &setting.beta, &task).await, None);
    assert_eq!(
        owners(setting, &setting.beta, &[id, theirs.primary()]).await,
        [Owner::Original, Owner::Original]
    );

    let list = async || setting.ctx().containers.list(&setting.alpha).await;
    assert_eq!(
        again(list).await.expect("a list"),
        std::slice::from_ref(&other)
    );

    let fresh = create(setting, &setting.alpha, "box").await;
    assert_ne!(
        fresh.primary(),
        id,
        "the tag is free at once, and for something new"
    );
    assert_eq!(
        owners(setting, &setting.alpha, &[id, fresh.primary()]).await,
        [Owner::Gone, Owner::Original]
    );

    forget(setting, &setting.beta, &container.ids).await;
    assert_eq!(
        owners(setting, &setting.alpha, &[id]).await,
        [Owner::Gone],
        "not theirs to forget"
    );

    for _ in 0..2 {
        forget(setting, &setting.alpha, &container.ids).await;
        assert_eq!(
            owners(setting, &setting.alpha, &[id]).await,
            [Owner::Original]
        );
    }

    assert!(owners(setting, &setting.alpha, &[]).await.is_empty());
}

async fn a_deletion_holds_only_over_what_was_read(setting: &Setting) {
    let container = create(setting, &setting.alpha, "box").await;
    let task = purge(setting, &container);
    let merging = Some(Merging {
        task: TaskId::random(),
        into: None,
    });

    for wrong in [
        Container {
            ids: vec![ContainerId::random()],
            ..container.clone()
        },
        Container {
            ids: [container.ids.clone(), vec![ContainerId::random()]].concat(),
            ..container.clone()
        },
        Container {
            merge: merging,
            ..container.clone()
        },
        Container {
            tag: tag("never-used"),
            ..container.clone()
        },
    ] {
        assert!(!delete(setting, &setting.alpha, &wrong, &task).await);
        assert_eq!(
            owners(setting, &setting.alpha, &[&wrong.ids[0]]).await,
            [Owner::Original]
        );
    }

    assert!(
        !delete(setting, &setting.beta, &container, &task).await,
        "of another organization"
    );
    assert_eq!(get(setting, "box").await.as_ref(), Some(&container));
    assert_eq!(stored(setting, &setting.alpha, &task).await, None);
    assert!(delete(setting, &setting.alpha, &container, &task).await);
    let fresh = create(setting, &setting.alpha, "box").await;
    assert!(
        !delete(
            setting,
            &setting.alpha,
            &container,
            &purge(setting, &container)
        )
        .await,
        "late"
    );
    assert_eq!(get(setting, "box").await, Some(fresh));
}

async fn of_many_deletions_at_the_same_time_one_holds(setting: &Setting) {
    let container = create(setting, &setting.alpha, "box").await;
    let tasks: Vec<Task> = (0..8).map(|_| purge(setting, &container)).collect();
    let held = join_all(
        tasks
            .iter()
            .map(|task| delete(setting, &setting.alpha, &container, task)),
    )
    .await;
    assert_eq!(held.iter().filter(|held| **held).count(), 1);
    for (task, held) in tasks.iter().zip(held) {
        assert_eq!(stored(setting, &setting.alpha, task).await.is_some(), held);
    }
}
