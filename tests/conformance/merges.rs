//! Conformance tests of [`domain::ports::Containers`]: merges of tags.

use domain::task::{ContainerMerge, MergePhase};
use domain::{
    Container, ContainerChange, ContainerId, ContainerOwner, MergeRole, Patch, Task, TaskId,
    TaskWork, Tenant,
};
use futures::future::join;

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};
use crate::tags::{
    create_tag, delete, forget_tag, get, is_stored, purge_task, tag, tags_of_container,
};

promises!(
    a_merge_gives_the_target_all_containers_at_once,
    a_merge_holds_only_over_what_was_read,
    every_part_of_a_merge_ends_by_itself,
    of_a_merge_and_a_deletion_at_the_same_time_one_holds,
    of_merges_that_share_a_tag_one_holds,
    a_merged_container_moves_on_with_its_tag,
);

fn merge_task(setting: &PortFixture, target: &Container, sources: &[Container]) -> Task {
    let work = ContainerMerge {
        sources: sources
            .iter()
            .map(|source| (source.tag.clone(), source.ids.clone()))
            .collect(),
        target: target.tag.clone(),
        target_ids: target.ids.clone(),
        phase: MergePhase::Queued,
        source: 0,
        container: 0,
        cursor: None,
        looked_at: 0,
        in_flight: 0,
        superseded: 0,
    };

    Task::new(TaskWork::Merge(work), setting.now())
}

async fn begin_merge(
    setting: &PortFixture,
    target: &Container,
    sources: &[Container],
    task: &Task,
) -> bool {
    let (containers, tenant) = (&setting.ctx().containers, &setting.alpha);
    let begin = async || {
        containers
            .begin_merge(tenant, target, sources, &[], task)
            .await
    };
    retry_unavailable(begin).await.expect("an answer")
}

async fn end_merge(setting: &PortFixture, tenant: &Tenant, name: &str, task: &TaskId) {
    let tag = tag(name);
    let end = async || {
        setting
            .ctx()
            .containers
            .end_merge_role(tenant, &tag, task)
            .await
    };
    retry_unavailable(end).await.expect("an ended part");
}

/// Creates a target and two sources, `a` and `b`.
async fn create_three_tags(setting: &PortFixture) -> (Container, [Container; 2]) {
    let target = create_tag(setting, &setting.alpha, "target").await;
    (
        target,
        [
            create_tag(setting, &setting.alpha, "a").await,
            create_tag(setting, &setting.alpha, "b").await,
        ],
    )
}

async fn a_merge_gives_the_target_all_containers_at_once(setting: &PortFixture) {
    let (target, [a, b]) = create_three_tags(setting).await;
    let theirs = create_tag(setting, &setting.beta, "a").await;
    let sources = [a.clone(), b.clone()];
    let task = merge_task(setting, &target, &sources);
    let part = |into: Option<&str>| {
        Some(MergeRole {
            task: task.id.clone(),
            into: into.map(tag),
        })
    };
    let all = [target.primary_id(), a.primary_id(), b.primary_id()];

    for _ in 0..2 {
        assert!(
            begin_merge(setting, &target, &sources, &task).await,
            "also when it is sent again"
        );

        let ids = all.map(Clone::clone).to_vec();
        let merging = Container {
            ids,
            merge: part(None),
            ..target.clone()
        };
        assert_eq!(get(setting, "target").await, Some(merging));

        for source in &sources {
            let merging = Container {
                merge: part(Some("target")),
                ..source.clone()
            };
            assert_eq!(get(setting, source.tag.as_str()).await, Some(merging));
        }

        let moved = ContainerOwner::Tags(vec![tag("target")]);
        let wanted = [ContainerOwner::Original, moved.clone(), moved];
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &all).await,
            wanted
        );
    }

    assert_eq!(
        is_stored(setting, &setting.alpha, &task).await.as_ref(),
        Some(&task)
    );
    assert_eq!(
        tags_of_container(
            setting,
            &setting.beta,
            &[a.primary_id(), theirs.primary_id()]
        )
        .await,
        [ContainerOwner::Original, ContainerOwner::Original]
    );

    let named = ContainerChange {
        name: Patch::Set("A".into()),
        ..Default::default()
    };
    let (containers, now) = (&setting.ctx().containers, setting.now());
    let describe = async || {
        containers
            .update_settings(&setting.alpha, &a.tag, &named, ContainerId::random(), now)
            .await
    };
    assert_eq!(
        retry_unavailable(describe)
            .await
            .expect("a container")
            .merge,
        part(Some("target")),
        "words end no merge"
    );
}

