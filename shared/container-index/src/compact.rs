//! Compaction: log records become segments, and small segments become larger ones.

use std::sync::Arc;

use domain::BlobRef;
use domain::ports::PortResult;
use domain::{
    ContainerId, IndexHead, MemoryEdit, MemoryIndexRef, PortError, Revision, SegmentRef, Tenant,
};
use memory_model::Ledger;
use search_engine::{Replacing, Segment, SegmentError, merge_segments};
use service::Ctx;
use tracing::info;

use crate::chunks::IndexedChunks;
use crate::memories::{EditsFile, IndexedMemories, read_edits};
use crate::segments::{FileSizes, SegmentReading, open_whole};
use crate::tail::ChunkTail;
use crate::view::{ContainerState, ContainerView, Loaded, read_views};

/// Neighbouring segments are merged while the older one is less than this many times larger. Their
/// number therefore stays logarithmic, and each chunk is rewritten a logarithmic number of times.
const LEVEL_FACTOR: u64 = 4;

/// Compacts the log into segments. Readers do not notice: one conditional write swaps the list of
/// segments, replaced segments are purged a minute later, and the log is trimmed only up to what
/// was already covered before.
///
/// Does nothing to the log when another compaction was first or the log has no new records. In any
/// case, the unfinished and failed documents of the container are listed as such afterwards.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn compact_index(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    if state.head.seq > 0 && !state.head.pending_listed {
        list_pending_documents(ctx, tenant, id).await?;
    }

    let (generation, covered) = (state.head.generation, state.head.covered_through());
    if state.head.seq == covered {
        return Ok(());
    }

    let segments = state.head.segments.clone();
    let Some((loaded, memories)) =
        read_both::<ChunkTail>(ctx, tenant, id, state, SegmentReading::Shared).await?
    else {
        return Ok(());
    };

    if memories.is_recovered {
        return rewrite_index(ctx, tenant, id).await;
    }

    if loaded.generation != generation || loaded.seq <= covered {
        return Ok(());
    }

    let mut levels = segments.clone();
    let mut replaced: Vec<BlobRef> = Vec::new();
    if !memories.view.extends_stored() {
        // The tail has all memories.
        for segment in &mut levels {
            replaced.extend(segment.memory_index.take().map(|index| index.blob));
            replaced.extend(segment.memories.take());
            replaced.extend(segment.edits.take());
        }
    }

    let now = ctx.clock.now();
    let tail = NewSegment {
        chunks: loaded.view.build_segment().map_err(index_error)?,
        edits: memories.view.edits_to_seal(),
        memory_index: memories.view.seal_tail_index(now).map_err(index_error)?,
        through: loaded.seq,
    };
    levels.push(store(ctx, tenant, id, tail).await?);

    if !merge_levels(ctx, tenant, id, &mut levels, &mut replaced).await? {
        purge_unpublished(ctx, tenant, id, &levels, segments, replaced).await?;
        if ctx.index.get_head(tenant, id).await?.generation != generation {
            return Err(being_replaced());
        }
        // The documents and the stored ledger supply the parts that cannot be read.
        return rewrite_index(ctx, tenant, id).await;
    }

    let memory_count = memories.view.count_live(now);
    let published = ctx
        .index
        .publish_segments(tenant, id, generation, &levels, memory_count)
        .await?;
    if !published {
        return purge_unpublished(ctx, tenant, id, &levels, segments, replaced).await;
    }

    schedule_purge(ctx, tenant, id, &replaced).await?;
    ctx.index.trim_log(tenant, id, covered).await?;
    let (count, chunks) = (
        levels.len(),
        levels.iter().map(|segment| segment.chunks).sum::<u64>(),
    );
    info!(container.id = %id, segments = count, chunks, "compacted the log of {id}; it has {count} segments now");
    Ok(())
}

