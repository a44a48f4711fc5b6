//! The documents that search serves, for lists.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use domain::container::LogEntry;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, Document, DocumentId, IndexHead, IndexedDocument, LogRecord, PortError,
    SegmentRef, Tenant,
};
use search_engine::{ContainerIndex, SegmentError};
use service::{Ctx, LIST_PART_SIZE, ServedDocuments, SortKey, SortTime};

use crate::cache::ViewCache;
use crate::chunks::{decode_attributes, last_of_each};
use crate::segments::{
    PartialSegment, SegmentReading, StoredFile, open_chunk_index, read_until_fetched,
};
use crate::view::{ContainerState, ContainerView, FetchedBlobs};

/// The bytes that the documents of a log record usually take in memory.
const EXPECTED_RECORD_BYTES: u64 = 1024;
/// The bytes that a changed document takes in memory, without its metadata.
const CHANGED_DOCUMENT_BYTES: usize = 512;
/// The number of documents of which the attributes are read between two pauses. What is missing of them is
/// fetched together.
const SELECTED_TOGETHER: usize = 32_768;
/// The number of attempts to open an index with all documents. Another request may have brought it further than
/// the head that was read.
const OPEN_ATTEMPTS: usize = 4;

/// The documents of a container that search serves, without their chunks.
#[derive(Debug, Clone, Default)]
pub struct IndexedDocuments {
    /// The segments.
    index: ContainerIndex,
    partial: Arc<[PartialSegment]>,
    /// The documents that the log has put since, and `None` for those that it has removed.
    changed: Arc<HashMap<DocumentId, Option<IndexedDocument>>>,
    /// The estimated bytes of `changed`.
    changed_bytes: usize,
}

impl IndexedDocuments {
    /// Puts a document, or removes it.
    fn change(&mut self, id: DocumentId, document: Option<IndexedDocument>) {
        self.changed_bytes += estimate_bytes(document.as_ref());
        let replaced = Arc::make_mut(&mut self.changed).insert(id, document);
        if let Some(replaced) = replaced {
            self.changed_bytes -= estimate_bytes(replaced.as_ref());
        }
    }

    /// Returns the number of documents.
    fn len(&self) -> usize {
        let changed = self.changed.iter();
        let kept = changed.map(|(id, document)| {
            let was_stored = self.index.document(id.as_str()).is_some();
            usize::from(document.is_some()) as isize - isize::from(was_stored)
        });
        self.index.len_documents().saturating_add_signed(kept.sum())
    }

    /// Returns the times and the ids of the documents of the segments at these `places` to which `sort_time` gives
    /// a time, without those that the log has changed. Of partial segments, this is read through
    /// [`read_until_fetched`].
    fn select_stored(
        &self,
        places: Range<usize>,
        sort_time: &SortTime<'_>,
    ) -> PortResult<Vec<SortKey>> {
        let mut selected = Vec::new();
        let views = self.index.documents().skip(places.start);
        for view in views.take(places.len()) {
            let attributes = match view.attributes() {
                Ok(attributes) => attributes,
                // It is fetched before the next run, with all others that are missing.
                Err(SegmentError::NotFetched) => continue,
                Err(error) => return Err(PortError::Corrupt(error.to_string())),
            };
            let document = decode_attributes(&attributes)?;
            if !self.changed.contains_key(&document.id) {
                selected.extend(sort_time(&document).map(|time| (time, document.id)));
            }
        }
        Ok(selected)
    }

    /// Returns the times and the ids of the documents that the log has changed, as [`Self::select_stored`] does.
    fn select_changed(&self, sort_time: &SortTime<'_>) -> impl Iterator<Item = SortKey> {
        let changed = self.changed.values().flatten();
        changed.filter_map(|document| Some((sort_time(document)?, document.id.clone())))
    }
}

