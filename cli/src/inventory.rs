//! Everything that is stored, of all organizations.

use anyhow::Result;
use domain::ports::{BlobStore, StoredBlob};
use service::Ctx;

/// The number of blobs that are listed, or examined, at a time.
pub(crate) const PAGE_BLOBS: usize = 1000;

/// Calls `visit` with each blob of each organization.
///
/// # Errors
/// Returns the errors of the ports. On AWS it needs the right to scan the table of records, which no
/// function has.
pub(crate) async fn visit_blobs(ctx: &Ctx, mut visit: impl FnMut(StoredBlob)) -> Result<()> {
    for store in [BlobStore::Inline, BlobStore::Objects] {
        let mut after = None;
        loop {
            let page = ctx
                .blobs
                .list_inventory(store, after.as_deref(), PAGE_BLOBS)
                .await?;
            page.blobs.into_iter().for_each(&mut visit);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}