/// Merges the newest segments while the older of two is less than [`LEVEL_FACTOR`] times larger. Adds the
/// blobs of merged segments to `replaced`. Returns `false` if a part of a segment cannot be read.
async fn merge_levels(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    levels: &mut Vec<SegmentRef>,
    replaced: &mut Vec<BlobRef>,
) -> PortResult<bool> {
    while let [.., older, newer] = levels.as_slice()
        && level_weight(levels, levels.len() - 2)
            < LEVEL_FACTOR * level_weight(levels, levels.len() - 1)
    {
        let pair = [older.clone(), newer.clone()];
        let before = &levels[..levels.len() - 2];
        let Some(merged) = merge(ctx, tenant, before, &pair).await? else {
            return Ok(false);
        };
        let merged = store(ctx, tenant, id, merged).await?;
        levels.truncate(levels.len() - 2);
        replaced.extend(blobs_of(pair.to_vec()));
        levels.push(merged);
    }

    Ok(true)
}

/// Lists the unfinished and failed documents that were accepted before such documents were listed.
async fn list_pending_documents(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    ctx.documents.add_missing_pending(tenant, id).await?;
    ctx.index.record_pending_listed(tenant, id).await
}

/// Writes everything that search serves of a container as one segment in place of all others, and
/// removes from the log everything that the segment covers. Afterwards the index holds nothing that
/// was deleted before, and nothing that could not be read.
///
/// Does nothing when another compaction was first.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn rewrite_index(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let previous_head = state.head.clone();
    if previous_head.seq == 0 {
        return Ok(());
    }

    let Some((chunks, memories)) =
        read_both::<IndexedChunks>(ctx, tenant, id, state, SegmentReading::Whole).await?
    else {
        return Ok(());
    };
    replace_all(ctx, tenant, id, &previous_head, &chunks, &memories).await
}

/// Rewrites the index as [`rewrite_index`] does, but from the records of the documents, for an
/// index that disagrees with them.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn rebuild_index(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    let head = ctx.index.get_head(tenant, id).await?;
    if head.seq == 0 {
        return Ok(());
    }

    let mut chunks = Loaded::<IndexedChunks>::read_from_documents(ctx, tenant, id, &head).await?;
    let mut memories =
        Loaded::<IndexedMemories>::read_from_documents(ctx, tenant, id, &head).await?;

    if align_views(ctx, tenant, id, &mut chunks, &mut memories).await? {
        replace_all(ctx, tenant, id, &head, &chunks, &memories).await?;
    }
    Ok(())
}

/// Replaces the segments of `previous_head` by one segment with the content of both views.
async fn replace_all(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    previous_head: &IndexHead,
    chunks: &Loaded<IndexedChunks>,
    memories: &Loaded<IndexedMemories>,
) -> PortResult<()> {
    if chunks.generation != previous_head.generation {
        return Ok(());
    }

    let (generation, old_segments) = (previous_head.generation, previous_head.segments.clone());
    let now = ctx.clock.now();
    let whole = NewSegment {
        chunks: chunks
            .view
            .index
            .build_compacted(Replacing::ById)
            .map_err(index_error)?,
        edits: memories.view.ledger().list_edits(),
        memory_index: memories.view.seal_whole_index(now).map_err(index_error)?,
        through: chunks.seq,
    };
    let segments = [store(ctx, tenant, id, whole).await?];
    let memory_count = memories.view.count_live(now);
    let published = ctx
        .index
        .publish_segments(tenant, id, generation, &segments, memory_count)
        .await?;
    let replaced = blobs_of(old_segments.clone());
    if !published {
        return purge_unpublished(ctx, tenant, id, &segments, old_segments, replaced).await;
    }

    schedule_purge(ctx, tenant, id, &replaced).await?;
    ctx.index.trim_log(tenant, id, chunks.seq).await?;
    ctx.index.record_erasure(tenant, id, chunks.seq).await?;
    info!(container.id = %id, chunks = segments[0].chunks, "wrote the index of {id} anew");
    Ok(())
}

