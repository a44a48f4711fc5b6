//! Compaction: log records become segments, and small segments become larger ones.

use std::sync::Arc;

use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, DocumentId, IndexHead, MemoryEdit, PortError, SegmentRef, Tenant,
};
use search_engine::{Segment, merge_segments};
use service::Ctx;
use tracing::info;

use crate::lease::HeldLease;
use crate::memories::{IndexedMemories, read_edits};
use crate::repair::repair_documents;
use crate::rewrite::{is_mostly_replaced, rewrite_damaged, rewrite_index};
use crate::segment_list::{NewSegment, SegmentList, index_error};
use crate::segments::{
    SegmentReading, StoredFile, fetch_all, lost_part, open_whole, read_until_fetched,
};
use crate::tail::ChunkTail;
use crate::view::{ContainerState, ContainerView, Loaded, read_views};

/// Neighbouring segments are merged while the older one is less than this many times larger. Their
/// number therefore stays logarithmic, and each chunk is rewritten a logarithmic number of times.
const LEVEL_FACTOR: u64 = 4;

/// The seconds for which a compaction has the lease. A merge of the largest segments takes some seconds.
const LEASE_SECONDS: i64 = 120;

/// The settings of compactions.
#[derive(Debug, Clone, Copy)]
pub struct CompactionSettings {
    /// The parts of the segments that are read to write the log as a segment. A merge reads all of the
    /// segments that it merges.
    pub reading: SegmentReading,
    /// The most bytes of the files that are merged into one, of chunks or of memories. They and the merged
    /// file are in memory at the same time.
    pub max_merged_bytes: u64,
}

impl CompactionSettings {
    /// The limit with which a function needs about 0.5 GB for a merge (docs/decisions/segment-sizes.md).
    const MAX_MERGED_BYTES: u64 = 128 * 1024 * 1024;

    /// For a process with local stores.
    pub const LOCAL: Self = Self {
        reading: SegmentReading::FROM_DISK.for_view(false),
        max_merged_bytes: Self::MAX_MERGED_BYTES,
    };
    /// For functions, which read over a network.
    pub const OVER_NETWORK: Self = Self {
        reading: SegmentReading::LITTLE_OVER_NETWORK,
        max_merged_bytes: Self::MAX_MERGED_BYTES,
    };

    /// Checks whether neighbouring segments may be merged into one.
    pub(crate) fn can_merge<'s>(self, segments: impl IntoIterator<Item = &'s SegmentRef>) -> bool {
        sum_file_bytes(segments) <= self.max_merged_bytes
    }

    /// Returns the number of segments into which these are written anew.
    pub(crate) fn pieces_of(self, segments: &[SegmentRef]) -> usize {
        let pieces = sum_file_bytes(segments).div_ceil(self.max_merged_bytes);
        usize::try_from(pieces).unwrap_or(usize::MAX).max(1)
    }
}

/// Returns the bytes of all files of chunks or of all memory indexes of segments, whichever are more.
fn sum_file_bytes<'s>(segments: impl IntoIterator<Item = &'s SegmentRef>) -> u64 {
    let (mut chunks, mut memories) = (0, 0);
    for segment in segments {
        chunks += segment.bytes;
        memories += segment.memory_index.as_ref().map_or(0, |index| index.bytes);
    }
    chunks.max(memories)
}

/// The outcome of a request to compact a container or to write its index anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum CompactionOutcome {
    /// It is done, or there was nothing to do.
    Done,
    /// Another compaction is under way or was first. The request has to be repeated later.
    Busy,
}

/// Compacts the log into segments. Readers do not notice: one conditional write swaps the list of
/// segments, replaced segments are purged a minute later, and the log is trimmed only up to what
/// was already covered before.
///
/// Does nothing to the log if a segment has the record `through` already, if another compaction was
/// first, or if the log has no new records. In any case, the unfinished and failed documents of the
/// container are listed as such afterwards.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn compact_index(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    through: Option<u64>,
    settings: CompactionSettings,
) -> PortResult<CompactionOutcome> {
    let head = ctx.index.get_head(tenant, id).await?;
    if head.seq > 0 && !head.pending_listed {
        list_pending_documents(ctx, tenant, id).await?;
    }

    if is_covered(&head, through) {
        return Ok(CompactionOutcome::Done);
    }
    let Some(lease) = HeldLease::take(ctx, tenant, id, LEASE_SECONDS).await? else {
        return Ok(CompactionOutcome::Busy);
    };
    let compacted = compact(ctx, tenant, id, through, settings).await;
    lease
        .end(matches!(compacted, Ok(Compaction::Published { .. })))
        .await?;

    if let Compaction::Published { is_full: true } = compacted?
        && is_mostly_replaced(ctx, tenant, id, settings.reading).await?
    {
        // If another compaction has begun, a later one finds this again.
        let _ = rewrite_index(ctx, tenant, id, settings).await?;
    }
    Ok(CompactionOutcome::Done)
}

