//! Redaction for the request log: keeps enough of an input or output to show what happened, but not
//! what it was about.

use std::cell::Cell;

use domain::settings::LogContentMode;
use serde_json::{Map, Value, json};

use crate::credentials::{SECRET, is_secret_name, redact_credentials};

/// The most bytes that are kept of a value, as JSON.
const MAX_BYTES: usize = 2048;
/// The same limit when texts are left out. With input and output, a record stays below the 1 KB
/// that one write unit pays for.
const MAX_REDACTED_BYTES: usize = 320;
/// The most characters of a string.
const MAX_CHARS: usize = 256;
/// The most characters of a field name.
const MAX_NAME: usize = 64;

/// Fields whose strings say what a request did, not what it was about.
const DESCRIPTIVE_FIELDS: [&str; 68] = [
    "action",
    "by",
    "completedAt",
    "confidence",
    "connectionId",
    "containerTag",
    "containerTags",
    "conversationId",
    "createdAt",
    "customId",
    "documentDate",
    "documentId",
    "documentIds",
    "dreaming",
    "dreamingStatus",
    "errorCode",
    "eventDate",
    "expiresAt",
    "fileType",
    "forgetAfter",
    "forgetBatchId",
    "from",
    "hour",
    "id",
    "ids",
    "include",
    "keyId",
    "kind",
    "lastActivityAt",
    "lastUsed",
    "limit",
    "logContent",
    "memoryId",
    "mergeId",
    "mergeStatus",
    "mergeTargetTag",
    "mimeType",
    "order",
    "orgId",
    "orgSlug",
    "page",
    "parentMemoryId",
    "per_page",
    "period",
    "permission",
    "phase",
    "provider",
    "requestId",
    "reviewStatus",
    "role",
    "rootMemoryId",
    "searchMode",
    "sort",
    "sourceTags",
    "spaceContainerTag",
    "spaceId",
    "status",
    "statusCode",
    "tag",
    "targetContainerTag",
    "targetTag",
    "taskType",
    "time",
    "to",
    "type",
    "updatedAt",
    "view",
    "currentSourceTag",
];
/// Fields whose contents callers name freely, so that no field name in them means anything here.
const CALLER_NAMED_FIELDS: [&str; 7] = [
    "metadata",
    "sourceMetadata",
    "filterByMetadata",
    "filters",
    "includeItems",
    "excludeItems",
    "tool_calls",
];

/// The limits on what is kept, from loose to tight. The first that gives a small enough result
/// applies.
const REDACTION_LIMITS: [RedactionLimits; 4] = [
    RedactionLimits {
        depth: 6,
        items: 10,
        keys: 30,
        chars: MAX_CHARS,
    },
    RedactionLimits {
        depth: 5,
        items: 3,
        keys: 16,
        chars: 80,
    },
    RedactionLimits {
        depth: 3,
        items: 1,
        keys: 10,
        chars: 48,
    },
    RedactionLimits {
        depth: 2,
        items: 1,
        keys: 7,
        chars: 32,
    },
];

#[derive(Debug, Clone, Copy)]
struct RedactionLimits {
    depth: usize,
    items: usize,
    keys: usize,
    chars: usize,
}

/// The kind of field that a value belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FieldKind {
    /// Part of something that callers name freely.
    CallerNamed,
    /// A field that says what a request did.
    Descriptive,
    /// A sentence of the service in an error answer.
    ErrorText,
    /// A name in the path of a field in an error answer.
    ErrorPath,
    /// Any other field.
    Other,
}

/// Returns what is kept of a request or, if `is_error` is set, of an error answer. Returns `None`
/// if the log is turned off.
pub(crate) fn redact_value(value: &Value, mode: LogContentMode, is_error: bool) -> Option<Value> {
    if mode == LogContentMode::Off {
        return None;
    }

    let max = if mode == LogContentMode::Full {
        MAX_BYTES
    } else {
        MAX_REDACTED_BYTES
    };

    for limits in REDACTION_LIMITS {
        let redactor = Redactor {
            mode,
            is_error,
            limits,
            remaining_bytes: Cell::new(max),
        };
        let redacted = redactor.redact_any(value, FieldKind::Other, 0);
        // A walk that ran out of room was cut short.
        if redactor.remaining_bytes.get() > 0 && json_bytes(&redacted) <= max {
            return Some(redacted);
        }
    }

    Some(json!({"cut": true}))
}

fn json_bytes(value: &Value) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

