//! The memories of a container, for search and listing.

mod file;
mod store;

use std::collections::{BTreeSet, HashSet};
use std::iter::zip;
use std::sync::Arc;

use async_trait::async_trait;
use domain::container::LogEntry;
use domain::ports::{BlobContent, PortResult};
use domain::{
    BlobRef, ContainerId, Document as Record, DocumentId, IndexHead, IndexedDocument, LogRecord,
    MemoryEdit, MemoryId, MemoryIndexRef, SegmentRef, StatementSet, Tenant, Timestamp,
};
use memory_model::asking::{aspect_question_words, topic_question_words};
use memory_model::{DocumentStatements, Ledger, Memory};
use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, Segment, SegmentError, StaticEmbedder,
};
use service::Ctx;
use tracing::debug;

use crate::chunks::{last_of_each, open_segment};
use crate::view::{ContainerView, FetchedBlobs};
pub(crate) use file::MemoryFile;
use store::StoredLedger;

/// The bytes that a memory usually takes with its statements and its place in the index.
const EXPECTED_MEMORY_BYTES: u64 = 8 * 1024;
/// The bytes that a stored memory takes once a request has decoded it.
const DECODED_MEMORY_BYTES: usize = 1_000;
/// The memories that a log record usually adds.
const EXPECTED_RECORD_MEMORIES: u64 = 4;
/// The number of documents whose statements one read fetches.
const BLOB_BATCH_SIZE: usize = 100;
/// The number of memories from which a newly read index becomes a segment. As a tail, it would be
/// copied with each change.
const MIN_SEGMENT_CHUNKS: usize = 512;

/// An index in which memories are found by a query; `()` for readers that never search.
pub trait MemoryIndex: Clone + Default + Send + Sync {
    /// Creates the index of stored memories.
    fn restore(stored: &ContainerIndex) -> Self;
    /// Adds a memory, or replaces it.
    fn put(&mut self, memory: &Memory);
    /// Removes a memory.
    fn remove(&mut self, id: &MemoryId);
    /// Optimizes the index. Called once, after all memories were computed and added.
    fn settle(&mut self);
    /// Returns the approximate size in bytes.
    fn bytes(&self) -> usize;
}

impl MemoryIndex for () {
    fn restore(_: &ContainerIndex) -> Self {}
    fn put(&mut self, _: &Memory) {}
    fn remove(&mut self, _: &MemoryId) {}
    fn settle(&mut self) {}
    fn bytes(&self) -> usize {
        0
    }
}

impl MemoryIndex for ContainerIndex {
    fn restore(stored: &ContainerIndex) -> Self {
        stored.clone()
    }

    fn put(&mut self, memory: &Memory) {
        self.upsert_document(to_index(memory));
    }

    fn remove(&mut self, id: &MemoryId) {
        Self::remove_document(self, id.as_str());
    }

    fn settle(&mut self) {
        if self.tail_chunks() < MIN_SEGMENT_CHUNKS {
            return;
        }
        // If the index cannot be sealed, only its speed is lost.
        if let Ok(file) = self.build_compacted()
            && let Ok(segment) = Segment::open(file.into())
        {
            *self = Self::new();
            self.push_segment(Arc::new(segment));
        }
    }

    fn bytes(&self) -> usize {
        Self::estimated_bytes(self)
    }
}

/// The memories of a container: the ledger in which they are computed, and the index in which the
/// latest ones are found, including forgotten ones. Earlier versions are documents without chunks in the
/// index. Before the index is stored, the other records of the ledger are added to it in the same way.
#[derive(Debug, Clone)]
pub struct IndexedMemories<I = ContainerIndex> {
    inner: Arc<Inner<I>>,
}

#[derive(Debug, Clone)]
struct Inner<I> {
    ledger: Ledger,
    index: I,
    /// The stored ledger from which the ledger and the index were restored, if they were.
    restored: Option<Arc<StoredLedger>>,
    tail: Tail,
    /// The documents whose statements could not be read.
    unreadable: Vec<DocumentId>,
}

impl<I: MemoryIndex> Inner<I> {
    fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            index: I::default(),
            restored: None,
            tail: Tail::default(),
            unreadable: Vec::new(),
        }
    }
}

