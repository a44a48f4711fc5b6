//! Totals of the organization over all its containers.

use domain::{Result, Tenant};
use futures::stream::{self, StreamExt, TryStreamExt};
use service::Ctx;
use service::{ContainerScope, find_containers};

/// The number of containers that are counted at the same time.
pub(crate) const PARALLEL_CONTAINERS: usize = 16;

/// Counts the documents of the organization.
pub(crate) async fn count_documents(ctx: &Ctx, tenant: &Tenant) -> Result<u64> {
    let containers = find_containers(ctx, tenant, &ContainerScope::default()).await?;
    let counts = containers.into_iter().map(async |container| {
        service::count_documents(ctx, tenant, &container, service::EXACT_COUNT_LIMIT).await
    });
    let counts = stream::iter(counts).buffer_unordered(PARALLEL_CONTAINERS);
    counts.try_fold(0, async |sum, count| Ok(sum + count)).await
}
