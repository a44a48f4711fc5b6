//! Conformance tests of [`domain::ports::Containers`]: the deletion of tags, and the tag to which a
//! physical container belongs.

use domain::task::{ContainerPurge, PurgePhase};
use domain::{
    Container, ContainerId, ContainerOwner, ContainerTag, MergeRole, SharedContainer, Task, TaskId,
    TaskWork, Tenant,
};
use futures::future::join_all;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    a_deleted_tag_is_gone_together_with_its_containers,
    a_deletion_holds_only_over_what_was_read,
    of_many_deletions_at_the_same_time_one_holds,
);

pub(crate) fn tag(text: &str) -> ContainerTag {
    ContainerTag::parse(text).expect("a tag")
}

pub(crate) async fn create_tag(setting: &PortFixture, tenant: &Tenant, name: &str) -> Container {
    let (tag, id, now) = (tag(name), ContainerId::random(), setting.now());
    let create = async || {
        setting
            .ctx()
            .containers
            .create_tag(tenant, &tag, id.clone(), now)
            .await
    };
    retry_unavailable(create).await.expect("a container")
}

pub(crate) async fn get(setting: &PortFixture, name: &str) -> Option<Container> {
    let tag = tag(name);
    retry_unavailable(async || setting.ctx().containers.get(&setting.alpha, &tag).await)
        .await
        .expect("an answer")
}

pub(crate) async fn tags_of_container(
    setting: &PortFixture,
    tenant: &Tenant,
    ids: &[&ContainerId],
) -> Vec<ContainerOwner> {
    let ids: Vec<ContainerId> = ids.iter().copied().cloned().collect();
    retry_unavailable(async || setting.ctx().containers.list_owners(tenant, &ids).await)
        .await
        .expect("owners")
}

pub(crate) fn purge_task(setting: &PortFixture, container: &Container) -> Task {
    let now = setting.now();
    let work = ContainerPurge {
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

    Task::new(TaskWork::Purge(work), now)
}

pub(crate) async fn delete(
    setting: &PortFixture,
    tenant: &Tenant,
    container: &Container,
    task: &Task,
) -> bool {
    delete_beside(setting, tenant, container, &[], task).await
}

/// Deletes a tag that shares these containers with others.
pub(crate) async fn delete_beside(
    setting: &PortFixture,
    tenant: &Tenant,
    container: &Container,
    shared: &[SharedContainer],
    task: &Task,
) -> bool {
    let delete = async || {
        setting
            .ctx()
            .containers
            .delete_tag(tenant, container, shared, task)
            .await
    };
    retry_unavailable(delete).await.expect("an answer")
}

pub(crate) async fn forget_tag(setting: &PortFixture, tenant: &Tenant, ids: &[ContainerId]) {
    let forget = async || {
        setting
            .ctx()
            .containers
            .remove_owner_marks(tenant, ids)
            .await
    };
    retry_unavailable(forget).await.expect("forgotten marks");
}

pub(crate) async fn is_stored(setting: &PortFixture, tenant: &Tenant, task: &Task) -> Option<Task> {
    retry_unavailable(async || setting.ctx().tasks.get(tenant, &task.id).await)
        .await
        .expect("an answer")
}

async fn a_deleted_tag_is_gone_together_with_its_containers(setting: &PortFixture) {
    let (container, other) = (
        create_tag(setting, &setting.alpha, "box").await,
        create_tag(setting, &setting.alpha, "other").await,
    );
    let theirs = create_tag(setting, &setting.beta, "box").await;
    let (id, kept) = (container.primary_id(), other.primary_id());
    assert_eq!(
        tags_of_container(setting, &setting.alpha, &[id, kept]).await,
        [ContainerOwner::Original, ContainerOwner::Original]
    );

    let task = purge_task(setting, &container);
    for _ in 0..2 {
        assert!(
            delete(setting, &setting.alpha, &container, &task).await,
            "also when it is sent again"
        );
        assert_eq!(get(setting, "box").await, None);
        let wanted = [
            ContainerOwner::Original,
            ContainerOwner::Deleted,
            ContainerOwner::Original,
            ContainerOwner::Deleted,
        ];
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &[kept, id, kept, id]).await,
            wanted
        );
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &[id]).await,
            [ContainerOwner::Deleted]
        );
    }

    assert_eq!(
        is_stored(setting, &setting.alpha, &task).await.as_ref(),
        Some(&task)
    );
    assert_eq!(is_stored(setting, &setting.beta, &task).await, None);
    assert_eq!(
        tags_of_container(setting, &setting.beta, &[id, theirs.primary_id()]).await,
        [ContainerOwner::Original, ContainerOwner::Original]
    );

    let list = async || setting.ctx().containers.list(&setting.alpha).await;
    assert_eq!(
        retry_unavailable(list).await.expect("a list"),
        std::slice::from_ref(&other)
    );

    let fresh = create_tag(setting, &setting.alpha, "box").await;
    assert_ne!(
        fresh.primary_id(),
        id,
        "the tag is free at once, and for something new"
    );
    assert_eq!(
        tags_of_container(setting, &setting.alpha, &[id, fresh.primary_id()]).await,
        [ContainerOwner::Deleted, ContainerOwner::Original]
    );

    forget_tag(setting, &setting.beta, &container.ids).await;
    assert_eq!(
        tags_of_container(setting, &setting.alpha, &[id]).await,
        [ContainerOwner::Deleted],
        "not theirs to forget"
    );

    for _ in 0..2 {
        forget_tag(setting, &setting.alpha, &container.ids).await;
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &[id]).await,
            [ContainerOwner::Original]
        );
    }

    assert!(
        tags_of_container(setting, &setting.alpha, &[])
            .await
            .is_empty()
    );
}

async fn a_deletion_holds_only_over_what_was_read(setting: &PortFixture) {
    let container = create_tag(setting, &setting.alpha, "box").await;
    let task = purge_task(setting, &container);
    let merging = Some(MergeRole {
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
            tags_of_container(setting, &setting.alpha, &[&wrong.ids[0]]).await,
            [ContainerOwner::Original]
        );
    }

    assert!(
        !delete(setting, &setting.beta, &container, &task).await,
        "of another organization"
    );
    assert_eq!(get(setting, "box").await.as_ref(), Some(&container));
    assert_eq!(is_stored(setting, &setting.alpha, &task).await, None);
    assert!(delete(setting, &setting.alpha, &container, &task).await);
    let fresh = create_tag(setting, &setting.alpha, "box").await;
    assert!(
        !delete(
            setting,
            &setting.alpha,
            &container,
            &purge_task(setting, &container)
        )
        .await,
        "late"
    );
    assert_eq!(get(setting, "box").await, Some(fresh));
}

async fn of_many_deletions_at_the_same_time_one_holds(setting: &PortFixture) {
    let container = create_tag(setting, &setting.alpha, "box").await;
    let tasks: Vec<Task> = (0..8).map(|_| purge_task(setting, &container)).collect();
    let held = join_all(
        tasks
            .iter()
            .map(|task| delete(setting, &setting.alpha, &container, task)),
    )
    .await;
    assert_eq!(held.iter().filter(|held| **held).count(), 1);
    for (task, held) in tasks.iter().zip(held) {
        assert_eq!(
            is_stored(setting, &setting.alpha, task).await.is_some(),
            held
        );
    }
}
