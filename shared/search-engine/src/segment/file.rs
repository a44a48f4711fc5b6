//! The bytes of a segment's file, of which a reader may have only the core and some pages.
//!
//! The core is the beginning of the file, which every reader needs. Behind it are pages: first those of the
//! search part, with what a search reads of all chunks, and then those with texts, attributes, long posting
//! lists, and the vectors of most segments.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;

use super::format::u32_at;
use crate::error::SegmentError;

/// The size of a page in bytes: about the size of a compressed block of texts.
pub(super) const PAGE_BYTES: usize = 4 * 1024;
/// The size of the pages of files of earlier versions.
pub(super) const EARLIER_PAGE_BYTES: usize = 16 * 1024;
/// The bytes between two missing pages up to which they are always fetched as one range. While many ranges
/// are fetched at the same time, one more costs about as much time as 64 KB.
const SMALL_GAP_BYTES: usize = 16 * 1024;
/// The bytes between two missing pages up to which they are fetched as one range if there are many ranges.
/// One more, which has to wait for others, costs less time than a larger gap.
const LARGE_GAP_BYTES: usize = 64 * 1024;

/// The bytes of a file.
pub(super) struct SegmentFile {
    len: usize,
    core_len: usize,
    /// The core, with the pages that were read together with it. All of the file if it is whole.
    beginning: Bytes,
    /// The pages behind the core.
    pages: Pages,
}

impl std::fmt::Debug for SegmentFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "SegmentFile({} of {} bytes)",
            self.bytes_in_memory(),
            self.len
        )
    }
}

/// The pages of a file behind its core; none if the core is the whole file.
#[derive(Default)]
struct Pages {
    /// The size of a page.
    page_bytes: usize,
    /// The crc32 of each page.
    checksums: Bytes,
    fetched: Vec<OnceLock<Bytes>>,
    fetched_bytes: AtomicUsize,
    /// The number of reads that lacked a page.
    misses: AtomicUsize,
    /// The pages that were asked for and are not fetched yet.
    missing: Mutex<BTreeSet<usize>>,
    /// The place from which pages are read at once, if there is one.
    source: OnceLock<Box<dyn PageSource>>,
}

/// A place from which pages of a file are read without waiting for a network.
pub trait PageSource: Debug + Send + Sync {
    /// Reads a range of the file, which is verified afterwards. Returns `None` if that fails.
    fn read(&self, range: Range<usize>) -> Option<Bytes>;
}

impl Pages {
    fn lock_missing(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        // A panic while the lock is held cannot leave the set in an inconsistent state.
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the bytes of a page.
    fn is_intact(&self, page: usize, bytes: &[u8]) -> bool {
        u32_at(&self.checksums, page * 4) == Ok(crc32fast::hash(bytes))
    }
}

impl SegmentFile {
    /// Creates a file that is whole.
    pub(super) fn whole(file: Bytes) -> Self {
        Self {
            len: file.len(),
            core_len: file.len(),
            beginning: file,
            pages: Pages {
                page_bytes: PAGE_BYTES,
                ..Pages::default()
            },
        }
    }

    /// Creates a file of `len` bytes of which the `beginning` is known: the core and some pages behind it,
    /// each of `page_bytes`.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if there is not one checksum for each page, or if a page is not what was
    /// written.
    pub(super) fn partial(
        beginning: Bytes,
        core_len: usize,
        len: usize,
        page_bytes: usize,
        checksums: Bytes,
    ) -> Result<Self, SegmentError> {
        let count = len.saturating_sub(core_len).div_ceil(page_bytes);
        if checksums.len() != count * 4 {
            return Err(SegmentError::Corrupt("page checksums"));
        }
        let (known, first_pages) = (beginning.len(), beginning.slice(core_len..));
        let file = Self {
            len,
            core_len,
            beginning,
            pages: Pages {
                page_bytes,
                checksums,
                fetched: std::iter::repeat_with(OnceLock::new).take(count).collect(),
                ..Pages::default()
            },
        };
        file.insert(core_len..known, &first_pages)?;
        Ok(file)
    }

