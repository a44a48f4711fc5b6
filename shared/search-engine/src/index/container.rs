//! The documents of one container as a reader sees them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::merge::{Piece, write_piece, write_segment};
use super::part::{IndexPart, PartSource};
use super::tail::Tail;
use super::{Document, DocumentView};
use crate::error::SegmentError;
use crate::segment::{Deletions, ReplacedDocuments, Segment};

/// The way in which a segment refers to the documents of older segments that it replaces and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacing {
    /// By their ids. A reader compares those of all segments, so they are in the cores.
    ById,
    /// By their numbers, which are looked up when the segment is written. The ids are read in pages.
    ByNumber,
}

/// Numbers of documents in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentCount {
    /// All documents.
    pub stored: usize,
    /// Those that no newer segment has replaced or removed.
    pub live: usize,
}

/// The index of a container: older segments, and a tail of recent writes.
///
/// A clone is a snapshot that shares everything. A change after a clone copies only the tail, or
/// the set of deleted documents that it touches. A writer therefore keeps one index, and readers
/// search clones of it (or an `Arc` of one) without interference. The tail is meant for up to about
/// a thousand chunks between two segments. Larger tails work, but a copy then costs more.
#[derive(Debug, Clone)]
pub struct ContainerIndex {
    segments: Vec<IndexPart>,
    tail: IndexPart,
    /// The ids that the tail removed from the segments.
    removed: Arc<BTreeSet<String>>,
}

impl Default for ContainerIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl ContainerIndex {
    /// Creates a container without documents.
    #[must_use]
    pub fn new() -> Self {
        let tail = IndexPart::new(PartSource::Tail(Arc::new(Tail::default())));
        Self {
            segments: Vec::new(),
            tail,
            removed: Arc::default(),
        }
    }

    /// Adds a segment that is newer than all segments so far and older than everything in the tail.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if it does not fit the segments so far.
    pub fn push_segment(&mut self, segment: Arc<Segment>) -> Result<(), SegmentError> {
        self.push_behind(0, segment)
    }

    /// Adds a segment to an index that lacks the first `older` segments.
    fn push_behind(&mut self, older: usize, segment: Arc<Segment>) -> Result<(), SegmentError> {
        match segment.replaces_by_number() {
            true => delete_by_number(&mut self.segments, older, &segment.deletions()?)?,
            false => delete_by_id(&mut self.segments, &segment)?,
        }

        let mut part = IndexPart::new(PartSource::Segment(segment));
        let superseded = self.tail_ids().filter_map(|id| part.find(id).transpose());
        let superseded = superseded.collect::<Result<Vec<u32>, _>>()?;
        part.kill_all(superseded);
        self.segments.push(part);
        Ok(())
    }

    /// Returns the ids that are in the tail or were removed by it.
    fn tail_ids(&self) -> impl Iterator<Item = &str> {
        let tail = self
            .tail
            .living()
            .filter_map(|document| self.tail.tail_id(document));
        tail.chain(self.removed.iter().map(String::as_str))
    }

    /// Writes a document into the tail, replacing any document of the same id at once.
    pub fn upsert_document(&mut self, document: Document) {
        self.remove_document(&document.id);
        if self.removed.contains(&document.id) {
            Arc::make_mut(&mut self.removed).remove(&document.id);
        }
        self.shrink_tail();
        let number = self.tail_mut().push_document(Arc::new(document));
        self.tail.count_in(number);
    }

    fn tail_mut(&mut self) -> &mut Tail {
        if let PartSource::Segment(_) = self.tail.source {
            self.tail.source = PartSource::Tail(Arc::default());
        }

        match &mut self.tail.source {
            PartSource::Tail(tail) => Arc::make_mut(tail),
            PartSource::Segment(_) => unreachable!("the source was just made a tail"),
        }
    }

    /// Rewrites the tail if most of it is deleted, so that repeated writes of one document do not
    /// fill it.
    fn shrink_tail(&mut self) {
        let slots = self.tail.len_chunks() + self.tail.len_documents() as usize;
        let living = self.tail.liveness.chunks + self.tail.liveness.documents;
        if slots < 256 || living * 2 > slots {
            return;
        }
        let old = std::mem::replace(
            &mut self.tail,
            IndexPart::new(PartSource::Tail(Arc::default())),
        );
        for number in old.living() {
            if let Ok(document) = old.document(number) {
                let number = self.tail_mut().push_document(Arc::new(document));
                self.tail.count_in(number);
            }
        }
    }

