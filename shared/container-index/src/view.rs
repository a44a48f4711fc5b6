//! Views: values computed from a container's segments and log.

use std::collections::HashMap;
use std::iter::zip;
use std::time::Duration;

use async_trait::async_trait;
use domain::ports::{BlobContent, PortResult};
use domain::{
    BlobRef, ContainerId, Document, DocumentId, IndexHead, LogRecord, PortError, SegmentRef,
    Tenant, Timestamp,
};
use service::{Ctx, request_compaction};
use tracing::warn;

use crate::segments::{PartialSegment, SegmentReading};

/// The number of reads of the log for a record that the head already counts. The pause between them
/// grows.
const LOG_ATTEMPTS: u32 = 5;
const LOG_PAUSE: Duration = Duration::from_millis(4);
/// The number of document records that one read fetches.
const RECORD_BATCH_SIZE: usize = 100;
/// The number of documents and edits in a log from which a reader that has read it requests its compaction. For each of
/// them, a reader without a view fetches a pack and statements, and computes their memories.
const LONG_LOG: usize = 16;
/// The number of attempts to read a container while compaction replaces what is about to be read.
const ATTEMPTS: usize = 4;

/// A value computed from a container's segments and log. A clone is a snapshot and must be cheap.
#[async_trait]
pub trait ContainerView: Clone + Send + Sync {
    /// Returns the view of an empty container.
    fn empty(container: &ContainerId) -> Self;

    /// Adds segments, oldest first, to an empty view. Returns `false` when a segment is missing or
    /// cannot be read; the others are added.
    async fn read_segments(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
        reading: SegmentReading,
    ) -> PortResult<bool>;

    /// Returns the segments of which pages may be missing. Reads of the view may lack parts of
    /// them, so they go through [`read_until_fetched`](crate::read_until_fetched).
    fn partial_segments(&self) -> &[PartialSegment];

    /// Completes a view with missing segments from the records of the documents, which are all that
    /// search serves. Removes documents that are not among them, and reads missing ones from their
    /// own blobs.
    async fn recover_from_documents(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        documents: &[Document],
    ) -> PortResult<()>;

    /// Returns the blobs that [`ContainerView::apply_records`] reads for these records.
    fn list_blobs(records: &[LogRecord]) -> Vec<BlobRef>;

    /// Applies records of the log, in their order. A document whose blobs cannot be read is left
    /// out and remembered.
    async fn apply_records(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        records: &[LogRecord],
        fetched: FetchedBlobs,
    ) -> PortResult<()>;

    /// Returns the documents whose blobs could not be read since the last call.
    fn take_unreadable(&mut self) -> Vec<DocumentId>;

    /// Returns the approximate size in bytes.
    fn size_bytes(&self) -> usize;

    /// Estimates the size in bytes once requests have read everything.
    fn size_when_read(&self) -> usize {
        let missing = self.partial_segments().iter();
        self.size_bytes() + missing.map(PartialSegment::missing_bytes).sum::<usize>()
    }

    /// Estimates the size in bytes of the view of a container before it is read.
    fn expected_bytes(head: &IndexHead, reading: SegmentReading) -> usize;

    /// Returns the size of the part that is not from segments, in chunks or a similar unit.
    fn tail_len(&self) -> usize;
}

/// The state of a container's index: its head, and the log records that no segment covers, if they
/// were read with it.
#[derive(Debug, Clone)]
pub struct ContainerState {
    pub(crate) head: IndexHead,
    /// The time at which the head was about to be read.
    pub(crate) read_at: Timestamp,
    records: Option<Vec<LogRecord>>,
}

impl ContainerState {
    /// Reads what the views of the container need: the head if they are warm, and the log as well if
    /// one of them is not. Requests the compaction of a long log, so that later readers find segments.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub async fn read(
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        are_warm: bool,
    ) -> PortResult<Self> {
        if !are_warm {
            let state = Self::read_all(ctx, tenant, id).await?;
            if state.has_long_log() {
                request_compaction(ctx, tenant, id, state.head.seq).await;
            }
            return Ok(state);
        }
        let read_at = ctx.clock.now();
        let head = ctx.index.get_head(tenant, id).await?;
        Ok(Self::of_head(head, read_at))
    }

    /// Takes a head that was read at about this time, for views that are warm.
    pub(crate) fn of_head(head: IndexHead, read_at: Timestamp) -> Self {
        Self {
            head,
            read_at,
            records: None,
        }
    }

    /// Reads the head and the log, for a view that is read from scratch.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub(crate) async fn read_all(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<Self> {
        let read_at = ctx.clock.now();
        let (head, records) = ctx.index.read_head_and_log(tenant, id).await?;
        Ok(Self {
            head,
            read_at,
            records: Some(records),
        })
    }

    fn has_long_log(&self) -> bool {
        let records = self.records.iter().flatten();
        records.map(|record| record.entries.len()).sum::<usize>() >= LONG_LOG
    }
}