    /// Returns the bytes of the file that are in memory.
    pub(super) fn bytes_in_memory(&self) -> usize {
        self.core_len + self.pages.fetched_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the pages that were fetched after the beginning.
    pub(super) fn bytes_after_beginning(&self) -> usize {
        self.bytes_in_memory() - self.beginning.len()
    }

    /// Returns the size of the file in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Checks whether all bytes are in memory.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes_in_memory() == self.len
    }

    /// Reads a part of the file.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if a page of it is missing. [`Self::missing`] then has it.
    pub(super) fn read(&self, range: Range<usize>) -> Result<Bytes, SegmentError> {
        if range.end <= self.beginning.len() {
            return Ok(self.beginning.slice(range));
        }
        if range.start < self.core_len || range.end > self.len {
            return Err(SegmentError::Corrupt("cut off"));
        }

        let page_bytes = self.pages.page_bytes;
        let from = range.start - self.core_len;
        let to = range.end - self.core_len;
        let pages = from / page_bytes..to.div_ceil(page_bytes);
        let mut fetched = self.fetched(pages.clone());
        if fetched.contains(&None) && self.read_from_source(pages.clone()) {
            fetched = self.fetched(pages.clone());
        }
        if fetched.contains(&None) {
            let missing = pages.zip(&fetched).filter(|(_, bytes)| bytes.is_none());
            self.pages
                .lock_missing()
                .extend(missing.map(|(page, _)| page));
            self.pages.misses.fetch_add(1, Ordering::Relaxed);
            return Err(SegmentError::NotFetched);
        }

        let skipped = from % page_bytes;
        if let [Some(page)] = fetched.as_slice() {
            return Ok(page.slice(skipped..skipped + range.len()));
        }
        let mut joined = Vec::with_capacity(fetched.len() * page_bytes);
        fetched
            .into_iter()
            .flatten()
            .for_each(|page| joined.extend_from_slice(page));
        Ok(Bytes::from(joined).slice(skipped..skipped + range.len()))
    }

    /// Returns these pages, as far as they are in memory.
    fn fetched(&self, pages: Range<usize>) -> Vec<Option<&Bytes>> {
        let pages = self.pages.fetched[pages].iter();
        pages.map(OnceLock::get).collect()
    }

    /// Reads pages from now on from `source`, as soon as they are needed.
    pub(super) fn set_source(&self, source: Box<dyn PageSource>) {
        // A file has one source.
        _ = self.pages.source.set(source);
    }

    /// Reads those of these pages that are not in memory. Returns `false` if there is no source for them, or
    /// if they cannot be read or are damaged.
    fn read_from_source(&self, pages: Range<usize>) -> bool {
        let Some(source) = self.pages.source.get() else {
            return false;
        };
        let is_missing = |page: &usize| self.pages.fetched[*page].get().is_none();
        let (Some(first), Some(last)) =
            (pages.clone().find(is_missing), pages.rev().find(is_missing))
        else {
            return true;
        };
        let range = self.place(first)..self.place(last + 1);
        let bytes = source.read(range.clone());
        bytes.is_some_and(|bytes| self.insert(range, &bytes).is_ok())
    }

    /// Asks for all pages that are not in memory.
    pub(super) fn ask_for_all(&self) {
        let fetched = self.pages.fetched.iter().enumerate();
        let missing = fetched.filter(|(_, bytes)| bytes.get().is_none());
        self.pages
            .lock_missing()
            .extend(missing.map(|(page, _)| page));
    }

    /// Returns the number of reads that failed because a page was missing.
    pub(super) fn misses(&self) -> usize {
        self.pages.misses.load(Ordering::Relaxed)
    }

    /// Returns the ranges of the file with the pages that were asked for and are missing, in order. If there
    /// were more than `max_ranges`, which is at least 1, the smallest gaps between them are taken in, unless
    /// they are large.
    pub(super) fn missing(&self, max_ranges: usize) -> Vec<Range<usize>> {
        let mut missing = self.pages.lock_missing();
        missing.retain(|page| self.pages.fetched[*page].get().is_none());
        let ranges = join_pages(&missing, self.max_gap(&missing, max_ranges));
        ranges
            .into_iter()
            .map(|pages| self.place(pages.start)..self.place(pages.end))
            .collect()
    }

