//! What is folded from a container's segments and log.

use std::time::Duration;

use async_trait::async_trait;
use domain::ports::PortResult;
use domain::{ContainerId, Ctx, IndexHead, LogRecord, PortError, SegmentRef, Tenant};

/// How often the log is asked for a record that the head already counts, and the pause that grows in between.
const LOG_ATTEMPTS: u32 = 5;
const LOG_PAUSE: Duration = Duration::from_millis(4);
/// How often a reader starts over when compaction replaces what it is about to read.
const ATTEMPTS: usize = 4;

/// Something that is folded from a container's segments and log. A clone is a snapshot and must be cheap.
#[async_trait]
pub trait View: Clone + Send + Sync {
    /// The view of an empty container.
    fn empty(container: &ContainerId) -> Self;

    /// Adds segments, oldest first, to an empty view; `false` when one is no longer there.
    async fn read_segments(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        segments: &[SegmentRef],
    ) -> PortResult<bool>;

    /// Adds records of the log, in their order.
    async fn fold(&mut self, ctx: &Ctx, tenant: &Tenant, records: &[LogRecord]) -> PortResult<()>;

    /// About how many bytes it holds.
    fn bytes(&self) -> usize;

    /// How much of it is not from segments, in chunks or the like.
    fn tail_len(&self) -> usize;
}

/// A view and the point of the log that it is complete up to.
#[derive(Debug, Clone)]
pub(crate) struct Loaded<V> {
    /// The newest log record folded in.
    pub(crate) seq: u64,
    /// The generation of the segments it was built on.
    pub(crate) generation: u64,
    pub(crate) view: V,
}

impl<V: View> Loaded<V> {
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
            let mut loaded = Self { seq: head.through(), generation: head.generation, view: V::empty(id) };
            if loaded.view.read_segments(ctx, tenant, &head.segments).await?
                && loaded.follow(ctx, tenant, id, head.seq).await?
            {
                return Ok(loaded);
            }
            head = ctx.index.head(tenant, id).await?;
        }
        Err(PortError::Unavailable("the index kept changing while it was read".into()))
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
            if let Some(last) = records.last() {
                self.view.fold(ctx, tenant, &records).await?;
                self.seq = last.seq;
            }
        }
        Ok(self.seq >= seq)
    }
}