/// The changes after the segments.
#[derive(Debug, Clone, Default)]
struct Tail {
    /// The documents whose statements were inserted or removed.
    documents: BTreeSet<DocumentId>,
    edits: Vec<MemoryEdit>,
}

impl Tail {
    fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.edits.is_empty()
    }
}

impl<I: MemoryIndex> IndexedMemories<I> {
    /// Returns the ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Returns the index of the latest memories, by their ids.
    pub fn index(&self) -> &I {
        &self.inner.index
    }

    /// Returns the memories as they would be if nothing had been recorded after `system_time` and
    /// nothing had been said after `valid_time`.
    #[must_use]
    pub fn as_of(&self, system_time: Timestamp, valid_time: Timestamp) -> Self {
        let ledger = self.inner.ledger.snapshot_as_of(system_time, valid_time);
        let mut inner = Inner::new(ledger);
        inner.compute();
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the callers' edits after the segments, or all edits if the memories of the segments were
    /// not restored.
    pub(crate) fn edits_to_seal(&self) -> Vec<MemoryEdit> {
        match self.inner.restored {
            Some(_) => self.inner.tail.edits.clone(),
            None => self.inner.ledger.list_edits(),
        }
    }
}

impl IndexedMemories {
    /// Checks whether the memories of the segments were restored rather than computed.
    pub(crate) fn is_restored(&self) -> bool {
        self.inner.restored.is_some()
    }

    /// Returns what has changed in the index and the ledger after the segments as a file for the next
    /// segment, or `None` if nothing has. If the memories of the segments were not restored, the file
    /// has everything.
    ///
    /// # Errors
    /// [`SegmentError`] if a stored memory cannot be read.
    pub(crate) fn seal_tail_index(&self) -> Result<Option<Vec<u8>>, SegmentError> {
        let inner = &self.inner;
        if inner.restored.is_none() {
            return self.seal_whole_index();
        }
        if inner.tail.is_empty() {
            return Ok(None);
        }
        inner.index_with_ledger().build_tail_segment().map(Some)
    }

    /// Returns the index and the ledger as one file that replaces all others, or `None` if nothing is
    /// stated and nothing was edited.
    ///
    /// # Errors
    /// [`SegmentError`] if a stored memory cannot be read.
    pub(crate) fn seal_whole_index(&self) -> Result<Option<Vec<u8>>, SegmentError> {
        let inner = &self.inner;
        let is_empty = inner.ledger.all_document_statements().next().is_none()
            && inner.index.len_documents() == 0
            && inner.ledger.list_edits().is_empty();
        if is_empty {
            return Ok(None);
        }
        inner.index_with_ledger().build_compacted().map(Some)
    }
}

impl Inner<ContainerIndex> {
    /// Returns the index with all changed records of the ledger.
    fn index_with_ledger(&self) -> ContainerIndex {
        let mut index = self.index.clone();
        for (key, record) in self.ledger.changed_records() {
            match record {
                Some(record) => index.upsert_document(Document {
                    id: key,
                    attributes: record.into(),
                    ..Document::default()
                }),
                None => {
                    index.remove_document(&key);
                }
            }
        }
        index
    }
}

/// Decodes stored statements, unless their blob is missing or damaged.
fn decode_statements(stored: BlobContent) -> Option<StatementSet> {
    let bytes = stored.into_intact_bytes()?;
    StatementSet::decode(&bytes).ok()
}

/// The files from which the memories of segments are read.
enum StoredMemories<'a> {
    /// The memory indexes, oldest first.
    Indexes(Vec<&'a MemoryIndexRef>),
    /// The statements that earlier versions stored beside the segments.
    Statements,
}

impl<'a> StoredMemories<'a> {
    /// Chooses the files of these segments.
    fn of(segments: &'a [SegmentRef]) -> Self {
        let indexes: Vec<&MemoryIndexRef> = segments
            .iter()
            .filter_map(|segment| segment.memory_index.as_ref())
            .collect();
        let have_statements = segments.iter().any(|segment| segment.memories.is_some());
        if have_statements && (indexes.is_empty() || !are_of_these_rules(&indexes)) {
            return Self::Statements;
        }
        Self::Indexes(indexes)
    }
}

/// Checks whether the rules of this program computed all memories of these indexes.
fn are_of_these_rules(indexes: &[&MemoryIndexRef]) -> bool {
    let mut rules = indexes.iter().map(|index| index.rules);
    rules.all(|rules| rules == Ledger::RULES_VERSION)
}

/// Reads the statements of the segments of earlier versions that have any. Returns `None` for a file
/// that cannot be read.
///
/// # Errors
/// Returns the errors of the ports.
async fn read_files<'a>(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &'a [SegmentRef],
) -> PortResult<Vec<(&'a SegmentRef, Option<MemoryFile>)>> {
    let mut segments_with_memories: Vec<&SegmentRef> = Vec::new();
    let mut blobs: Vec<BlobRef> = Vec::new();
    for segment in segments {
        if let Some(blob) = &segment.memories {
            segments_with_memories.push(segment);
            blobs.push(blob.clone());
        }
    }

    let contents = ctx.blobs.read(tenant, &blobs).await?;
    let files = contents.into_iter().map(MemoryFile::read);
    Ok(zip(segments_with_memories, files).collect())
}

