//! The documents of one container as a reader sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::merge::write_segment;
use super::part::{IndexPart, PartSource};
use super::tail::Tail;
use super::{Document, DocumentView};
use crate::error::SegmentError;
use crate::segment::{ChangesToOlder, Segment};

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
    /// The ids whose attributes in the segments the tail changed.
    patched: Arc<BTreeSet<String>>,
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
            patched: Arc::default(),
        }
    }

    /// Adds a segment that is newer than all segments so far and older than everything in the tail.
    pub fn push_segment(&mut self, segment: Arc<Segment>) {
        let mut part = IndexPart::new(PartSource::Segment(segment.clone()));
        for id in segment.removed_ids() {
            delete_in_parts(&mut self.segments, id);
        }

        for (id, attributes) in segment.patched_attributes() {
            patch_in_parts(&mut self.segments, id, &attributes);
        }

        for older in &mut self.segments {
            delete_superseded(older, &segment);
        }

        let superseded: Vec<u32> = self.tail_ids().filter_map(|id| part.find(id)).collect();
        superseded
            .into_iter()
            .for_each(|document| part.kill(document));
        self.segments.push(part);
    }

    /// Returns the ids that are in the tail or were removed by it.
    fn tail_ids(&self) -> impl Iterator<Item = &str> {
        let tail = self.tail.living().map(|document| self.tail.id(document));
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
        if let Some(document) = self.tail.find(id) {
            self.tail_mut().forget_id(id);
            self.tail.kill(document);
            if self.segments.iter().any(|part| part_has_id(part, id)) {
                Arc::make_mut(&mut self.removed).insert(id.to_owned());
            }
            return true;
        }

        let found = delete_in_parts(&mut self.segments, id);
        if found {
            Arc::make_mut(&mut self.removed).insert(id.to_owned());
            if self.patched.contains(id) {
                Arc::make_mut(&mut self.patched).remove(id);
            }
        }

        found
    }

    /// Removes a document, also from older segments that this index does not have. The segment that
    /// [`Self::build_tail_segment`] writes then removes it there.
    pub fn remove_from_older(&mut self, id: &str) {
        self.remove_document(id);
        Arc::make_mut(&mut self.removed).insert(id.to_owned());
    }

    /// Replaces a document's attributes without touching its chunks. Returns `false` if there is
    /// none.
    pub fn update_attributes(&mut self, id: &str, attributes: Bytes) -> bool {
        if let Some(document) = self.tail.find(id) {
            self.tail.set_attributes(document, attributes);
            return true;
        }
        let found = patch_in_parts(&mut self.segments, id, &attributes);
        if found {
            Arc::make_mut(&mut self.patched).insert(id.to_owned());
        }
        found
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &IndexPart> {
        self.segments.iter().chain([&self.tail])
    }

    /// Returns all documents in arbitrary order.
    pub fn documents(&self) -> impl Iterator<Item = DocumentView<'_>> {
        self.parts()
            .flat_map(|part| part.living().map(|document| part.view(document)))
    }

    /// Returns the document `id`.
    #[must_use]
    pub fn document(&self, id: &str) -> Option<DocumentView<'_>> {
        self.parts()
            .find_map(|part| part.find(id).map(|document| part.view(document)))
    }

    /// Returns the document `id` with texts and vectors.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if its stored texts cannot be read.
    pub fn load_document(&self, id: &str) -> Result<Option<Document>, SegmentError> {
        let found = self
            .parts()
            .find_map(|part| part.find(id).map(|document| (part, document)));
        found
            .map(|(part, document)| part.document(document))
            .transpose()
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
    #[must_use]
    pub fn documents_without(&self, model: &str, limit: usize) -> Vec<&str> {
        let mut ids = Vec::new();
        for part in self.parts() {
            for document in part.living() {
                if ids.len() == limit {
                    return ids;
                }
                let has_vector = |chunk| match part.model_row(chunk) {
                    Some(row) => **row.model == *model,
                    None => false,
                };
                if !part.chunks_of(document).all(has_vector) {
                    ids.push(part.id(document));
                }
            }
        }
        ids
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

    /// Checks whether the tail holds nothing that a segment would have to record.
    #[must_use]
    pub fn is_tail_empty(&self) -> bool {
        self.tail.liveness.documents == 0 && self.removed.is_empty() && self.patched.is_empty()
    }

    /// Writes the tail as a segment that follows the current segments: its documents, removals and
    /// changed attributes.
    ///
    /// # Errors
    /// [`SegmentError`] if texts cannot be read or do not fit.
    pub fn build_tail_segment(&self) -> Result<Vec<u8>, SegmentError> {
        let mut changes = ChangesToOlder::default();
        for id in self.removed.iter() {
            if self.tail.find(id).is_none() {
                changes.removed.push(id.clone());
            }
        }
        for id in self.patched.iter() {
            let mut parts = self.segments.iter();
            let found = parts.find_map(|part| Some(part.attributes_of(part.find(id)?)));
            if let Some(attributes) = found {
                changes.patched.push((id.clone(), attributes?));
            }
        }
        write_segment(&[&self.tail], &changes)
    }

    /// Writes all live documents as one segment that replaces the whole index.
    ///
    /// # Errors
    /// [`SegmentError`] if texts cannot be read or do not fit.
    pub fn build_compacted(&self) -> Result<Vec<u8>, SegmentError> {
        let parts: Vec<&IndexPart> = self.parts().collect();
        write_segment(&parts, &ChangesToOlder::default())
    }
}

/// Merges `segments` (adjacent, oldest first) into one segment that can replace them.
///
/// With `oldest_included`, no older segment exists, so removals and changed attributes are dropped.
///
/// # Errors
/// [`SegmentError`] if texts cannot be read or do not fit.
pub fn merge_segments(
    segments: &[Arc<Segment>],
    oldest_included: bool,
) -> Result<Vec<u8>, SegmentError> {
    let mut index = ContainerIndex::new();
    for segment in segments {
        index.push_segment(segment.clone());
    }

    let mut removed = BTreeSet::new();
    let mut patched = BTreeMap::new();
    if !oldest_included {
        for segment in segments {
            for id in segment.removed_ids() {
                if index.document(id).is_none() {
                    removed.insert(id.to_owned());
                }
            }
            for (id, attributes) in segment.patched_attributes() {
                patched.insert(id.to_owned(), attributes);
            }
        }
    }

    let parts: Vec<&IndexPart> = index.parts().collect();
    let changes = ChangesToOlder {
        removed: removed.into_iter().collect(),
        patched: patched.into_iter().collect(),
    };
    write_segment(&parts, &changes)
}

fn part_has_id(part: &IndexPart, id: &str) -> bool {
    match &part.source {
        PartSource::Segment(segment) => segment.find_document(id, 0).is_ok(),
        PartSource::Tail(tail) => tail.find_document(id).is_some(),
    }
}

fn delete_in_parts(parts: &mut [IndexPart], id: &str) -> bool {
    let found = parts
        .iter()
        .enumerate()
        .find_map(|(index, part)| part.find(id).map(|d| (index, d)));
    if let Some((index, document)) = found {
        parts[index].kill(document);
    }
    found.is_some()
}

fn patch_in_parts(parts: &mut [IndexPart], id: &str, attributes: &Bytes) -> bool {
    let found = parts
        .iter()
        .enumerate()
        .find_map(|(index, part)| part.find(id).map(|d| (index, d)));
    if let Some((index, document)) = found {
        parts[index].set_attributes(document, attributes.clone());
    }
    found.is_some()
}

/// Marks the documents of `older` as deleted whose ids `newer` holds. Both are sorted, so each
/// search starts where the last one ended.
fn delete_superseded(older: &mut IndexPart, newer: &Segment) {
    let PartSource::Segment(segment) = &older.source else {
        return;
    };

    let segment = segment.clone();
    let mut from = 0;

    for document in 0..newer.len_documents() as u32 {
        match segment.find_document(newer.id(document), from) {
            Ok(index) => {
                from = index + 1;
                if !older.liveness.is_deleted(index as u32) {
                    older.kill(index as u32);
                }
            }
            Err(index) => from = index,
        }
    }
}
