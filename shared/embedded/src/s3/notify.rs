//! Notification of queues about new objects.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::{Connection, params};
use s3s::dto::{
    Event, FilterRule, GetBucketNotificationConfigurationOutput, NotificationConfiguration,
    PutBucketNotificationConfigurationInput, PutBucketNotificationConfigurationOutput,
    QueueConfiguration,
};
use s3s::{S3Result, s3_error};
use serde_json::json;

use super::index::{StoredObject, from_json, query_row, require_bucket, to_json};
use super::store::{ObjectStore, internal_error};
use crate::REGION;
use crate::wire::random_uuid;

/// The prefix of the names of supported events.
const CREATED_PREFIX: &str = "s3:ObjectCreated:";
/// The characters that are escaped in the keys of notifications.
const ESCAPED_IN_KEYS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'*')
    .remove(b'/');

/// The way in which an object was created, with the names of S3's events.
#[derive(Debug, Clone, Copy)]
pub(super) enum CreationKind {
    Put,
    Post,
    Copy,
    CompleteMultipartUpload,
}

/// Replaces the notification configuration of a bucket.
pub(super) fn put_configuration(
    store: &ObjectStore,
    input: PutBucketNotificationConfigurationInput,
) -> S3Result<PutBucketNotificationConfigurationOutput> {
    let PutBucketNotificationConfigurationInput {
        bucket,
        mut notification_configuration,
        ..
    } = input;

    let mut queues = notification_configuration
        .queue_configurations
        .take()
        .unwrap_or_default();
    if notification_configuration != NotificationConfiguration::default() {
        return Err(s3_error!(
            NotImplemented,
            "Only queues can be told about objects"
        ));
    }

    for queue in &mut queues {
        check_queue(store, queue)?;
        queue.id.get_or_insert_with(random_uuid);
    }

    let text = to_json(&queues)?;
    store.write_index(|transaction| {
        require_bucket(transaction.tx, &bucket)?;
        let sql = "INSERT OR REPLACE INTO notifications (bucket, queues) VALUES (?1, ?2)";
        transaction.run_statement(sql, params![bucket, text])
    })?;

    Ok(PutBucketNotificationConfigurationOutput::default())
}

fn check_queue(store: &ObjectStore, queue: &QueueConfiguration) -> S3Result<()> {
    if queue
        .events
        .iter()
        .any(|event| !event.as_ref().starts_with(CREATED_PREFIX))
    {
        return Err(s3_error!(
            NotImplemented,
            "Only {CREATED_PREFIX}* can be told"
        ));
    }

    for rule in filter_rules(queue) {
        if !is_of_kind(rule, "prefix") && !is_of_kind(rule, "suffix") {
            return Err(s3_error!(
                InvalidArgument,
                "filter rule name must be either prefix or suffix"
            ));
        }
    }

    // S3 sends to standard queues only.
    let is_known = !queue.queue_arn.ends_with(".fifo")
        && store
            .queues
            .has_queue(&queue.queue_arn)
            .map_err(internal_error)?;
    if is_known {
        Ok(())
    } else {
        Err(s3_error!(
            InvalidArgument,
            "Unable to validate the following destination configurations"
        ))
    }
}

/// Returns the notification configuration of a bucket.
pub(super) fn get_configuration(
    store: &ObjectStore,
    bucket: &str,
) -> S3Result<GetBucketNotificationConfigurationOutput> {
    let index = store.lock_index();
    require_bucket(&index, bucket)?;
    let queues = read_queues(&index, bucket)?;
    let queue_configurations = (!queues.is_empty()).then_some(queues);
    Ok(GetBucketNotificationConfigurationOutput {
        queue_configurations,
        ..GetBucketNotificationConfigurationOutput::default()
    })
}

fn read_queues(index: &Connection, bucket: &str) -> S3Result<Vec<QueueConfiguration>> {
    let sql = "SELECT queues FROM notifications WHERE bucket = ?1";
    let queues: Option<String> = query_row(index, sql, [bucket], |row| row.get(0))?;
    match queues {
        Some(queues) => from_json(&queues),
        None => Ok(Vec::new()),
    }
}

fn filter_rules(queue: &QueueConfiguration) -> &[FilterRule] {
    if let Some(filter) = &queue.filter
        && let Some(key) = &filter.key
        && let Some(rules) = &key.filter_rules
    {
        return rules;
    }
    &[]
}

/// Checks whether a rule is about the `prefix` or the `suffix` of a key.
fn is_of_kind(rule: &FilterRule, kind: &str) -> bool {
    match &rule.name {
        Some(name) => name.as_str().eq_ignore_ascii_case(kind),
        None => false,
    }
}

/// Checks whether the queue is to be notified of `key`.
fn matches_queue(queue: &QueueConfiguration, key: &str, creation: CreationKind) -> bool {
    let names = [
        format!("{CREATED_PREFIX}{creation:?}"),
        format!("{CREATED_PREFIX}*"),
    ];
    let is_named = |event: &Event| names.iter().any(|name| event.as_ref() == name);
    if !queue.events.iter().any(is_named) {
        return false;
    }

    for rule in filter_rules(queue) {
        let value = rule.value.as_deref().unwrap_or_default();
        let is_met = if is_of_kind(rule, "prefix") {
            key.starts_with(value)
        } else {
            key.ends_with(value)
        };
        if !is_met {
            return false;
        }
    }

    true
}

/// Notifies the interested queues that an object was stored.
///
/// This is called between the transaction that stored the object and the answer. A process that
/// dies in between has promised nothing, and the client stores the object again.
pub(super) fn notify_queues(
    store: &ObjectStore,
    bucket: &str,
    key: &str,
    object: &StoredObject,
    creation: CreationKind,
) -> S3Result<()> {
    let queues = read_queues(&store.lock_index(), bucket)?;
    for queue in &queues {
        if !matches_queue(queue, key, creation) {
            continue;
        }
        let message = compose_message(queue, bucket, key, object, creation);
        let result = store.queues.deliver_message(&queue.queue_arn, message);
        if !result.map_err(internal_error)? {
            tracing::warn!(
                queue = queue.queue_arn,
                "the queue to tell about new objects is gone"
            );
        }
    }

    Ok(())
}

/// Returns the message as S3 composes it (user guide, "event message structure", version 2.1).
fn compose_message(
    queue: &QueueConfiguration,
    bucket: &str,
    key: &str,
    object: &StoredObject,
    creation: CreationKind,
) -> String {
    let time = jiff::Timestamp::from_millisecond(object.modified_ms)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let key = utf8_percent_encode(key, &ESCAPED_IN_KEYS)
        .to_string()
        .replace("%20", "+");

    json!({"Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": REGION,
        "eventTime": format!("{time:.3}"),
        "eventName": format!("ObjectCreated:{creation:?}"),
        "userIdentity": {"principalId": "embedded"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": random_uuid(), "x-amz-id-2": random_uuid()},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": queue.id,
            "bucket": {
                "name": bucket,
                "ownerIdentity": {"principalId": "embedded"},
                "arn": format!("arn:aws:s3:::{bucket}"),
            },
            "object": {
                "key": key,
                "size": object.size,
                "eTag": object.etag,
                "sequencer": format!("{:016X}", object.modified_ms),
            },
        },
    }]})
    .to_string()
}
