//! Container tags, the number of tags, owner records, and the tasks that begin with them.

use domain::task::{
    ContainerMerge, ContainerPurge, MergePhase, PendingErasure, PurgePhase, PurgeReport,
};
use domain::{
    Container, ContainerChange, ContainerOwner, MergeRole, Patch, ProfileBucket, SharedContainer,
    Task, TaskState, TaskWork,
};
use serde_json::json;

use crate::values::{
    FIRST_TIME, LAST_TIME, NOW, container_id, from_json, longest_tenant, tag, task_id, tenant,
};
use crate::world::World;

fn smallest_container(name: &str) -> Container {
    Container {
        tag: tag(name),
        ids: vec![container_id(name)],
        created_at: NOW,
        updated_at: NOW,
        name: None,
        entity_context: None,
        profile_buckets: Vec::new(),
        memory_paths: None,
        merge: None,
    }
}

fn shared_container() -> SharedContainer {
    SharedContainer {
        id: container_id("shared"),
        tags: vec![tag("second"), tag("first")],
    }
}

fn sharing_container(name: &str) -> Container {
    Container {
        ids: vec![container_id(name), shared_container().id],
        ..smallest_container(name)
    }
}

fn buckets() -> Vec<ProfileBucket> {
    from_json(json!([{"key": "food", "description": "What the \"user\" eats"}]))
}

/// Returns a tag that has everything but a part in a merge.
fn described_container() -> Container {
    Container {
        created_at: FIRST_TIME,
        updated_at: LAST_TIME,
        name: Some("Ünsere Notizen".to_owned()),
        entity_context: Some("A person who writes".to_owned()),
        profile_buckets: buckets(),
        memory_paths: Some(vec!["/a".to_owned(), "/日本".to_owned()]),
        ..smallest_container("described")
    }
}

fn describing_change() -> ContainerChange {
    let container = described_container();
    ContainerChange {
        name: Patch::from(container.name),
        entity_context: Patch::from(container.entity_context),
        profile_buckets: Patch::Set(container.profile_buckets),
        memory_paths: Patch::from(container.memory_paths),
    }
}

fn empty_change() -> ContainerChange {
    ContainerChange {
        name: Patch::Set(String::new()),
        entity_context: Patch::Clear,
        profile_buckets: Patch::Set(Vec::new()),
        memory_paths: Patch::Set(Vec::new()),
    }
}

/// Returns a task that begins with a deletion or a merge.
fn beginning_task(name: &str, work: TaskWork) -> Task {
    Task {
        id: task_id(name),
        work,
        state: TaskState::Running,
        step: 0,
        attempts: 0,
        error: None,
        created_at: NOW,
        updated_at: NOW,
        due_at: NOW.plus_seconds(60),
    }
}

fn purge_task() -> Task {
    let work = ContainerPurge {
        tag: tag("deleted"),
        containers: vec![container_id("deleted")],
        tag_created_at: NOW,
        deleted_at: NOW,
        container: 0,
        phase: PurgePhase::Documents,
        cursor: None,
        pending: PendingErasure::default(),
        report: PurgeReport::default(),
        verifying: false,
    };
    beginning_task("purge", TaskWork::Purge(work))
}

fn merge_task() -> Task {
    let work = ContainerMerge {
        sources: vec![(tag("source"), vec![container_id("source")])],
        target: tag("target"),
        target_ids: vec![container_id("target")],
        phase: MergePhase::Queued,
        source: 0,
        container: 0,
        cursor: None,
        looked_at: 0,
        in_flight: 0,
        superseded: 0,
    };
    beginning_task("merge", TaskWork::Merge(work))
}

/// Returns the tags of the merge while it runs: the target and its source.
fn merging_containers() -> [Container; 2] {
    let target = Container {
        ids: vec![container_id("target"), container_id("source")],
        merge: Some(MergeRole {
            task: task_id("merge"),
            into: None,
        }),
        ..smallest_container("target")
    };
    let source = Container {
        merge: Some(MergeRole {
            task: task_id("merge"),
            into: Some(tag("target")),
        }),
        ..smallest_container("source")
    };
    [target, source]
}

pub(crate) async fn write(world: &World) {
    let containers = &world.ctx.containers;
    let tenant = tenant();
    for _ in 0..2 {
        assert!(containers.reserve_tag(&tenant, 10).await.expect("a place"));
    }

    for name in ["created", "context", "target", "source", "deleted"] {
        let created = containers
            .create_tag(&tenant, &tag(name), container_id(name), NOW)
            .await;
        assert_eq!(created.expect("a tag"), smallest_container(name));
    }
    containers
        .create_tag(
            &longest_tenant(),
            &tag(&"t:".repeat(50)),
            container_id("long"),
            LAST_TIME,
        )
        .await
        .expect("a tag");

    let is_set = containers.set_context(&tenant, &tag("context"), "").await;
    assert!(is_set.expect("a context"));
    for (name, change, times) in [
        ("described", describing_change(), [FIRST_TIME, LAST_TIME]),
        ("emptied", describing_change(), [NOW, NOW]),
        ("emptied", empty_change(), [NOW, NOW]),
    ] {
        for time in times {
            containers
                .update_settings(&tenant, &tag(name), &change, container_id(name), time)
                .await
                .expect("a tag");
        }
    }

    let is_merging = containers
        .begin_merge(
            &tenant,
            &smallest_container("target"),
            &[smallest_container("source")],
            &[],
            &merge_task(),
        )
        .await;
    assert!(is_merging.expect("a merge"));

    let is_deleted = containers
        .delete_tag(&tenant, &smallest_container("deleted"), &[], &purge_task())
        .await;
    assert!(is_deleted.expect("a deletion"));

    let sharing = ["first", "second"].map(smallest_container);
    for container in &sharing {
        let id = container.primary_id().clone();
        containers
            .create_tag(&tenant, &container.tag, id, NOW)
            .await
            .expect("a tag");
    }
    let is_shared = containers
        .share(&tenant, &sharing, &shared_container(), &[])
        .await;
    assert!(is_shared.expect("a shared container"));
}

pub(crate) async fn check(world: &World) {
    let containers = &world.ctx.containers;
    let tenant = tenant();
    let [target, source] = merging_containers();
    let wanted = [
        Container {
            entity_context: Some(String::new()),
            ..smallest_container("context")
        },
        smallest_container("created"),
        described_container(),
        Container {
            name: Some(String::new()),
            memory_paths: Some(Vec::new()),
            ..smallest_container("emptied")
        },
        sharing_container("first"),
        sharing_container("second"),
        source,
        target,
    ];

    assert_eq!(containers.list(&tenant).await.expect("tags"), wanted);
    for container in &wanted {
        let found = containers.get(&tenant, &container.tag).await;
        assert_eq!(found.expect("a tag").as_ref(), Some(container));
    }

    let ids = ["created", "source", "deleted", "shared"].map(container_id);
    let owners = containers.list_owners(&tenant, &ids).await;
    let wanted = [
        ContainerOwner::Original,
        ContainerOwner::Tags(vec![tag("target")]),
        ContainerOwner::Deleted,
        ContainerOwner::Tags(shared_container().tags),
    ];
    assert_eq!(owners.expect("owners"), wanted);

    for task in [purge_task(), merge_task()] {
        let found = world.ctx.tasks.get(&tenant, &task.id).await;
        assert_eq!(found.expect("a task"), Some(task));
    }

    // One of two places is left.
    assert!(!containers.reserve_tag(&tenant, 1).await.expect("no place"));
}