/// Blobs that were fetched before they are needed. The others are read when they are needed.
#[derive(Debug, Default)]
pub struct FetchedBlobs(HashMap<BlobRef, BlobContent>);

impl FetchedBlobs {
    /// The most blobs that are held before they are needed.
    const MAX_BLOBS: usize = 512;

    /// Fetches the first of these blobs.
    async fn fetch(ctx: &Ctx, tenant: &Tenant, mut blobs: Vec<BlobRef>) -> PortResult<Self> {
        blobs.truncate(Self::MAX_BLOBS);
        let contents = ctx.blobs.read(tenant, &blobs).await?;
        Ok(Self(zip(blobs, contents).collect()))
    }

    /// Returns the contents of these blobs, and reads those that were not fetched.
    pub(crate) async fn take(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        blobs: &[BlobRef],
    ) -> PortResult<Vec<BlobContent>> {
        let mut missing = blobs.to_vec();
        missing.retain(|blob| !self.0.contains_key(blob));
        if !missing.is_empty() {
            let contents = ctx.blobs.read(tenant, &missing).await?;
            self.0.extend(zip(missing, contents));
        }

        let contents = blobs.iter().map(|blob| self.0.remove(blob));
        Ok(contents
            .map(|content| content.unwrap_or(BlobContent::Missing))
            .collect())
    }
}

/// A view with the point of the log up to which it is complete.
#[derive(Debug, Clone)]
pub(crate) struct Loaded<V> {
    /// The newest log record that was applied.
    pub(crate) seq: u64,
    /// The generation of the segments on which the view was built.
    pub(crate) generation: u64,
    /// The incarnation of the container: the same log has the same one.
    pub(crate) incarnation: Option<String>,
    /// The last time at which these were seen to be the segments of the container.
    pub(crate) current_at: Timestamp,
    /// `true` if segments could not be read, so that compaction has to rewrite them.
    pub(crate) is_recovered: bool,
    pub(crate) view: V,
}

