//! Conformance tests of [`domain::ports::Containers`]: physical containers that several tags share.

use domain::{Container, ContainerId, ContainerOwner, ContainerTag, SharedContainer};
use futures::future::join;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};
use crate::tags::{create_tag, delete_beside, get, purge_task, tag, tags_of_container};

promises!(
    tags_share_a_container_until_the_last_is_deleted,
    a_container_is_shared_only_over_what_was_read,
    of_deletions_of_all_tags_at_the_same_time_none_loses_the_container,
);

/// Shares a container. Returns whether all tags have it afterwards. The answer of the first attempt
/// may be lost, so the tags decide.
async fn share(
    setting: &PortFixture,
    containers: &[Container],
    shared: &SharedContainer,
    former_tags: &[ContainerTag],
) -> bool {
    let share = async || {
        let containers_port = &setting.ctx().containers;
        containers_port
            .share(&setting.alpha, containers, shared, former_tags)
            .await
    };
    retry_unavailable(share).await.expect("an answer");

    let mut all_share = true;
    for container in containers {
        let present = get(setting, container.tag.as_str()).await;
        all_share &= present.is_some_and(|present| present.ids.contains(&shared.id));
    }
    all_share
}

async fn create_shared(
    setting: &PortFixture,
    names: [&str; 2],
) -> ([Container; 2], SharedContainer) {
    let containers = [
        create_tag(setting, &setting.alpha, names[0]).await,
        create_tag(setting, &setting.alpha, names[1]).await,
    ];
    let shared = SharedContainer {
        id: ContainerId::random(),
        tags: vec![tag(names[1]), tag(names[0])],
    };
    assert!(share(setting, &containers, &shared, &[]).await);

    let [a, b] = names.map(|name| async move { get(setting, name).await.expect("a tag") });
    ([a.await, b.await], shared)
}

async fn owner(setting: &PortFixture, id: &ContainerId) -> ContainerOwner {
    let owners = tags_of_container(setting, &setting.alpha, &[id]).await;
    owners.into_iter().next().expect("an owner")
}

async fn tags_share_a_container_until_the_last_is_deleted(setting: &PortFixture) {
    let ([a, b], shared) = create_shared(setting, ["a", "b"]).await;
    for container in [&a, &b] {
        assert_eq!(container.ids[1..], *std::slice::from_ref(&shared.id));
    }
    let both = ContainerOwner::Tags(vec![tag("b"), tag("a")]);
    assert_eq!(owner(setting, &shared.id).await, both);

    let task = purge_task(setting, &b);
    let only = std::slice::from_ref(&shared);
    assert!(delete_beside(setting, &setting.alpha, &b, only, &task).await);
    assert_eq!(
        owner(setting, b.primary_id()).await,
        ContainerOwner::Deleted
    );
    let one = ContainerOwner::Tags(vec![tag("a")]);
    assert_eq!(owner(setting, &shared.id).await, one);

    let task = purge_task(setting, &a);
    assert!(delete_beside(setting, &setting.alpha, &a, &[], &task).await);
    assert_eq!(owner(setting, &shared.id).await, ContainerOwner::Deleted);
}

async fn a_container_is_shared_only_over_what_was_read(setting: &PortFixture) {
    let ([a, b], shared) = create_shared(setting, ["a", "b"]).await;
    let other = SharedContainer {
        id: ContainerId::random(),
        tags: shared.tags.clone(),
    };
    let stale = Container {
        ids: vec![a.primary_id().clone()],
        ..a.clone()
    };
    assert!(!share(setting, &[stale, b.clone()], &other, &[]).await);
    assert_eq!(owner(setting, &other.id).await, ContainerOwner::Original);

    // The tags of a shared container have changed since they were read.
    let outdated = SharedContainer {
        id: shared.id.clone(),
        tags: vec![tag("a"), tag("b")],
    };
    let task = purge_task(setting, &a);
    let deleted = delete_beside(setting, &setting.alpha, &a, &[outdated], &task).await;
    assert!(!deleted);
    assert_eq!(get(setting, "a").await, Some(a));

    // A container that belongs to tags already joins another one only with these.
    let c = create_tag(setting, &setting.alpha, "c").await;
    let joined = SharedContainer {
        id: shared.id.clone(),
        tags: vec![tag("b"), tag("a"), tag("c")],
    };
    assert!(!share(setting, std::slice::from_ref(&c), &joined, &[]).await);
    assert!(share(setting, std::slice::from_ref(&c), &joined, &shared.tags).await);
    assert_eq!(
        owner(setting, &shared.id).await,
        ContainerOwner::Tags(joined.tags)
    );
}

async fn of_deletions_of_all_tags_at_the_same_time_none_loses_the_container(setting: &PortFixture) {
    for round in 0..4 {
        let names = [format!("a-{round}"), format!("b-{round}")];
        let ([a, b], shared) = create_shared(setting, [names[0].as_str(), names[1].as_str()]).await;
        let only = std::slice::from_ref(&shared);
        let tasks = [purge_task(setting, &a), purge_task(setting, &b)];
        let (first, second) = join(
            delete_beside(setting, &setting.alpha, &a, only, &tasks[0]),
            delete_beside(setting, &setting.alpha, &b, only, &tasks[1]),
        )
        .await;
        assert!(first != second, "{first} {second}");

        let left = if first { &b } else { &a };
        assert_eq!(
            owner(setting, &shared.id).await,
            ContainerOwner::Tags(vec![left.tag.clone()])
        );
    }
}
