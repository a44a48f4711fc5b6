//! Stored segments, which are read as a whole or page by page.

use std::iter::zip;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::ports::{BlobContent, BlobPart, PortResult};
use domain::{BlobRef, MemoryIndexRef, PortError, SegmentRef, Tenant};
use search_engine::Segment;
use service::Ctx;
use tracing::warn;

use crate::opened::{find_opened, remember_opened};
use crate::view::ContainerView;

/// The parts of segments that are read when a container is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentReading {
    /// Everything, from the store.
    Whole,
    /// Everything. Segments that another view of this process has open are shared, not read again.
    Shared,
    /// The beginnings, if the segments of a view have more bytes than this together. The rest is read when
    /// it is needed ([`read_until_fetched`]).
    Beginnings {
        /// The bytes.
        above: u64,
        /// True if the beginning is what a search needs first, false for readers of documents and memories.
        searches: bool,
        /// True if a view that is asked for again is completed in the background. It then answers
        /// without waiting for pages, also after the segments were replaced.
        completes: bool,
    },
}

/// The number of ranges of segments that are fetched at the same time. More of them wait for others.
const MAX_RANGES: usize = 128;

/// The most bytes of one read when a view is completed in the background. A request at the same time may
/// wait for one such read.
const COMPLETION_BYTES: usize = 4 * 1024 * 1024;

impl SegmentReading {
    /// The bytes up to which everything arrives over a network as fast as a search by pages is done
    /// (docs/scale.md).
    const WHOLE_BYTES: u64 = 6 * 1024 * 1024;

    /// For functions, which read over a network.
    pub const OVER_NETWORK: Self = Self::Beginnings {
        above: Self::WHOLE_BYTES,
        searches: true,
        completes: true,
    };
    /// For functions that read little of a container, and do not search it.
    pub const LITTLE_OVER_NETWORK: Self = Self::Beginnings {
        above: Self::WHOLE_BYTES,
        searches: false,
        completes: false,
    };

    /// Returns how a view is read that is not searched.
    pub(crate) fn without_search(mut self) -> Self {
        if let Self::Beginnings { searches, .. } = &mut self {
            *searches = false;
        }
        self
    }

    /// Returns the bytes of the beginning that is read of each of these files, `None` for a file that is
    /// read as a whole.
    fn beginnings(self, files: &[StoredFile<'_>]) -> Vec<Option<u64>> {
        let (above, searches) = match self {
            Self::Whole | Self::Shared => return vec![None; files.len()],
            Self::Beginnings {
                above, searches, ..
            } => (above, searches),
        };
        let reads_all = files.iter().map(|file| file.bytes).sum::<u64>() <= above;
        let beginnings = files.iter().map(|file| {
            let searched = file.search_bytes.filter(|_| searches);
            let beginning = searched.or(file.core_bytes);
            beginning.filter(|bytes| !reads_all && *bytes < file.bytes)
        });
        beginnings.collect()
    }

    /// Checks whether a view that is asked for again is completed.
    pub(crate) fn completes(self) -> bool {
        matches!(
            self,
            Self::Beginnings {
                completes: true,
                ..
            }
        )
    }

    /// Returns the bytes that are read of these files when they are opened.
    pub(crate) fn bytes_of(self, files: &[StoredFile<'_>]) -> u64 {
        let beginnings = zip(files, self.beginnings(files));
        let sizes = beginnings.map(|(file, beginning)| beginning.unwrap_or(file.bytes));
        sizes.sum()
    }
}

/// The file of a segment, of chunks or of memories.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredFile<'a> {
    pub(crate) blob: &'a BlobRef,
    bytes: u64,
    core_bytes: Option<u64>,
    search_bytes: Option<u64>,
}

impl<'a> StoredFile<'a> {
    fn of_chunks(segment: &'a SegmentRef) -> Self {
        Self {
            blob: &segment.blob,
            bytes: segment.bytes,
            core_bytes: segment.core_bytes,
            search_bytes: segment.search_bytes,
        }
    }

    pub(crate) fn of_memories(index: &'a MemoryIndexRef) -> Self {
        Self {
            blob: &index.blob,
            bytes: index.bytes,
            core_bytes: index.core_bytes,
            search_bytes: index.search_bytes,
        }
    }

    /// Returns the files of the chunks of these segments.
    pub(crate) fn all_chunks(segments: &'a [SegmentRef]) -> Vec<Self> {
        segments.iter().map(Self::of_chunks).collect()
    }

