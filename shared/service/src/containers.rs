//! Operations of callers on container tags: describing, deleting and merging them.

use std::collections::BTreeSet;

use crate::ConflictRetry;
use crate::Ctx;
use crate::caps::admit_tag;
use crate::connections::end_connections;
use crate::find::find_writable_container;
use crate::jobs::send_later;
use crate::purge::REQUEST_SECONDS;
use crate::sharing::find_shared_containers;
use domain::container::{Container, ContainerChange, MAX_ENTITY_CONTEXT, SharedContainer};
use domain::error::{Error, PortError, Result};
use domain::ids::ContainerId;
use domain::patch::Patch;
use domain::settings::ProfileBucket;
use domain::tag::ContainerTag;
use domain::task::{
    ContainerMerge, ContainerPurge, MAX_CONTAINERS_PER_TAG, MergePhase, PendingErasure, PurgePhase,
    PurgeReport, Task, TaskWork,
};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The largest number of characters of a name. This number is part of the API.
const MAX_NAME: usize = 100;
/// The largest number of memory paths. They are stored in the record of the tag, which every
/// request about the tag reads.
const MAX_PATHS: usize = 100;
/// The largest number of bytes of all memory paths together.
const MAX_PATH_BYTES: usize = 32 * 1024;

/// Changes the caller's description of a container tag. A tag that does not exist is created. The
/// change is one write, which may be repeated.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, [`Error::Invalid`] naming the field,
/// [`Error::Conflict`] while the tag is merged, and the errors of the ports.
pub async fn change_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    change: &ContainerChange,
) -> Result<Container> {
    tenant.check_access(tag)?;
    check(change)?;
    match ctx.containers.get(tenant, tag).await? {
        Some(container) => container.check_writable()?,
        None => admit_tag(ctx, tenant).await?,
    }

    Ok(ctx
        .containers
        .update_settings(tenant, tag, change, ContainerId::random(), ctx.clock.now())
        .await?)
}

/// Deletes a container and the connections that file into it. Its content disappears at once for
/// every reader; a task removes what is stored of it. Documents that have other tags as well lose
/// only this one.
///
/// # Errors
/// Returns [`Error::NotFound`] when it is gone, [`Error::Conflict`] while it is merged, and the
/// errors of the ports.
pub async fn delete_container(ctx: &Ctx, tenant: &Tenant, container: &Container) -> Result<Task> {
    tenant.check_access(&container.tag)?;
    container.check_writable()?;
    let now = ctx.clock.now();
    // Connections end first, so that a connection that finds no container knows whether it was
    // deleted or never existed.
    end_connections(ctx, tenant, Some(&container.tag), now).await?;

    let mut container = container.clone();
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let shared = find_shared_containers(ctx, tenant, std::slice::from_ref(&container)).await?;
        let task = deletion_task(&container, &shared, now);
        if ctx
            .containers
            .delete_tag(tenant, &container, &shared, &task)
            .await?
        {
            send_later(ctx, tenant, &task, REQUEST_SECONDS).await;
            return Ok(task);
        }

        // Another deletion or a merge was first, or new documents share a container with the tag.
        let present = find_writable_container(ctx, tenant, &container.tag).await?;
        if present.primary_id() != container.primary_id() {
            return Err(PortError::Conflict.into());
        }
        container = present;

        retry.wait().await?;
    }
}

/// Returns the task that removes what is stored of a deleted container, except for `shared`.
fn deletion_task(container: &Container, shared: &[SharedContainer], now: Timestamp) -> Task {
    let is_shared = |id: &ContainerId| shared.iter().any(|shared| shared.id == *id);
    let mut own_ids = container.ids.clone();
    own_ids.retain(|id| !is_shared(id));

    // A tag that others were merged into has documents that are older than the tag.
    let is_merged = container.ids.len() > 1;
    let purge = ContainerPurge {
        tag: container.tag.clone(),
        containers: own_ids,
        tag_created_at: if is_merged {
            Timestamp::from_millis(0)
        } else {
            container.created_at
        },
        deleted_at: now,
        container: 0,
        phase: PurgePhase::Documents,
        cursor: None,
        pending: PendingErasure::default(),
        report: PurgeReport::default(),
        verifying: false,
    };

    let mut task = Task::new(TaskWork::Purge(purge), now);
    task.due_at = task.due_at.plus_seconds(REQUEST_SECONDS);
    task
}

