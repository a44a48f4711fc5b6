//! The searchable chunks of a container's documents.

use std::collections::{HashMap, HashSet};
use std::iter::zip;
use std::sync::Arc;

use async_trait::async_trait;
use domain::BlobRef;
use domain::container::LogEntry;
use domain::ports::{BlobContent, PortResult};
use domain::{
    ContainerId, Document as Record, DocumentId, IndexHead, IndexedDocument, LogRecord, Pack,
    PackedChunk, PortError, SegmentRef, Tenant,
};
use search_engine::{
    ChunkInput, ContainerIndex, DIMENSIONS, Document, DocumentView, ModelVector, QuantizedVector,
};
use service::Ctx;
use tracing::debug;

use crate::segments::{PartialSegment, SegmentReading, StoredFile, open_chunk_index};
use crate::view::{ContainerView, FetchedBlobs};

/// The bytes that the chunks of a log record usually take in memory.
const EXPECTED_RECORD_BYTES: u64 = 16 * 1024;
/// The number of packs that one read fetches.
const PACK_BATCH_SIZE: usize = 100;

/// Decodes the attributes that the index stores for the document of a search result.
///
/// # Errors
/// Returns [`PortError::Corrupt`] when the attributes are not what this crate stored.
pub fn decode_attributes(bytes: &[u8]) -> PortResult<IndexedDocument> {
    serde_json::from_slice(bytes)
        .map_err(|_| PortError::Corrupt("attributes of an indexed document".into()))
}

/// Returns what the index stores for a document.
///
/// # Errors
/// Returns [`PortError::Corrupt`] when it cannot be read.
pub fn read_attributes(view: &DocumentView<'_>) -> PortResult<IndexedDocument> {
    let attributes = view
        .attributes()
        .map_err(|error| PortError::Corrupt(error.to_string()))?;
    decode_attributes(&attributes)
}

/// The chunks of a container.
#[derive(Debug, Clone, Default)]
pub struct IndexedChunks {
    /// The index in which chunks are found.
    pub index: ContainerIndex,
    partial: Arc<[PartialSegment]>,
    /// The documents whose packs could not be read.
    unreadable: Vec<DocumentId>,
}

#[async_trait]
impl ContainerView for IndexedChunks {
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
        let opened = open_chunk_index(ctx, tenant, segments, reading).await?;
        let is_complete;
        (self.index, self.partial, is_complete) = opened;
        Ok(is_complete)
    }

    fn partial_segments(&self) -> &[PartialSegment] {
        &self.partial
    }

    async fn recover_from_documents(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        documents: &[Record],
    ) -> PortResult<()> {
        let mut indexed_documents: Vec<(&BlobRef, IndexedDocument)> = Vec::new();
        for document in documents {
            if let Some(indexed) = &document.indexed
                && let Some(served) = IndexedDocument::for_served_revision(document)
            {
                indexed_documents.push((&indexed.pack, served));
            }
        }

        let mut served_ids: HashSet<&str> = HashSet::new();
        for (_, document) in &indexed_documents {
            served_ids.insert(document.id.as_str());
        }

        let mut stale_ids: Vec<String> = Vec::new();
        for id in self.index.ids_with("") {
            if !served_ids.contains(&*id) {
                stale_ids.push(id.into_owned());
            }
        }
        for id in stale_ids {
            self.index.remove_document(&id);
        }

        let mut missing: Vec<(&BlobRef, &IndexedDocument)> = Vec::new();
        for (pack, document) in &indexed_documents {
            if !self.holds(document) {
                missing.push((*pack, document));
            }
        }

        self.put_all(ctx, tenant, &missing, FetchedBlobs::default())
            .await
    }

    fn list_blobs(records: &[LogRecord]) -> Vec<BlobRef> {
        let (puts, _) = puts_and_removals(records);
        puts.into_iter().map(|(pack, _)| pack.clone()).collect()
    }

    async fn apply_records(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        records: &[LogRecord],
        fetched: FetchedBlobs,
    ) -> PortResult<()> {
        let (puts, removals) = puts_and_removals(records);
        for id in removals {
            self.index.remove_document(id.as_str());
        }
        self.put_all(ctx, tenant, &puts, fetched).await
    }

    fn take_unreadable(&mut self) -> Vec<DocumentId> {
        std::mem::take(&mut self.unreadable)
    }

    fn size_bytes(&self) -> usize {
        self.index.estimated_bytes()
    }

    fn expected_bytes(head: &IndexHead, reading: SegmentReading) -> usize {
        let segments = reading.bytes_of(&StoredFile::all_chunks(&head.segments));
        let tail = head.uncovered_records() * EXPECTED_RECORD_BYTES;
        usize::try_from(segments + tail).unwrap_or(usize::MAX)
    }

    fn tail_len(&self) -> usize {
        self.index.tail_chunks()
    }
}

impl IndexedChunks {
    /// Checks whether the view holds the document as it is to be shown.
    fn holds(&self, document: &IndexedDocument) -> bool {
        let Some(held) = self.index.document(document.id.as_str()) else {
            return false;
        };
        read_attributes(&held).is_ok_and(|held| held == *document)
    }

