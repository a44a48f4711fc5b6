//! The workers, one step at a time.

use std::time::Duration;

use aws::Receiver;
use domain::{Delivery, Envelope, Job, Outcome, Worker};
use processor::Processor;

use crate::client::Client;

/// Processes the queued documents without committing them, and returns the number of messages.
pub(crate) async fn process_only(client: &Client) -> usize {
    let system = &client.app.system;
    let receiver = Receiver::new(
        system.clients.sqs.clone(),
        system.names.process_queue.clone(),
    );
    let worker = Processor::new(system.ctx.clone(), client.app.world.readers());
    let messages = receiver.receive(Duration::ZERO).await.expect("messages");
    let batch: Vec<Delivery> = messages
        .iter()
        .map(|message| Delivery {
            body: message.body.clone(),
            dead: false,
        })
        .collect();
    let outcomes = worker.handle(&batch).await;
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Done),
        "{outcomes:?}"
    );
    for message in &messages {
        receiver.delete(message).await.expect("a deleted message");
    }

    messages.len()
}

/// Sends every message again that was ever sent about this content of a document.
pub(crate) async fn send_late_messages(client: &Client, old: &domain::Document) {
    let (document, revision, container) =
        (old.id.clone(), old.revision.clone(), old.container.clone());
    let jobs = [
        Job::ProcessV1 {
            document: document.clone(),
            revision: revision.clone(),
        },
        Job::CommitV1 {
            document,
            revision,
            container,
        },
    ];

    let org = client.tenant.org();
    let messages: Vec<Envelope> = jobs
        .into_iter()
        .map(|job| Envelope {
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
