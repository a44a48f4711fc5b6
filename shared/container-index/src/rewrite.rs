//! Writing the index of a container anew, without what was deleted or replaced.

use std::iter::zip;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use domain::ports::PortResult;
use domain::{BlobRef, ContainerId, IndexHead, MemoryIndexRef, PortError, SegmentRef, Tenant};
use search_engine::{ContainerIndex, DocumentCount, Piece, Replacing, Segment};
use service::{Ctx, report_damage};
use tracing::info;

use crate::chunks::IndexedChunks;
use crate::compact::{
    CompactionOutcome, CompactionSettings, SealedLog, align_views, read_both, seal_log,
};
use crate::lease::HeldLease;
use crate::memories::IndexedMemories;
use crate::repair::repair_documents;
use crate::segment_list::{ChunkFile, NewSegment, SegmentList, index_error};
use crate::segments::{
    SegmentReading, StoredFile, lost_part, open_segments, open_whole, read_until_fetched,
};
use crate::view::{ContainerState, ContainerView, Loaded};

/// The seconds for which a rewriting has the lease, as long as a function of maintenance may run.
const LEASE_SECONDS: i64 = 600;

/// Writes everything that search serves of a container anew, in place of all its segments, and
/// removes from the log everything that the segments cover. Afterwards the index holds nothing that
/// was deleted before, and nothing that could not be read.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn rewrite_index(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    settings: CompactionSettings,
) -> PortResult<CompactionOutcome> {
    if ctx.index.get_head(tenant, id).await?.seq == 0 {
        return Ok(CompactionOutcome::Done);
    }
    let Some(lease) = HeldLease::take(ctx, tenant, id, LEASE_SECONDS).await? else {
        return Ok(CompactionOutcome::Busy);
    };
    let rewritten = rewrite(ctx, tenant, id, settings).await;
    lease.end(matches!(rewritten, Ok(true))).await?;
    Ok(match rewritten? {
        true => CompactionOutcome::Done,
        false => CompactionOutcome::Busy,
    })
}

/// Returns `true` if the index was published.
async fn rewrite(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    settings: CompactionSettings,
) -> PortResult<bool> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let head = state.head.clone();
    let mut list = SegmentList::new(ctx, tenant, id, &head);
    let rewritten = rewrite_groups(&mut list, state, settings).await;
    if rewritten.is_err() {
        list.discard().await;
    }
    match rewritten {
        Err(PortError::Corrupt(_)) => rewrite_damaged(ctx, tenant, id, head.generation).await,
        result => result,
    }
}

/// Rewrites an index of which a part could not be read at this generation of its segments. Returns `true`
/// if it was published.
///
/// # Errors
/// Returns the errors of the ports, and [`PortError::Unavailable`] if other segments have replaced those
/// that could not be read.
pub(crate) async fn rewrite_damaged(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    generation: u64,
) -> PortResult<bool> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let head = state.head.clone();
    if head.generation != generation {
        return Err(PortError::Unavailable("a segment is being replaced".into()));
    }

    // The documents and the stored ledger supply the parts that cannot be read.
    let views = read_both::<IndexedChunks>(ctx, tenant, id, state, SegmentReading::Whole).await?;
    let Some((mut chunks, mut memories)) = views else {
        return Ok(false);
    };
    let mut unreadable = chunks.view.take_unreadable();
    unreadable.extend(memories.view.take_unreadable());
    if !unreadable.is_empty() {
        report_damage(ctx, tenant, id, &unreadable).await;
    }
    replace_all(ctx, tenant, id, &head, &chunks, &memories).await
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

/// Replaces the segments of `head` by one segment with the content of both views. Returns `true` if it was
/// published.
async fn replace_all(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    head: &IndexHead,
    chunks: &Loaded<IndexedChunks>,
    memories: &Loaded<IndexedMemories>,
) -> PortResult<bool> {
    if chunks.generation != head.generation {
        return Ok(false);
    }

    let now = ctx.clock.now();
    let mut list = SegmentList::new(ctx, tenant, id, head);
    list.segments.clear();
    let chunk_file = chunks.view.index.build_compacted(Replacing::ById);
    let whole = NewSegment {
        chunks: list.store_chunks(chunk_file.map_err(index_error)?).await?,
        edits: memories.view.ledger().list_edits(),
        memory_index: match memories.view.seal_whole_index(now).map_err(index_error)? {
            Some(file) => Some(list.store_memory_index(file).await?),
            None => None,
        },
        through: chunks.seq,
    };
    list.push(whole).await?;
    finish_rewrite(&mut list, chunks.seq, memories.view.count_live(now)).await
}

