//! Physical containers that several tags share. A document with several tags is stored once, in the
//! container of exactly these tags in this order, and each of the tags reads from it.

use std::collections::HashMap;

use crate::Ctx;
use domain::container::{Container, ContainerOwner, SharedContainer};
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::ContainerId;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The number of owner records that one read fetches.
const BATCH_SIZE: usize = 100;

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
#[derive(Default)]
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
