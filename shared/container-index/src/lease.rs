//! The compaction lease. Of several compactions at the same time, only one could publish its segments.

use domain::ports::{CompactionLease, PortResult};
use domain::{ContainerId, Revision, Tenant};
use service::Ctx;

/// The lease of this process.
pub(crate) struct HeldLease<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    id: &'a ContainerId,
    lease: CompactionLease,
}

impl<'a> HeldLease<'a> {
    /// Takes the lease of a container for so many seconds. Returns `None` if another compaction has it, or
    /// the container has no commit.
    pub(crate) async fn take(
        ctx: &'a Ctx,
        tenant: &'a Tenant,
        id: &'a ContainerId,
        seconds: i64,
    ) -> PortResult<Option<Self>> {
        let now = ctx.clock.now();
        let lease = CompactionLease {
            token: Revision::random(),
            until: now.plus_seconds(seconds),
        };
        let is_taken = ctx.index.begin_compaction(tenant, id, &lease, now).await?;
        Ok(is_taken.then_some(Self {
            ctx,
            tenant,
            id,
            lease,
        }))
    }

    /// Gives the lease back, unless a list of segments was published, which ends it too.
    pub(crate) async fn end(self, is_published: bool) -> PortResult<()> {
        if is_published {
            return Ok(());
        }
        let index = &self.ctx.index;
        index
            .end_compaction(self.tenant, self.id, &self.lease)
            .await
    }
}