/// Checks whether the files of these segments that readers usually do not need can be read: the edits,
/// and the statements that earlier versions stored.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn are_edits_readable(
    ctx: &Ctx,
    tenant: &Tenant,
    segments: &[SegmentRef],
) -> PortResult<bool> {
    // One file is in memory at a time.
    for segment in segments {
        let files = read_files(ctx, tenant, std::slice::from_ref(segment)).await?;
        let edits = read_edits(ctx, tenant, segment).await?;
        if files.iter().any(|(_, file)| file.is_none()) || edits.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the file with the callers' edits of a segment. It is a second copy, for a memory index that
/// cannot be read. Returns `None` if the file cannot be read either, and an empty file without edits.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn read_edits(
    ctx: &Ctx,
    tenant: &Tenant,
    segment: &SegmentRef,
) -> PortResult<Option<MemoryFile>> {
    let Some(edits_blob) = &segment.edits else {
        return Ok(Some(MemoryFile::default()));
    };

    let stored = ctx
        .blobs
        .read(tenant, std::slice::from_ref(edits_blob))
        .await?
        .pop();
    Ok(stored.and_then(MemoryFile::read))
}

#[async_trait]
impl<I: MemoryIndex> ContainerView for IndexedMemories<I> {
    fn empty(container: &ContainerId) -> Self {
        Self {
            inner: Arc::new(Inner::new(Ledger::new(container.clone()))),
        }
    }

    async fn read_segments(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
    ) -> PortResult<bool> {
        let inner = Arc::make_mut(&mut self.inner);
        let is_complete = match StoredMemories::of(segments) {
            StoredMemories::Statements => inner.read_statements(ctx, tenant, segments).await?,
            StoredMemories::Indexes(indexes) if indexes.is_empty() => {
                inner.read_edits(ctx, tenant, segments).await?;
                true
            }
            StoredMemories::Indexes(indexes) => {
                let blobs: Vec<BlobRef> = indexes.iter().map(|index| index.blob.clone()).collect();
                let stored = ctx.blobs.read(tenant, &blobs).await?;
                let is_restored = inner.restore(stored, are_of_these_rules(&indexes));
                if !is_restored {
                    inner.read_edits(ctx, tenant, segments).await?;
                }
                is_restored
            }
        };

        // If a file was lost, the documents supply its statements before anything is computed.
        if is_complete && inner.restored.is_none() {
            inner.compute();
        }
        Ok(is_complete)
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
                && let Some(blob) = indexed.statements_blob()
                && let Some(served) = IndexedDocument::for_served_revision(document)
            {
                indexed_documents.push((blob, served));
            }
        }

        let mut expected_ids: HashSet<&DocumentId> = HashSet::new();
        for (_, document) in &indexed_documents {
            expected_ids.insert(&document.id);
        }

        let inner = Arc::make_mut(&mut self.inner);
        let mut ledger = inner.ledger.without_memories();
        let mut stale_ids: Vec<DocumentId> = Vec::new();
        for held in ledger.all_document_statements() {
            if !expected_ids.contains(&held.document.id) {
                stale_ids.push(held.document.id.clone());
            }
        }
        for id in &stale_ids {
            ledger.remove_document(id);
        }

        let mut missing: Vec<(&BlobRef, &IndexedDocument)> = Vec::new();
        for (blob, document) in &indexed_documents {
            let is_current = match ledger.document_statements(&document.id) {
                Some(held) => held.document == *document,
                None => false,
            };
            if !is_current {
                missing.push((*blob, document));
            }
        }

        inner.ledger = ledger;
        inner.index = I::default();
        inner.restored = None;
        inner
            .tell_all(ctx, tenant, &missing, FetchedBlobs::default())
            .await?;
        inner.compute();

        Ok(())
    }

    fn list_blobs(records: &[LogRecord]) -> Vec<BlobRef> {
        let mut blobs = Vec::new();
        for entry in last_of_each(records) {
            if let LogEntry::Put {
                statements: Some(statements),
                ..
            } = entry
            {
                blobs.push(statements.clone());
            }
        }
        blobs
    }

    async fn apply_records(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        records: &[LogRecord],
        fetched: FetchedBlobs,
    ) -> PortResult<()> {
        let inner = Arc::make_mut(&mut self.inner);
        let mut puts: Vec<(&BlobRef, &IndexedDocument)> = Vec::new();
        for entry in last_of_each(records) {
            match entry {
                LogEntry::Put {
                    statements: Some(statements),
                    document,
                    ..
                } => puts.push((statements, document)),
                LogEntry::Put { document, .. } => inner.retract(&document.id),
                LogEntry::Remove { id } => inner.retract(id),
                LogEntry::Edit { .. } => {}
            }
        }

        inner.tell_all(ctx, tenant, &puts, fetched).await?;
        // An edit may name a memory of these documents. One of an unknown memory would compute all
        // memories anew.
        inner.settle();
        for entry in records.iter().flat_map(|record| &record.entries) {
            if let LogEntry::Edit { edit } = entry {
                inner.ledger.apply_edit(edit);
                inner.tail.edits.push(edit.clone());
            }
        }

        inner.settle();
        Ok(())
    }

    fn take_unreadable(&mut self) -> Vec<DocumentId> {
        std::mem::take(&mut Arc::make_mut(&mut self.inner).unreadable)
    }

    fn size_bytes(&self) -> usize {
        let inner = &self.inner;
        let stored = match &inner.restored {
            Some(restored) => {
                let index = restored.index();
                index.estimated_bytes() + index.len_chunks() * DECODED_MEMORY_BYTES
            }
            None => 0,
        };
        inner.ledger.estimated_bytes() + inner.index.bytes().max(stored)
    }

    fn expected_bytes(head: &IndexHead) -> usize {
        let tail = head.uncovered_records() * EXPECTED_RECORD_MEMORIES;
        let memories = head.memories.unwrap_or_default() + tail;
        usize::try_from(memories * EXPECTED_MEMORY_BYTES).unwrap_or(usize::MAX)
    }

    fn tail_len(&self) -> usize {
        self.inner.tail.documents.len() + self.inner.tail.edits.len()
    }
}