#[async_trait]
impl ServedDocuments for ViewCache<IndexedDocuments> {
    async fn select(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        container: &ContainerId,
        sort_time: &SortTime<'_>,
    ) -> PortResult<Option<Vec<SortKey>>> {
        let Some(view) = open_complete(self, ctx, tenant, container).await? else {
            return Ok(None);
        };
        if view.index.attribute_bytes() > self.max_bytes() {
            return Ok(None);
        }
        let mut selected: Vec<_> = view.select_changed(sort_time).collect();
        for start in (0..view.index.len_documents()).step_by(SELECTED_TOGETHER) {
            let places = start..start + SELECTED_TOGETHER;
            let read = || view.select_stored(places.clone(), sort_time);
            selected.extend(read_until_fetched(ctx, tenant, view.partial_segments(), read).await??);
            // Other requests of this thread go on.
            tokio::task::yield_now().await;
        }
        self.record_read(tenant, container, &view);
        Ok(Some(selected))
    }

    fn is_worthwhile(&self, head: &IndexHead) -> bool {
        // Fewer records are read in one part.
        let is_large = |count| count > LIST_PART_SIZE as u64;
        head.document_count.is_some_and(is_large) && self.has_room_for(head)
    }
}

/// Opens the index of a container. Returns `None` if it does not have as many documents as the head counts.
async fn open_complete(
    cache: &ViewCache<IndexedDocuments>,
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
) -> PortResult<Option<IndexedDocuments>> {
    for _ in 0..OPEN_ATTEMPTS {
        let is_warm = cache.is_warm(tenant, container);
        let state = ContainerState::read(ctx, tenant, container, is_warm).await?;
        let expected = state.head.document_count;
        let view = cache.open_at(ctx, tenant, container, state).await?;
        if expected == Some(view.len() as u64) {
            return Ok(Some(view));
        }
    }
    Ok(None)
}

#[async_trait]
impl ContainerView for IndexedDocuments {
    fn empty(_: &ContainerId) -> Self {
        Self::default()
    }

    async fn read_segments(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
        reading: SegmentReading,
    ) -> PortResult<bool> {
        let opened = open_chunk_index(ctx, tenant, segments, reading.for_view(false)).await?;
        let is_complete;
        (self.index, self.partial, is_complete) = opened;
        Ok(is_complete)
    }

    fn partial_segments(&self) -> &[PartialSegment] {
        &self.partial
    }

    async fn recover_from_documents(
        &mut self,
        _: &Ctx,
        _: &Tenant,
        documents: &[Document],
    ) -> PortResult<()> {
        *self = Self::default();
        let served = documents.iter();
        for document in served.filter_map(IndexedDocument::for_served_revision) {
            self.change(document.id.clone(), Some(document));
        }
        Ok(())
    }

    fn list_blobs(_: &[LogRecord]) -> Vec<BlobRef> {
        Vec::new()
    }

    async fn apply_records(
        &mut self,
        _: &Ctx,
        _: &Tenant,
        records: &[LogRecord],
        _: FetchedBlobs,
    ) -> PortResult<()> {
        for entry in last_of_each(records) {
            match entry {
                LogEntry::Put { document, .. } => {
                    self.change(document.id.clone(), Some(document.as_ref().clone()));
                }
                LogEntry::Remove { id } => self.change(id.clone(), None),
                LogEntry::Edit { .. } => {}
            }
        }
        Ok(())
    }

    fn take_unreadable(&mut self) -> Vec<DocumentId> {
        Vec::new()
    }

    fn size_bytes(&self) -> usize {
        self.index.estimated_bytes() + self.changed_bytes
    }

    fn expected_bytes(head: &IndexHead, reading: SegmentReading) -> usize {
        let files = StoredFile::all_chunks(&head.segments);
        let segments = reading.for_view(false).bytes_of(&files);
        let tail = head.uncovered_records() * EXPECTED_RECORD_BYTES;
        usize::try_from(segments + tail).unwrap_or(usize::MAX)
    }

    fn tail_len(&self) -> usize {
        self.changed.len()
    }
}

/// Estimates the bytes that a changed document takes in memory.
fn estimate_bytes(document: Option<&IndexedDocument>) -> usize {
    let metadata = document.map(|document| serde_json::to_vec(&document.metadata));
    let metadata = metadata.and_then(Result::ok).map_or(0, |json| json.len());
    // A value takes about twice as much as its JSON.
    CHANGED_DOCUMENT_BYTES + 2 * metadata
}
