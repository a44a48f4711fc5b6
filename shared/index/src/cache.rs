//! Warm indexes. A search costs one strongly consistent read of the head, and a read of the log only when the container
//! has changed since the last search.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::ports::PortResult;
use domain::{ContainerId, Ctx, OrgId, Tenant};
use retrieval::ContainerIndex;

use crate::load::Loaded;

/// A tail longer than this is dropped for the segments that compaction has made of it.
const MAX_TAIL_CHUNKS: usize = 2_000;

type Slot = Arc<tokio::sync::Mutex<Option<Loaded>>>;

/// The warm indexes of a process, least recently used out first. The key starts with the organization: one that is
/// not the tenant's cannot be reached.
#[derive(Debug)]
pub struct Cache {
    slots: Mutex<Slots>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Slots {
    by_container: HashMap<(OrgId, ContainerId), Entry>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Entry {
    slot: Slot,
    used: u64,
    bytes: usize,
}

impl Cache {
    /// A cache that keeps about `max_bytes` of indexes.
    pub fn new(max_bytes: usize) -> Self {
        Self { slots: Mutex::default(), max_bytes }
    }

    /// The container's index, with everything that was committed before this call.
    ///
    /// # Errors
    /// Those of the ports.
    pub async fn open(&self, ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<ContainerIndex> {
        let head = ctx.index.head(tenant, id).await?;
        if head.seq == 0 {
            return Ok(ContainerIndex::new());
        }
        let key = (tenant.org().clone(), id.clone());
        let slot = self.slot(&key);
        // One reader follows the log, the others of this container wait for it and find the work done.
        let mut warm = slot.lock().await;
        if let Some(loaded) =
            warm.as_ref().filter(|loaded| loaded.seq >= head.seq && fits(loaded, head.generation))
        {
            return Ok(loaded.index.clone());
        }
        let mut next = match warm.take() {
            Some(loaded) if loaded.seq >= head.through() && fits(&loaded, head.generation) => loaded,
            _ => Loaded::default(),
        };
        if next.seq == 0 || !next.follow(ctx, tenant, id, head.seq).await? {
            next = Loaded::read(ctx, tenant, id, head).await?;
        }
        let index = next.index.clone();
        *warm = Some(next);
        drop(warm);
        self.account(&key, index.bytes());
        Ok(index)
    }

    fn slot(&self, key: &(OrgId, ContainerId)) -> Slot {
        let mut slots = self.lock();
        slots.clock += 1;
        let now = slots.clock;
        let entry = slots.by_container.entry(key.clone()).or_default();
        entry.used = now;
        entry.slot.clone()
    }

    fn account(&self, key: &(OrgId, ContainerId), bytes: usize) {
        let mut slots = self.lock();
        if let Some(entry) = slots.by_container.get_mut(key) {
            entry.bytes = bytes;
        }
        let mut total: usize = slots.by_container.values().map(|entry| entry.bytes).sum();
        while total > self.max_bytes && slots.by_container.len() > 1 {
            let oldest = slots
                .by_container
                .iter()
                .filter(|(other, _)| *other != key)
                .min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(oldest, _)| oldest.clone()) else {
                return;
            };
            total -= slots.by_container.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slots> {
        // A panic while the lock was held cannot leave the map half-changed.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a warm index may go on: its answers are the same whatever its layout, so a compaction matters only when the
/// tail has become long.
fn fits(loaded: &Loaded, generation: u64) -> bool {
    loaded.generation == generation || loaded.index.tail_chunks() <= MAX_TAIL_CHUNKS
}
