//! Document metadata: the caller's own keys, all of which can be used in filters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, RequestIssue, Result};

/// The largest size of a document's metadata in bytes of JSON. It keeps every record far below
/// DynamoDB's 400 KB.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// A map from keys of `[A-Za-z0-9_.-]{1,64}` to strings, numbers, booleans or arrays of strings. No
/// key is reserved.
///
/// Use deserialization only for records that this service wrote, and [`Metadata::parse`] for the
/// input of callers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    description = "The caller's own keys, all of which can be used in filters; at most 16 KiB of JSON.",
    extend(
        "propertyNames" = {"pattern": "^[A-Za-z0-9_.-]{1,64}$"},
        "additionalProperties" = {"anyOf": [
            {"type": ["string", "number", "boolean", "null"]},
            // As many as 16 KiB have room for.
            {"type": "array", "maxItems": 5461, "items": {"type": "string"}},
        ]},
    )
)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// Validates a JSON object. Keys whose value is `null` count as absent.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`], with one issue for each invalid key or value, or when the object
    /// is larger than [`MAX_METADATA_BYTES`].
    pub fn parse(object: Map<String, Value>) -> Result<Self> {
        Self::parse_field("metadata", object)
    }

    /// Validates a JSON object from the request field `field`.
    ///
    /// # Errors
    /// Returns the same errors as [`Metadata::parse`], with the name of the field.
    pub fn parse_field(field: &str, object: Map<String, Value>) -> Result<Self> {
        Self::parse_with(find_value_fault, field, object)
    }

    /// Validates a JSON object from the request field `field` whose values may be any JSON. It is
    /// kept and given back, and no filter reads it.
    ///
    /// # Errors
    /// Returns the same errors as [`Metadata::parse_field`], except for those about values.
    pub fn parse_nested(field: &str, object: Map<String, Value>) -> Result<Self> {
        Self::parse_with(|_| None, field, object)
    }

    fn parse_with(
        find_value_fault: impl Fn(&Value) -> Option<&'static str>,
        field: &str,
        mut object: Map<String, Value>,
    ) -> Result<Self> {
        // compat: typed clients send `null` for what is not set.
        object.retain(|_, value| !value.is_null());

        let mut issues = Vec::new();
        for (key, value) in &object {
            if let Some(message) = find_key_fault(key).or_else(|| find_value_fault(value)) {
                issues.push(RequestIssue {
                    path: vec![field.into(), key.into()],
                    message: message.into(),
                });
            }
        }
        if let Some(first) = issues.first() {
            let message = format!("{field}.{}: {}", first.path[1], first.message);
            return Err(Error::Invalid { message, issues });
        }

        let metadata = Self(object);
        let size = serde_json::to_string(&metadata).map_or(0, |text| text.len());
        if size > MAX_METADATA_BYTES {
            return Err(Error::invalid_field(
                field,
                format!("{size} bytes, but at most {MAX_METADATA_BYTES} are kept"),
            ));
        }

        Ok(metadata)
    }

    /// Wraps metadata that this service wrote.
    pub fn from_stored(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Checks whether there is no metadata.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the JSON object.
    pub fn as_object(&self) -> &Map<String, Value> {
        &self.0
    }
}

fn find_key_fault(key: &str) -> Option<&'static str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    let is_ok = (1..=64).contains(&key.len()) && key.bytes().all(allowed);
    (!is_ok).then_some(
        "a key has 1 to 64 characters of letters, digits, underscore, full stop and hyphen",
    )
}

fn find_value_fault(value: &Value) -> Option<&'static str> {
    let is_ok = match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Null | Value::Object(_) => false,
    };
    (!is_ok).then_some("a value is a string, a number, a boolean or an array of strings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Result<Metadata> {
        Metadata::parse(value.as_object().unwrap().clone())
    }

    #[test]
    fn takes_the_contracts_values() {
        assert!(parse(json!({"a": "x", "b.c": 1.5, "d-e": true, "sm_f": ["x", "y"]})).is_ok());
    }

    #[test]
    fn names_the_wrong_key() {
        let error = parse(json!({"ok": 1, "bad": {"nested": 1}})).unwrap_err();
        assert!(error.to_string().starts_with("metadata.bad:"), "{error}");
        assert!(parse(json!({"with space": 1})).is_err());
        assert!(parse(json!({"mixed": ["a", 1]})).is_err());
    }

    #[test]
    fn nested_metadata_has_any_values_under_valid_keys() {
        let parse =
            |value: Value| Metadata::parse_nested("metadata", value.as_object().unwrap().clone());
        let nested = parse(json!({"crm": {"ids": [1, {"a": null}]}, "null": null})).unwrap();
        assert_eq!(
            nested.as_object().get("crm"),
            Some(&json!({"ids": [1, {"a": null}]}))
        );
        assert_eq!(nested.as_object().len(), 1);
        assert!(parse(json!({"with space": {}})).is_err());
        assert!(parse(json!({"a": {"b": "x".repeat(MAX_METADATA_BYTES)}})).is_err());
    }

    #[test]
    fn null_counts_as_absent() {
        let metadata = parse(json!({"ok": 1, "null": null})).unwrap();
        assert_eq!(metadata, parse(json!({"ok": 1})).unwrap());
    }

    #[test]
    fn refuses_what_would_not_fit_a_record() {
        assert!(parse(json!({"a": "x".repeat(MAX_METADATA_BYTES)})).is_err());
    }
}
