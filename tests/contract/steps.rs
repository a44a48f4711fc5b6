//! The workers, one step at a time.

use std::time::Duration;

use aws::{QueueReceiver, ReceivedMessage};
use domain::{DeliveryOutcome, Job, JobMessage, QueueDelivery, QueueWorker};
use processor::Processor;
use testkit::TestApp;

use crate::client::OrgClient;

/// Returns a text that is too long to be committed together with its processing. Its length is that of
/// white space, which is not a part of what is read.
pub(crate) fn make_long(text: &str) -> String {
    const SHORT_TEXT_BYTES: usize = 32 * 1024;
    format!("{text}{}", " ".repeat(SHORT_TEXT_BYTES))
}

/// Processes the queued documents without handling the queue of commits, and returns the number of
/// messages. New short texts are committed as well.
pub(crate) async fn process_only(client: &OrgClient) -> usize {
    process_only_in(&client.app).await
}

/// Processes as [`process_only`] does, in the process `app`.
pub(crate) async fn process_only_in(app: &TestApp) -> usize {
    let system = &app.system;
    let receiver = QueueReceiver::new(
        system.clients.sqs.clone(),
        system.names.process_queue.clone(),
    );
    let worker = Processor::new(system.ctx.clone(), app.environment.content_readers());
    let messages = receiver.receive(Duration::ZERO).await.expect("messages");
    let batch: Vec<QueueDelivery> = messages
        .iter()
        .map(|message| message.to_delivery(false))
        .collect();
    let outcomes = worker.handle_batch(&batch).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == DeliveryOutcome::Done),
        "{outcomes:?}"
    );
    let handled: Vec<&ReceivedMessage> = messages.iter().collect();
    receiver.delete(&handled).await.expect("deleted messages");

    messages.len()
}

/// Sends every message again that was ever sent about this content of a document.
pub(crate) async fn send_late_messages(client: &OrgClient, old: &domain::Document) {
    let (document, revision, container) =
        (old.id.clone(), old.revision.clone(), old.container.clone());
    let jobs = [
        Job::ProcessV1 {
            document: document.clone(),
            revision: revision.clone(),
            is_short_text: true,
        },
        Job::ProcessTextsV1 {
            texts: vec![(document.clone(), revision.clone())],
        },
        Job::CommitV1 {
            document,
            revision,
            container,
        },
    ];

    let org = client.tenant.org();
    let messages: Vec<JobMessage> = jobs
        .into_iter()
        .map(|job| JobMessage {
            org: org.clone(),
            job,
        })
        .collect();

    client
        .app
        .system
        .ctx
        .jobs
        .send(&messages)
        .await
        .expect("sent messages");
}
