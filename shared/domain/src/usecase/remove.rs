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
                let container = || document.container.clone();
                let mut jobs: Vec<Job> =
                    purges.into_iter().map(|purge| Job::PurgeV1 { container: container(), purge }).collect();
                if head.wants_compaction(&change) {
                    jobs.push(Job::CompactV1 { container: container() });
                }
                // A lost purge is found by the sweeper, and a compaction is asked for again after some more records.
                let messages = jobs.into_iter().map(|job| Envelope { org: tenant.org().clone(), job });
                ctx.jobs.send(&messages.collect::<Vec<_>>()).await.ok();
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
