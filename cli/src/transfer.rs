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

use container_index::{CacheSettings, IndexedMemories, SegmentReading, ViewCache};
use domain::ports::PortResult;
use domain::{ContainerId, Tenant};
use service::Ctx;

/// Reads all memories of a container.
///
/// # Errors
/// Those of the ports.
async fn read_all_memories(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
) -> PortResult<IndexedMemories<()>> {
    let once = CacheSettings::new(0, SegmentReading::Whole);
    ViewCache::new(once).open(ctx, tenant, container).await
}