    /// Removes a document. Returns `false` if there is none.
    pub fn remove_document(&mut self, id: &str) -> bool {
        if let Ok(Some(document)) = self.tail.find(id) {
            self.tail_mut().forget_id(id);
            self.tail.kill(document);
            if matches!(self.find_in_segments(id), Ok(Some(_))) {
                Arc::make_mut(&mut self.removed).insert(id.to_owned());
            }
            return true;
        }

        let found = delete_in_parts(&mut self.segments, id);
        if found {
            Arc::make_mut(&mut self.removed).insert(id.to_owned());
        }

        found
    }

    /// Removes a document, also from older segments that this index does not have. The segment that
    /// [`Self::build_tail_segment`] writes then removes it there.
    pub fn remove_from_older(&mut self, id: &str) {
        self.remove_document(id);
        Arc::make_mut(&mut self.removed).insert(id.to_owned());
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &IndexPart> {
        self.segments.iter().chain([&self.tail])
    }

    /// Returns all documents in arbitrary order.
    pub fn documents(&self) -> impl Iterator<Item = DocumentView<'_>> {
        self.parts()
            .flat_map(|part| part.living().map(|document| part.view(document)))
    }

    /// Returns the ids of all documents that begin with `prefix`, in arbitrary order. Leaves out the segments
    /// of which some of them are missing: [`Segment::misses`] counts that.
    pub fn ids_with(&self, prefix: &str) -> impl Iterator<Item = Cow<'_, str>> {
        let parts = self.parts();
        parts.flat_map(move |part| {
            let living = part.living_with(prefix).unwrap_or_default();
            living.into_iter().map(|(_, id)| id)
        })
    }

    /// Returns the document `id`. While its id is missing in a segment, it seems not to exist:
    /// [`Segment::misses`] counts that.
    #[must_use]
    pub fn document(&self, id: &str) -> Option<DocumentView<'_>> {
        let (_, part, document) = self.find(id)?;
        Some(part.view(document))
    }

    /// Returns the document `id` with texts and vectors.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if its stored texts cannot be read.
    pub fn load_document(&self, id: &str) -> Result<Option<Document>, SegmentError> {
        let found = self.find(id);
        found
            .map(|(_, part, document)| part.document(document))
            .transpose()
    }

    /// Returns the number of the part that has the document `id`, the part, and the number of the document.
    pub(super) fn find(&self, id: &str) -> Option<(u32, &IndexPart, u32)> {
        let mut parts = (0..).zip(self.parts());
        parts.find_map(|(number, part)| Some((number, part, part.find(id).ok()??)))
    }

    /// Returns the models whose vectors some live chunks have, besides the built-in embedder.
    #[must_use]
    pub fn model_names(&self) -> BTreeSet<Arc<str>> {
        let mut names = BTreeSet::new();
        for part in self.parts() {
            let mut missing: BTreeSet<&Arc<str>> = part.model_names().collect();
            missing.retain(|name| !names.contains(*name));
            for document in part.living() {
                if missing.is_empty() {
                    break;
                }
                for chunk in part.chunks_of(document) {
                    if let Some(row) = part.model_row(chunk)
                        && missing.remove(row.model)
                    {
                        names.insert(row.model.clone());
                    }
                }
            }
        }
        names
    }

    /// Returns the ids of up to `limit` documents with a chunk that has no vector of `model`.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if an id is missing.
    pub fn documents_without(
        &self,
        model: &str,
        limit: usize,
    ) -> Result<Vec<Cow<'_, str>>, SegmentError> {
        let mut ids = Vec::new();
        for part in self.parts() {
            for document in part.living() {
                if ids.len() == limit {
                    return Ok(ids);
                }
                let has_vector = |chunk| match part.model_row(chunk) {
                    Some(row) => **row.model == *model,
                    None => false,
                };
                if !part.chunks_of(document).all(has_vector) {
                    ids.push(part.id(document)?);
                }
            }
        }
        Ok(ids)
    }

    /// Returns the number of live documents.
    #[must_use]
    pub fn len_documents(&self) -> usize {
        self.parts().map(|part| part.liveness.documents).sum()
    }

    /// Returns the number of live chunks.
    #[must_use]
    pub fn len_chunks(&self) -> usize {
        self.parts().map(|part| part.liveness.chunks).sum()
    }

    /// Returns the number of live chunks whose documents have not expired at `now`, in milliseconds.
    #[must_use]
    pub fn count_live_chunks(&self, now: i64) -> usize {
        let counts = self.parts().map(|part| {
            let expired = part
                .expired(now)
                .filter(|&document| !part.liveness.is_deleted(document));
            let expired_chunks: usize =
                expired.map(|document| part.chunks_of(document).len()).sum();
            part.liveness.chunks - expired_chunks
        });
        counts.sum()
    }

    /// Returns the number of chunks in the tail, deleted ones included: those that a new segment
    /// would take over.
    #[must_use]
    pub fn tail_chunks(&self) -> usize {
        self.tail.len_chunks()
    }

    /// Returns the number of segments.
    #[must_use]
    pub fn len_segments(&self) -> usize {
        self.segments.len()
    }

    /// Estimates the memory of the index in bytes, including the files of its segments.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        let parts = self.parts().map(|part| match &part.source {
            PartSource::Segment(segment) => segment.estimated_bytes(),
            PartSource::Tail(tail) => tail.estimated_bytes(),
        });
        parts.sum::<usize>() + 1_000
    }

    /// Returns the bytes that all attributes take in the segments that are read in pages.
    #[must_use]
    pub fn attribute_bytes(&self) -> usize {
        let segments = self.segments.iter().filter_map(IndexPart::segment);
        let paged = segments.filter(|segment| !segment.is_whole());
        paged.map(Segment::attribute_bytes).sum()
    }

    /// Checks whether the tail holds nothing that a segment would have to record.
    #[must_use]
    pub fn is_tail_empty(&self) -> bool {
        self.tail.liveness.documents == 0 && self.removed.is_empty()
    }

    /// Checks whether all segments tell by numbers which documents of older ones they replace.
    #[must_use]
    pub fn replaces_by_number(&self) -> bool {
        self.segments.iter().all(|part| {
            matches!(&part.source, PartSource::Segment(segment) if segment.replaces_by_number())
        })
    }

    /// Writes the tail as a segment that follows the current segments: its documents and removals.
    ///
    /// # Errors
    /// [`SegmentError`] if texts cannot be read or do not fit, and [`SegmentError::NotFetched`] if a document
    /// that is replaced by its number cannot be looked up.
    pub fn build_tail_segment(&self, replacing: Replacing) -> Result<Vec<u8>, SegmentError> {
        let replaced = match replacing {
            Replacing::ById => {
                let removed = self.removed.iter().map(String::as_str);
                let is_gone = |id: &&str| self.tail.find(id) == Ok(None);
                ReplacedDocuments::Ids(removed.filter(is_gone).collect())
            }
            Replacing::ByNumber => {
                let mut deletions = Deletions::default();
                for id in self.tail_ids() {
                    if let Some((segment, document)) = self.find_in_segments(id)? {
                        deletions.insert(segment, document);
                    }
                }
                ReplacedDocuments::Numbers(deletions)
            }
        };
        write_segment(&[&self.tail], replaced)
    }

    /// Returns the newest document of the segments that has this id, deleted or not, and the place of its
    /// segment.
    fn find_in_segments(&self, id: &str) -> Result<Option<(usize, u32)>, SegmentError> {
        for (place, part) in self.segments.iter().enumerate().rev() {
            if let PartSource::Segment(segment) = &part.source
                && let Some(document) = segment.find_document(id, |_| true)?
            {
                return Ok(Some((place, document)));
            }
        }
        Ok(None)
    }

    /// Writes all live documents as one segment that replaces the whole index.
    ///
    /// # Errors
    /// [`SegmentError`] if texts cannot be read or do not fit.
    pub fn build_compacted(&self, replacing: Replacing) -> Result<Vec<u8>, SegmentError> {
        let parts: Vec<&IndexPart> = self.parts().collect();
        write_segment(&parts, ReplacedDocuments::none(replacing))
    }

    /// Writes a piece of the live documents of the segments at `places` as one segment. Together, segments
    /// that are written so replace an index without a tail.
    ///
    /// # Errors
    /// [`SegmentError`] if texts cannot be read or do not fit.
    pub fn build_merged(
        &self,
        places: Range<usize>,
        piece: Piece,
        replacing: Replacing,
    ) -> Result<Vec<u8>, SegmentError> {
        let parts: Vec<&IndexPart> = self.segments[places].iter().collect();
        write_piece(&parts, ReplacedDocuments::none(replacing), piece)
    }

    /// Counts the documents of the segments at `places`.
    #[must_use]
    pub fn count_stored(&self, places: Range<usize>) -> DocumentCount {
        let parts = &self.segments[places];
        let stored = parts.iter().map(|part| part.len_documents() as usize);
        let live = parts.iter().map(|part| part.liveness.documents);
        DocumentCount {
            stored: stored.sum(),
            live: live.sum(),
        }
    }
}