    async fn put_all(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        puts: &[(&BlobRef, &IndexedDocument)],
        fetched: FetchedBlobs,
    ) -> PortResult<()> {
        read_packs(ctx, tenant, puts, fetched, |document, pack| match pack {
            Some(pack) => self.index.upsert_document(to_index(document, &pack)),
            None => {
                self.index.remove_document(document.id.as_str());
                self.unreadable.push(document.id.clone());
            }
        })
        .await
    }
}

/// Reads the packs of documents, and gives each to `put`, or `None` for one that cannot be read.
pub(crate) async fn read_packs(
    ctx: &Ctx,
    tenant: &Tenant,
    puts: &[(&BlobRef, &IndexedDocument)],
    mut fetched: FetchedBlobs,
    mut put: impl FnMut(&IndexedDocument, Option<Pack>) + Send,
) -> PortResult<()> {
    for batch in puts.chunks(PACK_BATCH_SIZE) {
        let blobs: Vec<BlobRef> = batch.iter().map(|(pack, _)| (*pack).clone()).collect();
        let contents = fetched.take(ctx, tenant, &blobs).await?;
        for ((_, document), stored) in zip(batch, contents) {
            let pack = decode_pack(stored);
            if pack.is_none() {
                // The pack is damaged, or it was purged after a later record, not read yet,
                // replaced or removed the document.
                debug!(document.id = %document.id, "the pack of {} cannot be read", document.id);
            }
            put(document, pack);
        }
    }

    Ok(())
}

/// Decodes a stored pack, unless its blob is missing or damaged.
fn decode_pack(stored: BlobContent) -> Option<Pack> {
    let bytes = stored.into_intact_bytes()?;
    Pack::decode(&bytes).ok()
}

/// Returns the documents that the records put, each with its pack, and the documents that they remove.
/// Only the last entry about each document counts.
pub(crate) fn puts_and_removals(
    records: &[LogRecord],
) -> (Vec<(&BlobRef, &IndexedDocument)>, Vec<&DocumentId>) {
    let (mut puts, mut removals) = (Vec::new(), Vec::new());
    for entry in last_of_each(records) {
        match entry {
            LogEntry::Put { pack, document, .. } => puts.push((pack, document.as_ref())),
            LogEntry::Remove { id } => removals.push(id),
            LogEntry::Edit { .. } => {}
        }
    }
    (puts, removals)
}

/// Returns the last entry about each document. Only that entry counts, and only its bytes still
/// have to exist. Entries are ordered by document, so that the order is the same each time.
pub(crate) fn last_of_each(records: &[LogRecord]) -> Vec<&LogEntry> {
    let mut last: HashMap<&str, &LogEntry> = HashMap::new();
    for record in records {
        for entry in &record.entries {
            if let Some(id) = entry.document_id() {
                last.insert(id.as_str(), entry);
            }
        }
    }

    let mut entries: Vec<(&str, &LogEntry)> = last.into_iter().collect();
    entries.sort_by_key(|(id, _)| *id);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Converts a document for the search engine. Its title counts as the outermost heading.
pub(crate) fn to_index(document: &IndexedDocument, pack: &Pack) -> Document {
    let model: Option<Arc<str>> = pack.chosen_model.as_deref().map(Arc::from);
    let mut chunks = Vec::with_capacity(pack.chunks.len());
    for (position, (chunk, text)) in zip(&pack.chunks, pack.chunk_texts()).enumerate() {
        chunks.push(to_chunk_input(
            document,
            chunk,
            model.as_ref(),
            text,
            position,
        ));
    }

    Document {
        id: document.id.as_str().to_owned(),
        attributes: serde_json::to_vec(document)
            .expect("our own types have string keys")
            .into(),
        chunks,
        ..Document::default()
    }
}

fn to_chunk_input(
    document: &IndexedDocument,
    chunk: &PackedChunk,
    model: Option<&Arc<str>>,
    text: &str,
    position: usize,
) -> ChunkInput {
    let mut headings: Vec<&str> = Vec::new();
    if let Some(title) = &document.title
        && chunk.headings.first() != Some(title)
    {
        headings.push(title);
    }
    for heading in &chunk.headings {
        headings.push(heading);
    }

    let mut vector = [0i8; DIMENSIONS];
    let length = chunk.vector.len().min(DIMENSIONS);
    vector[..length].copy_from_slice(&chunk.vector[..length]);

    let model_vector = match model {
        Some(model) => ModelVector::from_codes(model.clone(), chunk.model_vector.as_slice()),
        None => None,
    };

    ChunkInput {
        text: text.to_owned(),
        headings: headings.join("\n"),
        vector: QuantizedVector(vector),
        model_vector,
        position: u32::try_from(position).unwrap_or(u32::MAX),
        start: u32::try_from(chunk.start).unwrap_or(u32::MAX),
        end: u32::try_from(chunk.end).unwrap_or(u32::MAX),
    }
}
