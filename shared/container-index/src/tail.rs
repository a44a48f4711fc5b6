//! The chunks that the log has after the segments, for the next segment. The segments themselves are
//! not read.

use async_trait::async_trait;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, Document as Record, DocumentId, IndexHead, LogRecord, SegmentRef, Tenant,
};
use search_engine::{ContainerIndex, Replacing, SegmentError};
use service::Ctx;

use crate::chunks::{IndexedChunks, puts_and_removals, read_packs, to_index};
use crate::segments::{PartialSegment, SegmentReading};
use crate::view::{ContainerView, FetchedBlobs};

/// The documents that were put and removed after the segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkTail {
    index: ContainerIndex,
    /// The documents whose packs could not be read.
    unreadable: Vec<DocumentId>,
}

impl ChunkTail {
    /// Writes the documents as a segment that follows the segments.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if they do not fit into one.
    pub(crate) fn build_segment(&self) -> Result<Vec<u8>, SegmentError> {
        self.index.build_tail_segment(Replacing::ById)
    }
}

#[async_trait]
impl ContainerView for ChunkTail {
    fn empty(_: &ContainerId) -> Self {
        Self::default()
    }

    async fn read_segments(
        &mut self,
        _: &Ctx,
        _: &Tenant,
        _: &[SegmentRef],
        _: SegmentReading,
    ) -> PortResult<bool> {
        Ok(true)
    }

    fn partial_segments(&self) -> &[PartialSegment] {
        &[]
    }

    async fn recover_from_documents(
        &mut self,
        _: &Ctx,
        _: &Tenant,
        _: &[Record],
    ) -> PortResult<()> {
        // Nothing is read that could be damaged.
        Ok(())
    }

    fn list_blobs(records: &[LogRecord]) -> Vec<BlobRef> {
        IndexedChunks::list_blobs(records)
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
            self.index.remove_from_older(id.as_str());
        }
        read_packs(ctx, tenant, &puts, fetched, |document, pack| match pack {
            Some(pack) => self.index.upsert_document(to_index(document, &pack)),
            None => {
                self.index.remove_from_older(document.id.as_str());
                self.unreadable.push(document.id.clone());
            }
        })
        .await
    }

    fn take_unreadable(&mut self) -> Vec<DocumentId> {
        std::mem::take(&mut self.unreadable)
    }

    fn size_bytes(&self) -> usize {
        self.index.estimated_bytes()
    }

    fn expected_bytes(head: &IndexHead, reading: SegmentReading) -> usize {
        IndexedChunks::expected_bytes(head, reading)
    }

    fn tail_len(&self) -> usize {
        self.index.tail_chunks()
    }
}
