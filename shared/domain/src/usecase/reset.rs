//! The reset of an organization: its connections, containers and settings go, its keys stay.

use futures::{StreamExt, stream};
use tracing::warn;

use crate::container::Container;
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::ports::PortResult;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::usecase::connections::end_connections;
use crate::usecase::containers::delete_container;
use crate::usecase::counts::{COUNTED_AT_ONCE, count_documents};
use crate::usecase::settings::reset_settings;

/// How many containers are deleted at a time.
const PARALLEL: usize = 8;

/// What a reset has deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reset {
    /// Connections.
    pub connections: u64,
    /// Container tags.
    pub tags: u64,
    /// Whether the default one was among them.
    pub default_tag: bool,
    /// Documents, as [`count_documents`] counts; none of a container that could not be counted.
    pub documents: u64,
    /// Memories, as many as there were at the last compactions.
    pub memories: u64,
}

/// Deletes every connection and container of the organization and sets its settings back. What a crash or an error leaves, the next call
/// ends.
///
/// # Errors
/// [`Error::Conflict`] when containers are merged at the beginning: then nothing was deleted. One of a merge that began
/// later, and those of the ports, come after everything else was deleted that could be.
pub async fn reset_organization(ctx: &Ctx, tenant: &Tenant) -> Result<Reset> {
    let containers = ctx.containers.list(tenant).await?;
    containers.iter().try_for_each(Container::check_writable)?;
    let connections = end_connections(ctx, tenant, None, ctx.clock.now()).await? as u64;
    let deletions = containers
        .iter()
        .map(|container| delete(ctx, tenant, container));
    let all = stream::iter(deletions.collect::<Vec<_>>()).buffer_unordered(PARALLEL);
    let done: Vec<Result<Reset>> = all.collect().await;
    reset_settings(ctx, tenant).await?;
    let ended = Reset {
        connections,
        ..Reset::default()
    };

    done.into_iter()
        .try_fold(ended, |sum, one| Ok(sum.and(one?)))
}

async fn delete(ctx: &Ctx, tenant: &Tenant, container: &Container) -> Result<Reset> {
    // A container that cannot be counted can be deleted all the same, and counts as nothing.
    let documents = count_documents(ctx, tenant, container, COUNTED_AT_ONCE)
        .await
        .unwrap_or_else(|error| uncounted(&error));
    let memories = count_memories(ctx, tenant, container)
        .await
        .unwrap_or_else(|error| uncounted(&error));

    match delete_container(ctx, tenant, container).await {
        Ok(_) => {
            let default_tag = container.tag == ContainerTag::default_tag();
            Ok(Reset {
                connections: 0,
                tags: 1,
                default_tag,
                documents,
                memories,
            })
        }
        // Somebody else has just deleted it.
        Err(Error::NotFound(_)) => Ok(Reset::default()),
        Err(error) => Err(error),
    }
}

async fn count_memories(ctx: &Ctx, tenant: &Tenant, container: &Container) -> PortResult<u64> {
    let mut memories = 0;
    for id in &container.ids {
        memories += ctx.index.head(tenant, id).await?.memories.unwrap_or(0);
    }
    Ok(memories)
}

fn uncounted(error: &(dyn std::error::Error + 'static)) -> u64 {
    warn!(error, "could not count what a reset deletes");
    0
}

impl Reset {
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
