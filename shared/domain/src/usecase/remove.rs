//! Deleting a document, in any state, at once.

use crate::container::Change;
use crate::ctx::Ctx;
use crate::document::Document;
use crate::error::{PortError, Result};
use crate::job::{Envelope, Job};
use crate::ports::Committed;
use crate::tenant::Tenant;

/// How often the deletion is tried against concurrent commits of the container.
const ATTEMPTS: usize = 50;

/// Deletes a document: its record and its place in the index go in one transaction, so no search that starts after the
/// answer can find it and no worker can bring it back; its bytes follow by a purge record of the same transaction.
///
/// Deleting a document that is already gone succeeds: the caller found it a moment ago.
///
/// # Errors
/// Those of the ports.
pub async fn remove_document(ctx: &Ctx, tenant: &Tenant, mut document: Document) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let head = ctx.index.head(tenant, &document.container).await?;
        let change = [Change::Remove(Box::new(document.clone()))];
        match ctx.index.commit(tenant, &document.container, head.seq, &change, ctx.clock.now()).await? {
            Committed::Done(purges) => {
                for purge in purges {
                    let job = Job::PurgeV1 { container: document.container.clone(), purge };
                    // Lost messages are found by the sweeper through the purge record.
                    ctx.jobs.send(&[Envelope { org: tenant.org().clone(), job }]).await.ok();
                }
                return Ok(());
            }
            Committed::Moved | Committed::Stale(_) => {}
        }
        match ctx.documents.get(tenant, std::slice::from_ref(&document.id)).await?.pop().flatten() {
            Some(newer) => document = newer,
            None => return Ok(()),
        }
    }
    Err(PortError::Conflict.into())
}