struct Redactor {
    mode: LogContentMode,
    is_error: bool,
    limits: RedactionLimits,
    /// The bytes that are left for strings. A walk that exceeds them is not worth finishing.
    remaining_bytes: Cell<usize>,
}

impl Redactor {
    fn redact_any(&self, value: &Value, field: FieldKind, depth: usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(_) if self.remaining_bytes.get() == 0 => Value::Null,
            Value::String(text) => {
                let text = self.redact_text(text, field);
                self.remaining_bytes
                    .set(self.remaining_bytes.get().saturating_sub(text.len()));
                text.into()
            }
            Value::Array(items) if depth >= self.limits.depth => {
                format!("[{} items]", items.len()).into()
            }
            Value::Object(fields) if depth >= self.limits.depth => {
                format!("[{} fields]", fields.len()).into()
            }
            Value::Array(items) => {
                let redacted = items.iter().take(self.limits.items);
                let mut redacted: Vec<Value> = redacted
                    .map(|item| self.redact_any(item, field, depth + 1))
                    .collect();
                if items.len() > redacted.len() {
                    redacted.push(format!("[{} more]", items.len() - redacted.len()).into());
                }
                redacted.into()
            }
            Value::Object(fields) => self.redact_object(fields, field, depth),
        }
    }

    fn redact_object(&self, fields: &Map<String, Value>, parent: FieldKind, depth: usize) -> Value {
        let mut redacted = Map::new();
        for (name, value) in fields.iter().take(self.limits.keys) {
            let is_trivial = value.is_null() || value.is_boolean();
            let value = if is_secret_name(name) && !is_trivial {
                SECRET.into()
            } else {
                self.redact_any(value, self.classify_field(name, parent), depth + 1)
            };
            redacted.insert(redact_name(name), value);
        }

        if fields.len() > self.limits.keys {
            redacted.insert(
                "…".into(),
                format!("[{} more]", fields.len() - self.limits.keys).into(),
            );
        }

        redacted.into()
    }

    fn classify_field(&self, name: &str, parent: FieldKind) -> FieldKind {
        if parent == FieldKind::CallerNamed || CALLER_NAMED_FIELDS.contains(&name) {
            FieldKind::CallerNamed
        } else if self.is_error && name == "path" {
            FieldKind::ErrorPath
        } else if self.is_error && ["error", "message"].contains(&name) {
            FieldKind::ErrorText
        } else if DESCRIPTIVE_FIELDS.contains(&name) {
            FieldKind::Descriptive
        } else {
            FieldKind::Other
        }
    }

    fn redact_text(&self, text: &str, field: FieldKind) -> String {
        let hidden = || format!("[{} characters]", text.chars().count());
        if self.mode == LogContentMode::Full {
            return redact_credentials(text, self.limits.chars);
        }
        match field {
            // Values of these fields are short single words. Anything else was not meant for the
            // field.
            FieldKind::Descriptive
                if text.len() <= MAX_CHARS && !text.contains(char::is_whitespace) =>
            {
                redact_credentials(text, MAX_CHARS)
            }
            FieldKind::ErrorText => redact_credentials(&remove_quotes(text), self.limits.chars),
            FieldKind::ErrorPath => redact_name(text),
            _ => hidden(),
        }
    }
}

/// Returns the name of a field as it is shown. In metadata, callers choose the names.
fn redact_name(name: &str) -> String {
    let is_plain = name.len() <= MAX_NAME
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    if is_plain {
        redact_credentials(name, MAX_NAME)
    } else {
        format!("[{} characters]", name.chars().count())
    }
}

/// Returns a sentence that begins with the path of a field, with the names in the path as they are shown. Any other
/// sentence stays as it is.
fn redact_path(text: &str) -> String {
    let Some((path, reason)) = text.split_once(": ").filter(|(path, _)| path.contains('.')) else {
        return text.to_owned();
    };
    let names = path.split('.').map(|segment| {
        let (name, index) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        redact_name(name) + index
    });
    let names: Vec<String> = names.collect();
    format!("{}: {reason}", names.join("."))
}

/// Returns a sentence without what it quotes from the request.
fn remove_quotes(text: &str) -> String {
    let mut text = redact_path(text);
    for (opening, closing) in [
        ("\"", "\""),
        ("unknown variant `", "`, expected"),
        ("unknown field `", "`, expected"),
        ("unknown field `", "`, there are no fields"),
    ] {
        if let Some(start) = text.find(opening).map(|at| at + opening.len())
            && let Some(end) = text[start..].rfind(closing)
        {
            text.replace_range(start..start + end, "…");
        }
    }

    text
}

#[cfg(test)]
mod tests;