    /// Returns a range of the file that begins and ends with pages that are not in memory, of at most
    /// `max_bytes` and at least a page: the first such range. Returns `None` if everything is in memory.
    pub(super) fn first_unfetched(&self, max_bytes: usize) -> Option<Range<usize>> {
        let count = self.pages.fetched.len();
        let is_unfetched = |page: &usize| self.pages.fetched[*page].get().is_none();
        let first = (0..count).find(is_unfetched)?;
        let end = count.min(first + (max_bytes / self.pages.page_bytes).max(1));
        let last = (first..end).rev().find(is_unfetched)?;
        Some(self.place(first)..self.place(last + 1))
    }

    /// Returns the most pages between two of these pages that are fetched with them.
    fn max_gap(&self, pages: &BTreeSet<usize>, max_ranges: usize) -> usize {
        let following = pages.iter().skip(1);
        let mut gaps: Vec<usize> = pages
            .iter()
            .zip(following)
            .map(|(a, b)| b - a - 1)
            .collect();
        gaps.sort_unstable_by(|a, b| b.cmp(a));
        let to_pages = |bytes: usize| bytes / self.pages.page_bytes;
        let gap = gaps.get(max_ranges - 1).copied().unwrap_or(0);
        gap.clamp(to_pages(SMALL_GAP_BYTES), to_pages(LARGE_GAP_BYTES))
    }

    /// Returns the position of a page in the file, or the end of the file.
    fn place(&self, page: usize) -> usize {
        (self.core_len + page * self.pages.page_bytes).min(self.len)
    }

    /// Takes the bytes of a range that [`Self::missing`] or [`Self::first_unfetched`] returned.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if they are not the bytes of the file.
    pub(super) fn insert(&self, range: Range<usize>, bytes: &Bytes) -> Result<(), SegmentError> {
        let behind_core = range.start.checked_sub(self.core_len);
        let Some(first) = behind_core.filter(|_| bytes.len() == range.len()) else {
            return Err(SegmentError::Corrupt("cut off"));
        };

        let page_bytes = self.pages.page_bytes;
        for (index, start) in (0..bytes.len()).step_by(page_bytes).enumerate() {
            let number = first / page_bytes + index;
            let page = bytes.slice(start..bytes.len().min(start + page_bytes));
            let Some(place) = self.pages.fetched.get(number) else {
                return Err(SegmentError::Corrupt("cut off"));
            };
            if !self.pages.is_intact(number, &page) {
                return Err(SegmentError::Corrupt("page checksum"));
            }
            let len = page.len();
            if place.set(page).is_ok() {
                self.pages.fetched_bytes.fetch_add(len, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Returns the crc32 of each page of `bytes`.
pub(super) fn page_checksums(bytes: &[u8], page_bytes: usize) -> Vec<u8> {
    let pages = bytes.chunks(page_bytes);
    pages
        .flat_map(|page| crc32fast::hash(page).to_le_bytes())
        .collect()
}

/// Joins pages to ranges of pages. Gaps of up to `max_gap` pages are taken in.
fn join_pages(pages: &BTreeSet<usize>, max_gap: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for &page in pages {
        match ranges.last_mut() {
            Some(last) if page <= last.end + max_gap => last.end = page + 1,
            _ => ranges.push(page..page + 1),
        }
    }
    ranges
}

/// A section of a file, which may have pages that are not fetched yet.
#[derive(Debug, Clone)]
pub(super) struct PagedSection {
    file: Arc<SegmentFile>,
    range: Range<usize>,
}

impl PagedSection {
    pub(super) fn new(file: Arc<SegmentFile>, range: Range<usize>) -> Self {
        Self { file, range }
    }

    /// Creates a section of which nothing is missing.
    pub(super) fn whole(bytes: Bytes) -> Self {
        let range = 0..bytes.len();
        Self::new(Arc::new(SegmentFile::whole(bytes)), range)
    }

    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// Reads a part of the section.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if it is not in memory yet, and [`SegmentError::Corrupt`] if the
    /// section is shorter.
    pub(super) fn read(&self, part: Range<usize>) -> Result<Bytes, SegmentError> {
        if part.start > part.end || part.end > self.len() {
            return Err(SegmentError::Corrupt("cut off"));
        }
        self.file
            .read(self.range.start + part.start..self.range.start + part.end)
    }
}