impl<V: ContainerView> Loaded<V> {
    /// Reads a container from scratch, up to at least the head of `state`.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub(crate) async fn read(
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        state: ContainerState,
        mut reading: SegmentReading,
    ) -> PortResult<Self> {
        let ContainerState {
            mut head,
            mut read_at,
            records,
        } = state;
        let mut records = records.unwrap_or_default();
        for _ in 0..ATTEMPTS {
            // Between the read of the head and the reads below, compaction may have deleted a
            // segment (a minute after it was replaced) or trimmed the log. The new head then leads
            // to the present state.
            let (seq, generation) = (head.covered_through(), head.generation);
            let mut loaded = Self {
                seq,
                generation,
                incarnation: head.incarnation.clone(),
                current_at: read_at,
                is_recovered: false,
                view: V::empty(id),
            };

            // The blobs of the log are fetched while the segments are read.
            let (is_complete, fetched) = tokio::try_join!(
                loaded
                    .view
                    .read_segments(ctx, tenant, &head.segments, reading),
                FetchedBlobs::fetch(ctx, tenant, V::list_blobs(&records)),
            )?;
            if is_complete
                && loaded.apply(ctx, tenant, &records, fetched).await?
                && loaded.follow(ctx, tenant, id, head.seq).await?
            {
                return Ok(loaded);
            }
            records.clear();

            read_at = ctx.clock.now();
            let current_head = ctx.index.get_head(tenant, id).await?;
            let is_damaged = !is_complete && current_head.generation == generation;
            if is_damaged && reading == SegmentReading::Whole {
                warn!(container.id = %id, "segments of {id} cannot be read; its documents are read instead");
                loaded.recover(ctx, tenant, id).await?;
                if loaded.follow(ctx, tenant, id, current_head.seq).await? {
                    return Ok(loaded);
                }
            }

            // A damaged segment is recovered by a reader that reads everything from the store.
            if is_damaged {
                reading = SegmentReading::Whole;
            }
            head = current_head;
        }

        Err(PortError::Unavailable(
            "the index kept changing while it was read".into(),
        ))
    }

    /// Reads a container from the records of its documents, whatever its segments hold of them.
    /// Callers' edits of memories are read from the segments, because they are stored nowhere else.
    ///
    /// # Errors
    /// Returns the errors of the ports.
    pub(crate) async fn read_from_documents(
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        head: &IndexHead,
    ) -> PortResult<Self> {
        let (seq, generation) = (head.covered_through(), head.generation);
        let mut loaded = Self {
            seq,
            generation,
            incarnation: head.incarnation.clone(),
            current_at: ctx.clock.now(),
            is_recovered: true,
            view: V::empty(id),
        };

        loaded
            .view
            .read_segments(ctx, tenant, &head.segments, SegmentReading::Whole)
            .await?;
        loaded.recover(ctx, tenant, id).await?;
        if loaded.follow(ctx, tenant, id, head.seq).await? {
            return Ok(loaded);
        }

        Err(PortError::Unavailable(
            "the index kept changing while it was read".into(),
        ))
    }

    /// Completes the view without the segments that cannot be read: first from the records of the
    /// documents, then from all that is left of the log, which has changes that the listing of the
    /// documents may not show yet.
    async fn recover(&mut self, ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<()> {
        let documents = served_documents(ctx, tenant, id).await?;
        self.view
            .recover_from_documents(ctx, tenant, &documents)
            .await?;
        let records = ctx.index.read_log(tenant, id, 0).await?;
        self.view
            .apply_records(ctx, tenant, &records, FetchedBlobs::default())
            .await?;
        if let Some(last) = records.last() {
            self.seq = self.seq.max(last.seq);
        }
        self.is_recovered = true;
        Ok(())
    }

    /// Applies the log up to at least `seq`. Returns `false` when a part of it no longer exists.
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

            // A query may see part of a transaction: the head first, and the record some
            // milliseconds later.
            if attempt > 0 {
                tokio::time::sleep(LOG_PAUSE * attempt).await;
            }

            let records = ctx.index.read_log(tenant, id, self.seq).await?;
            let fetched = FetchedBlobs::default();
            if !self.apply(ctx, tenant, &records, fetched).await? {
                return Ok(false);
            }
        }

        Ok(self.seq >= seq)
    }

    /// Applies the log as [`Self::follow`] does. Returns `false` also if a part of a segment cannot be read, for
    /// instance because the segment was replaced and purged.
    pub(crate) async fn follow_intact(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        id: &ContainerId,
        seq: u64,
    ) -> PortResult<bool> {
        match self.follow(ctx, tenant, id, seq).await {
            Err(PortError::Corrupt(_)) => Ok(false),
            followed => followed,
        }
    }

    /// Applies the next records of the log. Returns `false` when one of them is missing.
    async fn apply(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        records: &[LogRecord],
        fetched: FetchedBlobs,
    ) -> PortResult<bool> {
        let is_contiguous = records
            .iter()
            .zip(self.seq + 1..)
            .all(|(record, expected)| record.seq == expected);
        if !is_contiguous {
            return Ok(false);
        }

        if let Some(last) = records.last() {
            self.view
                .apply_records(ctx, tenant, records, fetched)
                .await?;
            self.seq = last.seq;
        }
        Ok(true)
    }
}

/// Reads both views of the container.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn read_views<C: ContainerView, M: ContainerView>(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    state: ContainerState,
    reading: SegmentReading,
) -> PortResult<(Loaded<C>, Loaded<M>)> {
    let chunks = Loaded::<C>::read(ctx, tenant, id, state.clone(), reading).await?;
    let memories = Loaded::<M>::read(ctx, tenant, id, state, reading).await?;
    Ok((chunks, memories))
}

/// Returns the documents of a container that search serves, as they are now.
pub(crate) async fn served_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
) -> PortResult<Vec<Document>> {
    let documents = ctx.documents.list(tenant, id).await?;
    let ids: Vec<DocumentId> = documents.into_iter().map(|document| document.id).collect();
    let mut served = Vec::with_capacity(ids.len());
    for batch in ids.chunks(RECORD_BATCH_SIZE) {
        let found = ctx.documents.get(tenant, batch).await?;
        for document in found.into_iter().flatten() {
            if document.container == *id && document.is_served() {
                served.push(document);
            }
        }
    }

    Ok(served)
}
