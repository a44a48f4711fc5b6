//! The memories behind one container tag, and the lookup of those that a request names.

use std::collections::HashSet;
use std::sync::Arc;

use container_index::{
    IndexedMemories, LargeRead, MemoryIndex, ViewCache, partial_segments, read_until_fetched,
};
use domain::{
    Container, ContainerId, ContainerTag, Document, Error, MemoryId, Result, Tenant, Timestamp,
    TopicId,
};
use edge::App;
use memory_model::{Ledger, Memory, SupportingSpan};
use service::{Ctx, find_existing_container, find_writable_container};

use crate::MemoriesState;
use crate::fields::MemoryTarget;

/// The memories of a container as they are at one moment. Parts of a large container may be missing. They are
/// read through [`ContainerMemories::read`], or after [`ContainerMemories::fetch_all`].
pub(crate) struct ContainerMemories<I = ()> {
    /// One entry for each physical container.
    pub(crate) containers: Vec<(ContainerId, IndexedMemories<I>)>,
    pub(crate) now: Timestamp,
    /// Held if everything of a container is read that does not fit into the cache.
    large_read: Option<LargeRead>,
}

/// A memory with its container and ledger.
#[derive(Clone)]
pub(crate) struct LocatedMemory<'a> {
    pub(crate) container: &'a ContainerId,
    pub(crate) ledger: &'a Ledger,
    pub(crate) memory: Arc<Memory>,
}

impl LocatedMemory<'_> {
    /// Returns the time of the memory's last statement. It may be in the future, because callers
    /// choose the dates.
    pub(crate) fn last_said(&self) -> Timestamp {
        self.ledger.last_said_at(&self.memory)
    }
}

impl ContainerMemories {
    /// Opens the container behind a tag. The container has to exist.
    pub(crate) async fn open_container(
        state: &MemoriesState,
        tenant: &Tenant,
        tag: &ContainerTag,
    ) -> Result<Self> {
        let container = find_existing_container(&state.app.ctx, tenant, tag).await?;
        Self::load_memories(&state.app, &state.ledgers, tenant, container).await
    }

    /// Opens the container as [`ContainerMemories::open_container`] does, to change something in
    /// it. A container cannot be changed while it is being merged.
    pub(crate) async fn open_to_write(
        state: &MemoriesState,
        tenant: &Tenant,
        tag: &ContainerTag,
    ) -> Result<Self> {
        let container = find_writable_container(&state.app.ctx, tenant, tag).await?;
        Self::load_memories(&state.app, &state.ledgers, tenant, container).await
    }
}

impl<I: MemoryIndex> ContainerMemories<I> {
    /// Returns the memories of a container, read through `cache`.
    pub(crate) async fn load_memories(
        app: &App,
        cache: &ViewCache<IndexedMemories<I>>,
        tenant: &Tenant,
        container: Container,
    ) -> Result<Self> {
        let mut containers = Vec::with_capacity(container.ids.len());
        for id in container.ids {
            let memories = cache.open(&app.ctx, tenant, &id).await?;
            containers.push((id, memories));
        }

        Ok(Self::new(containers, app.ctx.clock.now()))
    }

    /// Creates the memories of these containers.
    pub(crate) fn new(containers: Vec<(ContainerId, IndexedMemories<I>)>, now: Timestamp) -> Self {
        Self {
            containers,
            now,
            large_read: None,
        }
    }

    /// Calls `read` until everything that it reads was fetched. Returns its last result.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn read<T>(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        read: impl FnMut() -> T,
    ) -> Result<T> {
        let partial = partial_segments(self.containers.iter().map(|(_, memories)| memories));
        Ok(read_until_fetched(ctx, tenant, &partial, read).await?)
    }

    /// Fetches everything, for a request that reads all memories. The memories stay in `cache` if they fit.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn fetch_all(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<I>>,
    ) -> Result<()> {
        let views = self.containers.iter();
        let views: Vec<_> = views.map(|(id, memories)| (id, memories)).collect();
        let large_read = cache.fetch_all(ctx, tenant, &views).await?;
        self.large_read = Some(large_read);
        Ok(())
    }

    /// Returns every version of every memory, once all of them were fetched.
    pub(crate) fn all_memories(&self) -> impl Iterator<Item = LocatedMemory<'_>> {
        self.containers.iter().flat_map(|(container, memories)| {
            let ledger = memories.ledger();
            ledger.memories().map(move |memory| LocatedMemory {
                container,
                ledger,
                memory: memory.clone(),
            })
        })
    }

    /// Returns the memories of a topic that its newest statements may change, as
    /// [`Ledger::memories_of_topic`] does.
    pub(crate) fn memories_of_topic(&self, topic: &TopicId) -> impl Iterator<Item = Arc<Memory>> {
        self.containers
            .iter()
            .flat_map(|(_, memories)| memories.ledger().memories_of_topic(topic))
    }

    /// Returns the memory with this id.
    pub(crate) fn get_memory(&self, id: &str) -> Option<LocatedMemory<'_>> {
        let id = MemoryId::parse(id)?;
        self.containers.iter().find_map(|(container, memories)| {
            let ledger = memories.ledger();
            ledger.get(&id).map(|memory| LocatedMemory {
                container,
                ledger,
                memory,
            })
        })
    }

    /// Returns the memories that a document states within a range of characters, or anywhere, in the order
    /// of its text.
    pub(crate) fn memories_stated_within(
        &self,
        document: &Document,
        range: Option<(usize, usize)>,
    ) -> Vec<LocatedMemory<'_>> {
        let is_within = |span: &SupportingSpan| {
            range.is_none_or(|(start, end)| start <= span.start && span.end <= end)
        };
        let mut located: Vec<LocatedMemory<'_>> = Vec::new();
        let mut seen: HashSet<MemoryId> = HashSet::new();
        for (container, memories) in &self.containers {
            if *container != document.container {
                continue;
            }
            let ledger = memories.ledger();
            for (span, memory) in ledger.stated_memories(&document.id) {
                if is_within(&span) && seen.insert(memory.id.clone()) {
                    located.push(LocatedMemory {
                        container,
                        ledger,
                        memory,
                    });
                }
            }
        }
        located
    }

    /// Fetches what is needed to find the memory that a request names: a content may be that of any memory.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn fetch_target(
        &mut self,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<I>>,
        target: MemoryTarget<'_>,
    ) -> Result<()> {
        match target {
            MemoryTarget::Id(_) => Ok(()),
            MemoryTarget::Content(_) => self.fetch_all(ctx, tenant, cache).await,
        }
    }

    /// Returns the memory that a request names. It must not be forgotten or, if named by its
    /// content, an old version.
    pub(crate) fn find_target(&self, target: MemoryTarget<'_>) -> Result<LocatedMemory<'_>> {
        let located = match target {
            MemoryTarget::Id(id) => self.get_memory(id),
            MemoryTarget::Content(text) => {
                let mut candidates: Vec<LocatedMemory<'_>> = self
                    .all_memories()
                    .filter(|located| located.memory.is_latest && located.memory.text == text)
                    .collect();
                // Prefer a live memory. If there are only forgotten ones, the error says so.
                candidates.sort_by_key(|located| {
                    (
                        located.memory.is_forgotten(self.now),
                        located.memory.said_at,
                    )
                });
                candidates.into_iter().next()
            }
        };
        let located = located.ok_or(Error::NotFound("Memory"))?;
        if located.memory.is_forgotten(self.now) {
            return Err(Error::Conflict(format!(
                "the memory {} is already forgotten",
                located.memory.id
            )));
        }

        Ok(located)
    }
}