/// The containers of a merge.
#[derive(Debug, Clone)]
pub struct MergePlan {
    /// The container that takes over the others.
    pub target: Container,
    /// The containers that end.
    pub sources: Vec<Container>,
}

/// Reads and checks the containers of a merge. `tags` may also name the target.
///
/// # Errors
/// Returns [`Error::Invalid`] when no source is left, [`Error::NotFound`] for a tag that does not
/// exist, and [`Error::Conflict`] while one of them is merged or when together they have too many
/// physical containers.
pub async fn plan_merge(
    ctx: &Ctx,
    tenant: &Tenant,
    tags: &[ContainerTag],
    target: &ContainerTag,
) -> Result<MergePlan> {
    let mut sources: Vec<&ContainerTag> = tags.iter().filter(|tag| *tag != target).collect();
    sources.sort();
    sources.dedup();
    if sources.is_empty() {
        return Err(Error::invalid_field(
            "containerTags",
            "name a tag other than the target",
        ));
    }

    if sources.len() >= MAX_CONTAINERS_PER_TAG {
        return Err(Error::invalid_field(
            "containerTags",
            format!("less than {MAX_CONTAINERS_PER_TAG} tags"),
        ));
    }

    let target = find_writable_container(ctx, tenant, target).await?;
    let mut source_containers = Vec::with_capacity(sources.len());
    for source in sources {
        source_containers.push(find_writable_container(ctx, tenant, source).await?);
    }

    let mut ids: BTreeSet<&ContainerId> = target.ids.iter().collect();
    ids.extend(source_containers.iter().flat_map(|source| &source.ids));
    let container_count = ids.len();
    if container_count > MAX_CONTAINERS_PER_TAG {
        return Err(Error::Conflict(format!(
            "at most {MAX_CONTAINERS_PER_TAG} containers can lie behind one tag; together these have {container_count}"
        )));
    }

    Ok(MergePlan {
        target,
        sources: source_containers,
    })
}

/// Merges containers into one. Readers of the target find all documents at once; a task settles
/// equal customIds.
///
/// # Errors
/// Returns the errors of [`plan_merge`], and [`Error::Conflict`] when other changes of the tags
/// keep winning.
pub async fn merge_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    tags: &[ContainerTag],
    target: &ContainerTag,
) -> Result<Task> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let MergePlan { target, sources } = plan_merge(ctx, tenant, tags, target).await?;
        let shared = find_shared_containers(ctx, tenant, &sources).await?;
        let merge = ContainerMerge {
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
        let task = Task::new(TaskWork::Merge(merge), ctx.clock.now());
        if ctx
            .containers
            .begin_merge(tenant, &target, &sources, &shared, &task)
            .await?
        {
            send_later(ctx, tenant, &task, 0).await;
            return Ok(task);
        }

        retry.wait().await?;
    }
}

fn check(change: &ContainerChange) -> Result<()> {
    if let Patch::Set(name) = &change.name
        && (name.trim().is_empty() || name.chars().count() > MAX_NAME)
    {
        return Err(Error::invalid_field(
            "name",
            format!("1 to {MAX_NAME} characters"),
        ));
    }

    if let Patch::Set(context) = &change.entity_context
        && context.chars().count() > MAX_ENTITY_CONTEXT
    {
        return Err(Error::invalid_field(
            "entityContext",
            format!("at most {MAX_ENTITY_CONTEXT} characters"),
        ));
    }

    if let Patch::Set(buckets) = &change.profile_buckets {
        ProfileBucket::check_buckets("profileBuckets", buckets)?;
    }

    if let Patch::Set(paths) = &change.memory_paths {
        let bytes: usize = paths.iter().map(String::len).sum();
        let fits = paths.len() <= MAX_PATHS && bytes <= MAX_PATH_BYTES;
        if !fits || paths.iter().any(|path| path.trim().is_empty()) {
            let rule = format!(
                "at most {MAX_PATHS} paths of {} KB together, none empty",
                MAX_PATH_BYTES / 1024
            );
            return Err(Error::invalid_field("memoryFilesystemPaths", rule));
        }
    }

    Ok(())
}
