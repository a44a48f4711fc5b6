//! The job queues on SQS.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use domain::job::MAX_DELAY_SECONDS;
use domain::ports::{JobQueue, PortResult};
use domain::{Job, JobMessage, PortError, Revision};

use crate::error::{build_error, port_error};
use crate::names::ResourceNames;

/// The most entries of one batch.
const MAX_BATCH_ENTRIES: usize = 10;

pub(crate) struct SqsJobs {
    client: aws_sdk_sqs::Client,
    process_queue: String,
    commit_queue: String,
    maintenance_queue: String,
    sync_queue: String,
}

impl SqsJobs {
    pub(crate) fn new(client: aws_sdk_sqs::Client, names: &ResourceNames) -> Self {
        Self {
            client,
            process_queue: names.process_queue.clone(),
            commit_queue: names.commit_queue.clone(),
            maintenance_queue: names.maintenance_queue.clone(),
            sync_queue: names.sync_queue.clone(),
        }
    }

    fn queue_url(&self, job: &Job) -> &str {
        match job {
            Job::ProcessV1 { .. } | Job::ProcessTextsV1 { .. } => &self.process_queue,
            Job::CommitV1 { .. } => &self.commit_queue,
            Job::PurgeV1 { .. }
            | Job::TaskV1 { .. }
            | Job::CompactV1 { .. }
            | Job::EmbedV1 { .. }
            | Job::RepairV1 { .. } => &self.maintenance_queue,
            Job::SyncV1 { .. } => &self.sync_queue,
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
        let response = send.send().await.map_err(port_error)?;

        if response.failed().is_empty() {
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
fn batch_entry(
    number: usize,
    message: &JobMessage,
    delay: Option<i32>,
) -> PortResult<SendMessageBatchRequestEntry> {
    let entry = SendMessageBatchRequestEntry::builder().id(number.to_string());
    let entry = entry
        .message_body(message.to_json())
        .set_delay_seconds(delay);
    // Delayed work begins a trace of its own. That of a connection, which is synchronized again and
    // again, would never end.
    let entry = match delay {
        None => entry.set_message_attributes(trace_attribute()?),
        Some(_) => entry,
    };
    let entry = match &message.job {
        Job::CommitV1 { container, .. } => entry
            .message_group_id(format!("{}-{container}", message.org))
            .message_deduplication_id(Revision::random().as_str()),
        Job::ProcessV1 { .. }
        | Job::ProcessTextsV1 { .. }
        | Job::PurgeV1 { .. }
        | Job::TaskV1 { .. }
        | Job::CompactV1 { .. }
        | Job::EmbedV1 { .. }
        | Job::RepairV1 { .. }
        | Job::SyncV1 { .. } => entry.message_group_id(message.org.as_str()),
    };

    entry.build().map_err(build_error)
}

/// Returns the attribute by which the worker continues the current trace.
fn trace_attribute() -> PortResult<Option<HashMap<String, MessageAttributeValue>>> {
    let Some(trace_parent) = spans::current_trace_parent() else {
        return Ok(None);
    };
    let value = MessageAttributeValue::builder()
        .data_type("String")
        .string_value(trace_parent)
        .build()
        .map_err(build_error)?;
    Ok(Some(HashMap::from([(
        spans::TRACE_PARENT.to_owned(),
        value,
    )])))
}

#[async_trait]
impl JobQueue for SqsJobs {
    async fn send_delayed(&self, message: &JobMessage, seconds: u32) -> PortResult<()> {
        let delay = i32::try_from(seconds.min(MAX_DELAY_SECONDS)).ok();
        self.send_batch(
            self.queue_url(&message.job),
            vec![batch_entry(0, message, delay)?],
        )
        .await
    }

    async fn send(&self, messages: &[JobMessage]) -> PortResult<()> {
        for queue in [
            &self.process_queue,
            &self.commit_queue,
            &self.maintenance_queue,
            &self.sync_queue,
        ] {
            let queue_messages: Vec<&JobMessage> = messages
                .iter()
                .filter(|message| self.queue_url(&message.job) == queue)
                .collect();
            for batch in queue_messages.chunks(MAX_BATCH_ENTRIES) {
                let mut entries = Vec::with_capacity(batch.len());
                for (i, message) in batch.iter().enumerate() {
                    entries.push(batch_entry(i, message, None)?);
                }
                self.send_batch(queue, entries).await?;
            }
        }

        Ok(())
    }
}
