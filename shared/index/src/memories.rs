//! The memories of a container, to be searched and listed.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use domain::container::LogEntry;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, Ctx, DocumentId, LogRecord, MemoryAction, MemoryId, PortError, SearchDocument,
    SegmentRef, Statement, Statements, Tenant, Timestamp,
};
use memory::asking::question_words;
use memory::{Ledger, Memory, Told};
use retrieval::{ChunkInput, ContainerIndex, Document, Embedder, Segment, StaticEmbedder};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::chunks::last_of_each;
use crate::view::View;

/// How many documents' statements are read in one go.
const BLOBS_AT_ONCE: usize = 100;
/// From this many memories on, those that were just read become a segment: a tail would be copied with each change.
const SEAL_FROM: usize = 512;

/// Where memories are found by a question; `()` for readers that never ask one.
pub trait MemoryIndex: Clone + Default + Send + Sync {
    /// Adds or keeps a memory.
    fn put(&mut self, memory: &Memory);
    /// Takes a memory out.
    fn remove(&mut self, id: &MemoryId);
    /// Told once, after everything that is stored was put.
    fn settle(&mut self);
    /// About how many bytes it holds.
    fn bytes(&self) -> usize;
}

impl MemoryIndex for () {
    fn put(&mut self, _: &Memory) {}
    fn remove(&mut self, _: &MemoryId) {}
    fn settle(&mut self) {}
    fn bytes(&self) -> usize {
        0
    }
}

impl MemoryIndex for ContainerIndex {
    fn put(&mut self, memory: &Memory) {
        self.upsert(to_index(memory));
    }

    fn remove(&mut self, id: &MemoryId) {
        Self::remove(self, id.as_str());
    }

    fn settle(&mut self) {
        if self.tail_chunks() < SEAL_FROM {
            return;
        }
        // Only its speed is lost when it cannot be sealed.
        if let Some(segment) = self.compact().ok().and_then(|file| Segment::open(file.into()).ok()) {
            *self = Self::new();
            self.push_segment(Arc::new(segment));
        }
    }

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }
}

/// The memories of a container: the ledger they are computed in, and where the latest ones are found, forgotten ones
/// among them.
#[derive(Debug, Clone)]
pub struct Memories<I = ContainerIndex> {
    inner: Arc<Inner<I>>,
}

#[derive(Debug, Clone)]
struct Inner<I> {
    ledger: Ledger,
    index: I,
    tail: Tail,
}

/// What came after the segments.
#[derive(Debug, Clone, Default)]
struct Tail {
    /// Documents that state something (`true`), or no longer do.
    documents: BTreeMap<DocumentId, bool>,
    actions: Vec<MemoryAction>,
}

impl<I: MemoryIndex> Memories<I> {
    /// What is computed.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Where the latest memories are found, by their ids.
    pub fn index(&self) -> &I {
        &self.inner.index
    }

    /// The memories as they would be if nothing had been recorded after `recorded` and nothing been said after `said`.
    #[must_use]
    pub fn as_of(&self, recorded: Timestamp, said: Timestamp) -> Self {
        let ledger = self.inner.ledger.as_of(recorded, said);
        let mut inner = Inner { ledger, index: I::default(), tail: Tail::default() };
        inner.index_all();
        Self { inner: Arc::new(inner) }
    }

    /// What came after the segments, as a file to go with the next one; none when nothing did.
    pub(crate) fn seal_tail(&self) -> Option<MemoryFile> {
        let inner = &self.inner;
        let mut file =
            MemoryFile { v: MemoryFile::VERSION, actions: inner.tail.actions.clone(), ..Default::default() };
        for (id, states) in &inner.tail.documents {
            match inner.ledger.told(id).filter(|_| *states) {
                Some(told) => {
                    let (document, statements) = (told.document.clone(), told.statements.clone());
                    file.told.push(FiledDocument { document, statements });
                }
                None => file.gone.push(id.clone()),
            }
        }
        (!file.is_empty()).then_some(file)
    }
}

#[async_trait]
impl<I: MemoryIndex> View for Memories<I> {
    fn empty(container: &ContainerId) -> Self {
        let ledger = Ledger::new(container.clone());
        Self { inner: Arc::new(Inner { ledger, index: I::default(), tail: Tail::default() }) }
    }

    async fn read_segments(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
    ) -> PortResult<bool> {
        let blobs: Vec<BlobRef> = segments.iter().filter_map(|segment| segment.memories.clone()).collect();
        let inner = Arc::make_mut(&mut self.inner);
        for bytes in ctx.blobs.get(tenant, &blobs).await? {
            let Some(bytes) = bytes else {
                return Ok(false);
            };
            MemoryFile::decode(&bytes)?.apply(&mut inner.ledger);
        }
        inner.ledger.settle();
        inner.index_all();
        Ok(true)
    }

