//! `POST /v4/conversations`: adds a chat, turn by turn.

use axum::extract::State;
use domain::conversation::{self, ConversationTurn};
use domain::{CustomId, DocumentStatus, Error, Provenance, Result, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteSurroundings, check_length};
use http::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use service::{Content, submit_document};

use crate::add::{CommonFields, MAX_TEXT_BYTES, read_idempotency_key};

/// The most characters of a speaker's name, because it is repeated on every chunk.
const MAX_NAME_CHARS: usize = 255;
/// The most messages of a request: more than a megabyte of text holds at a hundred characters each.
const MAX_MESSAGES: usize = 10_000;
/// The most parts of a message, and the most tool calls in it.
const MAX_PARTS: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationRequest {
    conversation_id: String,
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: Role,
    #[serde(default)]
    content: MessageContent,
    name: Option<String>,
    /// The author of the words, if role and text do not tell.
    provenance: Option<Provenance>,
    /// compat: assistants that call no tool send `null`.
    tool_calls: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
    System,
    Tool,
}

#[derive(Debug, Default)]
enum MessageContent {
    Text(String),
    Parts(Vec<MessagePart>),
    /// compat: assistants that only call tools send `null`.
    #[default]
    Nothing,
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Self::Nothing),
            Value::String(text) => Ok(Self::Text(text)),
            Value::Array(parts) => {
                let part = |part| serde_json::from_value(part).map_err(D::Error::custom);
                parts
                    .into_iter()
                    .map(part)
                    .collect::<std::result::Result<_, _>>()
                    .map(Self::Parts)
            }
            _ => Err(D::Error::custom(
                "expected a text, an array of parts, or null",
            )),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagePart {
    Text {
        text: String,
    },
    /// compat: the tools package spells the field `image_url`.
    ImageUrl {
        #[serde(alias = "image_url")]
        #[serde(rename = "imageUrl")]
        image: Image,
    },
}

#[derive(Debug, Deserialize)]
struct Image {
    url: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationResponse {
    id: String,
    conversation_id: String,
    status: DocumentStatus,
}

pub(crate) async fn add_conversation(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<ConversationRequest, CommonFields>,
) -> ApiResult<Json<ConversationResponse>> {
    let custom_id = CustomId::parse_conversation_id(&request.conversation_id)?;
    let mut new =
        common.into_document(Content::Turns(Vec::new()), read_idempotency_key(&headers)?)?;
    let at = new.document_date.unwrap_or_else(|| app.ctx.clock.now());
    new.content = Content::Turns(turns_of_messages(request.messages, at)?);
    new.custom_id = Some(custom_id);
    let accepted = submit_document(&app.ctx, &tenant, new).await?;

    Ok(Json(ConversationResponse {
        id: accepted.id.to_string(),
        conversation_id: request.conversation_id,
        status: accepted.status,
    }))
}

/// Returns the turns of messages that were sent together. A message without text (an empty answer)
/// is not a turn.
fn turns_of_messages(messages: Vec<Message>, at: Timestamp) -> Result<Vec<ConversationTurn>> {
    if messages.is_empty() {
        return Err(Error::invalid_field("messages", "at least one message"));
    }

    check_length("messages", &messages, MAX_MESSAGES)?;
    for message in &messages {
        message.check_parts()?;
    }

    for message in &messages {
        if let Some(name) = &message.name
            && name.chars().count() > MAX_NAME_CHARS
        {
            let rule = format!("a name has at most {MAX_NAME_CHARS} characters");
            return Err(Error::invalid_field("messages", rule));
        }
    }

    let mut turns = Vec::with_capacity(messages.len());
    for message in messages {
        let text = message.text();
        if text.trim().is_empty() {
            continue;
        }
        turns.push(ConversationTurn {
            role: message.role.as_str().to_owned(),
            name: message.name,
            text,
            provenance: message.provenance,
            at: Some(at),
        });
    }

    if turns.is_empty() {
        return Err(Error::invalid_field("messages", "no message has any text"));
    }

    if conversation::serialize_turns(&turns).len() > MAX_TEXT_BYTES {
        return Err(Error::TooLarge(format!(
            "messages have at most {MAX_TEXT_BYTES} bytes at a time"
        )));
    }

    Ok(turns)
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

impl Message {
    fn check_parts(&self) -> Result<()> {
        if let MessageContent::Parts(parts) = &self.content {
            check_length("messages.content", parts, MAX_PARTS)?;
        }
        check_length(
            "messages.tool_calls",
            self.tool_calls.as_deref().unwrap_or_default(),
            MAX_PARTS,
        )
    }

    fn text(&self) -> String {
        let mut lines: Vec<String> = match &self.content {
            MessageContent::Text(text) => vec![text.clone()],
            MessageContent::Parts(parts) => parts.iter().map(MessagePart::text).collect(),
            MessageContent::Nothing => Vec::new(),
        };
        for call in self.tool_calls.iter().flatten() {
            lines.extend(describe_tool_call(call));
        }

        lines.join("\n")
    }
}

/// Returns an assistant's call of a tool in words that can be found.
fn describe_tool_call(call: &Value) -> Option<String> {
    /// The most characters of the arguments. Longer ones are a document of their own.
    const MAX_ARGUMENTS: usize = 500;
    let name = call["function"]["name"].as_str()?;
    let arguments = match &call["function"]["arguments"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let arguments: String = arguments.chars().take(MAX_ARGUMENTS).collect();
    Some(format!("[called {name} {arguments}]").replace(" ]", "]"))
}

impl MessagePart {
    fn text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            // An image inside the message is bytes, not words.
            Self::ImageUrl { image } if image.url.starts_with("data:") => "[image]".to_owned(),
            Self::ImageUrl { image } => format!("[image {}]", image.url),
        }
    }
}
