//! Lists of messages as JSON.

use jiff::SignedDuration;
use serde_json::{Map, Value};

use super::labels::SpeakerKind;
use super::new_turn;
use crate::conversation::ConversationTurn;
use crate::time::Timestamp;

/// The fields in which clients write the time of a message.
const TIME_FIELDS: [&str; 6] = ["timestamp", "created_at", "createdAt", "time", "date", "at"];

/// The fields in which a message of an assistant calls tools.
const CALL_FIELDS: [&str; 2] = ["tool_calls", "function_call"];

/// A message as it was sent.
pub(super) type Message = Map<String, Value>;

/// The messages of a text.
pub(super) struct MessageList {
    pub(super) messages: Vec<Message>,
    /// `false` for a single message, and for a message in each line.
    is_array: bool,
}

/// Writes messages as a JSON array.
pub(super) fn write_messages(messages: impl Iterator<Item = Message>) -> String {
    Value::Array(messages.map(Value::Object).collect()).to_string()
}

/// Returns a turn as a message.
pub(super) fn message_of_turn(turn: &ConversationTurn) -> Message {
    let mut message = Message::new();
    message.insert("role".to_owned(), turn.role.clone().into());
    message.insert("content".to_owned(), turn.text.clone().into());
    if let Some(name) = &turn.name {
        message.insert("name".to_owned(), name.clone().into());
    }

    message
}

/// Reads a list of messages: an array, an object with an array `messages`, or a message in each
/// line. Returns `None` if the text is anything else.
pub(super) fn read_messages(text: &str) -> Option<MessageList> {
    let text = text.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }

    let (values, is_array) = match serde_json::from_str(text) {
        Ok(Value::Array(values)) => (values, true),
        Ok(Value::Object(mut object)) => match object.remove("messages") {
            Some(Value::Array(values)) => (values, true),
            _ => (vec![Value::Object(object)], false),
        },
        Ok(_) => return None,
        Err(_) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let values: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
            (values.ok()?, false)
        }
    };

    let mut messages = Vec::with_capacity(values.len());
    for value in values {
        let Value::Object(message) = value else {
            return None;
        };
        messages.push(message);
    }

    (!messages.is_empty()).then_some(MessageList { messages, is_array })
}

/// Reads the turns of messages. Returns `None` if one of them is another kind of object.
///
/// Other records have a `type` and a `content` as well. So a `type` is a role only in an array with a
/// message of the user, or in one that continues a transcript.
pub(super) fn turns_of_messages(
    list: &MessageList,
    is_continuation: bool,
) -> Option<Vec<ConversationTurn>> {
    let is_user = |message| speaker_of_message(message, true) == Some(SpeakerKind::User);
    let has_types = list.is_array && (is_continuation || list.messages.iter().any(is_user));
    let turns = list.messages.iter();
    turns
        .map(|message| turn_of_message(message, has_types))
        .collect()
}

/// Returns the speaker that the role of a message names, or its type if `has_types`.
fn speaker_of_message(message: &Message, has_types: bool) -> Option<SpeakerKind> {
    let role = match message.get("role") {
        None if has_types => message.get("type")?,
        role => role?,
    };
    SpeakerKind::of_role(&role.as_str()?.to_lowercase())
}

/// Reads the turn of a message: a role, and a content that is a text or an array of parts. Returns
/// `None` for any other object.
fn turn_of_message(message: &Message, has_types: bool) -> Option<ConversationTurn> {
    let speaker = speaker_of_message(message, has_types)?;
    let text = match message.get("content") {
        Some(content) => read_content(content)?,
        // Some clients leave the content out of a message that only calls tools.
        None if CALL_FIELDS.iter().any(|field| message.contains_key(*field)) => String::new(),
        None => return None,
    };

    let mut turn = new_turn(speaker.role(), text.trim(), read_time(message));
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
fn read_time(message: &Message) -> Option<Timestamp> {
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
