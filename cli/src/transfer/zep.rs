//! Threads, sessions and facts of Zep, as returned by versions 2 and 3 of its API.

use anyhow::{Result, bail};
use domain::conversation::ConversationTurn;
use domain::{ContainerTag, CustomId, Metadata};
use serde_json::{Map, Value};
use service::{Content, NewDocument};

use super::convert::{ForeignMemory, add_fields, convert_metadata, text_field, time_field};

/// The kinds of speakers in Zep's terms.
const SPEAKER_KINDS: [&str; 6] = ["user", "assistant", "system", "tool", "function", "norole"];

/// Returns the memory of a fact or an edge, or `None` if it is blank. It is valid from `valid_at`
/// to `invalid_at`, or until Zep found it to be wrong.
pub(super) fn memory_of_fact(record: &Map<String, Value>) -> Result<Option<ForeignMemory>> {
    let Some(fact) = text_field(record, "fact") else {
        return Ok(None);
    };

    let mut metadata = convert_metadata(record.get("attributes"));
    add_fields(&mut metadata, record, &["name", "rating"]);
    let forget_after = time_field(record, &["invalid_at", "expired_at"])?;

    Ok(Some(ForeignMemory {
        service: "zep",
        id: text_field(record, "uuid"),
        text: fact.trim().to_owned(),
        said_at: time_field(record, &["valid_at", "created_at"])?,
        forget_reason: forget_after.map(|_| "it was no longer valid".to_owned()),
        forget_after,
        metadata,
    }))
}

/// Returns the conversation of a session or thread, or `None` if it has no text.
pub(super) fn conversation_of_session(
    tag: &ContainerTag,
    session: &Map<String, Value>,
) -> Result<Option<NewDocument>> {
    let messages = session
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let messages: Vec<&Map<String, Value>> = messages.filter_map(Value::as_object).collect();
    let mut turns = Vec::with_capacity(messages.len());
    for message in &messages {
        turns.extend(turn_of_message(message)?);
    }

    if turns.is_empty() {
        return Ok(None);
    }

    let first_message_id = messages
        .iter()
        .find_map(|message| text_field(message, "uuid"));
    let id = ["session_id", "thread_id", "uuid"]
        .iter()
        .find_map(|name| text_field(session, name))
        .or(first_message_id);
    let Some(id) = id else {
        bail!(
            "a session without an id: give it a `session_id` or `thread_id`, so that it is known when it comes again"
        );
    };

    let mut metadata = convert_metadata(session.get("metadata"));
    add_fields(&mut metadata, session, &["user_id"]);
    let metadata = Metadata::parse(metadata)?;

    Ok(Some(NewDocument {
        tags: vec![tag.clone()],
        custom_id: Some(CustomId::parse_conversation_id(&id)?),
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..NewDocument::new(Content::Turns(turns))
    }))
}

/// Returns the turn of a message, or `None` if it is blank. Version 2 has the kind of speaker in
/// `role_type` and a name in `role`. Version 3 has the kind in `role` and the name in `name`.
fn turn_of_message(message: &Map<String, Value>) -> Result<Option<ConversationTurn>> {
    let Some(content) = text_field(message, "content") else {
        return Ok(None);
    };

    let role = text_field(message, "role");
    let kind = text_field(message, "role_type").or(role.clone());
    let speaker_name = role.filter(|role| !SPEAKER_KINDS.contains(&role.to_lowercase().as_str()));

    let kind = kind.unwrap_or_default().to_lowercase();
    let role = match kind.as_str() {
        kind @ ("assistant" | "system" | "tool") => kind,
        "function" => "tool",
        _ => "user",
    };

    Ok(Some(ConversationTurn {
        role: role.to_owned(),
        name: text_field(message, "name").or(speaker_name),
        text: content,
        provenance: None,
        at: time_field(message, &["created_at"])?,
    }))
}