    /// Returns the memory indexes of these segments.
    pub(crate) fn all_memories(segments: &'a [SegmentRef]) -> Vec<Self> {
        let indexes = segments
            .iter()
            .filter_map(|segment| segment.memory_index.as_ref());
        indexes.map(Self::of_memories).collect()
    }
}

/// A segment of which some pages may be missing. Clones share it.
#[derive(Debug, Clone)]
pub struct PartialSegment(Arc<PartialState>);

#[derive(Debug)]
struct PartialState {
    blob: BlobRef,
    segment: Arc<Segment>,
    /// `true` once a page could not be fetched: the file is damaged, or was replaced long ago.
    is_lost: AtomicBool,
    /// `true` while the rest of it is being fetched.
    is_completing: AtomicBool,
}

impl PartialSegment {
    fn new(blob: BlobRef, segment: Arc<Segment>) -> Self {
        Self(Arc::new(PartialState {
            blob,
            segment,
            is_lost: AtomicBool::new(false),
            is_completing: AtomicBool::new(false),
        }))
    }

    /// Checks whether the view of the segment has to be read anew, as a whole.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Relaxed)
    }

    /// Checks whether no page is missing any more.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.segment.is_whole()
    }

    /// Returns the size of the whole file in bytes.
    pub(crate) fn file_bytes(&self) -> usize {
        self.0.segment.file_bytes()
    }

    fn misses(&self) -> usize {
        self.0.segment.misses()
    }

    /// Returns a range of the file as a part of its blob.
    fn part(&self, range: &Range<usize>) -> BlobPart {
        BlobPart {
            blob: self.0.blob.clone(),
            bytes: range.start as u64..range.end as u64,
        }
    }

    /// Takes the pages of a range. Returns `false` if they are damaged or missing; the segment is lost
    /// then.
    fn take(&self, range: Range<usize>, content: BlobContent) -> bool {
        let bytes = content.into_intact_bytes();
        let is_taken = bytes.is_some_and(|bytes| self.0.segment.insert(range, &bytes).is_ok());
        if !is_taken {
            self.0.is_lost.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Fetches the first missing pages. Returns `false` if none is missing.
    async fn fetch_next(&self, ctx: &Ctx, tenant: &Tenant) -> PortResult<bool> {
        let Some(range) = self.0.segment.first_unfetched(COMPLETION_BYTES) else {
            return Ok(false);
        };
        let part = self.part(&range);
        let content = ctx.blobs.read_parts(tenant, &[part]).await?.pop();
        match content.is_some_and(|content| self.take(range, content)) {
            true => Ok(true),
            false => Err(lost_part()),
        }
    }
}

/// Fetches the missing pages of segments in tasks of their own, one part after another, while requests
/// go on, until no view has the segments any more. Does nothing for segments that have such a task.
///
/// A function is suspended between requests, so a task may take several of them. If it fails, the next
/// call starts another one.
pub(crate) fn complete_in_background(ctx: &Ctx, tenant: &Tenant, segments: &[PartialSegment]) {
    for PartialSegment(state) in segments {
        if state.segment.is_whole() || state.is_completing.swap(true, Ordering::Relaxed) {
            continue;
        }
        let (ctx, tenant, state) = (ctx.clone(), tenant.clone(), Arc::downgrade(state));
        tokio::spawn(async move {
            while let Some(segment) = state.upgrade().map(PartialSegment) {
                let fetched = segment.fetch_next(&ctx, &tenant).await;
                if let Err(error) = &fetched {
                    warn!(%error, "the rest of a segment could not be fetched: {error}");
                }
                if !matches!(fetched, Ok(true)) {
                    segment.0.is_completing.store(false, Ordering::Relaxed);
                    return;
                }
            }
        });
    }
}

/// The error of a part of a segment that cannot be read.
pub(crate) fn lost_part() -> PortError {
    PortError::Corrupt("a part of a segment".into())
}

/// Opens stored segments. Returns them in order, with `None` for one that is missing or damaged, and those
/// of which only the beginning was read.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn open_segments(
    ctx: &Ctx,
    tenant: &Tenant,
    files: &[StoredFile<'_>],
    reading: SegmentReading,
) -> PortResult<(Vec<Option<Arc<Segment>>>, Vec<PartialSegment>)> {
    let mut shared: Vec<Option<Arc<Segment>>> = Vec::with_capacity(files.len());
    let mut whole: Vec<BlobRef> = Vec::new();
    let mut beginnings: Vec<BlobPart> = Vec::new();
    for (file, beginning) in zip(files, reading.beginnings(files)) {
        let opened = match reading {
            SegmentReading::Shared => find_opened(tenant, file.blob),
            SegmentReading::Whole | SegmentReading::Beginnings { .. } => None,
        };
        match beginning {
            _ if opened.is_some() => {}
            Some(bytes) => beginnings.push(BlobPart {
                blob: file.blob.clone(),
                bytes: 0..bytes,
            }),
            None => whole.push(file.blob.clone()),
        }
        shared.push(opened);
    }
    let (whole, beginning_contents) = tokio::try_join!(
        ctx.blobs.read(tenant, &whole),
        ctx.blobs.read_parts(tenant, &beginnings),
    )?;

    let (mut whole, mut beginning_contents) = (whole.into_iter(), beginning_contents.into_iter());
    let mut beginnings = beginnings.into_iter().peekable();
    let (mut opened, mut partial) = (Vec::with_capacity(files.len()), Vec::new());
    for (file, shared) in zip(files, shared) {
        if shared.is_some() {
            opened.push(shared);
            continue;
        }
        let beginning = beginnings.next_if(|beginning| beginning.blob == *file.blob);
        let segment = match beginning {
            Some(beginning) => {
                let content = beginning_contents.next();
                let segment = content.and_then(|content| open_beginning(content, file.bytes));
                if let Some(segment) = &segment {
                    partial.push(PartialSegment::new(beginning.blob, segment.clone()));
                }
                segment
            }
            None => {
                let segment = whole.next().and_then(open_whole).map(Arc::new);
                if let Some(segment) = &segment {
                    remember_opened(tenant, file.blob, segment);
                }
                segment
            }
        };
        opened.push(segment);
    }
    Ok((opened, partial))
}

/// Opens a stored segment, unless its blob is missing or damaged.
pub(crate) fn open_whole(stored: BlobContent) -> Option<Segment> {
    let bytes = stored.into_intact_bytes()?;
    Segment::open(bytes).ok()
}

/// Opens the beginning of a stored segment of this many bytes, unless its blob is missing or damaged.
fn open_beginning(stored: BlobContent, bytes: u64) -> Option<Arc<Segment>> {
    let beginning = stored.into_intact_bytes()?;
    let segment = Segment::open_beginning(beginning, usize::try_from(bytes).ok()?);
    segment.ok().map(Arc::new)
}

/// The sizes of a file of a segment and of its beginnings.
pub(crate) struct FileSizes {
    pub(crate) bytes: u64,
    pub(crate) core_bytes: Option<u64>,
    pub(crate) search_bytes: Option<u64>,
}

impl FileSizes {
    pub(crate) fn of(file: &[u8]) -> Self {
        let first_reads = Segment::first_reads(file).ok();
        Self {
            bytes: file.len() as u64,
            core_bytes: first_reads.map(|reads| reads.core as u64),
            search_bytes: first_reads.map(|reads| reads.search as u64),
        }
    }
}

/// Runs `read` until it finds every page that it needs, and fetches the missing pages between the runs.
/// `read` may run several times. Returns its last result.
///
/// # Errors
/// Returns the errors of the ports, and [`PortError::Corrupt`] if a part of a segment cannot be read any
/// more. When its container is opened the next time, it is read as a whole, and damage is repaired.
pub async fn read_until_fetched<T>(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &[PartialSegment],
    mut read: impl FnMut() -> T,
) -> PortResult<T> {
    loop {
        let misses = count_misses(segments);
        let result = read();
        // Somebody else may have missed something at the same time. Then this is read once more.
        if count_misses(segments) == misses {
            return Ok(result);
        }
        fetch_missing(ctx, tenant, segments).await?;
    }
}

/// Returns the segments of views of which pages may be missing.
pub fn partial_segments<V: ContainerView>(views: &[V]) -> Vec<PartialSegment> {
    let segments = views.iter().flat_map(ContainerView::partial_segments);
    segments.cloned().collect()
}

/// Fetches everything that is missing of the segments of views.
///
/// # Errors
/// As [`read_until_fetched`].
pub async fn fetch_all<V: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    views: &[V],
) -> PortResult<()> {
    let segments = partial_segments(views);
    for partial in &segments {
        partial.0.segment.ask_for_all();
    }
    fetch_missing(ctx, tenant, &segments).await
}

fn count_misses(segments: &[PartialSegment]) -> usize {
    segments.iter().map(PartialSegment::misses).sum()
}

/// Fetches the missing pages that were asked for.
async fn fetch_missing(ctx: &Ctx, tenant: &Tenant, segments: &[PartialSegment]) -> PortResult<()> {
    let counts = segments.iter();
    let counts: Vec<usize> = counts
        .map(|partial| partial.0.segment.missing(MAX_RANGES).len())
        .collect();
    let total: usize = counts.iter().sum();

    let (mut places, mut parts) = (Vec::new(), Vec::new());
    for (partial, count) in zip(segments, counts) {
        // Each segment gets as many as is its part of what was asked for.
        let max_ranges = (MAX_RANGES * count / total.max(MAX_RANGES)).max(1);
        for range in partial.0.segment.missing(max_ranges) {
            parts.push(partial.part(&range));
            places.push((partial, range));
        }
    }

    let contents = ctx.blobs.read_parts(tenant, &parts).await?;
    let mut is_complete = true;
    for ((partial, range), content) in places.into_iter().zip(contents) {
        is_complete &= partial.take(range, content);
    }
    match is_complete {
        true => Ok(()),
        false => Err(lost_part()),
    }
}
