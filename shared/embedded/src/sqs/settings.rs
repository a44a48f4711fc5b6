//! The attributes of a queue: their names, valid values and meaning.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::{SqsError, SqsResult};
use super::store::ARN_PREFIX;

/// An attribute that is a number, with its smallest, largest and default value.
type NumericAttribute = (&'static str, u64, u64, u64);

/// The attributes that are numbers (SQS API reference, `CreateQueue`).
const NUMERIC_ATTRIBUTES: [NumericAttribute; 5] = [
    ("DelaySeconds", 0, 900, 0),
    (
        "MaximumMessageSize",
        1024,
        MAX_MESSAGE_BYTES,
        MAX_MESSAGE_BYTES,
    ),
    ("MessageRetentionPeriod", 60, 1_209_600, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0, 20, 0),
    ("VisibilityTimeout", 0, 43_200, 30),
];
/// The attributes that are stored and returned, without an effect here.
const STORED_ATTRIBUTES: [&str; 7] = [
    "Policy",
    "RedriveAllowPolicy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "FifoThroughputLimit",
    "FifoQueue",
];
/// The most bytes of a message and of a batch of messages, attributes included: 1 MiB.
pub(super) const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

/// The redrive policy for messages that were received too often.
#[derive(Debug, Clone)]
pub(super) struct ParsedRedrivePolicy {
    /// The name of the dead-letter queue.
    pub(super) target: String,
    /// The number of receives after which a message that is still not deleted is moved and not
    /// received again.
    pub(super) max_receive_count: u64,
}

/// The parsed attributes of a queue. Times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct QueueSettings {
    pub(super) delay: u64,
    pub(super) max_bytes: u64,
    pub(super) retention: u64,
    pub(super) wait: u64,
    pub(super) visibility: u64,
    pub(super) content_deduplication: bool,
    /// Set if deduplication ids count per message group and not per queue.
    pub(super) deduplication_per_group: bool,
    pub(super) redrive: Option<ParsedRedrivePolicy>,
}

/// `RedrivePolicy` as JSON text. The count may be a number or a string.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RedrivePolicy {
    dead_letter_target_arn: String,
    max_receive_count: serde_json::Value,
}

impl QueueSettings {
    /// Parses the attributes of a queue.
    ///
    /// # Errors
    /// Fails if an attribute is unknown, cannot be set, or has a value out of its range.
    pub(super) fn parse(attributes: &BTreeMap<String, String>) -> SqsResult<Self> {
        for (name, value) in attributes {
            check_attribute(name, value)?;
        }

        let numeric_value = |name: &str| {
            if let Some(value) = attributes.get(name)
                && let Ok(value) = value.parse()
            {
                return value;
            }
            match find_numeric_attribute(name) {
                Some((_, _, _, default)) => *default,
                None => 0,
            }
        };

        let has_value = |name: &str, expected: &str| {
            attributes.get(name).is_some_and(|value| value == expected)
        };
        let redrive = match attributes.get("RedrivePolicy") {
            Some(policy) => Some(parse_redrive_policy(policy)?),
            None => None,
        };

        Ok(Self {
            delay: numeric_value("DelaySeconds") * 1000,
            max_bytes: numeric_value("MaximumMessageSize"),
            retention: numeric_value("MessageRetentionPeriod") * 1000,
            wait: numeric_value("ReceiveMessageWaitTimeSeconds") * 1000,
            visibility: numeric_value("VisibilityTimeout") * 1000,
            content_deduplication: has_value("ContentBasedDeduplication", "true"),
            deduplication_per_group: has_value("DeduplicationScope", "messageGroup"),
            redrive,
        })
    }
}

fn find_numeric_attribute(name: &str) -> Option<&'static NumericAttribute> {
    NUMERIC_ATTRIBUTES
        .iter()
        .find(|attribute| attribute.0 == name)
}

/// Returns the attributes that a queue has by default.
pub(super) fn default_attributes() -> BTreeMap<String, String> {
    NUMERIC_ATTRIBUTES
        .iter()
        .map(|(name, _, _, default)| ((*name).to_owned(), default.to_string()))
        .collect()
}

fn check_attribute(name: &str, value: &str) -> SqsResult<()> {
    let is_valid = match name {
        "ContentBasedDeduplication" => ["true", "false"].contains(&value),
        "DeduplicationScope" => ["queue", "messageGroup"].contains(&value),
        "RedrivePolicy" => {
            parse_redrive_policy(value)?;
            true
        }
        _ if STORED_ATTRIBUTES.contains(&name) => true,
        _ => {
            let Some((_, min, max, _)) = find_numeric_attribute(name) else {
                return Err(SqsError::attribute_name(name));
            };
            value
                .parse()
                .is_ok_and(|value: u64| (*min..=*max).contains(&value))
        }
    };

    if is_valid {
        Ok(())
    } else {
        Err(SqsError::attribute_value(name))
    }
}

fn parse_redrive_policy(policy: &str) -> SqsResult<ParsedRedrivePolicy> {
    let invalid = || SqsError::attribute_value("RedrivePolicy");
    let Ok(policy) = serde_json::from_str::<RedrivePolicy>(policy) else {
        return Err(invalid());
    };
    let Some(target) = policy.dead_letter_target_arn.strip_prefix(ARN_PREFIX) else {
        return Err(invalid());
    };

    let count = match &policy.max_receive_count {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    match count {
        Some(max_receive_count @ 1..=1000) => Ok(ParsedRedrivePolicy {
            target: target.to_owned(),
            max_receive_count,
        }),
        _ => Err(invalid()),
    }
}