/// Checks whether segments have the whole log, or the record that was asked for.
fn is_covered(head: &IndexHead, through: Option<u64>) -> bool {
    let covered = head.covered_through();
    covered >= head.seq || through.is_some_and(|through| covered >= through)
}

/// The end of a compaction.
enum Compaction {
    Nothing,
    Published {
        /// True if two segments were too large to be merged.
        is_full: bool,
    },
}

async fn compact(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    through: Option<u64>,
    settings: CompactionSettings,
) -> PortResult<Compaction> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let head = state.head.clone();
    if is_covered(&head, through) {
        return Ok(Compaction::Nothing);
    }

    let mut list = SegmentList::new(ctx, tenant, id, &head);
    let compacted = compact_intact(&mut list, state, settings).await;
    if compacted.is_err() {
        list.discard().await;
    }
    match compacted {
        Err(PortError::Corrupt(_)) => {
            let is_published = rewrite_damaged(ctx, tenant, id, head.generation).await?;
            Ok(match is_published {
                true => Compaction::Published { is_full: false },
                false => Compaction::Nothing,
            })
        }
        result => result,
    }
}

/// Compacts the log whose state is given.
///
/// # Errors
/// Returns the errors of the ports, and [`PortError::Corrupt`] if a part of a segment cannot be read.
async fn compact_intact(
    list: &mut SegmentList<'_>,
    state: ContainerState,
    settings: CompactionSettings,
) -> PortResult<Compaction> {
    let covered = state.head.covered_through();
    let Some(sealed) = seal_log(list, state, settings.reading).await? else {
        return Ok(Compaction::Nothing);
    };
    let SealedLog {
        memory_count,
        unreadable,
        memories,
        ..
    } = sealed;
    // A merge needs much memory itself.
    drop(memories);
    let is_full = merge_levels(list, settings).await?;
    if !list.publish(memory_count).await? {
        return Ok(Compaction::Nothing);
    }

    let SegmentList {
        ctx, tenant, id, ..
    } = *list;
    // The new segment lacks these documents, and soon no log record names their blobs any more.
    repair_documents(ctx, tenant, &unreadable).await;
    ctx.index.trim_log(tenant, id, covered).await?;
    let (segments, chunks) = (list.segments.len(), list.count_chunks());
    info!(container.id = %id, segments, chunks, "compacted the log of {id}; it has {segments} segments now");
    Ok(Compaction::Published { is_full })
}

/// The log as a segment of a list.
pub(crate) struct SealedLog {
    /// The newest log record in it.
    pub(crate) through: u64,
    /// The number of live memories.
    pub(crate) memory_count: u64,
    pub(crate) memories: IndexedMemories,
    /// The documents of the log that could not be read. A commit may have replaced them meanwhile.
    pub(crate) unreadable: Vec<DocumentId>,
}

/// Adds the log to the list as its newest segment. Returns `None` when the container kept changing; it is
/// compacted another time.
///
/// # Errors
/// As [`compact_intact`].
pub(crate) async fn seal_log(
    list: &mut SegmentList<'_>,
    state: ContainerState,
    reading: SegmentReading,
) -> PortResult<Option<SealedLog>> {
    let SegmentList {
        ctx, tenant, id, ..
    } = *list;
    let head = state.head.clone();
    let Some((mut log, mut memories)) =
        read_both::<ChunkTail>(ctx, tenant, id, state, reading).await?
    else {
        return Ok(None);
    };
    if memories.is_recovered {
        return Err(lost_part());
    }
    if log.generation != head.generation {
        return Ok(None);
    }

    let mut unreadable = log.view.take_unreadable();
    unreadable.extend(memories.view.take_unreadable());
    let memories = memories.view;
    let now = ctx.clock.now();
    let partial = memories.partial_segments();
    let is_stored_anew = !memories.extends_stored() && list.segments.iter().any(has_memories);
    if is_stored_anew {
        // The new segment has all memories.
        fetch_all(ctx, tenant, partial).await?;
        for segment in &mut list.segments {
            segment.memory_index = None;
            segment.memories = None;
            segment.edits = None;
        }
    }

    let count = read_until_fetched(ctx, tenant, partial, || memories.count_live(now));
    let memory_count = count.await?;
    if log.seq > head.covered_through() || is_stored_anew {
        let index = read_until_fetched(ctx, tenant, partial, || memories.seal_tail_index(now));
        let index = index.await?.map_err(index_error)?;
        let chunks = log.view.build_segment().map_err(index_error)?;
        let segment = NewSegment {
            memory_index: match index {
                Some(file) => Some(list.store_memory_index(file).await?),
                None => None,
            },
            chunks: list.store_chunks(chunks).await?,
            edits: memories.edits_to_seal(),
            through: log.seq,
        };
        list.push(segment).await?;
    }
    Ok(Some(SealedLog {
        through: log.seq,
        memory_count,
        memories,
        unreadable,
    }))
}