/// Schedules a purge of the blobs that a compaction has stored itself and that no list of segments
/// refers to, after its own list was not published. `replaced` are the blobs that its list no longer
/// has.
async fn purge_unpublished(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    segments: &[SegmentRef],
    old_segments: Vec<SegmentRef>,
    replaced: Vec<BlobRef>,
) -> PortResult<()> {
    // Our own list may have been published all the same: its response was lost, and a later
    // compaction may have kept its segments.
    let current = ctx.index.get_head(tenant, id).await?.segments;
    let mut referenced = blobs_of(old_segments);
    referenced.extend(blobs_of(current));

    let mut unpublished = blobs_of(segments.to_vec());
    unpublished.extend(replaced);
    unpublished.retain(|blob| !referenced.contains(blob));
    schedule_purge(ctx, tenant, id, &unpublished).await
}

/// Schedules a purge of blobs that no reader will open any more.
async fn schedule_purge(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    blobs: &[BlobRef],
) -> PortResult<()> {
    if !blobs.is_empty() {
        // No message is sent. The sweep finds the record in a minute, when no reader can still be
        // about to open these blobs.
        ctx.index
            .record_purge(tenant, id, blobs, ctx.clock.now())
            .await?;
    }

    Ok(())
}

/// Returns all blobs of these segments.
fn blobs_of(segments: Vec<SegmentRef>) -> Vec<BlobRef> {
    let mut blobs = Vec::new();
    for segment in segments {
        blobs.extend(segment.into_blobs());
    }

    blobs
}

/// Reads both views of the container at one point of its log. Returns `None` when the container
/// kept changing; it is compacted another time.
async fn read_both<C: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    state: ContainerState,
    reading: SegmentReading,
) -> PortResult<Option<(Loaded<C>, Loaded<IndexedMemories>)>> {
    let (mut chunks, mut memories) =
        read_views::<C, IndexedMemories>(ctx, tenant, id, state, reading).await?;
    let is_aligned = align_views(ctx, tenant, id, &mut chunks, &mut memories).await?;
    Ok(is_aligned.then_some((chunks, memories)))
}

/// Brings both views to one point of the log. Returns `false` when the log kept changing.
async fn align_views<C: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    chunks: &mut Loaded<C>,
    memories: &mut Loaded<IndexedMemories>,
) -> PortResult<bool> {
    const ATTEMPTS: usize = 4;
    for _ in 0..ATTEMPTS {
        if chunks.generation != memories.generation {
            return Ok(false);
        }

        if chunks.seq == memories.seq {
            return Ok(true);
        }

        let (chunks_seq, memories_seq) = (chunks.seq, memories.seq);
        let followed = chunks.follow(ctx, tenant, id, memories_seq).await?
            && memories.follow(ctx, tenant, id, chunks_seq).await?;
        if !followed {
            return Ok(false);
        }
    }

    Ok(false)
}

/// Returns the weight of a level: its chunks, and the log records that it covers, because records
/// about memories have no chunks.
fn level_weight(levels: &[SegmentRef], index: usize) -> u64 {
    let previous_end = match index.checked_sub(1) {
        Some(previous) => levels[previous].through,
        None => 0,
    };
    levels[index].chunks + (levels[index].through - previous_end)
}

fn index_error(error: SegmentError) -> PortError {
    PortError::Corrupt(format!("index: {error}"))
}

/// A segment that is not stored yet.
struct NewSegment {
    chunks: Vec<u8>,
    edits: Vec<MemoryEdit>,
    memory_index: Option<Vec<u8>>,
    /// The newest log record in it.
    through: u64,
}

