//! Stored segments, which are read as a whole or page by page.

use std::iter::zip;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use domain::ports::{BlobContent, BlobPart, LocalBlob, PortResult};
use domain::{BlobRef, IndexHead, MemoryIndexRef, PortError, SegmentRef, Tenant};
use search_engine::{ContainerIndex, PageSource, Segment};
use service::Ctx;
use tracing::warn;

use crate::opened::{OpenedSegment, find_opened, remember_opened};
use crate::view::ContainerView;

/// The parts of segments that are read when a container is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentReading {
    /// Everything, from the store.
    Whole,
    /// Everything. Segments that another view of this process has read are shared, not read again.
    Shared,
    /// The beginnings, if the segments of a view have more bytes than this together. The rest is read when
    /// it is needed ([`read_until_fetched`]). Segments that another view of this process has open are shared.
    Beginnings {
        /// The bytes.
        above: u64,
        /// True if the beginning is what a search needs first, false for readers of documents and memories.
        searches: bool,
        /// True if a view that is asked for again is completed in the background. It then answers
        /// without waiting for pages, also after the segments were replaced.
        completes: bool,
        /// The bytes of pages in memory from which a view is dropped and read anew. Views share pages, so it
        /// is the same for all views of a process, whatever the size of their caches.
        max_page_bytes: u64,
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
        max_page_bytes: 256 * 1024 * 1024,
    };
    /// For functions that read little of a container, and seldom search it.
    pub const LITTLE_OVER_NETWORK: Self = Self::Beginnings {
        above: Self::WHOLE_BYTES,
        searches: false,
        completes: false,
        max_page_bytes: 256 * 1024 * 1024,
    };
    /// For a process with local stores, which reads pages of a large container in less time than it would
    /// take to read everything, and would need gigabytes of memory for it (docs/scale.md).
    pub const FROM_DISK: Self = Self::Beginnings {
        above: 256 * 1024 * 1024,
        searches: true,
        completes: false,
        max_page_bytes: 384 * 1024 * 1024,
    };

    /// Returns the settings for a view of which each request needs a small part. They are the same for local
    /// stores.
    #[must_use]
    pub const fn of_little(mut self) -> Self {
        if let Self::Beginnings {
            above,
            searches,
            completes,
            ..
        } = &mut self
        {
            (*above, *searches, *completes) = (Self::WHOLE_BYTES, false, false);
        }
        self
    }

    /// Returns how a view is read: less of it if it is not searched.
    pub(crate) const fn for_view(mut self, is_searched: bool) -> Self {
        if let Self::Beginnings { searches, .. } = &mut self {
            *searches = *searches && is_searched;
        }
        self
    }

    /// Returns the segment of a file, if another view has it open, with at least the `beginning` that this
    /// reading would read.
    fn find_opened(
        self,
        ctx: &Ctx,
        tenant: &Tenant,
        file: &StoredFile<'_>,
        beginning: Option<u64>,
    ) -> Option<OpenedSegment> {
        if self == Self::Whole {
            return None;
        }
        let opened = find_opened(ctx, tenant, file.blob)?;
        let is_enough = match &opened {
            OpenedSegment::Whole(_) => true,
            OpenedSegment::Partial(partial) => {
                beginning.is_some_and(|bytes| partial.begins_with(bytes))
            }
        };
        is_enough.then_some(opened)
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

    /// Checks whether a view with so many bytes of pages in memory is to be read anew.
    pub(crate) fn is_exceeded_by(self, page_bytes: usize) -> bool {
        matches!(self, Self::Beginnings { max_page_bytes, .. } if page_bytes as u64 > max_page_bytes)
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
    /// The bytes that were read when it was opened.
    beginning: u64,
    /// `true` if missing pages are read from a disk as soon as they are needed.
    is_local: bool,
    /// `true` once a page could not be fetched: the file is damaged, or was replaced long ago.
    is_lost: AtomicBool,
    /// `true` once its pages take too much memory.
    is_overgrown: AtomicBool,
    /// `true` while the rest of it is being fetched.
    is_completing: AtomicBool,
}

impl PartialSegment {
    /// Creates a segment of which this `beginning` was read. Its pages are read from `local` if there is one.
    fn new(
        blob: &BlobRef,
        segment: Arc<Segment>,
        beginning: u64,
        local: Option<Arc<dyn LocalBlob>>,
    ) -> Self {
        let is_local = local.is_some();
        if let Some(local) = local {
            segment.read_pages_from(Box::new(LocalPages(local)));
        }
        Self(Arc::new(PartialState {
            blob: blob.clone(),
            segment,
            beginning,
            is_local,
            is_lost: AtomicBool::new(false),
            is_overgrown: AtomicBool::new(false),
            is_completing: AtomicBool::new(false),
        }))
    }

    /// Checks whether a page of the segment cannot be read, so that its view has to be read anew, as a whole.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Relaxed)
    }

    /// Checks whether a page of the segment cannot be read although the head has the segment.
    pub(crate) fn is_lost_of(&self, head: &IndexHead) -> bool {
        let mut segments = head.segments.iter();
        self.is_lost() && segments.any(|segment| segment.blobs().any(|blob| *blob == self.0.blob))
    }

    /// Checks whether the view of the segment has to be read anew.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_lost() || self.0.is_overgrown.load(Ordering::Relaxed)
    }

    /// Marks the segment as one that is to be read anew. Views that have it open keep its pages until then,
    /// because what they have computed depends on them.
    pub(crate) fn mark_overgrown(&self) {
        self.0.is_overgrown.store(true, Ordering::Relaxed);
    }

    /// Checks whether missing pages are read from a disk as soon as they are needed.
    pub(crate) fn is_local(&self) -> bool {
        self.0.is_local
    }

    /// Checks whether no page is missing any more.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.segment.is_whole()
    }

    /// Returns the size of the whole file in bytes.
    pub(crate) fn file_bytes(&self) -> usize {
        self.0.segment.file_bytes()
    }

    /// Checks whether at least these bytes were read when it was opened.
    fn begins_with(&self, bytes: u64) -> bool {
        self.0.beginning >= bytes
    }

    /// Returns the segment.
    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.0.segment
    }

    /// Returns a reference that does not keep the segment in memory.
    pub(crate) fn downgrade(&self) -> WeakPartialSegment {
        WeakPartialSegment(Arc::downgrade(&self.0))
    }

    /// Returns the bytes of the file that are not in memory.
    pub(crate) fn missing_bytes(&self) -> usize {
        let known = self.0.beginning as usize + self.page_bytes();
        self.file_bytes().saturating_sub(known)
    }

    /// Returns the bytes in memory that were fetched after the beginning.
    pub(crate) fn page_bytes(&self) -> usize {
        self.0.segment.bytes_after_beginning()
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

/// The pages of a blob on a disk of this machine.
#[derive(Debug)]
struct LocalPages(Arc<dyn LocalBlob>);

impl PageSource for LocalPages {
    fn read(&self, range: Range<usize>) -> Option<Bytes> {
        self.0.read_part(range.start as u64..range.end as u64)
    }
}

/// A partial segment, for as long as somebody has it open.
#[derive(Debug)]
pub(crate) struct WeakPartialSegment(Weak<PartialState>);

impl WeakPartialSegment {
    /// Checks whether somebody has the segment open.
    pub(crate) fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Returns the segment, if somebody has it open.
    pub(crate) fn upgrade(&self) -> Option<PartialSegment> {
        self.0.upgrade().map(PartialSegment)
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
        let (ctx, tenant) = (ctx.clone(), tenant.clone());
        let segment = WeakPartialSegment(Arc::downgrade(state));
        tokio::spawn(async move {
            while let Some(segment) = segment.upgrade() {
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
/// of which pages may be missing.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn open_segments(
    ctx: &Ctx,
    tenant: &Tenant,
    files: &[StoredFile<'_>],
    reading: SegmentReading,
) -> PortResult<(Vec<Option<Arc<Segment>>>, Vec<PartialSegment>)> {
    let files: Vec<_> = zip(files, reading.beginnings(files)).collect();
    let shared = files.iter();
    let shared = shared.map(|(file, beginning)| reading.find_opened(ctx, tenant, file, *beginning));
    let mut opened: Vec<Option<OpenedSegment>> = shared.collect();
    let missing = zip(&mut opened, files);
    let missing: Vec<_> = missing.filter(|(opened, _)| opened.is_none()).collect();

    let (mut whole, mut beginnings) = (Vec::new(), Vec::new());
    for (_, (file, beginning)) in &missing {
        match beginning {
            Some(bytes) => beginnings.push(BlobPart {
                blob: file.blob.clone(),
                bytes: 0..*bytes,
            }),
            None => whole.push(file.blob.clone()),
        }
    }
    let (whole, beginnings) = tokio::try_join!(
        ctx.blobs.read(tenant, &whole),
        ctx.blobs.read_parts(tenant, &beginnings),
    )?;

    let (mut whole, mut beginnings) = (whole.into_iter(), beginnings.into_iter());
    for (opened, (file, beginning)) in missing {
        *opened = match beginning {
            Some(beginning) => {
                let segment = beginnings.next();
                let segment = segment.and_then(|content| open_beginning(content, file.bytes));
                let local = ctx.blobs.open_local(tenant, file.blob);
                let partial = segment
                    .map(|segment| PartialSegment::new(file.blob, segment, beginning, local));
                partial.map(OpenedSegment::Partial)
            }
            None => {
                let segment = whole.next().and_then(open_whole);
                segment.map(|segment| OpenedSegment::Whole(Arc::new(segment)))
            }
        };
        if let Some(opened) = opened {
            remember_opened(ctx, tenant, file.blob, opened);
        }
    }

    let partial = opened.iter().flatten();
    let partial = partial.filter_map(OpenedSegment::as_partial).cloned();
    let partial = partial.collect();
    let segments = opened.into_iter();
    let segments = segments.map(|opened| opened.map(OpenedSegment::into_segment));
    Ok((segments.collect(), partial))
}

/// Opens the index of the chunks of segments, oldest first. Returns it with the segments of which pages may be
/// missing, and `false` if a segment is missing or cannot be read; the others are in the index.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn open_chunk_index(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &[SegmentRef],
    reading: SegmentReading,
) -> PortResult<(ContainerIndex, Arc<[PartialSegment]>, bool)> {
    let files = StoredFile::all_chunks(segments);
    let (opened, partial) = open_segments(ctx, tenant, &files, reading).await?;
    let mut index = ContainerIndex::new();
    let mut is_complete = true;
    for segment in opened {
        let pushed = segment.map(|segment| index.push_segment(segment));
        is_complete &= pushed.is_some_and(|pushed| pushed.is_ok());
    }
    Ok((index, partial.into(), is_complete))
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

/// Runs `read` once, for segments whose pages are read from a disk.
///
/// # Errors
/// As [`read_until_fetched`], and [`PortError::Unavailable`] if the disk failed only once.
pub(crate) async fn read_once<T>(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &[PartialSegment],
    read: impl FnOnce() -> T,
) -> PortResult<T> {
    let misses = count_misses(segments);
    let result = read();
    if count_misses(segments) == misses {
        return Ok(result);
    }
    // The store tells whether a page is damaged.
    fetch_missing(ctx, tenant, segments).await?;
    Err(PortError::Unavailable(
        "a page of a segment could not be read from the disk at first".into(),
    ))
}

/// Returns the segments of views of which pages may be missing.
pub fn partial_segments<'v, V: ContainerView + 'v>(
    views: impl IntoIterator<Item = &'v V>,
) -> Vec<PartialSegment> {
    let segments = views.into_iter().flat_map(ContainerView::partial_segments);
    segments.cloned().collect()
}

/// Fetches everything that is missing of segments.
///
/// # Errors
/// As [`read_until_fetched`].
pub(crate) async fn fetch_all(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &[PartialSegment],
) -> PortResult<()> {
    for partial in segments {
        partial.0.segment.ask_for_all();
    }
    fetch_missing(ctx, tenant, segments).await
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