/// Publishes a list without anything that was deleted up to the log record `through`, and trims the log.
/// Returns `false` if the list was not published.
async fn finish_rewrite(
    list: &mut SegmentList<'_>,
    through: u64,
    memories: u64,
) -> PortResult<bool> {
    if !list.publish(memories).await? {
        return Ok(false);
    }

    let SegmentList {
        ctx, tenant, id, ..
    } = *list;
    ctx.index.trim_log(tenant, id, through).await?;
    ctx.index.record_erasure(tenant, id, through).await?;
    let chunks = list.count_chunks();
    info!(container.id = %id, chunks, "wrote the index of {id} anew");
    Ok(true)
}

/// Rewrites the segments and the log whose state is given. Neighbouring segments that may be merged become
/// one, and one that is too large becomes several. One such group after another is in memory. Returns
/// `true` if they were published.
///
/// All memory indexes are written without deletions, so the places of segments may change
/// (`search_engine`'s deletions name segments by their places).
///
/// # Errors
/// Returns the errors of the ports, and [`PortError::Corrupt`] if a part of a segment cannot be read.
async fn rewrite_groups(
    list: &mut SegmentList<'_>,
    state: ContainerState,
    settings: CompactionSettings,
) -> PortResult<bool> {
    let Some(sealed) = seal_log(list, state, settings.reading).await? else {
        return Ok(false);
    };
    let SealedLog {
        through,
        memory_count,
        memories,
        unreadable,
    } = sealed;
    let SegmentList { ctx, tenant, .. } = *list;
    repair_documents(ctx, tenant, &unreadable).await;
    let mut edits = {
        let list_edits = || memories.ledger().list_edits();
        read_until_fetched(ctx, tenant, memories.partial_segments(), list_edits).await?
    };
    // The merges need much memory themselves.
    drop(memories);

    let former = take(&mut list.segments);
    let open = |files| Files::open(ctx, tenant, files, settings.reading);
    let chunks = open(StoredFile::all_chunks(&former)).await?;
    let memories = open(StoredFile::all_memories(&former)).await?;

    let mut first_index = 0;
    for group in group_segments(&former, settings) {
        let segments = &former[group.clone()];
        let indexes = StoredFile::all_memories(segments).len();
        let indexes = first_index..first_index + indexes;
        first_index = indexes.end;

        let (is_last, newest) = (group.end == former.len(), former[group.end - 1].through);
        let chunks = chunks.group(group, Replacing::ById);
        let memories = memories.group(indexes, Replacing::ByNumber);
        if chunks.is_empty() && memories.is_empty() && !is_last {
            continue;
        }
        let count = settings.pieces_of(segments);
        for (chunks, memory_index) in write_group(list, &chunks, &memories, count).await? {
            let segment = NewSegment {
                chunks,
                edits: take(&mut edits),
                memory_index,
                through: newest,
            };
            list.push(segment).await?;
        }
    }
    finish_rewrite(list, through, memory_count).await
}

/// Writes the files of a group of segments as those of so many new ones, and stores them.
async fn write_group(
    list: &mut SegmentList<'_>,
    chunks: &Group<'_>,
    memories: &Group<'_>,
    count: usize,
) -> PortResult<Vec<(ChunkFile, Option<MemoryIndexRef>)>> {
    let mut stored = Vec::with_capacity(count);
    let index = chunks.read().await?;
    for number in 0..count {
        let file = chunks.build(&index, Piece { number, count })?;
        stored.push((list.store_chunks(file).await?, None));
    }
    drop(index);

    if !memories.is_empty() {
        let index = memories.read().await?;
        for (number, (_, memory_index)) in stored.iter_mut().enumerate() {
            let file = memories.build(&index, Piece { number, count })?;
            *memory_index = Some(list.store_memory_index(file).await?);
        }
    }
    Ok(stored)
}