impl<I: MemoryIndex> Inner<I> {
    async fn tell_all(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        puts: &[(&BlobRef, &IndexedDocument)],
        mut fetched: FetchedBlobs,
    ) -> PortResult<()> {
        for batch in puts.chunks(BLOB_BATCH_SIZE) {
            let blobs: Vec<BlobRef> = batch.iter().map(|(blob, _)| (*blob).clone()).collect();
            let contents = fetched.take(ctx, tenant, &blobs).await?;
            for ((_, document), stored) in zip(batch, contents) {
                self.tell(document, stored);
            }
        }

        Ok(())
    }

    fn tell(&mut self, document: &IndexedDocument, statements: BlobContent) {
        let Some(statements) = decode_statements(statements) else {
            // The statements are damaged, or they were purged after a later record, not read yet,
            // replaced or removed them.
            debug!(document.id = %document.id, "the statements of {} cannot be read", document.id);
            self.retract(&document.id);
            self.unreadable.push(document.id.clone());
            return;
        };

        self.ledger.insert_document(DocumentStatements {
            document: document.clone(),
            statements: statements.statements,
        });

        self.tail.documents.insert(document.id.clone());
    }

    fn retract(&mut self, document: &DocumentId) {
        if self.ledger.document_statements(document).is_some() {
            self.ledger.remove_document(document);
            self.tail.documents.insert(document.clone());
        }
    }

