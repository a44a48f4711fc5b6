//! Physical containers that several tags share. A document with several tags is stored once, in the
//! container of exactly these tags in this order, and each of the tags reads from it.

use std::collections::HashMap;

use crate::ConflictRetry;
use crate::Ctx;
use crate::submit::open_container;
use domain::container::{Container, ContainerOwner, SharedContainer};
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::ContainerId;
use domain::tag::{ContainerTag, MAX_TAGS_PER_DOCUMENT};
use domain::task::MAX_CONTAINERS_PER_TAG;
use domain::tenant::Tenant;

/// The number of owner records that one read fetches.
const BATCH_SIZE: usize = 100;

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

/// Returns the physical containers behind these tags that several tags share.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn find_shared_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[Container],
) -> Result<Vec<SharedContainer>> {
    let mut ids: Vec<ContainerId> = Vec::new();
    for container in containers {
        // The first one belongs to the tag alone.
        ids.extend(container.ids.iter().skip(1).cloned());
    }
    find_shared(ctx, tenant, ids).await
}

/// Returns those of the physical containers that several tags share.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn find_shared(
    ctx: &Ctx,
    tenant: &Tenant,
    mut ids: Vec<ContainerId>,
) -> Result<Vec<SharedContainer>> {
    ids.sort();
    ids.dedup();
    let mut shared = Vec::new();
    for batch in ids.chunks(BATCH_SIZE) {
        let owners = ctx.containers.list_owners(tenant, batch).await?;
        for (id, owner) in batch.iter().zip(owners) {
            if let ContainerOwner::Tags(tags) = owner
                && tags.len() > 1
            {
                shared.push(SharedContainer {
                    id: id.clone(),
                    tags,
                });
            }
        }
    }

    Ok(shared)
}

/// The tags of documents in shared containers, as far as the caller reaches them.
pub(crate) struct VisibleTags(HashMap<ContainerId, Vec<ContainerTag>>);

impl VisibleTags {
    /// Reads the tags of the shared containers behind these tags.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub(crate) async fn read(ctx: &Ctx, tenant: &Tenant, containers: &[Container]) -> Result<Self> {
        let mut tags_by_container = HashMap::new();
        for SharedContainer { id, mut tags } in
            find_shared_containers(ctx, tenant, containers).await?
        {
            tags.retain(|tag| tenant.can_access(tag));
            tags_by_container.insert(id, tags);
        }
        Ok(Self(tags_by_container))
    }

    /// Sets the tags of a document that was found behind `tag`.
    pub(crate) fn set_tags(&self, document: &mut Document, tag: &ContainerTag) {
        document.set_tags(std::slice::from_ref(tag));
        if let Some(tags) = self.0.get(&document.container) {
            document.set_tags(tags);
        }
    }
}

/// Refuses a change of shared containers that have tags which the key does not reach: what it wrote
/// would be read there.
///
/// # Errors
/// Returns [`Error::Forbidden`], and the errors of the ports.
pub(crate) async fn check_reaches_all_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    ids: impl IntoIterator<Item = &ContainerId>,
) -> Result<()> {
    if tenant.allowed_tags().is_none() {
        return Ok(());
    }

    let ids = ids.into_iter().cloned().collect();
    for shared in find_shared(ctx, tenant, ids).await? {
        if !shared.tags.iter().all(|tag| tenant.can_access(tag)) {
            return Err(Error::Forbidden(
                "this is shared with container tags that the key does not reach; change it with a \
                 key that reaches them all"
                    .into(),
            ));
        }
    }

    Ok(())
}
