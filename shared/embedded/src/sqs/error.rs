//! The errors of SQS: a message, and a code of the older query protocol, which the SDKs match on.

use std::fmt;

/// The result of an operation.
pub(super) type SqsResult<T> = Result<T, SqsError>;

/// An error as the caller sees it.
#[derive(Debug, Clone)]
pub(super) struct SqsError {
    /// The code, such as `AWS.SimpleQueueService.NonExistentQueue`.
    pub(super) code: &'static str,
    /// The fault in the request.
    pub(super) message: String,
    /// Set if the request is at fault, and not this service.
    pub(super) sender_fault: bool,
}

impl SqsError {
    fn sender_error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            sender_fault: true,
        }
    }

    /// Returns the name of the error's shape in the JSON protocol.
    pub(super) fn shape_name(&self) -> String {
        let name = match self.code {
            "AWS.SimpleQueueService.NonExistentQueue" => "QueueDoesNotExist",
            "QueueAlreadyExists" => "QueueNameExists",
            "InvalidParameterValue" => "InvalidParameterValueException",
            "MissingParameter" => "MissingRequiredParameterException",
            code => code.trim_start_matches("AWS.SimpleQueueService."),
        };
        format!("com.amazonaws.sqs#{name}")
    }

    pub(super) fn internal_failure(error: impl fmt::Display) -> Self {
        Self {
            code: "InternalFailure",
            message: error.to_string(),
            sender_fault: false,
        }
    }

    pub(super) fn malformed_input(error: &serde_json::Error) -> Self {
        Self::sender_error(
            "MalformedInput",
            format!("The request could not be read: {error}"),
        )
    }

    pub(super) fn unsupported_operation(message: String) -> Self {
        Self::sender_error("AWS.SimpleQueueService.UnsupportedOperation", message)
    }

    pub(super) fn no_such_queue() -> Self {
        Self::sender_error(
            "AWS.SimpleQueueService.NonExistentQueue",
            "The specified queue does not exist.",
        )
    }

    pub(super) fn queue_exists(attribute: &str) -> Self {
        let message = format!(
            "A queue already exists with the same name and a different value for attribute {attribute}"
        );
        Self::sender_error("QueueAlreadyExists", message)
    }

    pub(super) fn missing_parameter(parameter: &str) -> Self {
        Self::sender_error(
            "MissingParameter",
            format!("The request must contain the parameter {parameter}."),
        )
    }

    /// Returns the error of a parameter that is out of its range or does not apply to the queue's
    /// kind.
    pub(super) fn invalid_parameter(
        parameter: &str,
        value: impl fmt::Display,
        reason: &str,
    ) -> Self {
        let message =
            format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}");
        Self::sender_error("InvalidParameterValue", message)
    }

    pub(super) fn too_long(limit: u64) -> Self {
        let message = format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."
        );
        Self::sender_error("InvalidParameterValue", message)
    }

    pub(super) fn attribute_name(name: &str) -> Self {
        Self::sender_error("InvalidAttributeName", format!("Unknown Attribute {name}."))
    }

    pub(super) fn attribute_value(name: &str) -> Self {
        Self::sender_error(
            "InvalidAttributeValue",
            format!("Invalid value for the parameter {name}."),
        )
    }

    pub(super) fn message_contents() -> Self {
        let message = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | \
                       #xE000 to #xFFFD | #x10000 to #x10FFFF";
        Self::sender_error("InvalidMessageContents", message)
    }

    pub(super) fn bad_receipt(handle: &str) -> Self {
        Self::sender_error(
            "ReceiptHandleIsInvalid",
            format!("The input receipt handle \"{handle}\" is not a valid receipt handle."),
        )
    }

    pub(super) fn not_in_flight() -> Self {
        let message =
            "The specified message is not in flight or its visibility timeout has already passed.";
        Self::sender_error("AWS.SimpleQueueService.MessageNotInflight", message)
    }

    pub(super) fn empty_batch() -> Self {
        Self::sender_error(
            "AWS.SimpleQueueService.EmptyBatchRequest",
            "There should be at least one entry in the request.",
        )
    }

    pub(super) fn too_many_entries(count: usize) -> Self {
        let message =
            format!("Maximum number of entries per request are 10. You have sent {count}.");
        Self::sender_error(
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            message,
        )
    }

    pub(super) fn ids_not_distinct(id: &str) -> Self {
        Self::sender_error(
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            format!("Id {id} repeated."),
        )
    }

    pub(super) fn bad_entry_id() -> Self {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                       It can be at most 80 letters long.";
        Self::sender_error("AWS.SimpleQueueService.InvalidBatchEntryId", message)
    }

    pub(super) fn batch_too_long(length: usize, limit: u64) -> Self {
        let message = format!(
            "Batch requests cannot be longer than {limit} bytes. You have sent {length} bytes."
        );
        Self::sender_error("AWS.SimpleQueueService.BatchRequestTooLong", message)
    }
}

impl fmt::Display for SqsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl From<rusqlite::Error> for SqsError {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal_failure(error)
    }
}
