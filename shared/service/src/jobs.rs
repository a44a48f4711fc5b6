//! Sending messages to the queues.

use tracing::warn;

use crate::Ctx;
use crate::revise::AcceptedDocument;
use domain::document::{Document, DocumentStatus};
use domain::ids::ContainerId;
use domain::job::{Job, JobMessage, message_delay};
use domain::task::Task;
use domain::tenant::Tenant;

/// Sends messages about records that are written. A message that cannot be sent delays its work, but
/// does not lose it: the sweep sends the messages of documents, tasks, purges and connections that
/// are overdue, and a later commit requests a compaction again.
pub(crate) async fn send_jobs(ctx: &Ctx, messages: &[JobMessage]) {
    if messages.is_empty() {
        return;
    }
    if let Err(error) = ctx.jobs.send(messages).await {
        let count = messages.len();
        warn!(
            count,
            error = &error as &dyn std::error::Error,
            "left {count} messages to the sweep"
        );
    }
}

/// Sends the message of a task's next step. The sweep sends a lost message again.
pub(crate) async fn send_later(ctx: &Ctx, tenant: &Tenant, task: &Task, seconds: i64) {
    let seconds = message_delay(seconds);
    let message = JobMessage::continue_task(tenant.org(), task);
    if let Err(error) = ctx.jobs.send_delayed(&message, seconds).await {
        warn!(task.id = %task.id, error = &error as &dyn std::error::Error, "left a task to the sweep");
    }
}

/// Requests the compaction of a container for a reader, up to the record `through` of its log. It waits
/// for a minute: while documents are being added, commits request compactions as well.
pub async fn request_compaction(ctx: &Ctx, tenant: &Tenant, container: &ContainerId, through: u64) {
    const DELAY_SECONDS: u32 = 60;
    let job = Job::CompactV1 {
        container: container.clone(),
        through: Some(through),
    };
    let message = JobMessage::new(tenant.org(), job);
    if let Err(error) = ctx.jobs.send_delayed(&message, DELAY_SECONDS).await {
        warn!(container.id = %container, error = &error as &dyn std::error::Error,
            "could not request the compaction of {container}; a later reader requests it again");
    }
}

/// Requests the processing of a document's new revision. Returns the response to its acceptance.
pub(crate) async fn queue_processing(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> AcceptedDocument {
    send_jobs(ctx, &[JobMessage::process_document(tenant.org(), document)]).await;
    AcceptedDocument {
        id: document.id.clone(),
        status: DocumentStatus::Queued,
    }
}
