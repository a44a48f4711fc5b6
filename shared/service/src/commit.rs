//! Commits to the log of a container.

use crate::ConflictRetry;
use crate::Ctx;
use crate::jobs::send_jobs;
use domain::container::{DocumentChange, IndexHead};
use domain::error::Result;
use domain::ids::{ContainerId, DocumentId};
use domain::job::{Job, JobMessage};
use domain::ports::CommitOutcome;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The outcome of [`commit_changes`] and [`try_commit_changes`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    /// All changes took effect.
    Done,
    /// Nothing changed, because these documents have changed since they were read.
    Stale(Vec<DocumentId>),
}

/// Commits changes to a container in one transaction, and requests the maintenance that they leave
/// to do. Repeats the commit while other commits of the container are first. `at` is the time of
/// the commit, or `None` for the time of the attempt that succeeds.
///
/// Safe to repeat: the commit takes effect only while every document is stored as given.
///
/// # Errors
/// Returns the errors of the ports. Nothing has changed then, unless the response to the commit was
/// lost.
pub async fn commit_changes(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    changes: &[DocumentChange],
    at: Option<Timestamp>,
) -> Result<Committed> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let committed = try_commit_changes(ctx, tenant, container, changes, at).await?;
        if let Some(committed) = committed {
            return Ok(committed);
        }
        retry.wait().await?;
    }
}

/// Makes one attempt to commit changes, as [`commit_changes`] does. Returns `None` if another commit of
/// the container was first, and nothing changed.
///
/// # Errors
/// As [`commit_changes`].
pub async fn try_commit_changes(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    changes: &[DocumentChange],
    at: Option<Timestamp>,
) -> Result<Option<Committed>> {
    let head = ctx.index.get_head(tenant, container).await?;
    let at = at.unwrap_or_else(|| ctx.clock.now());
    let outcome = ctx
        .index
        .commit(tenant, container, &head, changes, at)
        .await?;

    Ok(match outcome {
        CommitOutcome::Done(purges) => {
            request_maintenance(ctx, tenant, container, &head, changes, purges).await;
            Some(Committed::Done)
        }
        CommitOutcome::Stale(documents) => Some(Committed::Stale(documents)),
        CommitOutcome::Moved => None,
    })
}

/// Requests the purges and the compaction that a commit leaves to maintenance. The sweep finds a
/// lost purge, and a lost compaction is requested again after some more records.
async fn request_maintenance(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    head: &IndexHead,
    changes: &[DocumentChange],
    purges: Vec<String>,
) {
    let mut messages = Vec::new();
    for purge in purges {
        let job = Job::PurgeV1 {
            container: container.clone(),
            purge,
        };
        messages.push(JobMessage::new(tenant.org(), job));
    }
    if head.needs_compaction(changes) {
        let job = Job::CompactV1 {
            container: container.clone(),
            through: Some(head.seq + 1),
        };
        messages.push(JobMessage::new(tenant.org(), job));
    }

    send_jobs(ctx, &messages).await;
}
