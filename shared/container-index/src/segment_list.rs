//! A new list of the segments of a container, from the first segment that is stored for it until it is
//! published.

use std::collections::HashSet;

use bytes::Bytes;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, IndexHead, MemoryEdit, MemoryIndexRef, PortError, Revision, SegmentRef,
    Tenant,
};
use memory_model::Ledger;
use search_engine::{Segment, SegmentError};
use service::Ctx;
use tracing::warn;

use crate::memories::EditsFile;
use crate::segments::FileSizes;

/// A segment whose large files are stored.
pub(crate) struct NewSegment {
    pub(crate) chunks: ChunkFile,
    pub(crate) edits: Vec<MemoryEdit>,
    pub(crate) memory_index: Option<MemoryIndexRef>,
    /// The newest log record in it.
    pub(crate) through: u64,
}

/// A stored file of chunks.
pub(crate) struct ChunkFile {
    blob: BlobRef,
    chunks: u64,
    sizes: FileSizes,
}

/// A list of segments that is to replace the published one.
pub(crate) struct SegmentList<'a> {
    pub(crate) ctx: &'a Ctx,
    pub(crate) tenant: &'a Tenant,
    pub(crate) id: &'a ContainerId,
    /// The segments, oldest first.
    pub(crate) segments: Vec<SegmentRef>,
    generation: u64,
    published: Vec<SegmentRef>,
    /// All blobs that were stored for the list. Those of segments that were merged again are no longer in
    /// it.
    stored: Vec<BlobRef>,
    /// True once the list may have been published.
    may_be_published: bool,
}

impl<'a> SegmentList<'a> {
    /// Creates a list with the segments that are published.
    pub(crate) fn new(
        ctx: &'a Ctx,
        tenant: &'a Tenant,
        id: &'a ContainerId,
        head: &IndexHead,
    ) -> Self {
        Self {
            ctx,
            tenant,
            id,
            segments: head.segments.clone(),
            generation: head.generation,
            published: head.segments.clone(),
            stored: Vec::new(),
            may_be_published: false,
        }
    }

    /// Returns the number of chunks of all segments.
    pub(crate) fn count_chunks(&self) -> u64 {
        self.segments.iter().map(|segment| segment.chunks).sum()
    }

    /// Adds a segment as the newest one.
    pub(crate) async fn push(&mut self, segment: NewSegment) -> PortResult<()> {
        let ChunkFile {
            blob,
            chunks,
            sizes,
        } = segment.chunks;
        let segment = SegmentRef {
            blob,
            through: segment.through,
            chunks,
            bytes: sizes.bytes,
            core_bytes: sizes.core_bytes,
            search_bytes: sizes.search_bytes,
            memories: None,
            edits: self.store_edits(segment.edits).await?,
            memory_index: segment.memory_index,
        };
        self.segments.push(segment);
        Ok(())
    }

    /// Stores the file of a segment's chunks. It is large, so it is not kept until other files are
    /// written.
    pub(crate) async fn store_chunks(&mut self, file: Vec<u8>) -> PortResult<ChunkFile> {
        let file = Bytes::from(file);
        let segment = Segment::open(file.clone()).map_err(index_error)?;
        Ok(ChunkFile {
            chunks: segment.len_chunks() as u64,
            sizes: FileSizes::of(&file),
            blob: self.store("", file).await?,
        })
    }

    /// Stores the index of a segment's memories.
    pub(crate) async fn store_memory_index(&mut self, file: Vec<u8>) -> PortResult<MemoryIndexRef> {
        let sizes = FileSizes::of(&file);
        Ok(MemoryIndexRef {
            blob: self.store("-index", file.into()).await?,
            rules: Ledger::RULES_VERSION,
            bytes: sizes.bytes,
            core_bytes: sizes.core_bytes,
            search_bytes: sizes.search_bytes,
        })
    }

    /// Stores the callers' edits, if there are any.
    async fn store_edits(&mut self, edits: Vec<MemoryEdit>) -> PortResult<Option<BlobRef>> {
        if edits.is_empty() {
            return Ok(None);
        }
        let file = EditsFile::new(edits).encode();
        Ok(Some(self.store("-actions", file.into()).await?))
    }

    async fn store(&mut self, suffix: &str, bytes: Bytes) -> PortResult<BlobRef> {
        let path = format!("{}/segments/{}{suffix}", self.id, Revision::random());
        let blob = self.ctx.blobs.put(self.tenant, &path, bytes).await?;
        self.stored.push(blob.clone());
        Ok(blob)
    }

    /// Publishes the list with the number of live memories, unless the published list has changed. Blobs
    /// that are in neither list afterwards are purged. Returns `false` if the list was not published.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub(crate) async fn publish(&mut self, memories: u64) -> PortResult<bool> {
        self.may_be_published = true;
        let index = &self.ctx.index;
        let is_published = index
            .publish_segments(
                self.tenant,
                self.id,
                self.generation,
                &self.segments,
                memories,
            )
            .await?;
        if is_published {
            let former = blobs_of(&self.published);
            self.purge_others(former.chain(&self.stored), &self.segments)
                .await?;
        } else {
            // The list may have been published all the same: the response was lost, and a later
            // compaction may have kept its segments.
            let current = index.get_head(self.tenant, self.id).await?.segments;
            self.purge_others(self.stored.iter(), &current).await?;
        }
        Ok(is_published)
    }

    /// Schedules a purge of everything that was stored for a list that is not published. Does nothing if a
    /// publication may still arrive. What this leaves behind is found as an orphan.
    pub(crate) async fn discard(&self) {
        if self.may_be_published {
            return;
        }
        if let Err(error) = self.purge_others(self.stored.iter(), &[]).await {
            warn!(container.id = %self.id, error = &error as &dyn std::error::Error,
                "could not remove the segments of a compaction that failed");
        }
    }

    /// Schedules a purge of those of these blobs that `segments` do not have.
    async fn purge_others(
        &self,
        blobs: impl Iterator<Item = &BlobRef>,
        segments: &[SegmentRef],
    ) -> PortResult<()> {
        let kept: HashSet<&BlobRef> = blobs_of(segments).collect();
        let others: Vec<BlobRef> = blobs.filter(|blob| !kept.contains(blob)).cloned().collect();
        if !others.is_empty() {
            // No message is sent. The sweep finds the record in a minute, when no reader can still be
            // about to open these blobs.
            self.ctx
                .index
                .record_purge(self.tenant, self.id, &others, self.ctx.clock.now())
                .await?;
        }
        Ok(())
    }
}

/// Returns all blobs of these segments.
fn blobs_of(segments: &[SegmentRef]) -> impl Iterator<Item = &BlobRef> {
    segments.iter().flat_map(SegmentRef::blobs)
}

pub(crate) fn index_error(error: SegmentError) -> PortError {
    match error {
        SegmentError::TooLarge(_) => PortError::Internal(Box::new(error)),
        _ => PortError::Corrupt(format!("index: {error}")),
    }
}
