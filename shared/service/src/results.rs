//! Storing the results of revisions.

use bytes::Bytes;
use domain::blob::BlobRef;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::tenant::Tenant;

use crate::Ctx;

/// The results of processing a document's revision.
#[derive(Debug, Clone)]
pub struct RevisionResults<'a> {
    /// The document.
    pub document: &'a Document,
    /// Its encoded pack.
    pub pack: Bytes,
    /// Its encoded statements, if it has any.
    pub statements: Option<Bytes>,
}

/// The blobs with the results of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResults {
    /// Its pack.
    pub pack: BlobRef,
    /// Its statements, if it has any.
    pub statements: Option<BlobRef>,
}

/// Stores the results of revisions, and returns their blobs in the same order.
///
/// # Errors
/// Returns the errors of the ports. Some of the blobs may have been stored then.
pub async fn store_all_results(
    ctx: &Ctx,
    tenant: &Tenant,
    results: Vec<RevisionResults<'_>>,
) -> Result<Vec<StoredResults>> {
    let mut blobs = Vec::with_capacity(results.len() * 2);
    let mut have_statements = Vec::with_capacity(results.len());
    for result in results {
        have_statements.push(result.statements.is_some());
        blobs.push((result.document.pack_path(), result.pack));
        if let Some(statements) = result.statements {
            blobs.push((result.document.statements_path(), statements));
        }
    }

    let mut refs = ctx.blobs.put_all(tenant, blobs).await?.into_iter();
    let mut take_ref = || {
        let missing = || Error::internal("a stored blob has no name");
        refs.next().ok_or_else(missing)
    };
    let mut stored = Vec::with_capacity(have_statements.len());
    for has_statements in have_statements {
        stored.push(StoredResults {
            pack: take_ref()?,
            statements: has_statements.then(&mut take_ref).transpose()?,
        });
    }
    Ok(stored)
}

/// Stores the results of one revision.
///
/// # Errors
/// As [`store_all_results`].
pub(crate) async fn store_results(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    pack: Bytes,
    statements: Option<Bytes>,
) -> Result<StoredResults> {
    let results = RevisionResults {
        document,
        pack,
        statements,
    };
    let mut stored = store_all_results(ctx, tenant, vec![results]).await?;
    let missing = || Error::internal("a stored result has no name");
    stored.pop().ok_or_else(missing)
}
