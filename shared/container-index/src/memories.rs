//! The memories of a container, for search and listing.

mod changes;
mod edits_file;
mod index;
mod listing;
mod store;

use std::collections::{BTreeSet, HashSet};
use std::iter::zip;
use std::sync::Arc;

use async_trait::async_trait;
use domain::container::LogEntry;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, Document as Record, DocumentId, IndexHead, IndexedDocument, LogRecord,
    MemoryEdit, MemoryIndexRef, SegmentRef, StatementSet, Tenant, Timestamp,
};
use memory_model::{DocumentStatements, Ledger};
use search_engine::{ContainerIndex, Document, Replacing, Segment, SegmentError};
use service::Ctx;
use tracing::debug;

use crate::chunks::last_of_each;
use crate::segments::{
    PartialSegment, SegmentReading, StoredFile, open_segments, read_once, read_until_fetched,
};
use crate::view::{ContainerView, FetchedBlobs};
use changes::{LogChanges, load_statements};
pub(crate) use edits_file::EditsFile;
pub use index::MemoryIndex;
pub use listing::{ListedMemory, listed_at};
use store::StoredLedger;

/// The bytes that a memory usually takes with its statements and its place in the index.
const EXPECTED_MEMORY_BYTES: u64 = 8 * 1024;
/// The bytes that a stored memory takes once a request has decoded it.
const DECODED_MEMORY_BYTES: usize = 1_000;
/// The memories that a log record usually adds.
const EXPECTED_RECORD_MEMORIES: u64 = 4;

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
    partial: Arc<[PartialSegment]>,
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
            partial: Arc::default(),
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

    /// Returns the number of memories that are live at `now`. Stored memories are counted without reading them:
    /// only latest versions have chunks, and a forgotten memory has a time of expiry in the past. Of partial
    /// segments, this is read through [`read_until_fetched`](crate::read_until_fetched).
    pub fn count_live(&self, now: Timestamp) -> u64 {
        let stored = self.inner.restored.as_ref().map(|stored| stored.index());
        let mut count = stored.map_or(0, |index| index.count_live_chunks(now.as_millis()));
        for (id, memory) in self.ledger().changed_memories() {
            let stored = stored.and_then(|index| index.document(id.as_str()));
            let was_live = stored.is_some_and(|stored| {
                let expires_at = stored.expires_at().unwrap_or(i64::MAX);
                stored.chunks > 0 && expires_at > now.as_millis()
            });
            count -= usize::from(was_live);
            count += usize::from(memory.is_some_and(|memory| memory.is_live(now)));
        }
        count as u64
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

    /// Returns the callers' edits after the segments, or all edits if [`IndexedMemories::extends_stored`] is
    /// false.
    pub(crate) fn edits_to_seal(&self) -> Vec<MemoryEdit> {
        match self.inner.extends_stored() {
            true => self.inner.tail.edits.clone(),
            false => self.inner.ledger.list_edits(),
        }
    }
}

impl IndexedMemories {
    /// Checks whether what has changed after the segments is stored beside them. Everything is stored anew
    /// if the memories of the segments were computed, or if an earlier version wrote their index.
    pub(crate) fn extends_stored(&self) -> bool {
        self.inner.extends_stored()
    }

    /// Returns what has changed in the index and the ledger after the segments as a file for the next
    /// segment, or `None` if nothing has. If [`IndexedMemories::extends_stored`] is false, the file has
    /// everything. Its shortlists have the memories that are live at `now`.
    ///
    /// # Errors
    /// [`SegmentError`] if a stored memory cannot be read.
    pub(crate) fn seal_tail_index(&self, now: Timestamp) -> Result<Option<Vec<u8>>, SegmentError> {
        let inner = &self.inner;
        if !inner.extends_stored() {
            return self.seal_whole_index(now);
        }
        if inner.tail.is_empty() {
            return Ok(None);
        }
        let index = inner.index_with_ledger(now);
        index.build_tail_segment(Replacing::ByNumber).map(Some)
    }

    /// Returns the index and the ledger as one file that replaces all others, or `None` if nothing is
    /// stated and nothing was edited. Its shortlists have the memories that are live at `now`.
    ///
    /// # Errors
    /// [`SegmentError`] if a stored memory cannot be read.
    pub(crate) fn seal_whole_index(&self, now: Timestamp) -> Result<Option<Vec<u8>>, SegmentError> {
        let inner = &self.inner;
        let is_empty = inner.ledger.all_document_statements().next().is_none()
            && inner.index.len_documents() == 0
            && inner.ledger.list_edits().is_empty();
        if is_empty {
            return Ok(None);
        }
        let index = inner.index_with_ledger(now);
        index.build_compacted(Replacing::ByNumber).map(Some)
    }
}