    async fn fold(&mut self, ctx: &Ctx, tenant: &Tenant, records: &[LogRecord]) -> PortResult<()> {
        let inner = Arc::make_mut(&mut self.inner);
        let mut puts: Vec<(&BlobRef, &SearchDocument)> = Vec::new();
        for entry in last_of_each(records) {
            match entry {
                LogEntry::Put { statements: Some(statements), document, .. } => {
                    puts.push((statements, document))
                }
                LogEntry::Put { document, .. } => inner.retract(&document.id),
                LogEntry::Remove { id } => inner.retract(id),
                LogEntry::Act { .. } => {}
            }
        }
        for batch in puts.chunks(BLOBS_AT_ONCE) {
            let blobs: Vec<BlobRef> = batch.iter().map(|(statements, _)| (*statements).clone()).collect();
            for ((_, document), bytes) in batch.iter().zip(ctx.blobs.get(tenant, &blobs).await?) {
                inner.tell(document, bytes)?;
            }
        }
        for entry in records.iter().flat_map(|record| &record.entries) {
            if let LogEntry::Act { action } = entry {
                inner.ledger.act(action);
                inner.tail.actions.push(action.clone());
            }
        }
        inner.settle();
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.inner.ledger.bytes() + self.inner.index.bytes()
    }

    fn tail_len(&self) -> usize {
        self.inner.tail.documents.len() + self.inner.tail.actions.len()
    }
}

impl<I: MemoryIndex> Inner<I> {
    fn tell(&mut self, document: &SearchDocument, statements: Option<Bytes>) -> PortResult<()> {
        let Some(statements) = statements else {
            // They are purged after a later record replaced or removed the document, so that record is on its way.
            warn!(document.id = %document.id, "the statements of {} are gone; a newer record follows", document.id);
            self.retract(&document.id);
            return Ok(());
        };
        let statements = Statements::decode(&statements)?.statements;
        self.ledger.tell(Told { document: document.clone(), statements });
        self.tail.documents.insert(document.id.clone(), true);
        Ok(())
    }

    fn retract(&mut self, document: &DocumentId) {
        if self.ledger.told(document).is_some() {
            self.ledger.retract(document);
            self.tail.documents.insert(document.clone(), false);
        }
    }

    fn settle(&mut self) {
        let changed = self.ledger.settle();
        for id in &changed.removed {
            self.index.remove(id);
        }
        for id in &changed.written {
            match self.ledger.get(id) {
                Some(memory) if memory.is_latest => self.index.put(memory),
                _ => self.index.remove(id),
            }
        }
    }

    fn index_all(&mut self) {
        let latest = self.ledger.memories().filter(|memory| memory.is_latest);
        latest.for_each(|memory| self.index.put(memory));
        self.index.settle();
    }
}

/// A memory as the engine takes it. The day on which it was said, or of which it tells, can be asked for, and what it
/// answers in other words than its own.
fn to_index(memory: &Memory) -> Document {
    let day = memory.event.map_or(memory.said_at, |event| event.from).long_date();
    let asked = memory.answers.as_ref().map(question_words).unwrap_or_default();
    let chunk = ChunkInput {
        text: memory.text.clone(),
        headings: format!("{day}\n{asked}").trim_end().to_owned(),
        vector: StaticEmbedder.embed(&memory.text),
        position: 0,
        start: 0,
        end: u32::try_from(memory.text.chars().count()).unwrap_or(u32::MAX),
    };
    Document { id: memory.id.to_string(), attributes: Bytes::new(), chunks: vec![chunk] }
}

/// What documents state and callers did between two points of the log, as one immutable blob beside a segment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct MemoryFile {
    /// Version of this shape.
    v: u8,
    /// Documents that state something.
    told: Vec<FiledDocument>,
    /// Documents that no longer do.
    gone: Vec<DocumentId>,
    actions: Vec<MemoryAction>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FiledDocument {
    document: SearchDocument,
    statements: Vec<Statement>,
}

impl MemoryFile {
    const VERSION: u8 = 1;
    /// The most bytes that a blob may unpack to.
    const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

    fn is_empty(&self) -> bool {
        self.told.is_empty() && self.gone.is_empty() && self.actions.is_empty()
    }

    /// The blob: JSON under zstd.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("our own types have string keys");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// [`PortError::Corrupt`] when it is not one that [`MemoryFile::encode`] wrote.
    pub(crate) fn decode(blob: &[u8]) -> PortResult<Self> {
        let corrupt = |error: &dyn std::fmt::Display| PortError::Corrupt(format!("memories: {error}"));
        let decoder = zstd::stream::Decoder::new(blob).map_err(|error| corrupt(&error))?;
        let mut json = Vec::new();
        decoder.take(Self::MAX_BYTES).read_to_end(&mut json).map_err(|error| corrupt(&error))?;
        serde_json::from_slice(&json).map_err(|error| corrupt(&error))
    }

    fn apply(self, ledger: &mut Ledger) {
        self.gone.iter().for_each(|id| ledger.retract(id));
        for FiledDocument { document, statements } in self.told {
            ledger.tell(Told { document, statements });
        }
        self.actions.iter().for_each(|action| ledger.act(action));
    }

    /// Both as one. With `oldest` nothing older exists, so what is gone need not be carried on.
    pub(crate) fn merge(older: Self, newer: Self, oldest: bool) -> Self {
        let mut states: BTreeMap<DocumentId, Option<FiledDocument>> = BTreeMap::new();
        for file in [&older, &newer] {
            states.extend(file.gone.iter().map(|id| (id.clone(), None)));
            states.extend(file.told.iter().map(|told| (told.document.id.clone(), Some(told.clone()))));
        }
        let mut merged = Self { v: Self::VERSION, ..Self::default() };
        for (id, told) in states {
            match told {
                Some(told) => merged.told.push(told),
                None if oldest => {}
                None => merged.gone.push(id),
            }
        }
        merged.actions = older.actions.into_iter().chain(newer.actions).collect();
        merged
    }
}
