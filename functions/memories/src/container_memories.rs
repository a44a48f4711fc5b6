//! The memories behind one container tag, and the lookup of those that a request names.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use container_index::{
    IndexedMemories, LargeRead, ListedMemory, ListedTime, MemoryIndex, ViewCache, listed_at,
    partial_segments, read_until_fetched,
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

/// The number of memories that a scan reads between two pauses. What is missing of them is fetched together.
const SCANNED_TOGETHER: usize = 16_384;

/// The memories of a container as they are at one moment. Parts of a large container may be missing. They are
/// read through [`ContainerMemories::read`].
pub(crate) struct ContainerMemories<I = ()> {
    /// One entry for each physical container.
    pub(crate) containers: Vec<(ContainerId, IndexedMemories<I>)>,
    pub(crate) now: Timestamp,
    /// Held while a scan reads memories that do not fit into the cache.
    large_read: OnceLock<LargeRead>,
}

/// The latest version of a memory in a list, which may not have been read yet.
#[derive(Debug, Clone)]
pub(crate) struct ListEntry {
    /// The place of its container in [`ContainerMemories::containers`].
    pub(crate) container: usize,
    listed: ListedMemory,
}

impl ListEntry {
    /// Returns the time by which it is listed. `None` if it has to be read for its times.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        self.listed.time
    }

    /// Returns the entry with this time of its memory.
    fn with_time(&self, time: ListedTime, memory: &Memory) -> Self {
        let mut entry = self.clone();
        entry.listed.time = Some(listed_at(memory, time));
        entry
    }

    /// Compares entries by their places. Neighbours are read in the least time.
    pub(crate) fn compare_places(&self, other: &Self) -> Ordering {
        let by_container = self.container.cmp(&other.container);
        by_container.then_with(|| self.listed.compare_places(&other.listed))
    }
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
            large_read: OnceLock::new(),
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

    /// Returns the latest version of every memory, in any order, with this time as far as it is known without
    /// reading it. Read through [`ContainerMemories::read`].
    pub(crate) fn list_latest(&self, time: ListedTime) -> impl Iterator<Item = ListEntry> {
        let containers = (0..).zip(&self.containers);
        containers.flat_map(move |(container, (_, memories))| {
            let latest = memories.list_latest(time);
            latest.map(move |listed| ListEntry { container, listed })
        })
    }

    /// Checks whether a memory of a list is live.
    pub(crate) fn is_live(&self, entry: &ListEntry) -> bool {
        let (_, memories) = &self.containers[entry.container];
        memories.is_live(&entry.listed, self.now)
    }

    /// Returns a memory of a list. Read through [`ContainerMemories::read`].
    pub(crate) fn read_entry(&self, entry: &ListEntry) -> Option<LocatedMemory<'_>> {
        let (container, memories) = &self.containers[entry.container];
        Some(LocatedMemory {
            container,
            ledger: memories.ledger(),
            memory: memories.read_listed(&entry.listed)?,
        })
    }

    /// Makes room in `cache` for what a scan reads, and waits for other scans if that does not fit. It is then
    /// dropped with these memories.
    pub(crate) async fn begin_scan(&self, tenant: &Tenant, cache: &ViewCache<IndexedMemories<I>>) {
        if self.large_read.get().is_none() {
            let views = self.containers.iter();
            let views: Vec<_> = views.map(|(id, memories)| (id, memories)).collect();
            let large_read = cache.make_room_for_all(tenant, &views).await;
            _ = self.large_read.set(large_read);
        }
    }

    /// Reads memories of a list, one after another, and returns those that `matches` accepts, with their times.
    /// Called after [`ContainerMemories::begin_scan`].
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn scan(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        (time, entries): (ListedTime, &[ListEntry]),
        matches: impl Fn(&ListEntry, &Memory) -> bool,
    ) -> Result<Vec<ListEntry>> {
        let mut found = Vec::new();
        for together in entries.chunks(SCANNED_TOGETHER) {
            let scan = || -> Vec<ListEntry> {
                let read = together.iter().filter_map(|entry| {
                    let memory = self.read_entry(entry)?.memory;
                    matches(entry, &memory).then(|| entry.with_time(time, &memory))
                });
                read.collect()
            };
            found.extend(self.read(ctx, tenant, scan).await?);
            // Other requests of this thread go on.
            tokio::task::yield_now().await;
        }
        Ok(found)
    }

    /// Returns the inferences from memories, also those that were reviewed. Read through
    /// [`ContainerMemories::read`].
    pub(crate) fn inferences(&self) -> impl Iterator<Item = Arc<Memory>> {
        let containers = self.containers.iter();
        containers.flat_map(|(_, memories)| memories.ledger().inferences())
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

    /// Returns the memory with this id. It must not be forgotten. Read through [`ContainerMemories::read`].
    pub(crate) fn find_by_id(&self, id: &str) -> Result<LocatedMemory<'_>> {
        let located = self.get_memory(id);
        self.check_remembered(located)
    }

    /// Returns the memory that was said first among those that are not forgotten.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there are none, and [`Error::Conflict`] if all are forgotten.
    pub(crate) fn choose_remembered<'a>(
        &self,
        mut candidates: Vec<LocatedMemory<'a>>,
    ) -> Result<LocatedMemory<'a>> {
        candidates.sort_by_key(|located| {
            let memory = &located.memory;
            (
                memory.is_forgotten(self.now),
                memory.said_at,
                memory.id.clone(),
            )
        });
        self.check_remembered(candidates.into_iter().next())
    }

    fn check_remembered<'a>(
        &self,
        located: Option<LocatedMemory<'a>>,
    ) -> Result<LocatedMemory<'a>> {
        let located = located.ok_or(Error::NotFound("Memory"))?;
        if located.memory.is_forgotten(self.now) {
            return Err(Error::Conflict(format!(
                "the memory {} is already forgotten",
                located.memory.id
            )));
        }

        Ok(located)
    }

    /// Returns the memory that a request names by its id, or the latest ones with the content that it names.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn find_named(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<I>>,
        target: MemoryTarget<'_>,
    ) -> Result<Vec<LocatedMemory<'_>>> {
        match target {
            MemoryTarget::Id(id) => {
                let get = || self.get_memory(id);
                Ok(self.read(ctx, tenant, get).await?.into_iter().collect())
            }
            MemoryTarget::Content(text) => self.find_by_content(ctx, tenant, cache, text).await,
        }
    }

    /// Returns the latest memories with this content. It may be that of any memory, so all are read.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn find_by_content(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        cache: &ViewCache<IndexedMemories<I>>,
        text: &str,
    ) -> Result<Vec<LocatedMemory<'_>>> {
        let time = ListedTime::Created;
        self.begin_scan(tenant, cache).await;
        let list = || self.list_latest(time).collect();
        let latest: Vec<ListEntry> = self.read(ctx, tenant, list).await?;
        let has_text = |_: &ListEntry, memory: &Memory| memory.text == text;
        let found = self.scan(ctx, tenant, (time, &latest), has_text).await?;
        let read = || {
            let read = found.iter().filter_map(|entry| self.read_entry(entry));
            read.collect()
        };
        self.read(ctx, tenant, read).await
    }
}
