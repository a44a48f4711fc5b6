//! Counting memories.

use domain::ports::PortResult;
use domain::{Container, IndexHead, Tenant};
use service::Ctx;

use crate::cache::ViewCache;
use crate::memories::IndexedMemories;
use crate::segments::read_until_fetched;
use crate::view::{ContainerState, ContainerView};

/// Returns the number of memories of a container tag that readers find by default. `heads` are those of
/// its physical containers ([`service::read_heads`]). The memories are counted now if a physical container
/// serves at most `exact_limit` documents or was never compacted; otherwise the count of the last
/// compaction is used.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn count_memories(
    ctx: &Ctx,
    tenant: &Tenant,
    cache: &ViewCache<IndexedMemories<()>>,
    container: &Container,
    heads: &[IndexHead],
    exact_limit: u64,
) -> PortResult<u64> {
    let mut memories = 0;
    for (id, head) in container.ids.iter().zip(heads) {
        let is_small = match head.document_count {
            Some(documents) => documents <= exact_limit,
            None => true,
        };
        memories += match head.memories {
            Some(counted) if !is_small => counted,
            _ => {
                let state = match cache.is_warm(tenant, id) {
                    true => ContainerState::of_head(head.clone(), ctx.clock.now()),
                    false => ContainerState::read_all(ctx, tenant, id).await?,
                };
                let held = cache.open_at(ctx, tenant, id, state).await?;
                let now = ctx.clock.now();
                let partial = held.partial_segments();
                read_until_fetched(ctx, tenant, partial, || held.count_live(now)).await?
            }
        };
    }

    Ok(memories)
}