async fn store(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    new_segment: NewSegment,
) -> PortResult<SegmentRef> {
    let NewSegment {
        chunks,
        edits,
        memory_index,
        through,
    } = new_segment;
    let bytes = bytes::Bytes::from(chunks);
    let segment = Segment::open(bytes.clone()).map_err(index_error)?;
    let path = format!("{id}/segments/{}", Revision::random());
    let sizes = FileSizes::of(&bytes);
    let edits = store_edits(ctx, tenant, &format!("{path}-actions"), edits).await?;
    let memory_index = store_index(ctx, tenant, &format!("{path}-index"), memory_index).await?;
    let blob = ctx.blobs.put(tenant, &path, bytes).await?;
    let chunks = segment.len_chunks() as u64;

    Ok(SegmentRef {
        blob,
        through,
        chunks,
        bytes: sizes.bytes,
        core_bytes: sizes.core_bytes,
        search_bytes: sizes.search_bytes,
        memories: None,
        edits,
        memory_index,
    })
}

/// Stores the callers' edits, if there are any.
async fn store_edits(
    ctx: &Ctx,
    tenant: &Tenant,
    path: &str,
    edits: Vec<MemoryEdit>,
) -> PortResult<Option<BlobRef>> {
    if edits.is_empty() {
        return Ok(None);
    }
    let file = EditsFile::new(edits).encode();
    Ok(Some(ctx.blobs.put(tenant, path, file.into()).await?))
}

/// Stores the index of a segment's memories, if there is one.
async fn store_index(
    ctx: &Ctx,
    tenant: &Tenant,
    path: &str,
    file: Option<Vec<u8>>,
) -> PortResult<Option<MemoryIndexRef>> {
    let Some(file) = file else {
        return Ok(None);
    };
    let sizes = FileSizes::of(&file);
    Ok(Some(MemoryIndexRef {
        blob: ctx.blobs.put(tenant, path, file.into()).await?,
        rules: Ledger::RULES_VERSION,
        bytes: sizes.bytes,
        core_bytes: sizes.core_bytes,
        search_bytes: sizes.search_bytes,
    }))
}

/// Merges the newest two segments, which follow those `before`, the older first. Returns `None` if a part
/// of them cannot be read.
async fn merge(
    ctx: &Ctx,
    tenant: &Tenant,
    before: &[SegmentRef],
    pair: &[SegmentRef; 2],
) -> PortResult<Option<NewSegment>> {
    let chunks = pair.each_ref().map(|segment| segment.blob.clone());
    let Some(chunks) = merge_stored(ctx, tenant, before.len(), &chunks).await? else {
        return Ok(None);
    };

    let mut edits: Vec<MemoryEdit> = Vec::new();
    let mut indexes: Vec<BlobRef> = Vec::new();
    for segment in pair {
        let Some(file) = read_edits(ctx, tenant, segment).await? else {
            return Ok(None);
        };
        edits.extend(file.edits);
        indexes.extend(
            segment
                .memory_index
                .as_ref()
                .map(|index| index.blob.clone()),
        );
    }

    let mut memory_index = None;
    if !indexes.is_empty() {
        let before = before
            .iter()
            .filter(|segment| segment.memory_index.is_some());
        memory_index = merge_stored(ctx, tenant, before.count(), &indexes).await?;
        if memory_index.is_none() {
            return Ok(None);
        }
    }

    Ok(Some(NewSegment {
        chunks,
        edits,
        memory_index,
        through: pair[1].through,
    }))
}

/// Merges stored segments of chunks or of memories, which follow this many `older` ones. Returns `None` if
/// one of them cannot be read.
async fn merge_stored(
    ctx: &Ctx,
    tenant: &Tenant,
    older: usize,
    blobs: &[BlobRef],
) -> PortResult<Option<Vec<u8>>> {
    let contents = ctx.blobs.read(tenant, blobs).await?;
    let opened = contents
        .into_iter()
        .map(|content| open_whole(content).map(Arc::new));
    let Some(segments) = opened.collect::<Option<Vec<Arc<Segment>>>>() else {
        return Ok(None);
    };
    match merge_segments(&segments, older) {
        Ok(merged) => Ok(Some(merged)),
        Err(SegmentError::Corrupt(_)) => Ok(None),
        Err(error) => Err(index_error(error)),
    }
}

fn being_replaced() -> PortError {
    PortError::Unavailable("a segment is being replaced".into())
}
