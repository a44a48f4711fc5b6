//! Lists of messages as JSON.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::labels::SpeakerKind;
use super::new_turn;
use crate::conversation::ConversationTurn;
use crate::time::Timestamp;

/// The fields in which clients write the time of a message.
const TIME_FIELDS: [&str; 6] = ["timestamp", "created_at", "createdAt", "time", "date", "at"];

/// Reads a list of messages: an array, an object with an array `messages`, or a message in each
/// line. Returns `None` if the text is anything else.
pub(super) fn parse_messages(text: &str) -> Option<Vec<ConversationTurn>> {
    let messages = read_messages(text)?;
    messages.iter().map(read_message).collect()
}

/// Appends the messages of `sent` after the first `known` to those of `stored`.
pub(super) fn append_messages(stored: &str, sent: &str, known: usize) -> Option<String> {
    let mut messages = read_messages(stored)?;
    messages.extend(read_messages(sent)?.into_iter().skip(known));
    let values = messages.into_iter().map(Value::Object).collect();
    Some(Value::Array(values).to_string())
}

/// Appends turns to the messages of `stored`.
pub(super) fn append_turns(stored: &str, turns: &[ConversationTurn]) -> Option<String> {
    let messages = read_messages(stored)?;
    let mut values: Vec<Value> = messages.into_iter().map(Value::Object).collect();
    for turn in turns {
        let mut message = json!({"role": turn.role, "content": turn.text});
        if let Some(name) = &turn.name {
            message["name"] = json!(name);
        }
        values.push(message);
    }

    Some(Value::Array(values).to_string())
}

fn read_messages(text: &str) -> Option<Vec<Map<String, Value>>> {
    let text = text.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }

    let values = match serde_json::from_str(text) {
        Ok(Value::Array(values)) => values,
        Ok(Value::Object(mut object)) => match object.remove("messages") {
            Some(Value::Array(values)) => values,
            _ => vec![Value::Object(object)],
        },
        Ok(_) => return None,
        Err(_) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let values: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
            values.ok()?
        }
    };

    let mut messages = Vec::with_capacity(values.len());
    for value in values {
        let Value::Object(message) = value else {
            return None;
        };
        messages.push(message);
    }

    (!messages.is_empty()).then_some(messages)
}

/// Reads a message: a role, and a content that is a text or an array of parts.
fn read_message(message: &Map<String, Value>) -> Option<ConversationTurn> {
    let role = message.get("role").or_else(|| message.get("type"))?;
    let role = match SpeakerKind::of_role(&role.as_str()?.to_lowercase())? {
        SpeakerKind::User | SpeakerKind::Person => "user",
        SpeakerKind::Assistant => "assistant",
        SpeakerKind::System => "system",
        SpeakerKind::Tool => "tool",
    };
    let text = read_content(message.get("content")?)?;

    let mut turn = new_turn(role, text.trim(), read_time(message));
    let name = message.get("name").and_then(Value::as_str);
    turn.name = name
        .filter(|name| !name.trim().is_empty())
        .map(str::to_owned);
    Some(turn)
}

fn read_content(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        // Assistants that only call tools say nothing.
        Value::Null => Some(String::new()),
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                let text = match part {
                    Value::String(text) => Some(text.as_str()),
                    part => part.get("text").and_then(Value::as_str),
                };
                texts.extend(text);
            }
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

/// Returns the time of a message: a text in ISO 8601, or seconds or milliseconds since 1970.
fn read_time(message: &Map<String, Value>) -> Option<Timestamp> {
    /// Seconds are below this number until the year 5138, and milliseconds above it since 1973.
    const FIRST_MILLIS: f64 = 1e11;

    let time = TIME_FIELDS.iter().find_map(|field| message.get(*field))?;
    match time {
        Value::String(text) => Timestamp::parse("time", text).ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            let seconds = if number.abs() < FIRST_MILLIS {
                number
            } else {
                number / 1000.0
            };
            let since_epoch = SignedDuration::try_from_secs_f64(seconds).ok()?;
            let millis = i64::try_from(since_epoch.as_millis()).ok()?;
            Some(Timestamp::from_millis(millis))
        }
        _ => None,
    }
}
