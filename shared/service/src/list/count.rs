//! The number of documents in a container.

use futures::future::try_join;

use crate::Ctx;
use domain::container::IndexHead;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::tenant::Tenant;

/// A number of documents that no container reaches.
const UNLIMITED: usize = 1 << 30;

/// Returns the exact number of documents in a container, without superseded ones.
///
/// Each of them is served, which the head of the index counts, or it is unfinished or failed and
/// never was served. Only where these are not listed, all documents are counted.
///
/// # Errors
/// Returns the errors of the ports.
pub(super) async fn count_listed(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> Result<usize> {
    let (head, unserved) = try_join(
        ctx.index.get_head(tenant, id),
        ctx.documents.count_unserved(tenant, id),
    )
    .await?;

    if let IndexHead {
        pending_listed: true,
        document_count: Some(served),
        ..
    } = head
    {
        return Ok(usize::try_from(served).unwrap_or(UNLIMITED) + unserved);
    }

    let counted = ctx.documents.count(tenant, id, UNLIMITED).await?;
    Ok(counted.unwrap_or(UNLIMITED))
}