    /// Restores the ledger and the index from what was stored with the segments, oldest first. If other
    /// rules computed the memories, only their statements are restored. Returns `false` if a part cannot
    /// be read.
    fn restore(&mut self, segments: Vec<BlobContent>, are_of_these_rules: bool) -> bool {
        let mut index = ContainerIndex::new();
        for stored in segments {
            match open_segment(stored) {
                Some(segment) => index.push_segment(Arc::new(segment)),
                None => return false,
            }
        }

        let stored = Arc::new(StoredLedger::new(index));
        let container = self.ledger.container().clone();
        if !are_of_these_rules {
            let Some(ledger) = Ledger::restore_statements(container, stored) else {
                return false;
            };
            self.ledger = ledger;
            return true;
        }

        let Some(ledger) = Ledger::restore(container, stored.clone()) else {
            return false;
        };
        self.ledger = ledger;
        self.index = I::restore(stored.index());
        self.restored = Some(stored);
        true
    }

    /// Reads the statements and edits of the segments into a ledger that is empty. Returns `false` if
    /// some cannot be read.
    async fn read_statements(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
    ) -> PortResult<bool> {
        let mut is_complete = true;
        for (segment, mut file) in read_files(ctx, tenant, segments).await? {
            if file.is_none() {
                is_complete = false;
                file = read_edits(ctx, tenant, segment).await?;
            }
            if let Some(file) = file {
                file.apply(&mut self.ledger);
            }
        }
        Ok(is_complete)
    }

    /// Reads the edits of the segments into a ledger that is empty. Those that cannot be read are left
    /// out.
    async fn read_edits(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
    ) -> PortResult<()> {
        for segment in segments {
            if let Some(file) = read_edits(ctx, tenant, segment).await? {
                file.apply(&mut self.ledger);
            }
        }
        Ok(())
    }

    /// Computes all memories, for an index that is empty.
    fn compute(&mut self) {
        self.ledger.recompute_memories();
        for memory in self.ledger.memories() {
            self.index.put(memory);
        }
        self.index.settle();
    }

    /// Computes the memories that have changed.
    fn settle(&mut self) {
        let changed = self.ledger.recompute_memories();
        for id in &changed.removed {
            self.index.remove(id);
        }
        for id in &changed.updated {
            if let Some(memory) = self.ledger.get(id) {
                self.index.put(&memory);
            }
        }
    }
}

/// Converts a memory for the search engine, with its record as the attributes. Only the latest version
/// has a chunk to find.
fn to_index(memory: &Memory) -> Document {
    let chunks = match memory.is_latest {
        true => vec![to_chunk(memory)],
        false => Vec::new(),
    };
    let live_until = memory.live_until();
    Document {
        id: memory.id.to_string(),
        attributes: memory.to_record().into(),
        expires_at: (memory.is_latest && live_until < i64::MAX).then_some(live_until),
        chunks,
    }
}

/// Returns the chunk of a memory. A query can also match the day on which it was said or to which it
/// refers, and the question that it answers in other words.
fn to_chunk(memory: &Memory) -> ChunkInput {
    let day = match memory.event {
        Some(event) => event.from,
        None => memory.said_at,
    };
    let day = day.format_long_date();
    let question = match &memory.topic_answer {
        Some(answer) => topic_question_words(answer),
        None => aspect_question_words(&memory.changed_aspects),
    };

    ChunkInput {
        text: memory.text.clone(),
        headings: format!("{day}\n{question}").trim_end().to_owned(),
        vector: StaticEmbedder.embed(&memory.text),
        position: 0,
        start: 0,
        end: u32::try_from(memory.text.chars().count()).unwrap_or(u32::MAX),
        model_vector: None,
    }
}
