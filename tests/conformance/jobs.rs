//! Conformance tests of [`domain::ports::Jobs`], seen from the receiver.

use std::collections::BTreeSet;
use std::time::Duration;

use aws::QueueReceiver;
use domain::{ConnectionId, ContainerId, DocumentId, Job, JobMessage, Revision, TaskId};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    every_message_arrives_at_its_queue,
    commits_of_a_container_come_one_batch_at_a_time,
    a_message_for_later_comes_later,
);

fn open_receiver(setting: &PortFixture, queue: &str) -> QueueReceiver {
    QueueReceiver::new(setting.app.system.clients.sqs.clone(), queue.to_owned())
}

async fn send(setting: &PortFixture, messages: &[JobMessage]) {
    retry_unavailable(async || setting.ctx().jobs.send(messages).await)
        .await
        .expect("sent messages");
}

/// Receives and deletes messages until the queue is empty. Returns each distinct message once.
async fn drain_queue(setting: &PortFixture, queue: &str) -> BTreeSet<String> {
    let receiver = open_receiver(setting, queue);
    let mut seen = BTreeSet::new();
    let mut idle = 0;
    while idle < 3 {
        let messages = retry_unavailable(async || receiver.receive(Duration::ZERO).await)
            .await
            .expect("messages");
        assert!(messages.len() <= 10);
        idle = if messages.is_empty() { idle + 1 } else { 0 };
        for message in messages {
            seen.insert(message.body.clone());
            // A message that cannot be deleted is delivered again.
            receiver.delete(&[&message]).await.ok();
        }
        // Messages whose delivery or deletion was lost stay hidden until their visibility timeout.
        setting.app.environment.clock.advance_seconds(1000);
    }

    seen
}

fn process_job(setting: &PortFixture, job: Job) -> JobMessage {
    JobMessage {
        org: setting.alpha.org().clone(),
        job,
    }
}

async fn every_message_arrives_at_its_queue(setting: &PortFixture) {
    let names = setting.app.system.names.clone();
    let mut all = Vec::new();
    let mut wanted: [BTreeSet<String>; 4] = Default::default();
    for i in 0..13 {
        let (document, revision, container) = (
            DocumentId::random(),
            Revision::random(),
            ContainerId::random(),
        );
        let process = Job::ProcessV1 {
            document: document.clone(),
            revision: revision.clone(),
            is_short_text: true,
        };
        let texts = Job::ProcessTextsV1 {
            texts: vec![(document.clone(), revision.clone())],
        };
        let commit = Job::CommitV1 {
            document,
            revision,
            container: container.clone(),
        };
        let purge = Job::PurgeV1 {
            container: container.clone(),
            purge: i.to_string(),
        };
        let task = Job::TaskV1 {
            task: TaskId::random(),
            step: i,
        };
        let repair = Job::RepairV1 {
            container: container.clone(),
            documents: Vec::new(),
        };
        let embed = Job::EmbedV1 {
            container: container.clone(),
            documents: Vec::new(),
            after: None,
        };
        let compact = Job::CompactV1 {
            container,
            through: Some(7),
        };
        let sync = Job::SyncV1 {
            connection: ConnectionId::random(),
        };
        for (queue, work) in [
            (0, process),
            (0, texts),
            (1, commit),
            (2, purge),
            (2, task),
            (2, compact),
            (2, repair),
            (2, embed),
            (3, sync),
        ] {
            let message = process_job(setting, work);
            wanted[queue].insert(message.to_json());
            all.push(message);
        }
    }

    send(setting, &all).await;
    let queues = [
        &names.process_queue,
        &names.commit_queue,
        &names.maintenance_queue,
        &names.sync_queue,
    ];

    for (queue, wanted) in queues.into_iter().zip(wanted) {
        assert_eq!(drain_queue(setting, queue).await, wanted);
    }
}

async fn a_message_for_later_comes_later(setting: &PortFixture) {
    let queue = setting.app.system.names.maintenance_queue.clone();
    let receiver = open_receiver(setting, &queue);
    for seconds in [1, 60, 900] {
        let message = process_job(
            setting,
            Job::TaskV1 {
                task: TaskId::random(),
                step: seconds.into(),
            },
        );
        let send = async || setting.ctx().jobs.send_delayed(&message, seconds).await;
        retry_unavailable(send).await.expect("a sent message");
        setting
            .app
            .environment
            .clock
            .advance_seconds(i64::from(seconds) - 1);
        let early = retry_unavailable(async || receiver.receive(Duration::ZERO).await)
            .await
            .expect("messages");
        assert!(early.is_empty(), "not before {seconds} s");
        setting.app.environment.clock.advance_seconds(1);
        assert_eq!(
            drain_queue(setting, &queue).await,
            BTreeSet::from([message.to_json()])
        );
    }

    let message = process_job(
        setting,
        Job::TaskV1 {
            task: TaskId::random(),
            step: 0,
        },
    );
    retry_unavailable(async || setting.ctx().jobs.send_delayed(&message, 0).await)
        .await
        .expect("a sent message");
    assert_eq!(drain_queue(setting, &queue).await.len(), 1);
}

async fn commits_of_a_container_come_one_batch_at_a_time(setting: &PortFixture) {
    let (one, two) = (ContainerId::random(), ContainerId::random());
    let commit = |container: &ContainerId| {
        let (document, revision) = (DocumentId::random(), Revision::random());
        process_job(
            setting,
            Job::CommitV1 {
                document,
                revision,
                container: container.clone(),
            },
        )
    };

    let all: Vec<JobMessage> = (0..25)
        .map(|_| commit(&one))
        .chain((0..3).map(|_| commit(&two)))
        .collect();
    send(setting, &all).await;
    let receiver = open_receiver(setting, &setting.app.system.names.commit_queue);
    let receive = async || {
        retry_unavailable(async || receiver.receive(Duration::ZERO).await)
            .await
            .expect("messages")
    };

    // While a batch of a container is being handled, no second batch of that container is
    // delivered.
    let mut handled = Vec::new();
    loop {
        let batch = receive().await;
        if batch.is_empty() {
            break;
        }
        let containers: BTreeSet<String> = batch
            .iter()
            .map(|message| container_of(&message.body))
            .collect();
        assert!(
            containers
                .iter()
                .all(|container| !handled.contains(container)),
            "two batches at the same time"
        );
        handled.extend(containers);
    }

    assert!(!handled.is_empty());
    let wanted: BTreeSet<String> = all.iter().map(JobMessage::to_json).collect();
    setting.app.environment.clock.advance_seconds(1000);
    assert_eq!(
        drain_queue(setting, &setting.app.system.names.commit_queue).await,
        wanted,
        "in the end all come"
    );
}

fn container_of(body: &str) -> String {
    match JobMessage::parse(body).map(|envelope| envelope.job) {
        Some(Job::CommitV1 { container, .. }) => container.to_string(),
        other => panic!("not a commit: {other:?}"),
    }
}