/// Returns the places of neighbouring segments that may be merged, as many as possible in each group.
fn group_segments(segments: &[SegmentRef], settings: CompactionSettings) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for end in 1..=segments.len() {
        match groups.last_mut() {
            Some(group) if settings.can_merge(&segments[group.start..end]) => group.end = end,
            _ => groups.push(end - 1..end),
        }
    }
    groups
}

/// Checks whether most documents of the segments, or most records of their memories, were replaced or
/// removed.
///
/// # Errors
/// As [`rewrite_groups`].
pub(crate) async fn is_mostly_replaced(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    reading: SegmentReading,
) -> PortResult<bool> {
    let segments = ctx.index.get_head(tenant, id).await?.segments;
    let chunks = Files::open(ctx, tenant, StoredFile::all_chunks(&segments), reading).await?;
    let memories = Files::open(ctx, tenant, StoredFile::all_memories(&segments), reading).await?;
    let are_replaced = |files: &Files<'_>| {
        let count = files.count(0..files.files.len());
        count.live * 2 < count.stored
    };
    Ok(are_replaced(&chunks) || are_replaced(&memories))
}

/// The files of a list of segments, of chunks or of memories.
struct Files<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    files: Vec<StoredFile<'a>>,
    /// The files as they were opened, perhaps only their beginnings.
    opened: Vec<Arc<Segment>>,
    index: ContainerIndex,
}

impl<'a> Files<'a> {
    async fn open(
        ctx: &'a Ctx,
        tenant: &'a Tenant,
        files: Vec<StoredFile<'a>>,
        reading: SegmentReading,
    ) -> PortResult<Self> {
        let (opened, _) = open_segments(ctx, tenant, &files, reading.for_view(false)).await?;
        let opened: Option<Vec<Arc<Segment>>> = opened.into_iter().collect();
        let opened = opened.ok_or_else(lost_part)?;
        Ok(Self {
            ctx,
            tenant,
            files,
            index: index_of(&opened)?,
            opened,
        })
    }

    /// Counts the documents of the files at these places.
    fn count(&self, places: Range<usize>) -> DocumentCount {
        self.index.count_stored(places)
    }

    fn group(&self, places: Range<usize>, replacing: Replacing) -> Group<'_> {
        Group {
            files: self,
            places,
            replacing,
        }
    }
}

/// Neighbouring files that are merged.
struct Group<'a> {
    files: &'a Files<'a>,
    places: Range<usize>,
    replacing: Replacing,
}

impl Group<'_> {
    /// Checks whether no document of the group is live.
    fn is_empty(&self) -> bool {
        self.files.count(self.places.clone()).live == 0
    }

    /// Reads the files of the group as a whole. Returns the index with them and the beginnings of all others.
    async fn read(&self) -> PortResult<ContainerIndex> {
        let files = self.files;
        let mut segments = files.opened.clone();
        let places = self.places.clone();
        let partial: Vec<usize> = places
            .filter(|&place| !segments[place].is_whole())
            .collect();
        let blobs = partial.iter().map(|&place| files.files[place].blob.clone());
        let blobs: Vec<BlobRef> = blobs.collect();
        let contents = files.ctx.blobs.read(files.tenant, &blobs).await?;
        for (place, content) in zip(partial, contents) {
            segments[place] = Arc::new(open_whole(content).ok_or_else(lost_part)?);
        }
        index_of(&segments)
    }

    /// Writes a piece of the live documents of the group, which this index has read, as a file.
    fn build(&self, index: &ContainerIndex, piece: Piece) -> PortResult<Vec<u8>> {
        let file = index.build_merged(self.places.clone(), piece, self.replacing);
        file.map_err(index_error)
    }
}

fn index_of(segments: &[Arc<Segment>]) -> PortResult<ContainerIndex> {
    let mut index = ContainerIndex::new();
    for segment in segments {
        index.push_segment(segment.clone()).map_err(index_error)?;
    }
    Ok(index)
}
