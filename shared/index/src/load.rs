//! Folding segments and log records into a [`ContainerIndex`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::BlobRef;
use domain::container::LogEntry;
use domain::ports::PortResult;
use domain::{ContainerId, Ctx, IndexHead, LogRecord, Pack, PortError, SearchDocument, SegmentRef, Tenant};
use retrieval::{ChunkInput, ContainerIndex, DIMENSIONS, Document, Segment, Vector};
use tracing::warn;

/// How many packs are read in one go.
const PACKS_AT_ONCE: usize = 100;
/// How often the log is asked for a record that the head already counts, and the pause that grows in between.
const LOG_ATTEMPTS: u32 = 5;
const LOG_PAUSE: Duration = Duration::from_millis(4);
/// How often a reader starts over when compaction replaces what it is about to read.
const ATTEMPTS: usize = 4;

/// An index and the point of the log that it is complete up to.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The newest log record folded in.
    pub seq: u64,
    /// The segments it was built on.
    pub segments: Vec<(SegmentRef, Arc<Segment>)>,
    /// The generation of that list.
    pub generation: u64,
    /// The index.
    pub index: ContainerIndex,
}

/// What the index shows of a hit's document.
///
/// # Errors
/// [`PortError::Corrupt`] when the attributes are not what this crate stored.
pub fn attributes(bytes: &[u8]) -> PortResult<SearchDocument> {
    serde_json::from_slice(bytes).map_err(|_| PortError::Corrupt("attributes of an indexed document".into()))
}

impl Loaded {
    /// Reads a container from nothing, up to at least `head`.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn read(
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        head: IndexHead,
    ) -> PortResult<Self> {
        let mut head = head;
        for _ in 0..ATTEMPTS {
            // Between the read of the head and the reads below, compaction may have deleted a segment (a minute after
            // it was replaced) or trimmed the log; then the new head shows the way.
            if let Some(mut loaded) = Self::open_segments(ctx, tenant, &head).await?
                && loaded.follow(ctx, tenant, id, head.seq).await?
            {
                return Ok(loaded);
            }
            head = ctx.index.head(tenant, id).await?;
        }
        Err(PortError::Unavailable("the index kept changing while it was read".into()))
    }

    async fn open_segments(ctx: &Ctx, tenant: &Tenant, head: &IndexHead) -> PortResult<Option<Self>> {
        let blobs: Vec<BlobRef> = head.segments.iter().map(|segment| segment.blob.clone()).collect();
        let mut loaded = Self { seq: head.through(), generation: head.generation, ..Self::default() };
        for (segment, bytes) in head.segments.iter().zip(ctx.blobs.get(tenant, &blobs).await?) {
            let Some(bytes) = bytes else {
                return Ok(None);
            };
            let opened =
                Segment::open(bytes).map_err(|error| PortError::Corrupt(format!("segment: {error}")))?;
            let opened = Arc::new(opened);
            loaded.index.push_segment(opened.clone());
            loaded.segments.push((segment.clone(), opened));
        }
        Ok(Some(loaded))
    }

    /// Folds in the log up to at least `seq`; `false` when part of it is no longer there.
    pub(crate) async fn follow(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        seq: u64,
    ) -> PortResult<bool> {
        for attempt in 0..LOG_ATTEMPTS {
            if self.seq >= seq {
                return Ok(true);
            }
            // A query may see part of a transaction: the head first, the record some milliseconds later.
            if attempt > 0 {
                tokio::time::sleep(LOG_PAUSE * attempt).await;
            }
            let records = ctx.index.log(tenant, id, self.seq).await?;
            let contiguous =
                records.iter().zip(self.seq + 1..).all(|(record, expected)| record.seq == expected);
            if !contiguous {
                return Ok(false);
            }
            if !records.is_empty() {
                self.fold(ctx, tenant, &records).await?;
            }
        }
        Ok(self.seq >= seq)
    }

    async fn fold(&mut self, ctx: &Ctx, tenant: &Tenant, records: &[LogRecord]) -> PortResult<()> {
        // Of several entries about one document only the last one counts, and only its pack still has to exist.
        let mut last: HashMap<&str, &LogEntry> = HashMap::new();
        for entry in records.iter().flat_map(|record| &record.entries) {
            last.insert(entry_id(entry), entry);
        }
        let mut puts: Vec<(&BlobRef, &SearchDocument)> = Vec::new();
        for entry in last.values() {
            match entry {
                LogEntry::Put { pack, document } => puts.push((pack, document)),
                LogEntry::Remove { id } => {
                    self.index.remove(id.as_str());
                }
            }
        }
        puts.sort_by(|a, b| a.1.id.cmp(&b.1.id));
        for batch in puts.chunks(PACKS_AT_ONCE) {
            let blobs: Vec<BlobRef> = batch.iter().map(|(pack, _)| (*pack).clone()).collect();
            for ((_, document), bytes) in batch.iter().zip(ctx.blobs.get(tenant, &blobs).await?) {
                self.put(document, bytes)?;
            }
        }
        self.seq = records.last().map_or(self.seq, |record| record.seq);
        Ok(())
    }

    fn put(&mut self, document: &SearchDocument, pack: Option<Bytes>) -> PortResult<()> {
        let Some(pack) = pack else {
            // Its bytes are purged after a later record replaced or removed it, so that record is on its way.
            warn!(document.id = %document.id, "the pack of {} is gone; a newer record follows", document.id);
            self.index.remove(document.id.as_str());
            return Ok(());
        };
        self.index.upsert(to_index(document, &Pack::decode(&pack)?));
        Ok(())
    }
}

fn entry_id(entry: &LogEntry) -> &str {
    match entry {
        LogEntry::Put { document, .. } => document.id.as_str(),
        LogEntry::Remove { id } => id.as_str(),
    }
}

/// A document as the engine takes it. Its title counts as the outermost heading.
fn to_index(document: &SearchDocument, pack: &Pack) -> Document {
    let chunk = |(position, (chunk, text)): (usize, (&domain::PackedChunk, &str))| {
        let title = document.title.iter().filter(|title| chunk.headings.first() != Some(title));
        let headings: Vec<&str> = title.chain(&chunk.headings).map(String::as_str).collect();
        let mut vector = [0i8; DIMENSIONS];
        let known = chunk.vector.len().min(DIMENSIONS);
        vector[..known].copy_from_slice(&chunk.vector[..known]);
        ChunkInput {
            text: text.to_owned(),
            headings: headings.join("\n"),
            vector: Vector(vector),
            position: u32::try_from(position).unwrap_or(u32::MAX),
            start: u32::try_from(chunk.start).unwrap_or(u32::MAX),
            end: u32::try_from(chunk.end).unwrap_or(u32::MAX),
        }
    };
    Document {
        id: document.id.as_str().to_owned(),
        attributes: serde_json::to_vec(document).expect("our own types have string keys").into(),
        chunks: pack.chunks.iter().zip(pack.chunk_texts()).enumerate().map(chunk).collect(),
    }
}
