//! Container tags and the physical containers behind them.

use std::slice;

use async_trait::async_trait;

use crate::container::{Container, ContainerChange, ContainerOwner, SharedContainer};
use crate::ids::{ContainerId, TaskId};
use crate::ports::PortResult;
use crate::settings::ProfileBucket;
use crate::tag::ContainerTag;
use crate::task::Task;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// Container tags.
#[async_trait]
pub trait Containers: Send + Sync {
    /// Counts one more tag, unless the organization already has `limit`. Returns whether the tag
    /// was counted. A tag is counted before it is created. The count is too high by the number of
    /// requests that broke off and of tags whose deletion could not be counted. Nothing corrects it:
    /// the limit is then reached by so many tags too early. It does not include tags from before
    /// counting was introduced.
    async fn reserve_tag(&self, tenant: &Tenant, limit: u64) -> PortResult<bool>;

    /// Counts one tag less, because a tag was counted but not created. [`Containers::delete_tag`]
    /// and [`Containers::end_merge_role`] do this themselves for the tags that they delete, and
    /// succeed even if the count cannot be changed.
    async fn release_tag(&self, tenant: &Tenant) -> PortResult<()>;

    /// Returns the container behind a tag.
    async fn get(&self, tenant: &Tenant, tag: &ContainerTag) -> PortResult<Option<Container>>;

    /// Points the tag to `id`, unless another writer was first. Returns what the tag points to now.
    async fn create_tag(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;

    /// Returns the tags to which physical containers belong, in the order asked.
    async fn list_owners(
        &self,
        tenant: &Tenant,
        ids: &[ContainerId],
    ) -> PortResult<Vec<ContainerOwner>>;

    /// Returns the tags to which one physical container belongs.
    async fn get_owner(&self, tenant: &Tenant, id: &ContainerId) -> PortResult<ContainerOwner> {
        let owner = self.list_owners(tenant, slice::from_ref(id)).await?.pop();
        Ok(owner.unwrap_or(ContainerOwner::Original))
    }

    /// Lets the tags of `containers` share a physical container, which each of them reads from
    /// then on, in one transaction. Until now, the physical container belonged to `former_tags`,
    /// which are empty if it is new. Returns `false` when one of them has changed since it was read,
    /// or is being changed at the same time.
    async fn share(
        &self,
        tenant: &Tenant,
        containers: &[Container],
        shared: &SharedContainer,
        former_tags: &[ContainerTag],
    ) -> PortResult<bool>;

    /// Removes a tag and begins `task`, in one transaction. From then on its physical containers
    /// are [`ContainerOwner::Deleted`], except for those in `shared`, which lose the tag. Returns
    /// `false` when the tag's physical containers or its merge are no longer as `container` says,
    /// or the tags of a shared one are no longer as `shared` says, or one of them is being changed at
    /// the same time. The retry of a deletion whose response was lost counts as done.
    async fn delete_tag(
        &self,
        tenant: &Tenant,
        container: &Container,
        shared: &[SharedContainer],
        task: &Task,
    ) -> PortResult<bool>;

    /// Gives the physical containers of `sources` to `target` as well, marks all of them as merging
    /// and begins `task`, in one transaction: every reader sees either all of it or nothing. The
    /// sources keep their physical containers until [`Containers::end_merge_role`], so a reader of
    /// both encounters some physical containers twice. In the containers of `shared`, the target
    /// takes the places of the sources. Returns `false` when one of the containers has changed
    /// since it was read, or is being changed at the same time. The retry of a merge whose response
    /// was lost counts as done.
    async fn begin_merge(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        shared: &[SharedContainer],
        task: &Task,
    ) -> PortResult<bool>;

    /// Ends the role of a tag in the merge `task`: a target accepts writes again, a source is
    /// deleted. Doing it again changes nothing.
    async fn end_merge_role(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        task: &TaskId,
    ) -> PortResult<()>;

    /// Removes the owner marks of deleted physical containers of which nothing is left.
    async fn remove_owner_marks(&self, tenant: &Tenant, ids: &[ContainerId]) -> PortResult<()>;

    /// Returns all containers of the organization, ordered by tag.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Container>> {
        self.list_first(tenant, usize::MAX).await
    }

    /// Returns the first `limit` containers of the organization by tag.
    async fn list_first(&self, tenant: &Tenant, limit: usize) -> PortResult<Vec<Container>>;

    /// Replaces the caller's description of the tag's content; the last write wins. Returns `false`
    /// when there is no such tag.
    async fn set_context(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        context: &str,
    ) -> PortResult<bool>;

    /// Changes the caller's settings of a tag, in one write that also points the tag to `id` if it
    /// points nowhere yet. Returns what is stored afterwards. Fields that the change keeps are not
    /// written, so concurrent changes of different fields all take effect. Doing it again changes
    /// nothing more.
    async fn update_settings(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        change: &ContainerChange,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;

    /// Replaces the buckets of a tag by `buckets` if they still are `expected`. Returns `false` when
    /// they are not, or there is no such tag. The repetition of a call whose response was lost
    /// returns `false` as well, unless the buckets stay the same.
    async fn replace_buckets(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        expected: &[ProfileBucket],
        buckets: &[ProfileBucket],
        now: Timestamp,
    ) -> PortResult<bool>;
}
