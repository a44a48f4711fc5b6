//! Running tasks, step by step.

use std::pin::Pin;

use tracing::{error, info, warn};

use crate::Ctx;
use crate::jobs::{send_jobs, send_later};
use crate::{merge, purge};
use domain::error::{Error, Result};
use domain::ids::TaskId;
use domain::job::{JobMessage, MAX_DELAY_SECONDS};
use domain::task::{Task, TaskState, TaskWork};
use domain::tenant::Tenant;

/// The number of steps that one message runs. The next message continues, perhaps in another
/// process.
const MAX_STEPS: usize = 20;
/// The number of times in a row that a step may fail before a merge is given up, or a person has to
/// look at a purge.
const MAX_ATTEMPTS: u32 = 20;
/// The number of seconds that a message may take before the sweep sends another one.
const GRACE_SECONDS: i64 = 60;

/// The continuation after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next step follows at once.
    Again,
    /// The next step follows after this many seconds.
    Later(i64),
    /// The task has ended.
    Ended,
}

/// Continues a task from `step`. Does nothing if the task is further by now. A step takes effect
/// before the record says that it is done. After a crash the step runs again, which changes
/// nothing.
///
/// # Errors
/// Returns the errors of the ports when the record could not be read or written. A failed step is
/// counted in the record instead.
pub async fn run_task(ctx: &Ctx, tenant: &Tenant, id: &TaskId, step: u64) -> Result<()> {
    let Some(mut task) = ctx.tasks.get(tenant, id).await? else {
        return Ok(());
    };

    if task.step != step || task.state != TaskState::Running {
        return Ok(());
    }

    for _ in 0..MAX_STEPS {
        let next = run_step(ctx, tenant, &mut task).await;
        if !ctx.tasks.save(tenant, &task).await? {
            return Ok(());
        }
        match next {
            Next::Again => {}
            Next::Later(seconds) => {
                send_later(ctx, tenant, &task, seconds).await;
                return Ok(());
            }
            Next::Ended => return Ok(()),
        }
    }

    send_jobs(ctx, &[JobMessage::continue_task(tenant.org(), &task)]).await;
    Ok(())
}

/// Runs one step and updates the record of the task.
async fn run_step(ctx: &Ctx, tenant: &Tenant, task: &mut Task) -> Next {
    let mut work = task.work.clone();
    // Boxed, because a step of any kind is a large future.
    let step: Pin<Box<dyn Future<Output = Result<Next>> + Send + '_>> = match &mut work {
        TaskWork::Purge(purge) => Box::pin(purge::step(ctx, tenant, purge)),
        TaskWork::Merge(merge) => {
            Box::pin(merge::step(ctx, tenant, &task.id, task.created_at, merge))
        }
    };

    let result = step.await;
    let now = ctx.clock.now();
    let next = match result {
        Ok(next) => {
            (task.work, task.attempts, task.error, task.updated_at) = (work, 0, None, now);
            next
        }
        Err(error) => record_failure(ctx, tenant, task, &error).await,
    };

    if next == Next::Ended && task.state == TaskState::Running {
        task.state = TaskState::Completed;
        info!(task.id = %task.id, "completed the task {}", task.id);
    }

    task.step += 1;
    let wait = if let Next::Later(seconds) = next {
        seconds
    } else {
        0
    };
    task.due_at = now.plus_seconds(wait + GRACE_SECONDS);
    next
}

/// Counts a failure and returns the pause before the step is tried again. A merge that has failed
/// too often is given up. A purge never is, because what was deleted must be removed.
async fn record_failure(ctx: &Ctx, tenant: &Tenant, task: &mut Task, error: &Error) -> Next {
    warn!(task.id = %task.id, error = error as &dyn std::error::Error, "a step of the task {} failed", task.id);
    task.attempts += 1;
    task.error = Some(error.to_string());
    let pause = Next::Later((1 << task.attempts.min(10)).min(i64::from(MAX_DELAY_SECONDS)));
    if task.attempts < MAX_ATTEMPTS {
        return pause;
    }

    // A person has to look.
    let (id, code, attempts) = (&task.id, error.type_name(), task.attempts);
    error!(task.id = %id, error.code = code, attempts, "the task {id} failed {attempts} times in a row: {code}");
    let TaskWork::Merge(merge) = &mut task.work else {
        return pause;
    };

    if merge::fail_merge(ctx, tenant, &task.id, merge)
        .await
        .is_err()
    {
        // The tags stay closed until giving up succeeds.
        return pause;
    }

    task.state = TaskState::Failed;
    Next::Ended
}
