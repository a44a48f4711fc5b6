//! The sweep: whatever a crash or a lost message left unfinished is picked up again.

use domain::ports::{ERASE_AFTER_SECONDS, Overdue, PortResult};
use domain::{Ctx, Envelope, Job, Timestamp};
use tracing::{info, warn};

/// The most pieces of work that one sweep picks up; the next one follows in a minute.
const LIMIT: usize = 500;
/// The pause before a document counts as overdue again, doubled with each attempt, up to an hour.
const PAUSE_SECONDS: i64 = 60;
const MAX_DOUBLINGS: u32 = 6;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Documents whose message was sent again.
    pub documents: usize,
    /// Purges that were done.
    pub purges: usize,
    /// Tasks whose message was sent again.
    pub tasks: usize,
    /// Connections whose synchronization was due.
    pub connections: usize,
    /// Hours of the request log that were counted.
    pub hours: usize,
    /// Containers whose index is to be written anew, because it holds what was taken away.
    pub erasures: usize,
}

/// Sends the messages of unfinished documents and tasks that were due before `before`, and of connections that are due,
/// does overdue purges, and counts the hours of the request log that have ended.
///
/// A document gets its pause before its message: if the sweep dies in between, the next sweep is late by a pause, and
/// nothing is lost. The number of attempts is bounded by whoever processes the message.
///
/// # Errors
/// Those of the ports; what was picked up by then stays picked up.
pub async fn sweep(ctx: &Ctx, before: Timestamp) -> PortResult<Swept> {
    let mut swept = Swept::default();
    for overdue in ctx.documents.overdue(before, LIMIT).await? {
        // One piece of work that cannot be picked up must not stop the others.
        match pick_up(ctx, &overdue, before).await {
            Ok(true) => match overdue {
                Overdue::Document(..) => swept.documents += 1,
                Overdue::Purge(..) => swept.purges += 1,
                Overdue::Task(..) => swept.tasks += 1,
            },
            Ok(false) => {}
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "could not pick up overdue work"
            ),
        }
    }

    // What is planned for later is not unfinished: it waits for its time, whatever `before` is.
    let now = before.min(ctx.clock.now());
    match send_due(ctx, now).await {
        Ok(connections) => swept.connections = connections,
        Err(error) => warn!(
            error = &error as &dyn std::error::Error,
            "could not look for due connections"
        ),
    }

    // An hour that is not over yet would only be opened again.
    match crate::rollup::roll_up(ctx, now).await {
        Ok(hours) => swept.hours = hours,
        Err(error) => {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not count hours of the request log"
            )
        }
    }

    match send_erasures(ctx, now).await {
        Ok(erasures) => swept.erasures = erasures,
        Err(error) => warn!(
            error = &error as &dyn std::error::Error,
            "could not look for due erasures"
        ),
    }

    if swept != Swept::default() {
        let Swept {
            documents,
            purges,
            tasks,
            connections,
            hours,
            erasures,
        } = swept;
        info!(
            documents,
            purges,
            tasks,
            connections,
            hours,
            erasures,
            "picked up {documents} documents, {purges} purges, {tasks} tasks and {connections} connections"
        );
    }

    Ok(swept)
}

/// Sends the messages of connections whose next run is due. One that is running already does nothing with it.
async fn send_due(ctx: &Ctx, now: Timestamp) -> PortResult<usize> {
    let due = ctx.connections.due(now, LIMIT).await?;
    let message = |(org, connection)| Envelope {
        org,
        job: Job::SyncV1 { connection },
    };
    let messages: Vec<Envelope> = due.into_iter().map(message).collect();
    if !messages.is_empty() {
        ctx.jobs.send(&messages).await?;
    }
    Ok(messages.len())
}

/// Asks for containers to be written anew whose index holds what was taken away. They are due again should this fail.
async fn send_erasures(ctx: &Ctx, now: Timestamp) -> PortResult<usize> {
    let due = ctx.index.due_erasures(now, LIMIT).await?;
    for (org, container) in &due {
        let job = Job::MendV1 {
            container: container.clone(),
            documents: Vec::new(),
        };
        let message = Envelope {
            org: org.clone(),
            job,
        };
        let again = now.plus_seconds(ERASE_AFTER_SECONDS);
        ctx.index
            .postpone_erasure(&message.tenant(), container, again)
            .await?;
        ctx.jobs.send(&[message]).await?;
    }

    Ok(due.len())
}

async fn pick_up(ctx: &Ctx, overdue: &Overdue, before: Timestamp) -> PortResult<bool> {
    let tenant = overdue.tenant();
    match overdue {
        Overdue::Purge(_, container, purge) => {
            crate::purge(ctx, &tenant, container, purge).await?;
            Ok(true)
        }
        Overdue::Task(org, id) => {
            let Some(task) = ctx.tasks.get(&tenant, id).await? else {
                return Ok(false);
            };
            // Nothing to postpone: its next step does. Until then another message does no harm.
            ctx.jobs.send(&[Envelope::to_move_on(org, &task)]).await?;
            Ok(true)
        }
        Overdue::Document(org, id) => {
            let Some(document) = ctx
                .documents
                .get(&tenant, std::slice::from_ref(id))
                .await?
                .pop()
                .flatten()
            else {
                return Ok(false);
            };
            // The index may be a moment behind: a worker has just begun.
            if document.lease_until > before {
                return Ok(false);
            }
            let pause = PAUSE_SECONDS << document.attempts.min(MAX_DOUBLINGS);
            let again = ctx.clock.now().plus_seconds(pause);
            if !ctx
                .documents
                .postpone(&tenant, id, &document.revision, again)
                .await?
            {
                return Ok(false);
            }
            ctx.jobs
                .send(&[Envelope::to_process(org, &document)])
                .await?;
            Ok(true)
        }
    }
}
