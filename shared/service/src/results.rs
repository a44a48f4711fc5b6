//! Storing the results of a revision.

use bytes::Bytes;
use domain::blob::BlobRef;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::tenant::Tenant;

use crate::Ctx;

/// The blobs with the results of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResults {
    /// Its pack.
    pub pack: BlobRef,
    /// Its statements, if it has any.
    pub statements: Option<BlobRef>,
}

/// Stores the pack of a document's revision and, if there are any, its statements.
///
/// # Errors
/// Returns the errors of the ports. One of the blobs may have been stored then.
pub async fn store_results(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    pack: Bytes,
    statements: Option<Bytes>,
) -> Result<StoredResults> {
    let mut blobs = vec![(document.pack_path(), pack)];
    blobs.extend(statements.map(|bytes| (document.statements_path(), bytes)));
    let mut stored = ctx.blobs.put_all(tenant, blobs).await?.into_iter();
    match stored.next() {
        Some(pack) => Ok(StoredResults {
            pack,
            statements: stored.next(),
        }),
        None => Err(Error::internal("a stored pack has no name")),
    }
}
