//! The memories behind one container tag, and the lookup of those that a request names.

use domain::usecase::{existing_container, writable_container};
use domain::{
    Container, ContainerId, ContainerTag, Document, Error, MemoryId, Result, Tenant, Timestamp,
};
use edge::App;
use index::{Cache, Memories, MemoryIndex};
use memory::{Ledger, Memory};

use crate::Service;
use crate::fields::Target;

/// The memories of a container as they are at one moment.
pub(crate) struct Room<I = ()> {
    /// One entry for each physical container.
    pub(crate) parts: Vec<(ContainerId, Memories<I>)>,
    pub(crate) now: Timestamp,
}

/// A memory with its container and ledger.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) container: &'a ContainerId,
    pub(crate) ledger: &'a Ledger,
    pub(crate) memory: &'a Memory,
}

impl Held<'_> {
    /// Returns the time of the memory's last statement. It may be in the future, because callers
    /// choose the dates.
    pub(crate) fn last_said(&self) -> Timestamp {
        self.ledger.last_said(self.memory)
    }
}

impl Room {
    /// Opens the container behind a tag. The container has to exist.
    pub(crate) async fn open(
        service: &Service,
        tenant: &Tenant,
        tag: &ContainerTag,
    ) -> Result<Self> {
        let container = existing_container(&service.app.ctx, tenant, tag).await?;
        Self::of(&service.app, &service.ledgers, tenant, container).await
    }

    /// Opens the container as [`Room::open`] does, to change something in it. A container cannot be
    /// changed while it is being merged.
    pub(crate) async fn open_to_write(
        service: &Service,
        tenant: &Tenant,
        tag: &ContainerTag,
    ) -> Result<Self> {
        let container = writable_container(&service.app.ctx, tenant, tag).await?;
        Self::of(&service.app, &service.ledgers, tenant, container).await
    }
}

impl<I: MemoryIndex> Room<I> {
    /// Returns the memories of a container, read through `cache`.
    pub(crate) async fn of(
        app: &App,
        cache: &Cache<Memories<I>>,
        tenant: &Tenant,
        container: Container,
    ) -> Result<Self> {
        let mut parts = Vec::with_capacity(container.ids.len());
        for id in container.ids {
            let memories = cache.open(&app.ctx, tenant, &id).await?;
            parts.push((id, memories));
        }

        Ok(Self {
            parts,
            now: app.ctx.clock.now(),
        })
    }

    /// Returns every version of every memory.
    pub(crate) fn memories(&self) -> impl Iterator<Item = Held<'_>> {
        self.parts.iter().flat_map(|(container, memories)| {
            let ledger = memories.ledger();
            ledger.memories().map(move |memory| Held {
                container,
                ledger,
                memory,
            })
        })
    }

    /// Returns the memory with this id.
    pub(crate) fn get(&self, id: &str) -> Option<Held<'_>> {
        let id = MemoryId::parse(id)?;
        self.parts.iter().find_map(|(container, memories)| {
            let ledger = memories.ledger();
            ledger.get(&id).map(|memory| Held {
                container,
                ledger,
                memory,
            })
        })
    }

    /// Returns the memories from a document, in the order of its text.
    pub(crate) fn stated_by(&self, document: &Document) -> Vec<Held<'_>> {
        let part = self
            .parts
            .iter()
            .filter(|(container, _)| *container == document.container);
        let stated = part.flat_map(|(container, memories)| {
            let ledger = memories.ledger();
            let stated = ledger.of_document(&document.id).into_iter();
            stated.map(move |memory| Held {
                container,
                ledger,
                memory,
            })
        });
        stated.collect()
    }

    /// Returns the memory that a request names. It must not be forgotten or, if named by its
    /// content, an old version.
    pub(crate) fn find(&self, target: Target<'_>) -> Result<Held<'_>> {
        let held = match target {
            Target::Id(id) => self.get(id),
            Target::Content(text) => {
                let mut saying: Vec<Held<'_>> = self
                    .memories()
                    .filter(|held| held.memory.is_latest && held.memory.text == text)
                    .collect();
                // Prefer a live memory. If there are only forgotten ones, the error says so.
                saying
                    .sort_by_key(|held| (held.memory.is_forgotten(self.now), held.memory.said_at));
                saying.first().copied()
            }
        };
        let held = held.ok_or(Error::NotFound("Memory"))?;
        if held.memory.is_forgotten(self.now) {
            return Err(Error::Conflict(format!(
                "the memory {} is already forgotten",
                held.memory.id
            )));
        }

        Ok(held)
    }
}
