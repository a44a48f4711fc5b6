//! `POST /v4/conversations`: adds a chat, turn by turn.

use axum::extract::State;
use domain::conversation::{self, ConversationTurn};
use domain::{CustomId, DocumentStatus, Error, Provenance, Result, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteSurroundings, check_length};
use http::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use service::{Content, submit_document};

use crate::add::{CommonFields, MAX_TEXT_BYTES, read_idempotency_key};
use crate::wait::WaitQuery;

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
    /// compat: newer models call the system's role `developer`.
    #[serde(alias = "developer")]
    System,
    /// compat: older integrations call a tool a function.
    #[serde(alias = "function")]
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

#[derive(Debug)]
enum MessagePart {
    Known(KnownPart),
    /// compat: clients send parts of newer kinds, such as `input_audio`. They are kept as text.
    Unknown(Map<String, Value>),
}

impl<'de> Deserialize<'de> for MessagePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        let part = Map::deserialize(deserializer)?;
        match part.get("type").and_then(Value::as_str) {
            Some("text" | "image_url") => serde_json::from_value(Value::Object(part))
                .map(Self::Known)
                .map_err(D::Error::custom),
            Some(_) => Ok(Self::Unknown(part)),
            None => Err(D::Error::custom("missing field `type`")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownPart {
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
    wait: WaitQuery,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<ConversationRequest, CommonFields>,
) -> ApiResult<Json<ConversationResponse>> {
    let custom_id = CustomId::parse_conversation_id(&request.conversation_id)?;
    let mut new =
        common.into_document(Content::Turns(Vec::new()), read_idempotency_key(&headers)?)?;
    let at = new.document_date.unwrap_or_else(|| app.ctx.clock.now());
    new.content = Content::Turns(turns_of_messages(request.messages, at)?);
    new.custom_id = Some(custom_id);
    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;

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

    if messages
        .iter()
        .filter_map(|message| message.name.as_ref())
        .any(|name| name.chars().count() > MAX_NAME_CHARS)
    {
        return Err(Error::invalid_field(
            "messages",
            format!("a name has at most {MAX_NAME_CHARS} characters"),
        ));
    }

    let turn = |message: Message| {
        let text = message.text();
        let (role, provenance) = (message.role.as_str().to_owned(), message.provenance);
        ConversationTurn {
            role,
            name: message.name,
            text,
            provenance,
            at: Some(at),
        }
    };

    let turns: Vec<ConversationTurn> = messages
        .into_iter()
        .map(turn)
        .filter(|turn| !turn.text.trim().is_empty())
        .collect();
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
        lines.extend(
            self.tool_calls
                .iter()
                .flatten()
                .filter_map(describe_tool_call),
        );
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

/// Returns the text of a part of an unknown kind, or else its kind.
fn describe_unknown_part(part: &Map<String, Value>) -> String {
    let text_field = |name: &str| part.get(name).and_then(Value::as_str);
    match text_field("text").or_else(|| text_field("content")) {
        Some(text) => text.to_owned(),
        None => format!("[{}]", text_field("type").unwrap_or("part")),
    }
}

impl MessagePart {
    fn text(&self) -> String {
        match self {
            Self::Known(KnownPart::Text { text }) => text.clone(),
            // An image inside the message is bytes, not words.
            Self::Known(KnownPart::ImageUrl { image }) if image.url.starts_with("data:") => {
                "[image]".to_owned()
            }
            Self::Known(KnownPart::ImageUrl { image }) => format!("[image {}]", image.url),
            Self::Unknown(part) => describe_unknown_part(part),
        }
    }
}
