//! Recognition of data that is written as text.

use serde::de::IgnoredAny;

/// Checks whether a text is a JSON object or array.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