impl Inner<ContainerIndex> {
    /// Returns the index with all changed records of the ledger.
    fn index_with_ledger(&self, now: Timestamp) -> ContainerIndex {
        let mut index = self.index.clone();
        let in_core = self.ledger.core_keys();
        for (key, record) in self.ledger.changed_records(now) {
            match record {
                Some(record) => index.upsert_document(Document {
                    is_in_core: in_core.contains(&key),
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
        if have_statements && (indexes.is_empty() || !use_current_rules(&indexes)) {
            return Self::Statements;
        }
        Self::Indexes(indexes)
    }
}

/// Checks whether the rules of this program computed all memories of these indexes.
fn use_current_rules(indexes: &[&MemoryIndexRef]) -> bool {
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
) -> PortResult<Vec<(&'a SegmentRef, Option<EditsFile>)>> {
    let mut segments_with_memories: Vec<&SegmentRef> = Vec::new();
    let mut blobs: Vec<BlobRef> = Vec::new();
    for segment in segments {
        if let Some(blob) = &segment.memories {
            segments_with_memories.push(segment);
            blobs.push(blob.clone());
        }
    }

    let contents = ctx.blobs.read(tenant, &blobs).await?;
    let files = contents.into_iter().map(EditsFile::read);
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
) -> PortResult<Option<EditsFile>> {
    let Some(edits_blob) = &segment.edits else {
        return Ok(Some(EditsFile::default()));
    };

    let stored = ctx.blobs.read_one(tenant, edits_blob).await?;
    Ok(EditsFile::read(stored))
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
        reading: SegmentReading,
    ) -> PortResult<bool> {
        let inner = Arc::make_mut(&mut self.inner);
        let is_complete = match StoredMemories::of(segments) {
            StoredMemories::Statements => inner.read_statements(ctx, tenant, segments).await?,
            StoredMemories::Indexes(indexes) if indexes.is_empty() => {
                inner.read_edits(ctx, tenant, segments).await?;
                true
            }
            StoredMemories::Indexes(indexes) => {
                let is_restored = inner.read_indexes(ctx, tenant, &indexes, reading).await?;
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

    fn partial_segments(&self) -> &[PartialSegment] {
        &self.inner.partial
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
        let loaded = load_statements(ctx, tenant, &missing, FetchedBlobs::default()).await?;
        for (document, statements) in loaded {
            inner.insert_document(document, statements);
        }
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
        let changes = LogChanges::load(ctx, tenant, records, fetched).await?;
        let partial = self.inner.partial.clone();
        if partial.iter().all(PartialSegment::is_local) {
            let apply = || Arc::make_mut(&mut self.inner).apply(&changes);
            return read_once(ctx, tenant, &partial, apply).await;
        }

        let before = self.inner.clone();
        read_until_fetched(ctx, tenant, &partial, || {
            self.inner = before.clone();
            Arc::make_mut(&mut self.inner).apply(&changes);
        })
        .await
    }

    fn take_unreadable(&mut self) -> Vec<DocumentId> {
        std::mem::take(&mut Arc::make_mut(&mut self.inner).unreadable)
    }

    fn size_bytes(&self) -> usize {
        let inner = &self.inner;
        let stored = match &inner.restored {
            Some(restored) => restored.index().estimated_bytes(),
            None => 0,
        };
        // A view that was read as a whole stays in the cache after a profile has decoded all memories, so these
        // are counted from the start.
        let decoded = match &inner.restored {
            Some(restored) if I::IS_SEARCHED && inner.partial.is_empty() => {
                restored.index().len_chunks()
            }
            _ => inner.ledger.stored_memories_in_memory(),
        };
        let decoded = decoded * DECODED_MEMORY_BYTES;
        inner.ledger.estimated_bytes() + inner.index.bytes().max(stored) + decoded
    }

    fn size_when_read(&self) -> usize {
        let inner = &self.inner;
        let missing = inner.partial.iter().map(PartialSegment::missing_bytes);
        let stored = inner
            .restored
            .as_ref()
            .filter(|_| I::IS_SEARCHED && !inner.partial.is_empty());
        let stored = stored.map_or(0, |restored| restored.index().len_chunks());
        let not_decoded = stored.saturating_sub(inner.ledger.stored_memories_in_memory());
        self.size_bytes() + missing.sum::<usize>() + not_decoded * DECODED_MEMORY_BYTES
    }

    fn expected_bytes(head: &IndexHead, reading: SegmentReading) -> usize {
        let mut computed = head.uncovered_records() * EXPECTED_RECORD_MEMORIES;
        let mut stored = 0;
        match StoredMemories::of(&head.segments) {
            StoredMemories::Indexes(indexes) if use_current_rules(&indexes) => {
                let files = StoredFile::all_memories(&head.segments);
                stored = reading.for_view(I::IS_SEARCHED).bytes_of(&files);
            }
            StoredMemories::Indexes(_) | StoredMemories::Statements => {
                computed += head.memories.unwrap_or_default();
            }
        }
        usize::try_from(stored + computed * EXPECTED_MEMORY_BYTES).unwrap_or(usize::MAX)
    }

    fn tail_len(&self) -> usize {
        self.inner.tail.documents.len() + self.inner.tail.edits.len()
    }
}

impl<I: MemoryIndex> Inner<I> {
    fn extends_stored(&self) -> bool {
        let restored = self.restored.as_ref();
        restored.is_some_and(|stored| stored.index().replaces_by_number())
    }

    /// Applies changes of the log.
    fn apply(&mut self, changes: &LogChanges<'_>) {
        for id in &changes.removed {
            self.remove_document(id);
        }
        for (document, statements) in &changes.inserted {
            self.insert_document(document, statements.clone());
        }
        // An edit may name a memory of these documents. One of an unknown memory that does not name its
        // topic would compute all memories anew.
        self.update_changed_memories();
        for edit in &changes.edits {
            self.ledger.apply_edit(edit);
            self.tail.edits.push((*edit).clone());
        }
        self.update_changed_memories();
    }

    /// Inserts the statements of a document, in place of its former ones. Removes the document if its
    /// statements cannot be read.
    fn insert_document(&mut self, document: &IndexedDocument, statements: Option<StatementSet>) {
        let Some(statements) = statements else {
            // The statements are damaged, or they were purged after a later record, not read yet,
            // replaced or removed them.
            debug!(document.id = %document.id, "the statements of {} cannot be read", document.id);
            self.remove_document(&document.id);
            self.unreadable.push(document.id.clone());
            return;
        };

        self.ledger.insert_document(DocumentStatements {
            document: document.clone(),
            statements: statements.statements,
        });

        self.tail.documents.insert(document.id.clone());
    }

    /// Removes the statements of a document, if there are any.
    fn remove_document(&mut self, document: &DocumentId) {
        if self.ledger.document_statements(document).is_some() {
            self.ledger.remove_document(document);
            self.tail.documents.insert(document.clone());
        }
    }

    /// Reads the ledger and the index that were stored with the segments, oldest first. Returns `false` if
    /// a part cannot be read.
    async fn read_indexes(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        indexes: &[&MemoryIndexRef],
        reading: SegmentReading,
    ) -> PortResult<bool> {
        let are_current = use_current_rules(indexes);
        let reading = match reading {
            // All statements are read if the memories have to be computed from them.
            SegmentReading::Beginnings { .. } if !are_current => SegmentReading::Shared,
            reading => reading.for_view(I::IS_SEARCHED),
        };
        let files: Vec<StoredFile<'_>> = indexes
            .iter()
            .map(|index| StoredFile::of_memories(index))
            .collect();
        let (opened, partial) = open_segments(ctx, tenant, &files, reading).await?;
        let Some(opened) = opened.into_iter().collect::<Option<Vec<Arc<Segment>>>>() else {
            return Ok(false);
        };

        let mut index = ContainerIndex::new();
        for segment in opened {
            if index.push_segment(segment).is_err() {
                return Ok(false);
            }
        }
        let stored = Arc::new(StoredLedger::new(index));
        let is_restored =
            read_until_fetched(ctx, tenant, &partial, || self.restore(&stored, are_current))
                .await?;
        self.partial = partial.into();
        Ok(is_restored)
    }

    /// Restores the ledger and the index from what was stored. If other rules computed the memories, only
    /// their statements are restored. Returns `false` if a part is missing.
    fn restore(&mut self, stored: &Arc<StoredLedger>, are_current: bool) -> bool {
        let container = self.ledger.container().clone();
        if !are_current {
            let Some(ledger) = Ledger::restore_statements(container, stored.clone()) else {
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
        self.restored = Some(stored.clone());
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
        self.index.optimize();
    }

    /// Computes the memories that have changed.
    fn update_changed_memories(&mut self) {
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
