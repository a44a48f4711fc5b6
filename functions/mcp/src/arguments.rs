//! Arguments as models write them. An argument that is not known is refused, never ignored: a
//! misspelled `container` must not widen a search to everything that the key reaches.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::ToolFailure;

/// Parses the arguments of a tool or a prompt.
///
/// # Errors
/// A failure that names the argument and what is wrong with it.
pub(crate) fn parse_arguments<T: DeserializeOwned>(
    arguments: Option<JsonObject>,
) -> Result<T, ToolFailure> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        if path == "." || message.contains(&format!("`{path}`")) {
            return ToolFailure::new(format!("The arguments are not valid: {message}."));
        }
        ToolFailure::new(format!("The argument `{path}` is not valid: {message}."))
    })
}

/// Checks that a number is within its limits.
///
/// # Errors
/// A failure that names the limits.
pub(crate) fn check_range(
    name: &str,
    value: u32,
    least: u32,
    most: u32,
) -> Result<(), ToolFailure> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ToolFailure::new(format!(
        "The argument `{name}` is {value}. Choose a number from {least} to {most}."
    )))
}

/// Checks that a text has something in it.
///
/// # Errors
/// A failure that names the argument.
pub(crate) fn check_text(name: &str, text: &str) -> Result<(), ToolFailure> {
    if text.trim().is_empty() {
        return Err(ToolFailure::new(format!(
            "The argument `{name}` is empty. Write a text into it."
        )));
    }
    Ok(())
}

/// Returns a value as one segment of a path, whatever characters it has.
pub(crate) fn path_segment(value: &str) -> String {
    utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only its type matters")]
        query: String,
        #[expect(dead_code, reason = "only its type matters")]
        limit: Option<u32>,
    }

    fn failure(arguments: Value) -> String {
        let arguments = arguments.as_object().cloned();
        parse_arguments::<Sample>(arguments)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_refusal_names_the_argument_and_those_that_exist() {
        let unknown = failure(json!({"query": "a", "containerTag": "b"}));
        assert!(unknown.contains("`containerTag`"), "{unknown}");
        assert!(unknown.contains("`query` or `limit`"), "{unknown}");

        let wrong = failure(json!({"query": "a", "limit": "ten"}));
        assert!(wrong.contains("`limit`"), "{wrong}");

        let missing = failure(json!({}));
        assert!(missing.contains("`query`"), "{missing}");
    }

    #[test]
    fn a_segment_never_leaves_its_place_in_a_path() {
        assert_eq!(path_segment("../a?b#c"), "%2E%2E%2Fa%3Fb%23c");
    }
}
