//! Container tags and the physical containers behind them.

use crate::container::Container;
use crate::container::ContainerChange;
use crate::container::Owner;
use crate::ids::ContainerId;
use crate::ids::TaskId;
use crate::ports::PortResult;
use crate::tag::ContainerTag;
use crate::task::Task;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;

/// Container tags.
#[async_trait]
pub trait Containers: Send + Sync {
    /// Counts one more tag, unless the organization has `most`; whether it did. A tag is counted before it is created. The
    /// count can be off by the requests that were broken off, and leaves out tags of before there was a count.
    async fn reserve(&self, tenant: &Tenant, most: u64) -> PortResult<bool>;

    /// Counts one tag less: it was counted and not created. [`Containers::delete`] and [`Containers::end_merge`] do this
    /// for the tags that they delete.
    async fn release(&self, tenant: &Tenant) -> PortResult<()>;

    /// The container behind a tag.
    async fn get(&self, tenant: &Tenant, tag: &ContainerTag) -> PortResult<Option<Container>>;

    /// Makes the tag point to `id`, unless somebody was first; returns what the tag points to now.
    async fn create(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;

    /// Which tags physical containers belong to, in the order asked.
    async fn owners(&self, tenant: &Tenant, ids: &[ContainerId]) -> PortResult<Vec<Owner>>;

    /// Takes a tag away and begins `task`, in one transaction: from then on its physical containers are
    /// [`Owner::Gone`]. `false` when the tag is not as `container` says any more (its physical containers, its merge).
    /// Our own deletion whose answer was lost counts as done.
    async fn delete(&self, tenant: &Tenant, container: &Container, task: &Task)
    -> PortResult<bool>;

    /// Gives the physical containers of `sources` to `target` as well, marks them all as merging and begins `task`, in
    /// one transaction: every reader sees all of it or nothing. The sources keep theirs until [`Containers::end_merge`],
    /// so a reader of both meets some physical containers twice. `false` when one of them is not as it was read any
    /// more. Our own merge whose answer was lost counts as done.
    async fn begin_merge(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        task: &Task,
    ) -> PortResult<bool>;

    /// Ends the part that a tag has in the merge `task`: a target takes writes again, a source disappears. Doing it
    /// again changes nothing.
    async fn end_merge(&self, tenant: &Tenant, tag: &ContainerTag, task: &TaskId)
    -> PortResult<()>;

    /// Takes away the marks of deleted physical containers of which nothing is left.
    async fn forget_deleted(&self, tenant: &Tenant, ids: &[ContainerId]) -> PortResult<()>;

    /// All containers of the organization, by tag.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Container>>;

    /// Replaces what the caller says that the tag's content is about; the last one stays. `false` without such a tag.
    async fn set_context(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        context: &str,
    ) -> PortResult<bool>;

    /// Changes what the caller says about the tag, in one write that makes it point to `id` if it points nowhere yet;
    /// returns what is stored then. Fields that the change keeps are not written, so changes of different fields at
    /// the same time all hold. Doing it again changes nothing more.
    async fn describe(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        change: &ContainerChange,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;
}
