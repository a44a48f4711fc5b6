//! Folding the log into segments, and small segments into larger ones.

use std::sync::Arc;

use domain::BlobRef;
use domain::ports::PortResult;
use domain::{ContainerId, Ctx, PortError, Revision, SegmentRef, Tenant};
use retrieval::{Segment, merge};
use tracing::info;

use crate::load::Loaded;

/// Neighbouring segments are merged while the older is not this many times larger, which keeps their number
/// logarithmic and rewrites each chunk a logarithmic number of times.
const LEVEL_FACTOR: u64 = 4;

/// Folds what the log holds into segments. Readers notice nothing: the list of segments is swapped by one conditional
/// write, replaced segments are purged a minute later, and of the log only what was covered before is trimmed.
///
/// Does nothing when another compaction was first, or when there is nothing to fold.
///
/// # Errors
/// Those of the ports.
pub async fn compact(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    let head = ctx.index.head(tenant, id).await?;
    let (generation, covered) = (head.generation, head.through());
    if head.seq == covered {
        return Ok(());
    }
    let loaded = Loaded::read(ctx, tenant, id, head).await?;
    if loaded.generation != generation || loaded.seq <= covered {
        return Ok(());
    }
    let mut levels = loaded.segments.clone();
    let sealed = loaded.index.seal_tail().map_err(|error| engine(&error))?;
    levels.push(store(ctx, tenant, id, sealed, loaded.seq).await?);
    let mut replaced: Vec<BlobRef> = Vec::new();
    while let [.., older, newer] = levels.as_slice()
        && older.0.chunks < LEVEL_FACTOR * newer.0.chunks
    {
        let pair = [older.1.clone(), newer.1.clone()];
        let merged = merge(&pair, levels.len() == 2).map_err(|error| engine(&error))?;
        let merged = store(ctx, tenant, id, merged, newer.0.through).await?;
        replaced.extend(levels.drain(levels.len() - 2..).map(|(segment, _)| segment.blob));
        levels.push(merged);
    }
    let segments: Vec<SegmentRef> = levels.iter().map(|(segment, _)| segment.clone()).collect();
    let published = ctx.index.publish(tenant, id, generation, &segments).await?;
    let unused: Vec<BlobRef> = if published {
        replaced
    } else {
        // Our own list may have been published all the same, its answer lost and its segments kept by a later one.
        let present = ctx.index.head(tenant, id).await?.segments;
        let known: Vec<&BlobRef> = loaded
            .segments
            .iter()
            .map(|(segment, _)| segment)
            .chain(&present)
            .map(|segment| &segment.blob)
            .collect();
        let new = segments.iter().map(|segment| segment.blob.clone()).chain(replaced);
        new.filter(|blob| !known.contains(&blob)).collect()
    };
    if !unused.is_empty() {
        // No message: the sweeper finds the record in a minute, when no reader can still be about to open these.
        ctx.index.record_purge(tenant, id, &unused, ctx.clock.now()).await?;
    }
    if published {
        ctx.index.trim(tenant, id, covered).await?;
        let (count, chunks) = (segments.len(), segments.iter().map(|segment| segment.chunks).sum::<u64>());
        info!(container.id = %id, segments = count, chunks, "folded the log of {id} into {count} segments");
    }
    Ok(())
}

fn engine(error: &retrieval::Error) -> PortError {
    PortError::Corrupt(format!("index: {error}"))
}

async fn store(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    file: Vec<u8>,
    through: u64,
) -> PortResult<(SegmentRef, Arc<Segment>)> {
    let bytes = bytes::Bytes::from(file);
    let segment = Arc::new(Segment::open(bytes.clone()).map_err(|error| engine(&error))?);
    let path = format!("{id}/segments/{}", Revision::random());
    let size = bytes.len() as u64;
    let blob = ctx.blobs.put(tenant, &path, bytes).await?;
    Ok((SegmentRef { blob, through, chunks: segment.len_chunks() as u64, bytes: size }, segment))
}
