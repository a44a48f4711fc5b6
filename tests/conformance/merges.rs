//! Conformance tests of [`domain::ports::Containers`]: merges of tags.

use domain::task::{Merge, MergePhase};
use domain::{
    Container, ContainerChange, ContainerId, Merging, Owner, Patch, Task, TaskId, Tenant, Work,
};
use futures::future::join;

use crate::promises;
use crate::setting::{Setting, again};
use crate::tags::{create, delete, forget, get, owners, purge, stored, tag};

promises!(
    a_merge_gives_the_target_all_containers_at_once,
    a_merge_holds_only_over_what_was_read,
    every_part_of_a_merge_ends_by_itself,
    of_a_merge_and_a_deletion_at_the_same_time_one_holds,
    of_merges_that_share_a_tag_one_holds,
    a_merged_container_moves_on_with_its_tag,
);

fn merge(setting: &Setting, target: &Container, sources: &[Container]) -> Task {
    let work = Merge {
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

    Task::new(Work::Merge(work), setting.now())
}

async fn begin(setting: &Setting, target: &Container, sources: &[Container], task: &Task) -> bool {
    let (containers, tenant) = (&setting.ctx().containers, &setting.alpha);
    let begin = async || containers.begin_merge(tenant, target, sources, task).await;
    again(begin).await.expect("an answer")
}

async fn end(setting: &Setting, tenant: &Tenant, name: &str, task: &TaskId) {
    let tag = tag(name);
    let end = async || setting.ctx().containers.end_merge(tenant, &tag, task).await;
    again(end).await.expect("an ended part");
}

/// Creates a target and two sources, `a` and `b`.
async fn three(setting: &Setting) -> (Container, [Container; 2]) {
    let target = create(setting, &setting.alpha, "target").await;
    (
        target,
        [
            create(setting, &setting.alpha, "a").await,
            create(setting, &setting.alpha, "b").await,
        ],
    )
}

async fn a_merge_gives_the_target_all_containers_at_once(setting: &Setting) {
    let (target, [a, b]) = three(setting).await;
    let theirs = create(setting, &setting.beta, "a").await;
    let sources = [a.clone(), b.clone()];
    let task = merge(setting, &target, &sources);
    let part = |into: Option<&str>| {
        Some(Merging {
            task: task.id.clone(),
            into: into.map(tag),
        })
    };
    let all = [target.primary(), a.primary(), b.primary()];

    for _ in 0..2 {
        assert!(
            begin(setting, &target, &sources, &task).await,
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

        let moved = Owner::Tag(tag("target"));
        let wanted = [Owner::Original, moved.clone(), moved];
        assert_eq!(owners(setting, &setting.alpha, &all).await, wanted);
    }

    assert_eq!(
        stored(setting, &setting.alpha, &task).await.as_ref(),
        Some(&task)
    );
    assert_eq!(
        owners(setting, &setting.beta, &[a.primary(), theirs.primary()]).await,
        [Owner::Original, Owner::Original]
    );

    let named = ContainerChange {
        name: Patch::Set("A".into()),
        ..Default::default()
    };
    let (containers, now) = (&setting.ctx().containers, setting.now());
    let describe = async || {
        containers
            .describe(&setting.alpha, &a.tag, &named, ContainerId::random(), now)
            .await
    };
    assert_eq!(
        again(describe).await.expect("a container").merge,
        part(Some("target")),
        "words end no merge"
    );
}

async fn a_merge_holds_only_over_what_was_read(setting: &Setting) {
    let (target, [a, b]) = three(setting).await;
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
        let task = merge(setting, &into, &sources);
        assert!(!begin(setting, &into, &sources, &task).await);
        assert_eq!(stored(setting, &setting.alpha, &task).await, None);
    }

    for container in [&target, &a, &b] {
        assert_eq!(
            get(setting, container.tag.as_str()).await.as_ref(),
            Some(container),
            "nothing of it"
        );
        assert_eq!(
            owners(setting, &setting.alpha, &[container.primary()]).await,
            [Owner::Original]
        );
    }

    let turned = setting.turned().await;
    let task = merge(setting, &target, std::slice::from_ref(&a));
    assert!(
        !begin(&turned, &target, std::slice::from_ref(&a), &task).await,
        "of another organization"
    );
    assert!(begin(setting, &target, std::slice::from_ref(&a), &task).await);

    let now = get(setting, "target").await.expect("a container");
    let next = merge(setting, &now, std::slice::from_ref(&b));
    assert!(
        !begin(setting, &now, std::slice::from_ref(&b), &next).await,
        "one merge at a time"
    );
    assert!(
        !begin(setting, &b, std::slice::from_ref(&now), &next).await,
        "also as a source"
    );
    assert!(
        !delete(setting, &setting.alpha, &a, &purge(setting, &a)).await,
        "it was read before the merge"
    );
    assert_eq!(get(setting, "b").await, Some(b));
}

async fn every_part_of_a_merge_ends_by_itself(setting: &Setting) {
    let (target, sources) = three(setting).await;
    let task = merge(setting, &target, &sources);
    assert!(begin(setting, &target, &sources, &task).await);

    let merging = get(setting, "target").await.expect("a container");
    for name in ["target", "a", "never-used"] {
        end(setting, &setting.alpha, name, &TaskId::random()).await;
        end(setting, &setting.beta, name, &task.id).await;
    }

    assert_eq!(
        get(setting, "target").await.as_ref(),
        Some(&merging),
        "only its own merge ends"
    );
    assert!(get(setting, "a").await.is_some());

    for _ in 0..2 {
        end(setting, &setting.alpha, "target", &task.id).await;
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
        end(setting, &setting.alpha, "a", &task.id).await;
        assert_eq!(get(setting, "a").await, None);
    }

    let fresh = create(setting, &setting.alpha, "a").await;
    assert_ne!(fresh.primary(), sources[0].primary());
    end(setting, &setting.alpha, "a", &task.id).await;
    assert_eq!(
        get(setting, "a").await,
        Some(fresh),
        "a tag that was made anew has no part in it"
    );

    forget(setting, &setting.alpha, &merging.ids).await;
    let moved = owners(setting, &setting.alpha, &[sources[0].primary()]).await;
    assert_eq!(
        moved,
        [Owner::Tag(tag("target"))],
        "only what was deleted is forgotten"
    );
}

async fn of_a_merge_and_a_deletion_at_the_same_time_one_holds(setting: &Setting) {
    for round in 0..6 {
        let name = |part: &str| format!("{part}-{round}");
        let target = create(setting, &setting.alpha, &name("target")).await;
        let source = create(setting, &setting.alpha, &name("source")).await;
        let sources = std::slice::from_ref(&source);
        let deleted = if round % 2 == 0 { &source } else { &target };
        let (merging, purging) = (merge(setting, &target, sources), purge(setting, deleted));
        let (merged, gone) = join(
            begin(setting, &target, sources, &merging),
            delete(setting, &setting.alpha, deleted, &purging),
        )
        .await;
        assert!(merged != gone, "merged: {merged}, deleted: {gone}");
        assert_eq!(
            stored(setting, &setting.alpha, &merging).await.is_some(),
            merged
        );
        assert_eq!(
            stored(setting, &setting.alpha, &purging).await.is_some(),
            gone
        );

        let owner = owners(
            setting,
            &setting.alpha,
            &[source.primary(), target.primary()],
        )
        .await;
        let wanted = match (merged, deleted.tag == source.tag) {
            (true, _) => [Owner::Tag(target.tag.clone()), Owner::Original],
            (false, true) => [Owner::Gone, Owner::Original],
            (false, false) => [Owner::Original, Owner::Gone],
        };
        assert_eq!(owner, wanted);
    }
}

async fn of_merges_that_share_a_tag_one_holds(setting: &Setting) {
    for round in 0..4 {
        let mut made = Vec::new();
        for part in ["one", "two", "three"] {
            made.push(create(setting, &setting.alpha, &format!("{part}-{round}")).await);
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
            .map(|(into, source)| merge(setting, into, std::slice::from_ref(source)));
        let (one, two) = join(
            begin(setting, first.0, std::slice::from_ref(first.1), &tasks[0]),
            begin(setting, second.0, std::slice::from_ref(second.1), &tasks[1]),
        )
        .await;
        assert!(one != two, "{one} {two}");

        let (target, source) = if one { first } else { second };
        let target = get(setting, target.tag.as_str())
            .await
            .expect("a container");
        assert_eq!(target.ids[1..], source.ids);
        assert_eq!(
            owners(setting, &setting.alpha, &[source.primary()]).await,
            [Owner::Tag(target.tag)]
        );
    }
}

async fn a_merged_container_moves_on_with_its_tag(setting: &Setting) {
    let (target, [a, b]) = three(setting).await;
    let first = merge(setting, &target, std::slice::from_ref(&a));
    assert!(begin(setting, &target, std::slice::from_ref(&a), &first).await);

    for name in ["target", "a"] {
        end(setting, &setting.alpha, name, &first.id).await;
    }
    let target = get(setting, "target").await.expect("a container");
    let second = merge(setting, &b, std::slice::from_ref(&target));
    assert!(begin(setting, &b, std::slice::from_ref(&target), &second).await);

    for name in ["b", "target"] {
        end(setting, &setting.alpha, name, &second.id).await;
    }
    let all = [b.primary(), target.primary(), a.primary()];
    let moved = Owner::Tag(tag("b"));
    assert_eq!(
        owners(setting, &setting.alpha, &all).await,
        [Owner::Original, moved.clone(), moved]
    );

    let last = get(setting, "b").await.expect("a container");
    assert_eq!(last.ids.iter().collect::<Vec<_>>(), all);
    assert!(delete(setting, &setting.alpha, &last, &purge(setting, &last)).await);
    assert_eq!(
        owners(setting, &setting.alpha, &all).await,
        [Owner::Gone, Owner::Gone, Owner::Gone]
    );
}
