//! The memories behind one container tag, and the lookup of those that a request names.

use std::sync::Arc;

use container_index::{IndexedMemories, MemoryIndex, ViewCache};
use domain::{
    Container, ContainerId, ContainerTag, Document, Error, MemoryId, Result, Tenant, Timestamp,
    TopicId,
};
use edge::App;
use memory_model::{Ledger, Memory};
use service::{find_existing_container, find_writable_container};

use crate::MemoriesState;
use crate::fields::MemoryTarget;

/// The memories of a container as they are at one moment.
pub(crate) struct ContainerMemories<I = ()> {
    /// One entry for each physical container.
    pub(crate) containers: Vec<(ContainerId, IndexedMemories<I>)>,
    pub(crate) now: Timestamp,
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

        Ok(Self {
            containers,
            now: app.ctx.clock.now(),
        })
    }

    /// Returns every version of every memory.
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

    /// Returns every version of the memories of a topic.
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

    /// Returns the memories from a document, in the order of its text.
    pub(crate) fn memories_of_document(&self, document: &Document) -> Vec<LocatedMemory<'_>> {
        let containers = self
            .containers
            .iter()
            .filter(|(container, _)| *container == document.container);
        let document_memories = containers.flat_map(|(container, memories)| {
            let ledger = memories.ledger();
            let document_memories = ledger.memories_of_document(&document.id).into_iter();
            document_memories.map(move |memory| LocatedMemory {
                container,
                ledger,
                memory,
            })
        });
        document_memories.collect()
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