/// Merges `segments`, which are the newest of an index, the oldest first, into one segment that can replace
/// them, behind this many `older` ones. Removals are dropped if there are none.
///
/// # Errors
/// [`SegmentError`] if texts cannot be read or do not fit.
pub fn merge_segments(segments: &[Arc<Segment>], older: usize) -> Result<Vec<u8>, SegmentError> {
    let mut index = ContainerIndex::new();
    for segment in segments {
        index.push_behind(older, segment.clone())?;
    }

    let replaced = if index.replaces_by_number() {
        ReplacedDocuments::Numbers(merge_deletions(segments, older)?)
    } else if segments.iter().any(|segment| segment.replaces_by_number()) {
        return Err(DIFFERENT_KINDS);
    } else if older == 0 {
        ReplacedDocuments::Ids(Vec::new())
    } else {
        ReplacedDocuments::Ids(merge_removals(segments, &index))
    };
    let parts: Vec<&IndexPart> = index.parts().collect();
    write_segment(&parts, replaced)
}

/// Returns the documents of older segments that `segments` replace or remove by numbers.
fn merge_deletions(segments: &[Arc<Segment>], older: usize) -> Result<Deletions, SegmentError> {
    let mut merged = Deletions::default();
    for segment in segments {
        merged.extend_for_older(older, &segment.deletions()?);
    }
    Ok(merged)
}

