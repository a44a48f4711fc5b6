//! Purging the head, the log and the purge records of the index.

use crate::Ctx;
use crate::purge::{count_existing, inline};
use domain::blob::BlobRef;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::task::{ContainerPurge, PendingErasure, PurgePhase, PurgeReport};
use domain::tenant::Tenant;

/// The number of items that one step removes.
const ITEMS_PER_STEP: usize = 200;
/// The prefix of the names of purge records; their ids follow.
const PURGE_PREFIX: &str = "P#";

/// Plans which items to remove next.
pub(super) async fn plan(
    ctx: &Ctx,
    tenant: &Tenant,
    purge: &mut ContainerPurge,
    container: &ContainerId,
) -> Result<()> {
    let mut items = ctx
        .index
        .list_items(tenant, container, ITEMS_PER_STEP + 1)
        .await?;
    if items.is_empty() {
        purge.phase = PurgePhase::Objects;
        return Ok(());
    }

    let mut report = PurgeReport::default();
    let blobs = purged_blobs(ctx, tenant, container, &items).await?;
    report.inline_blobs += count_existing(ctx, tenant, &inline(&blobs)).await?;

    // The head comes last, so it is among the items when there are no more.
    if items.len() <= ITEMS_PER_STEP {
        let head = ctx.index.get_head(tenant, container).await?;
        let memories = head.memories.unwrap_or(0);
        // This makes a compaction that is under way fail; it then removes what it has stored.
        if head.seq > 0
            && !ctx
                .index
                .publish_segments(tenant, container, head.generation, &head.segments, memories)
                .await?
        {
            return Ok(());
        }

        report.segments = head.segments.len() as u64;
        report.inline_blobs += segment_blobs(ctx, tenant, container).await?.len() as u64;
    }

    items.truncate(ITEMS_PER_STEP);
    report.index_records = items.len() as u64;
    purge.pending = PendingErasure {
        items,
        report,
        ..PendingErasure::default()
    };

    Ok(())
}

/// Removes items, and the small blobs that they name.
pub(super) async fn remove(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    items: &[String],
) -> Result<()> {
    let mut blobs = purged_blobs(ctx, tenant, container, items).await?;
    blobs.extend(segment_blobs(ctx, tenant, container).await?);
    let blobs = inline(&blobs);
    if !blobs.is_empty() {
        ctx.blobs.delete(tenant, &blobs).await?;
    }
    Ok(ctx.index.delete_items(tenant, container, items).await?)
}

/// Returns the blobs that the purge records of an index name. They are purged soon.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn blobs_to_purge(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
) -> Result<Vec<BlobRef>> {
    let mut limit = ITEMS_PER_STEP;
    loop {
        let items = ctx.index.list_items(tenant, container, limit).await?;
        // Purge records come first.
        let is_purge = |item: &String| item.starts_with(PURGE_PREFIX);
        if items.len() < limit || !items.iter().all(is_purge) {
            return purged_blobs(ctx, tenant, container, &items).await;
        }
        limit *= 2;
    }
}

/// Returns the blobs that the purge records among the items name.
async fn purged_blobs(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    items: &[String],
) -> Result<Vec<BlobRef>> {
    let mut blobs = Vec::new();
    for item in items {
        if let Some(id) = item.strip_prefix(PURGE_PREFIX)
            && let Some(purged) = ctx.index.get_purge(tenant, container, id).await?
        {
            blobs.extend(purged);
        }
    }

    Ok(blobs)
}

/// Returns the small segments.
async fn segment_blobs(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
) -> Result<Vec<BlobRef>> {
    let segments = ctx.index.get_head(tenant, container).await?.segments;
    let blobs = segments.iter().flat_map(domain::SegmentRef::blobs);
    let blobs: Vec<BlobRef> = blobs.cloned().collect();
    Ok(inline(&blobs))
}
