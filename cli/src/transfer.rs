//! Export and import of a container as JSON lines, with one object on each line.
//!
//! An export contains everything that is stored of a container, so that an import under the same
//! container id restores the same container: documents with their chunks and statements, and
//! callers' edits of memories. The memories themselves are included for other readers. An import
//! computes them again from the rest. Files of other services can be imported too.

mod backup;
mod convert;
mod export;
mod export_lines;
mod foreign_import;
mod foreign_records;
mod hosted;
mod import;
mod mem0;
mod restore;
#[cfg(test)]
mod tests;
mod verification;
mod zep;

pub(crate) use backup::TRIAL_TAG;
pub use backup::{BackupManifest, ContainerBackup, RestoreReport, restore_backup, write_backup};
pub use export::{ExportReport, export_container};
pub use import::{ImportFormat, ImportOptions, ImportReport, import_file};
pub use indicatif::ProgressBar;

use container_index::{
    CacheSettings, ContainerView, IndexedMemories, SegmentReading, ViewCache, read_until_fetched,
};
use domain::ports::PortResult;
use domain::{ContainerId, ID_FIRST_CHARACTERS, MemoryEdit, PortError, Tenant, TopicId};
use memory_model::{Ledger, sort_edits};
use service::Ctx;

/// The number of topics that are in memory at the same time.
const TOPICS_TOGETHER: usize = 32_768;
/// The most memories of a container whose ids are listed at once.
const MEMORIES_LISTED_AT_ONCE: u64 = 100_000;
/// The number of attempts to read memories while pages cannot be read.
const ATTEMPTS: usize = 3;
/// Reads only the pages that are needed, whatever the size of the container. A view with more than 256 MB of pages
/// is dropped, and the next read opens another one.
const BY_PAGES: SegmentReading = SegmentReading::Beginnings {
    above: 0,
    searches: false,
    completes: false,
    max_page_bytes: 256 * 1024 * 1024,
};

/// Reads a physical container in parts. What one part has read of its memories does not stay in memory for all
/// others.
struct ContainerReader<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    id: &'a ContainerId,
    cache: ViewCache<IndexedMemories<()>>,
}

impl<'a> ContainerReader<'a> {
    fn new(ctx: &'a Ctx, tenant: &'a Tenant, id: &'a ContainerId) -> Self {
        // The cache has room for no view, and so keeps one.
        let cache = ViewCache::new(CacheSettings::new(0, BY_PAGES));
        Self {
            ctx,
            tenant,
            id,
            cache,
        }
    }

    /// Returns all edits of callers by time.
    ///
    /// # Errors
    /// Those of the ports.
    async fn list_edits(&self) -> PortResult<Vec<MemoryEdit>> {
        let mut edits = Vec::new();
        for beginning in self.id_beginnings().await? {
            let list = |ledger: &Ledger| ledger.topic_ids(beginning);
            let topics: Vec<TopicId> = self.read_memories(list).await?.into_iter().collect();
            for together in topics.chunks(TOPICS_TOGETHER) {
                let read = |ledger: &Ledger| ledger.corrections(together);
                edits.extend(self.read_memories(read).await?);
            }
        }
        edits.extend(self.read_memories(Ledger::forgets_and_reviews).await?);
        sort_edits(&mut edits);
        Ok(edits)
    }

    /// Returns beginnings of ids, in order. Each id of a memory or topic has one of them. A list of ids reads what
    /// is stored beside them, so those of a large container are listed in parts.
    ///
    /// # Errors
    /// Those of the ports.
    async fn id_beginnings(&self) -> PortResult<Vec<&'static str>> {
        let head = self.ctx.index.get_head(self.tenant, self.id).await?;
        if head.memories.unwrap_or(0) <= MEMORIES_LISTED_AT_ONCE {
            return Ok(vec![""]);
        }
        let places = 0..ID_FIRST_CHARACTERS.len();
        Ok(places
            .map(|place| &ID_FIRST_CHARACTERS[place..=place])
            .collect())
    }

    /// Calls `read` with the memories as they are now. It may be called again if a part has to be fetched first.
    ///
    /// # Errors
    /// Those of the ports.
    async fn read_memories<T>(&self, read: impl Fn(&Ledger) -> T) -> PortResult<T> {
        for _ in 1..ATTEMPTS {
            match self.read_once(&read).await {
                // A page is damaged, or its segment was replaced and purged. The cache opens another view now,
                // and reads the container as a whole if it still has the damaged one.
                Err(PortError::Corrupt(_)) => {}
                result => return result,
            }
        }
        self.read_once(&read).await
    }

    async fn read_once<T>(&self, read: impl Fn(&Ledger) -> T) -> PortResult<T> {
        let memories = self.cache.open(self.ctx, self.tenant, self.id).await?;
        let read = || read(memories.ledger());
        read_until_fetched(self.ctx, self.tenant, memories.partial_segments(), read).await
    }
}