/// Checks whether a segment has memories, or edits of them.
fn has_memories(segment: &SegmentRef) -> bool {
    segment.memory_index.is_some() || segment.memories.is_some() || segment.edits.is_some()
}

/// Merges the newest segments while the older of two is less than [`LEVEL_FACTOR`] times larger. Returns
/// `true` if two of them are too large together.
///
/// # Errors
/// As [`compact_intact`].
async fn merge_levels(
    list: &mut SegmentList<'_>,
    settings: CompactionSettings,
) -> PortResult<bool> {
    while let [.., older, newer] = list.segments.as_slice() {
        let last = list.segments.len() - 1;
        let weights = [last - 1, last].map(|place| level_weight(&list.segments, place));
        if weights[0] >= LEVEL_FACTOR * weights[1] {
            return Ok(false);
        }
        if !settings.can_merge([older, newer]) {
            return Ok(true);
        }

        let pair = [older.clone(), newer.clone()];
        list.segments.truncate(last - 1);
        let merged = merge(list, &pair).await?;
        list.push(merged).await?;
    }
    Ok(false)
}

/// Lists the unfinished and failed documents that were accepted before such documents were listed.
async fn list_pending_documents(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
    ctx.documents.add_missing_pending(tenant, id).await?;
    ctx.index.record_pending_listed(tenant, id).await
}

/// Reads both views of the container at one point of its log. Returns `None` when the container
/// kept changing; it is compacted another time.
pub(crate) async fn read_both<C: ContainerView>(
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
pub(crate) async fn align_views<C: ContainerView>(
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

/// Merges two segments, the older first, which follow those of the list.
///
/// # Errors
/// As [`compact_intact`].
async fn merge(list: &mut SegmentList<'_>, pair: &[SegmentRef; 2]) -> PortResult<NewSegment> {
    let (ctx, tenant) = (list.ctx, list.tenant);
    let chunks = StoredFile::all_chunks(pair);
    let chunks = merge_stored(ctx, tenant, list.segments.len(), &chunks).await?;
    let chunks = list.store_chunks(chunks).await?;

    let mut edits: Vec<MemoryEdit> = Vec::new();
    for segment in pair {
        let file = read_edits(ctx, tenant, segment).await?;
        edits.extend(file.ok_or_else(lost_part)?.edits);
    }

    let indexes = StoredFile::all_memories(pair);
    let mut memory_index = None;
    if !indexes.is_empty() {
        let older = StoredFile::all_memories(&list.segments).len();
        let merged = merge_stored(ctx, tenant, older, &indexes).await?;
        memory_index = Some(list.store_memory_index(merged).await?);
    }

    Ok(NewSegment {
        chunks,
        edits,
        memory_index,
        through: pair[1].through,
    })
}

/// Merges stored segments of chunks or of memories, which follow this many `older` ones.
///
/// # Errors
/// As [`compact_intact`].
async fn merge_stored(
    ctx: &Ctx,
    tenant: &Tenant,
    older: usize,
    files: &[StoredFile<'_>],
) -> PortResult<Vec<u8>> {
    let blobs: Vec<BlobRef> = files.iter().map(|file| file.blob.clone()).collect();
    let contents = ctx.blobs.read(tenant, &blobs).await?;
    let opened = contents
        .into_iter()
        .map(|content| open_whole(content).map(Arc::new));
    let segments: Option<Vec<Arc<Segment>>> = opened.collect();
    merge_segments(&segments.ok_or_else(lost_part)?, older).map_err(index_error)
}
