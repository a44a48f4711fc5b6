//! The sweep: picks up work that a crash or a lost message has left unfinished.

use domain::job::retry_pause;
use domain::ports::{ERASE_AFTER_SECONDS, OverdueWork, PortResult};
use domain::{ContainerId, Job, JobMessage, OrgId, Timestamp};
use service::Ctx;
use tracing::{info, warn};

/// The most pieces of work that one sweep picks up. The next sweep follows in a minute.
const MAX_PICKED_UP: usize = 500;

/// The results of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// The number of documents whose messages were sent again.
    pub documents: usize,
    /// The number of completed purges.
    pub purges: usize,
    /// The number of tasks whose messages were sent again.
    pub tasks: usize,
    /// The number of connections whose synchronization was due.
    pub connections: usize,
    /// The number of counted hours of the request log.
    pub hours: usize,
    /// The number of containers whose index has to be rewritten, because it contains deleted
    /// content.
    pub erasures: usize,
}

/// Picks up overdue work: sends the messages of unfinished documents and tasks that were due before
/// `before`, and of connections that are due, completes overdue purges, counts the hours of the
/// request log that have ended, and requests the rewriting of indexes that contain deleted content.
///
/// The pause of a document is set before its message is sent. If the sweep dies in between, the
/// document waits for one more pause, and nothing is lost. The number of attempts is limited by the
/// worker that processes the message.
///
/// # Errors
/// Those of the ports. Work that was picked up before the error stays picked up.
pub async fn sweep_overdue_work(ctx: &Ctx, before: Timestamp) -> PortResult<SweepCounts> {
    let mut counts = SweepCounts::default();
    for overdue in ctx.documents.list_overdue(before, MAX_PICKED_UP).await? {
        // Work that cannot be picked up must not stop the rest.
        match pick_up_work(ctx, &overdue, before).await {
            Ok(true) => match overdue {
                OverdueWork::Document(..) => counts.documents += 1,
                OverdueWork::Purge(..) => counts.purges += 1,
                OverdueWork::Task(..) => counts.tasks += 1,
            },
            Ok(false) => {}
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "could not pick up overdue work"
            ),
        }
    }

    // Work that is planned for later is not unfinished. It waits for its time, whatever `before`
    // is.
    let now = before.min(ctx.clock.now());
    let connections = send_due_connections(ctx, now).await;
    counts.connections = count_or_warn(connections, "look for due connections");

    // An hour that has not ended would only be opened again.
    let hours = crate::rollup::roll_up_hours(ctx, now).await;
    counts.hours = count_or_warn(hours, "count hours of the request log");

    let erasures = request_erasures(ctx, now).await;
    counts.erasures = count_or_warn(erasures, "look for due erasures");

    if counts != SweepCounts::default() {
        let SweepCounts {
            documents,
            purges,
            tasks,
            connections,
            hours,
            erasures,
        } = counts;
        info!(
            documents,
            purges,
            tasks,
            connections,
            hours,
            erasures,
            "picked up {documents} documents, {purges} purges, {tasks} tasks and {connections} connections, \
             counted {hours} hours, and requested {erasures} erasures"
        );
    }

    Ok(counts)
}

/// Returns the count of a part of the sweep, or 0 with a warning if the part failed. `task` completes the
/// sentence of the warning.
fn count_or_warn(result: PortResult<usize>, task: &'static str) -> usize {
    match result {
        Ok(count) => count,
        Err(error) => {
            warn!(error = &error as &dyn std::error::Error, "could not {task}");
            0
        }
    }
}

/// Sends the messages of connections whose next run is due. A connection that is already running
/// ignores the message.
async fn send_due_connections(ctx: &Ctx, now: Timestamp) -> PortResult<usize> {
    let due = ctx.connections.list_due(now, MAX_PICKED_UP).await?;
    let mut messages = Vec::with_capacity(due.len());
    for (org, connection) in due {
        messages.push(JobMessage::new(&org, Job::SyncV1 { connection }));
    }

    if !messages.is_empty() {
        ctx.jobs.send(&messages).await?;
    }
    Ok(messages.len())
}

/// Requests the rewriting of containers whose index contains deleted content. If this fails, they
/// are due again.
async fn request_erasures(ctx: &Ctx, now: Timestamp) -> PortResult<usize> {
    let due = ctx.index.list_due_erasures(now, MAX_PICKED_UP).await?;
    let mut requested = 0;
    for (org, container) in &due {
        // One that fails must not stop the others.
        match request_erasure(ctx, org, container, now).await {
            Ok(()) => requested += 1,
            Err(error) => {
                warn!(container.id = %container, error = &error as &dyn std::error::Error,
                    "could not request an erasure");
            }
        }
    }

    Ok(requested)
}

/// Requests the rewriting of a container whose index contains deleted content.
async fn request_erasure(
    ctx: &Ctx,
    org: &OrgId,
    container: &ContainerId,
    now: Timestamp,
) -> PortResult<()> {
    let job = Job::RepairV1 {
        container: container.clone(),
        documents: Vec::new(),
    };
    let message = JobMessage::new(org, job);
    let retry_at = now.plus_seconds(ERASE_AFTER_SECONDS);
    ctx.index
        .postpone_erasure(&message.tenant(), container, retry_at)
        .await?;
    ctx.jobs.send(&[message]).await
}

async fn pick_up_work(ctx: &Ctx, overdue: &OverdueWork, before: Timestamp) -> PortResult<bool> {
    let tenant = overdue.tenant();
    match overdue {
        OverdueWork::Purge(_, container, purge) => {
            crate::run_purge(ctx, &tenant, container, purge).await?;
            Ok(true)
        }
        OverdueWork::Task(org, id) => {
            let Some(task) = ctx.tasks.get(&tenant, id).await? else {
                return Ok(false);
            };
            // The task's next step postpones it. Until then, another message does no harm.
            ctx.jobs
                .send(&[JobMessage::continue_task(org, &task)])
                .await?;
            Ok(true)
        }
        OverdueWork::Document(org, id) => {
            let Some(document) = ctx.documents.get_one(&tenant, id).await? else {
                return Ok(false);
            };
            // The index may be slightly outdated: a worker has just taken the lease.
            if document.lease_until > before {
                return Ok(false);
            }
            let retry_at = ctx.clock.now().plus_seconds(retry_pause(document.attempts));
            let lease = document.lease_until;
            if !ctx
                .documents
                .postpone_revision(&tenant, id, &document.revision, lease, retry_at)
                .await?
            {
                return Ok(false);
            }
            ctx.jobs
                .send(&[JobMessage::process_document(org, &document)])
                .await?;
            Ok(true)
        }
    }
}
