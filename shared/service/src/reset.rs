//! The reset of an organization. It deletes connections, containers and settings, and keeps API
//! keys.

use futures::{StreamExt, stream};
use tracing::warn;

use crate::Ctx;
use crate::connections::end_connections;
use crate::containers::delete_container;
use crate::counts::{QUICK_COUNT_LIMIT, count_documents};
use crate::settings::reset_settings;
use domain::container::Container;
use domain::error::{Error, Result};
use domain::ports::PortResult;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The number of containers that are deleted in parallel.
const PARALLEL: usize = 8;

/// The counts of what a reset has deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResetCounts {
    /// The number of connections.
    pub connections: u64,
    /// The number of container tags.
    pub tags: u64,
    /// `true` if the default container tag was among them.
    pub default_tag: bool,
    /// The number of documents, as [`count_documents`] counts them. A container that could not be
    /// counted adds nothing.
    pub documents: u64,
    /// The number of memories, as of the last compactions.
    pub memories: u64,
}

/// Deletes every connection and container of the organization and resets its settings. A further
/// call completes a reset that a crash or an error interrupted.
///
/// # Errors
/// Returns [`Error::Conflict`] when containers are being merged at the beginning; nothing was
/// deleted then. A conflict with a merge that began later, and the errors of the ports, are
/// returned after everything else that could be deleted was deleted.
pub async fn reset_organization(ctx: &Ctx, tenant: &Tenant) -> Result<ResetCounts> {
    let containers = ctx.containers.list(tenant).await?;
    containers.iter().try_for_each(Container::check_writable)?;
    let connections = end_connections(ctx, tenant, None, ctx.clock.now()).await? as u64;

    let deletions = containers
        .iter()
        .map(|container| delete(ctx, tenant, container));
    let pending_deletions = stream::iter(deletions.collect::<Vec<_>>()).buffer_unordered(PARALLEL);
    let results: Vec<Result<ResetCounts>> = pending_deletions.collect().await;

    reset_settings(ctx, tenant).await?;
    let initial = ResetCounts {
        connections,
        ..ResetCounts::default()
    };

    results
        .into_iter()
        .try_fold(initial, |sum, one| Ok(sum.and(one?)))
}

async fn delete(ctx: &Ctx, tenant: &Tenant, container: &Container) -> Result<ResetCounts> {
    // A container that cannot be counted is deleted all the same, and adds nothing to the counts.
    let documents = count_documents(ctx, tenant, container, QUICK_COUNT_LIMIT)
        .await
        .unwrap_or_else(|error| uncounted(&error));
    let memories = count_memories(ctx, tenant, container)
        .await
        .unwrap_or_else(|error| uncounted(&error));

    match delete_container(ctx, tenant, container).await {
        Ok(_) => {
            let default_tag = container.tag == ContainerTag::default_tag();
            Ok(ResetCounts {
                connections: 0,
                tags: 1,
                default_tag,
                documents,
                memories,
            })
        }
        // Another request has just deleted it.
        Err(Error::NotFound(_)) => Ok(ResetCounts::default()),
        Err(error) => Err(error),
    }
}

async fn count_memories(ctx: &Ctx, tenant: &Tenant, container: &Container) -> PortResult<u64> {
    let mut memories = 0;
    for id in &container.ids {
        memories += ctx.index.get_head(tenant, id).await?.memories.unwrap_or(0);
    }
    Ok(memories)
}

fn uncounted(error: &(dyn std::error::Error + 'static)) -> u64 {
    warn!(error, "could not count what a reset deletes");
    0
}

impl ResetCounts {
    fn and(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            tags: self.tags + other.tags,
            default_tag: self.default_tag || other.default_tag,
            documents: self.documents + other.documents,
            memories: self.memories + other.memories,
        }
    }
}
