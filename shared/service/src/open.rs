//! Opening the container of a tag, or of several tags, to write to it.

use crate::ConflictRetry;
use crate::Ctx;
use crate::caps::admit_tag;
use domain::container::{Container, SharedContainer};
use domain::error::{Error, Result};
use domain::ids::ContainerId;
use domain::tag::{ContainerTag, MAX_TAGS_PER_DOCUMENT};
use domain::task::MAX_CONTAINERS_PER_TAG;
use domain::tenant::Tenant;
use domain::time::Timestamp;
use tracing::warn;

/// Returns the container of a tag with the caller's context. Creates it if necessary.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, [`Error::Conflict`] while the container is
/// being merged, and the errors of the ports.
pub async fn open_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: Option<ContainerTag>,
    context: Option<&str>,
) -> Result<Container> {
    let tag = tenant.writable_tag(tag)?;
    let container = match ctx.containers.get(tenant, &tag).await? {
        Some(container) => container,
        None => create_container(ctx, tenant, &tag, ContainerId::random(), ctx.clock.now()).await?,
    };

    // A refused request is also recorded in the request log with its content, which is deleted with
    // the container.
    tenant.record_access(&container.ids);
    container.check_writable()?;
    if let Some(context) = context
        && container.entity_context.as_deref() != Some(context)
    {
        ctx.containers.set_context(tenant, &tag, context).await?;
    }

    Ok(container)
}

/// Creates the container of a tag that had none a moment ago. If another request was first, returns
/// the container that it created.
///
/// # Errors
/// Returns [`Error::Invalid`] when the organization has as many tags as it may, and the errors of
/// the ports.
pub async fn create_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: ContainerId,
    now: Timestamp,
) -> Result<Container> {
    admit_tag(ctx, tenant).await?;
    let container = ctx
        .containers
        .create_tag(tenant, tag, id.clone(), now)
        .await?;
    if container.ids != [id]
        && let Err(error) = ctx.containers.release_tag(tenant).await
    {
        warn!(
            error = &error as &dyn std::error::Error,
            "a container tag that another request created is counted twice"
        );
    }
    Ok(container)
}

/// Returns the container for new documents with these tags: that of the tag, or the one that the
/// tags share, with all physical containers behind any of them. Creates what does not exist yet. The
/// settings are those of the first tag, and `context` becomes one of them.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, [`Error::Conflict`] while a container is
/// being merged, [`Error::Invalid`] when a tag shares as many containers as it may, and the errors
/// of the ports.
pub(crate) async fn open_shared_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tags: &[ContainerTag],
    context: Option<&str>,
) -> Result<Container> {
    if tags.len() < 2 {
        return open_container(ctx, tenant, tags.first().cloned(), context).await;
    }

    // Nothing is created if one of the tags is refused.
    for tag in tags {
        tenant.check_access(tag)?;
    }
    if tags.len() > MAX_TAGS_PER_DOCUMENT {
        return Err(Error::invalid_field(
            "containerTags",
            format!("a document has at most {MAX_TAGS_PER_DOCUMENT} tags"),
        ));
    }

    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let mut containers = Vec::with_capacity(tags.len());
        for (index, tag) in tags.iter().enumerate() {
            let context = context.filter(|_| index == 0);
            containers.push(open_container(ctx, tenant, Some(tag.clone()), context).await?);
        }

        let primary_ids: Vec<&ContainerId> = containers.iter().map(Container::primary_id).collect();
        let shared = SharedContainer {
            id: ContainerId::shared_by(&primary_ids),
            tags: tags.to_vec(),
        };
        if share(ctx, tenant, &containers, &shared).await? {
            return Ok(join_containers(containers, shared.id));
        }

        retry.wait().await?;
    }
}

/// Lets the tags of `containers` share a physical container. Returns `false` if one of them has
/// changed since it was read.
async fn share(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[Container],
    shared: &SharedContainer,
) -> Result<bool> {
    let is_shared = |container: &Container| container.ids.contains(&shared.id);
    if containers.iter().all(is_shared) {
        return Ok(true);
    }

    for container in containers {
        check_room(container)?;
    }
    Ok(ctx
        .containers
        .share(tenant, containers, shared, &[])
        .await?)
}

fn check_room(container: &Container) -> Result<()> {
    if container.ids.len() < MAX_CONTAINERS_PER_TAG {
        return Ok(());
    }
    Err(Error::invalid_field(
        "containerTags",
        format!(
            "the container tag {} is combined with others in {} ways, the most it may be; use one \
             of these combinations",
            container.tag,
            MAX_CONTAINERS_PER_TAG - 1
        ),
    ))
}

/// Returns the first container, with `primary_id` as its primary container, followed by all
/// physical containers of the given containers.
fn join_containers(containers: Vec<Container>, primary_id: ContainerId) -> Container {
    let mut ids = vec![primary_id];
    for id in containers.iter().flat_map(|container| &container.ids) {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }

    let mut containers = containers.into_iter();
    let first = containers.next().expect("there are several containers");
    Container { ids, ..first }
}
