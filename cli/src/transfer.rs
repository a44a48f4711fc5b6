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
mod zep;

pub use backup::{BackupManifest, ContainerBackup, restore_backup, write_backup};
pub use export::{ExportReport, export_container};
pub use import::{ImportFormat, ImportOptions, ImportReport, import_file};
pub use indicatif::ProgressBar;

use container_index::{
    CacheSettings, ContainerView, IndexedMemories, SegmentReading, ViewCache, read_until_fetched,
};
use domain::ports::PortResult;
use domain::{ContainerId, PortError, Tenant};
use memory_model::Ledger;
use service::Ctx;

/// The pages that are needed are read of every container, whatever its size.
const BY_PAGES: SegmentReading = SegmentReading::Beginnings {
    above: 0,
    searches: false,
    completes: false,
    max_page_bytes: u64::MAX,
};

/// Calls `read` with the memories of a container. They are opened for this call only, so what it has read of
/// a large container does not stay in memory. `read` may be called again if a part has to be fetched first.
///
/// # Errors
/// Those of the ports.
async fn read_memories<T>(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    read: impl Fn(&Ledger) -> T,
) -> PortResult<T> {
    match read_with(ctx, tenant, container, BY_PAGES, &read).await {
        // A segment is damaged, or was replaced and purged. A view of whole segments leaves out none.
        Err(PortError::Corrupt(_)) => {
            read_with(ctx, tenant, container, SegmentReading::Whole, &read).await
        }
        result => result,
    }
}

async fn read_with<T>(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    reading: SegmentReading,
    read: impl Fn(&Ledger) -> T,
) -> PortResult<T> {
    let cache: ViewCache<IndexedMemories<()>> = ViewCache::new(CacheSettings::new(0, reading));
    let memories = cache.open(ctx, tenant, container).await?;
    let read = || read(memories.ledger());
    read_until_fetched(ctx, tenant, memories.partial_segments(), read).await
}