/// Returns the sorted ids that `segments` remove, without those that are in their `index` again.
fn merge_removals<'a>(segments: &'a [Arc<Segment>], index: &ContainerIndex) -> Vec<&'a str> {
    let ids = segments.iter().flat_map(|segment| segment.removed_ids());
    let mut removed: Vec<&str> = ids.filter(|id| index.document(id).is_none()).collect();
    removed.sort_unstable();
    removed.dedup();
    removed
}

/// The error of segments that tell in different ways which documents they replace.
const DIFFERENT_KINDS: SegmentError = SegmentError::Corrupt("segments of different kinds");

fn delete_in_parts(parts: &mut [IndexPart], id: &str) -> bool {
    let found = parts
        .iter()
        .enumerate()
        .find_map(|(index, part)| Some((index, part.find(id).ok()??)));
    if let Some((index, document)) = found {
        parts[index].kill(document);
    }
    found.is_some()
}

/// Deletes what a newer segment replaces or removes by numbers, in `parts` that follow this many `older`
/// ones.
fn delete_by_number(
    parts: &mut [IndexPart],
    older: usize,
    deletions: &Deletions,
) -> Result<(), SegmentError> {
    for (segment, documents) in deletions.iter() {
        let Some(place) = segment.checked_sub(older) else {
            continue;
        };
        let part = parts.get_mut(place);
        let part = part.ok_or(SegmentError::Corrupt("deletions"))?;
        let documents: Vec<u32> = documents.collect();
        if documents
            .iter()
            .any(|&document| document >= part.len_documents())
        {
            return Err(SegmentError::Corrupt("deletions"));
        }
        part.kill_all(documents);
    }
    Ok(())
}

/// Deletes what a newer segment replaces or removes by ids.
fn delete_by_id(parts: &mut [IndexPart], newer: &Segment) -> Result<(), SegmentError> {
    for id in newer.removed_ids() {
        delete_in_parts(parts, id);
    }
    for part in parts {
        let PartSource::Segment(older) = &part.source else {
            continue;
        };
        let superseded = older.superseded_by(newer).ok_or(DIFFERENT_KINDS)?;
        part.kill_all(superseded);
    }
    Ok(())
}
