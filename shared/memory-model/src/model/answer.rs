//! The shape of a model's answer.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

/// The reason why an answer cannot be used. The same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelAnswerError {
    /// The answer is not JSON.
    NotJson,
    /// The answer is JSON of a different shape.
    WrongShape,
    /// The answer proposes memories, and the source supports none of them.
    Unsupported,
}

impl fmt::Display for ModelAnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "the model's answer was not JSON",
            Self::WrongShape => "the model's answer had another shape than it was asked for",
            Self::Unsupported => "the model's answer was not supported by the text",
        })
    }
}

impl std::error::Error for ModelAnswerError {}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Proposal {
    pub(super) text: String,
    pub(super) sentences: Vec<i64>,
    pub(super) kind: String,
    #[serde(rename = "static")]
    pub(super) is_static: Option<bool>,
    pub(super) confidence: Option<f32>,
    pub(super) speaker: Option<String>,
    pub(super) event_date: Option<String>,
    pub(super) forget_after: Option<String>,
    pub(super) topic: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ProposedTopic {
    pub(super) subject: String,
    pub(super) attribute: String,
    pub(super) value: String,
    #[serde(default)]
    pub(super) negated: bool,
}

/// The parts of an answer, as the model wrote them.
#[derive(Debug)]
pub(super) struct ParsedAnswer {
    pub(super) proposals: Vec<Proposal>,
    /// The summary, if it is a text.
    pub(super) summary: Option<String>,
}

/// Returns the parts of an answer.
///
/// A proposal of a different shape is left out: small models get about one in twenty wrong. If all
/// of them have a different shape, the answer is garbage. A summary of a different shape is left
/// out as well.
pub(super) fn parse_answer(answer: &str) -> Result<ParsedAnswer, ModelAnswerError> {
    let Ok(value) = serde_json::from_str::<Value>(find_json_object(answer)?) else {
        return Err(ModelAnswerError::NotJson);
    };
    let Some(Value::Array(items)) = value.get("memories") else {
        return Err(ModelAnswerError::WrongShape);
    };

    let mut proposals = Vec::new();
    for item in items {
        if let Ok(proposal) = Proposal::deserialize(item) {
            proposals.push(proposal);
        }
    }

    if proposals.is_empty() && !items.is_empty() {
        return Err(ModelAnswerError::WrongShape);
    }

    let summary = value.get("summary").and_then(Value::as_str);
    Ok(ParsedAnswer {
        proposals,
        summary: summary.map(str::to_owned),
    })
}

/// Returns the outermost JSON object. Models that are not held to a format put it into a code
/// fence, or write their reasoning before it.
fn find_json_object(answer: &str) -> Result<&str, ModelAnswerError> {
    let final_text = match answer.rsplit_once("</think>") {
        Some((_, after_reasoning)) => after_reasoning,
        None => answer,
    };
    let (Some(from), Some(to)) = (final_text.find('{'), final_text.rfind('}')) else {
        return Err(ModelAnswerError::NotJson);
    };
    final_text.get(from..=to).ok_or(ModelAnswerError::NotJson)
}

/// Returns the JSON schema of an answer, which lists every field as required.
pub(super) fn answer_schema(has_summary: bool) -> Value {
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let topic = closed_object_schema(&json!({
        "subject": { "type": "string" },
        "attribute": { "type": "string" },
        "value": { "type": "string" },
        "negated": { "type": "boolean" },
    }));
    let memory = closed_object_schema(&json!({
        "text": { "type": "string" },
        "sentences": { "type": "array", "items": { "type": "integer" } },
        "kind": {
            "type": "string",
            "enum": ["fact", "preference", "instruction", "decision", "plan", "event"],
        },
        "static": { "type": "boolean" },
        "confidence": { "type": "number" },
        "speaker": nullable("string"),
        "eventDate": nullable("string"),
        "forgetAfter": nullable("string"),
        "topic": { "anyOf": [topic, { "type": "null" }] },
    }));

    let mut properties = json!({ "memories": { "type": "array", "items": memory } });
    if has_summary {
        properties["summary"] = json!({ "type": "string" });
    }
    closed_object_schema(&properties)
}

fn closed_object_schema(properties: &Value) -> Value {
    let names: Vec<_> = properties
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
        .collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}
