//! Removing what is stored of a deleted container, which no reader can see any more.
//!
//! The task's record names what a step is about to remove, with its counts, before the step removes
//! it. Each thing is therefore counted once, and what a crash leaves half removed is removed again.

mod documents;
mod index;
mod request_log;

pub(crate) use index::blobs_to_purge;

use crate::Ctx;
use crate::tasks::Next;
use domain::activity::{Hour, RETENTION_SECONDS};
use domain::blob::BlobRef;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::BlobContent;
use domain::task::{ContainerPurge, PendingErasure, PurgePhase, PurgeReport};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of seconds for which requests that began before the deletion may still be answered.
/// They must find what they read, and what they write must exist in order to be removed.
pub(crate) const REQUEST_SECONDS: i64 = 60;
/// The longest time for which a worker that began before the deletion can run, in seconds.
const WORKER_SECONDS: i64 = 16 * 60;
/// The longest time for which the body of a request may arrive, in seconds. The request log dates a
/// request by its arrival, before its body is read. The largest body has 64 MiB, and a server waits
/// 20 seconds for every 32 KiB of it, which is 11.4 hours.
const BODY_SECONDS: i64 = 12 * 3600;
/// The number of objects that one step removes.
const OBJECT_PAGE_SIZE: usize = 250;

/// Runs one step of the purge.
pub(super) async fn step(ctx: &Ctx, tenant: &Tenant, purge: &mut ContainerPurge) -> Result<Next> {
    if let Some(seconds) = seconds_left(ctx, purge, REQUEST_SECONDS) {
        return Ok(Next::Later(seconds));
    }

    remove(ctx, tenant, purge).await?;
    match (purge.phase, purge.containers.get(purge.container).cloned()) {
        (PurgePhase::Waiting, _) => return finish_pass(ctx, tenant, purge).await,
        (PurgePhase::RequestLog { hour }, _) => request_log::plan(ctx, tenant, purge, hour).await?,
        (_, None) => {
            purge.phase = PurgePhase::RequestLog {
                hour: first_hour(ctx.clock.now(), purge),
            }
        }
        (PurgePhase::Documents | PurgePhase::Superseded, Some(container)) => {
            return documents::plan(ctx, tenant, purge, &container).await;
        }
        (PurgePhase::Index, Some(container)) => index::plan(ctx, tenant, purge, &container).await?,
        (PurgePhase::Objects, Some(container)) => {
            plan_objects(ctx, tenant, purge, &container).await?
        }
    }

    Ok(Next::Again)
}

/// Removes what the record names as pending, and counts it.
async fn remove(ctx: &Ctx, tenant: &Tenant, purge: &mut ContainerPurge) -> Result<()> {
    if purge.pending == PendingErasure::default() {
        return Ok(());
    }

    let pending = &purge.pending;
    if let Some(container) = purge.containers.get(purge.container)
        && !pending.documents.is_empty()
    {
        documents::remove(ctx, tenant, container, &pending.documents).await?;
    }

    if let PurgePhase::RequestLog { hour } = purge.phase {
        ctx.request_log
            .remove_contents(tenant, hour, &pending.items)
            .await?;
    } else if let Some(container) = purge.containers.get(purge.container)
        && !pending.items.is_empty()
    {
        index::remove(ctx, tenant, container, &pending.items).await?;
    }

    if !pending.objects.is_empty() {
        let objects: Vec<BlobRef> = pending
            .objects
            .iter()
            .cloned()
            .map(BlobRef::Object)
            .collect();
        ctx.blobs.delete(tenant, &objects).await?;
    }

    let pending = std::mem::take(&mut purge.pending);
    purge.report.add_report(&pending.report);

    Ok(())
}

async fn plan_objects(
    ctx: &Ctx,
    tenant: &Tenant,
    purge: &mut ContainerPurge,
    container: &ContainerId,
) -> Result<()> {
    let found = ctx
        .blobs
        .list_objects(tenant, &format!("{container}/"), OBJECT_PAGE_SIZE)
        .await?;
    if found.is_empty() {
        (purge.container, purge.phase) = (purge.container + 1, PurgePhase::Documents);
        return Ok(());
    }

    let bytes = found.iter().map(|(_, bytes)| bytes).sum();
    let report = PurgeReport {
        objects: found.len() as u64,
        object_bytes: bytes,
        ..PurgeReport::default()
    };

    let objects = found.into_iter().map(|(path, _)| path).collect();
    purge.pending = PendingErasure {
        objects,
        report,
        ..PendingErasure::default()
    };

    Ok(())
}

