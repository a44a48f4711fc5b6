//! The job queues on SQS.

use async_trait::async_trait;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::ports::{Jobs, PortResult};
use domain::{Envelope, Job, PortError, Revision};

use crate::error::{build_error, port_error};
use crate::names::Names;

/// The most entries of one batch.
const BATCH: usize = 10;
/// The longest delay of a message on SQS.
const MAX_DELAY_SECONDS: u32 = 900;

pub(crate) struct SqsJobs {
    client: aws_sdk_sqs::Client,
    process: String,
    commit: String,
    keeper: String,
    sync: String,
}

impl SqsJobs {
    pub(crate) fn new(client: aws_sdk_sqs::Client, names: &Names) -> Self {
        Self {
            client,
            process: names.process_queue.clone(),
            commit: names.commit_queue.clone(),
            keeper: names.keeper_queue.clone(),
            sync: names.sync_queue.clone(),
        }
    }

    fn queue(&self, job: &Job) -> &str {
        match job {
            Job::ProcessV1 { .. } => &self.process,
            Job::CommitV1 { .. } => &self.commit,
            Job::PurgeV1 { .. }
            | Job::TaskV1 { .. }
            | Job::CompactV1 { .. }
            | Job::MendV1 { .. } => &self.keeper,
            Job::SyncV1 { .. } => &self.sync,
        }
    }

    async fn send_batch(
        &self,
        queue: &str,
        entries: Vec<SendMessageBatchRequestEntry>,
    ) -> PortResult<()> {
        let send = self
            .client
            .send_message_batch()
            .queue_url(queue)
            .set_entries(Some(entries));
        let answer = send.send().await.map_err(port_error)?;

        if answer.failed().is_empty() {
            Ok(())
        } else {
            Err(PortError::Unavailable(
                "the queue refused part of a batch".into(),
            ))
        }
    }
}

/// Returns the batch entry of a message.
///
/// On the standard queues the message group is the organization, so that SQS delivers fairly among
/// organizations. On the FIFO queue it is the container, so that the commits of one container
/// arrive one batch at a time. Every send has its own deduplication id, because a message that the
/// sweep sends again must not be dropped as a duplicate. Only a standard queue takes a delay.
fn entry(
    number: usize,
    message: &Envelope,
    delay: Option<i32>,
) -> PortResult<SendMessageBatchRequestEntry> {
    let entry = SendMessageBatchRequestEntry::builder().id(number.to_string());
    let entry = entry
        .message_body(message.to_text())
        .set_delay_seconds(delay);
    let entry = match &message.job {
        Job::CommitV1 { container, .. } => entry
            .message_group_id(format!("{}-{container}", message.org))
            .message_deduplication_id(Revision::random().as_str()),
        Job::ProcessV1 { .. }
        | Job::PurgeV1 { .. }
        | Job::TaskV1 { .. }
        | Job::CompactV1 { .. }
        | Job::MendV1 { .. }
        | Job::SyncV1 { .. } => entry.message_group_id(message.org.as_str()),
    };

    entry.build().map_err(build_error)
}

#[async_trait]
impl Jobs for SqsJobs {
    async fn send_later(&self, message: &Envelope, seconds: u32) -> PortResult<()> {
        let delay = i32::try_from(seconds.min(MAX_DELAY_SECONDS)).ok();
        self.send_batch(self.queue(&message.job), vec![entry(0, message, delay)?])
            .await
    }

    async fn send(&self, messages: &[Envelope]) -> PortResult<()> {
        for queue in [&self.process, &self.commit, &self.keeper, &self.sync] {
            let here: Vec<&Envelope> = messages
                .iter()
                .filter(|message| self.queue(&message.job) == queue)
                .collect();
            for batch in here.chunks(BATCH) {
                let entries = batch
                    .iter()
                    .enumerate()
                    .map(|(i, message)| entry(i, message, None));
                self.send_batch(queue, entries.collect::<PortResult<Vec<_>>>()?)
                    .await?;
            }
        }

        Ok(())
    }
}