async fn a_merge_holds_only_over_what_was_read(setting: &PortFixture) {
    let (target, [a, b]) = create_three_tags(setting).await;
    let other = |container: &Container| Container {
        ids: vec![ContainerId::random()],
        ..container.clone()
    };
    let unknown = Container {
        tag: tag("never-used"),
        ..a.clone()
    };

    for (into, sources) in [
        (other(&target), vec![a.clone(), b.clone()]),
        (target.clone(), vec![a.clone(), other(&b)]),
        (target.clone(), vec![unknown.clone(), b.clone()]),
        (unknown, vec![b.clone()]),
    ] {
        let task = merge_task(setting, &into, &sources);
        assert!(!begin_merge(setting, &into, &sources, &task).await);
        assert_eq!(is_stored(setting, &setting.alpha, &task).await, None);
    }

    for container in [&target, &a, &b] {
        assert_eq!(
            get(setting, container.tag.as_str()).await.as_ref(),
            Some(container),
            "nothing of it"
        );
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &[container.primary_id()]).await,
            [ContainerOwner::Original]
        );
    }

    let turned = setting.with_organizations_swapped().await;
    let task = merge_task(setting, &target, std::slice::from_ref(&a));
    assert!(
        !begin_merge(&turned, &target, std::slice::from_ref(&a), &task).await,
        "of another organization"
    );
    assert!(begin_merge(setting, &target, std::slice::from_ref(&a), &task).await);

    let now = get(setting, "target").await.expect("a container");
    let next = merge_task(setting, &now, std::slice::from_ref(&b));
    assert!(
        !begin_merge(setting, &now, std::slice::from_ref(&b), &next).await,
        "one merge at a time"
    );
    assert!(
        !begin_merge(setting, &b, std::slice::from_ref(&now), &next).await,
        "also as a source"
    );
    assert!(
        !delete(setting, &setting.alpha, &a, &purge_task(setting, &a)).await,
        "it was read before the merge"
    );
    assert_eq!(get(setting, "b").await, Some(b));
}

async fn every_part_of_a_merge_ends_by_itself(setting: &PortFixture) {
    let (target, sources) = create_three_tags(setting).await;
    let task = merge_task(setting, &target, &sources);
    assert!(begin_merge(setting, &target, &sources, &task).await);

    let merging = get(setting, "target").await.expect("a container");
    for name in ["target", "a", "never-used"] {
        end_merge(setting, &setting.alpha, name, &TaskId::random()).await;
        end_merge(setting, &setting.beta, name, &task.id).await;
    }

    assert_eq!(
        get(setting, "target").await.as_ref(),
        Some(&merging),
        "only its own merge ends"
    );
    assert!(get(setting, "a").await.is_some());

    for _ in 0..2 {
        end_merge(setting, &setting.alpha, "target", &task.id).await;
        assert_eq!(
            get(setting, "target").await,
            Some(Container {
                merge: None,
                ..merging.clone()
            })
        );
        assert!(
            get(setting, "b")
                .await
                .is_some_and(|source| source.merge.is_some())
        );
    }

    for _ in 0..2 {
        end_merge(setting, &setting.alpha, "a", &task.id).await;
        assert_eq!(get(setting, "a").await, None);
    }

    let fresh = create_tag(setting, &setting.alpha, "a").await;
    assert_ne!(fresh.primary_id(), sources[0].primary_id());
    end_merge(setting, &setting.alpha, "a", &task.id).await;
    assert_eq!(
        get(setting, "a").await,
        Some(fresh),
        "a tag that was made anew has no part in it"
    );

    forget_tag(setting, &setting.alpha, &merging.ids).await;
    let moved = tags_of_container(setting, &setting.alpha, &[sources[0].primary_id()]).await;
    assert_eq!(
        moved,
        [ContainerOwner::Tags(vec![tag("target")])],
        "only what was deleted is forgotten"
    );
}