/// Returns the first hour whose requests can show the content. In the second pass, returns the
/// first hour whose requests can still have been under way at the deletion.
fn first_hour(now: Timestamp, purge: &ContainerPurge) -> Hour {
    let start = if purge.verifying {
        purge.deleted_at.plus_seconds(-WORKER_SECONDS)
    } else {
        // The request that created the tag came before it.
        let retained_since = now.plus_seconds(-RETENTION_SECONDS);
        purge.tag_created_at.max(retained_since)
    };
    Hour::containing(start.plus_seconds(-BODY_SECONDS))
}

/// Begins the second pass once no worker can still be under way, and ends the purge after it.
async fn finish_pass(ctx: &Ctx, tenant: &Tenant, purge: &mut ContainerPurge) -> Result<Next> {
    if purge.verifying {
        ctx.containers
            .remove_owner_marks(tenant, &purge.containers)
            .await?;
        return Ok(Next::Ended);
    }
    if let Some(seconds) = seconds_left(ctx, purge, WORKER_SECONDS) {
        return Ok(Next::Later(seconds));
    }
    (purge.verifying, purge.container, purge.phase) = (true, 0, PurgePhase::Documents);
    Ok(Next::Again)
}

/// Returns the seconds that are left until `seconds` after the deletion, or `None` if that time has
/// passed.
fn seconds_left(ctx: &Ctx, purge: &ContainerPurge, seconds: i64) -> Option<i64> {
    let end = purge.deleted_at.plus_seconds(seconds);
    let left = ctx.clock.now().seconds_until(end);
    (left > 0).then_some(left)
}

/// Returns the blobs that are stored beside the records, each once. Objects are found and removed
/// by listing.
fn inline<'a>(blobs: impl IntoIterator<Item = &'a BlobRef>) -> Vec<BlobRef> {
    let mut inline: Vec<BlobRef> = blobs
        .into_iter()
        .filter(|blob| matches!(blob, BlobRef::Inline(_)))
        .cloned()
        .collect();
    inline.sort();
    inline.dedup();
    inline
}

/// Counts the blobs that exist.
async fn count_existing(ctx: &Ctx, tenant: &Tenant, blobs: &[BlobRef]) -> Result<u64> {
    /// The number of blobs that one read fetches.
    const BATCH_SIZE: usize = 100;
    let mut existing = 0;
    for batch in blobs.chunks(BATCH_SIZE) {
        let found = ctx.blobs.read(tenant, batch).await?;
        existing += found
            .iter()
            .filter(|stored| **stored != BlobContent::Missing)
            .count() as u64;
    }
    Ok(existing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::tag::ContainerTag;

    fn purge(tag_created_at: Timestamp, deleted_at: Timestamp) -> ContainerPurge {
        ContainerPurge {
            tag: ContainerTag::default_tag(),
            containers: vec![ContainerId::random()],
            tag_created_at,
            deleted_at,
            container: 0,
            phase: PurgePhase::Documents,
            cursor: None,
            pending: PendingErasure::default(),
            report: PurgeReport::default(),
            verifying: false,
        }
    }

    #[test]
    fn requests_whose_bodies_took_hours_to_arrive_are_searched() {
        let created_at = Timestamp::from_millis(1_767_225_600_000);
        let deleted_at = created_at.plus_seconds(48 * 3600);
        let hour = |at: Timestamp, hours_before: i64| {
            Hour::containing(at.plus_seconds(-hours_before * 3600))
        };

        let mut purge = purge(created_at, deleted_at);
        assert!(first_hour(deleted_at, &purge) <= hour(created_at, 11));

        purge.verifying = true;
        assert!(first_hour(deleted_at, &purge) <= hour(deleted_at, 11));

        // Records from before the retention period are gone.
        purge.verifying = false;
        let now = created_at.plus_seconds(RETENTION_SECONDS + 48 * 3600);
        assert!(first_hour(now, &purge) > hour(created_at, 0));
    }
}