async fn of_a_merge_and_a_deletion_at_the_same_time_one_holds(setting: &PortFixture) {
    for round in 0..6 {
        let name = |part: &str| format!("{part}-{round}");
        let target = create_tag(setting, &setting.alpha, &name("target")).await;
        let source = create_tag(setting, &setting.alpha, &name("source")).await;
        let sources = std::slice::from_ref(&source);
        let deleted = if round % 2 == 0 { &source } else { &target };
        let (merging, purging) = (
            merge_task(setting, &target, sources),
            purge_task(setting, deleted),
        );
        let (merged, gone) = join(
            begin_merge(setting, &target, sources, &merging),
            delete(setting, &setting.alpha, deleted, &purging),
        )
        .await;
        assert!(merged != gone, "merged: {merged}, deleted: {gone}");
        assert_eq!(
            is_stored(setting, &setting.alpha, &merging).await.is_some(),
            merged
        );
        assert_eq!(
            is_stored(setting, &setting.alpha, &purging).await.is_some(),
            gone
        );

        let owner = tags_of_container(
            setting,
            &setting.alpha,
            &[source.primary_id(), target.primary_id()],
        )
        .await;
        let wanted = match (merged, deleted.tag == source.tag) {
            (true, _) => [
                ContainerOwner::Tags(vec![target.tag.clone()]),
                ContainerOwner::Original,
            ],
            (false, true) => [ContainerOwner::Deleted, ContainerOwner::Original],
            (false, false) => [ContainerOwner::Original, ContainerOwner::Deleted],
        };
        assert_eq!(owner, wanted);
    }
}

async fn of_merges_that_share_a_tag_one_holds(setting: &PortFixture) {
    for round in 0..4 {
        let mut made = Vec::new();
        for part in ["one", "two", "three"] {
            made.push(create_tag(setting, &setting.alpha, &format!("{part}-{round}")).await);
        }
        // The conflict is one source for two targets in even rounds, and two tags merged into each
        // other in odd ones.
        let second = if round % 2 == 0 {
            (&made[2], &made[1])
        } else {
            (&made[1], &made[0])
        };
        let first = (&made[0], &made[1]);
        let tasks = [first, second]
            .map(|(into, source)| merge_task(setting, into, std::slice::from_ref(source)));
        let (one, two) = join(
            begin_merge(setting, first.0, std::slice::from_ref(first.1), &tasks[0]),
            begin_merge(setting, second.0, std::slice::from_ref(second.1), &tasks[1]),
        )
        .await;
        assert!(one != two, "{one} {two}");

        let (target, source) = if one { first } else { second };
        let target = get(setting, target.tag.as_str())
            .await
            .expect("a container");
        assert_eq!(target.ids[1..], source.ids);
        assert_eq!(
            tags_of_container(setting, &setting.alpha, &[source.primary_id()]).await,
            [ContainerOwner::Tags(vec![target.tag])]
        );
    }
}

async fn a_merged_container_moves_on_with_its_tag(setting: &PortFixture) {
    let (target, [a, b]) = create_three_tags(setting).await;
    let first = merge_task(setting, &target, std::slice::from_ref(&a));
    assert!(begin_merge(setting, &target, std::slice::from_ref(&a), &first).await);

    for name in ["target", "a"] {
        end_merge(setting, &setting.alpha, name, &first.id).await;
    }
    let target = get(setting, "target").await.expect("a container");
    let second = merge_task(setting, &b, std::slice::from_ref(&target));
    assert!(begin_merge(setting, &b, std::slice::from_ref(&target), &second).await);

    for name in ["b", "target"] {
        end_merge(setting, &setting.alpha, name, &second.id).await;
    }
    let all = [b.primary_id(), target.primary_id(), a.primary_id()];
    let moved = ContainerOwner::Tags(vec![tag("b")]);
    assert_eq!(
        tags_of_container(setting, &setting.alpha, &all).await,
        [ContainerOwner::Original, moved.clone(), moved]
    );

    let last = get(setting, "b").await.expect("a container");
    assert_eq!(last.ids.iter().collect::<Vec<_>>(), all);
    assert!(delete(setting, &setting.alpha, &last, &purge_task(setting, &last)).await);
    assert_eq!(
        tags_of_container(setting, &setting.alpha, &all).await,
        [
            ContainerOwner::Deleted,
            ContainerOwner::Deleted,
            ContainerOwner::Deleted
        ]
    );
}
