//! `POST /v4/conversations`: adds a chat, turn by turn.

use std::borrow::Cow;

use axum::extract::State;
use domain::conversation::{self, ConversationTurn};
use domain::{CustomId, DocumentId, DocumentStatus, Error, Provenance, Result, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteUnscoped, check_length};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use service::{Content, submit_document};

use crate::common_fields::{CommonFields, MAX_TEXT_BYTES, read_idempotency_key};
use crate::wait::WaitQuery;

/// The most characters of a speaker's name, because it is repeated on every chunk.
const MAX_NAME_CHARS: usize = 255;
/// The most messages of a request: more than a megabyte of text holds at a hundred characters each.
const MAX_MESSAGES: usize = 10_000;
/// The most parts of a message, and the most tool calls in it.
const MAX_PARTS: usize = 1000;

/// Messages of a chat.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AddConversationRequest")]
pub(crate) struct ConversationRequest {
    /// The caller's own identifier of the conversation, without control characters.
    #[schemars(length(min = 1, max = 255))]
    conversation_id: String,
    /// The messages in their order. At least one has text, and all together have at most 1 MiB.
    #[schemars(length(min = 1, max = MAX_MESSAGES))]
    messages: Vec<Message>,
}

/// A message of a chat.
#[derive(Debug, Deserialize, JsonSchema)]
struct Message {
    /// The role of the speaker.
    role: Role,
    /// The content: a text, or parts. Assistants that only call tools send null.
    #[serde(default)]
    content: MessageContent,
    /// The name of the speaker.
    #[schemars(length(max = MAX_NAME_CHARS))]
    name: Option<String>,
    /// The author of the words, if role and text do not tell.
    provenance: Option<Provenance>,
    // compat: assistants that call no tool send `null`.
    /// The calls of tools that the assistant asks for.
    #[schemars(length(max = MAX_PARTS))]
    tool_calls: Option<Vec<Value>>,
}

/// The role of a speaker.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Role {
    User,
    Assistant,
    System,
    Tool,
    // compat: newer models call the system's role `developer`.
    Developer,
    // compat: older integrations call a tool a function.
    Function,
}

/// The content of a message.
#[derive(Debug, Default, JsonSchema)]
#[schemars(untagged, inline)]
enum MessageContent {
    Text(String),
    Parts(#[schemars(length(max = MAX_PARTS))] Vec<MessagePart>),
    // compat: assistants that only call tools send `null`.
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
    /// compat: clients send parts of newer kinds, such as `input_audio`, and known kinds in other shapes. They
    /// are kept as text.
    Unknown(Map<String, Value>),
}

impl<'de> Deserialize<'de> for MessagePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        let part = Map::deserialize(deserializer)?;
        match part.get("type").and_then(Value::as_str) {
            Some(_) => Ok(match KnownPart::deserialize(&part) {
                Ok(known) => Self::Known(known),
                Err(_) => Self::Unknown(part),
            }),
            None => Err(D::Error::custom("missing field `type`")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownPart {
    Text {
        text: Option<String>,
    },
    /// compat: the tools package spells the field `image_url`.
    ImageUrl {
        #[serde(alias = "image_url")]
        #[serde(rename = "imageUrl", deserialize_with = "deserialize_image")]
        image: Image,
    },
}

/// Reads an image. compat: some clients send its address alone.
fn deserialize_image<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Image, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(url) => Ok(Image { url }),
        image => Image::deserialize(image).map_err(serde::de::Error::custom),
    }
}

/// An image in a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MessageImage")]
struct Image {
    /// Its address, or its bytes as a `data:` address.
    url: String,
}

/// Names both spellings of the address of an image, one of which has to be used.
impl JsonSchema for MessagePart {
    fn schema_name() -> Cow<'static, str> {
        "MessagePart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let image = generator.subschema_for::<Image>();
        json_schema!({
            "description": "A part of a message: a text, an image, or another part whose text is \
                            kept.",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["type", "text"],
                    "properties": {
                        "type": {"type": "string", "const": "text"},
                        "text": {"type": ["string", "null"]},
                    },
                },
                {
                    "type": "object",
                    "required": ["type"],
                    "properties": {
                        "type": {"type": "string", "const": "image_url"},
                        "imageUrl": image,
                        "image_url": image,
                    },
                    "oneOf": [{"required": ["imageUrl"]}, {"required": ["image_url"]}],
                },
                {
                    "type": "object",
                    "required": ["type"],
                    "properties": {
                        "type": {"type": "string"},
                    },
                },
            ],
        })
    }
}

/// The document of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AcceptedConversation")]
pub(crate) struct ConversationResponse {
    /// The id of the document.
    id: DocumentId,
    /// The identifier in the request.
    conversation_id: String,
    /// The status of the document.
    status: DocumentStatus,
}

pub(crate) async fn add_conversation(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
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
        id: accepted.id,
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
            Self::System | Self::Developer => "system",
            Self::Tool | Self::Function => "tool",
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
    let separator = if arguments.is_empty() { "" } else { " " };
    Some(format!("[called {name}{separator}{arguments}]"))
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
            Self::Known(KnownPart::Text { text }) => text.clone().unwrap_or_default(),
            // An image inside the message is bytes, not words.
            Self::Known(KnownPart::ImageUrl { image }) if image.url.starts_with("data:") => {
                "[image]".to_owned()
            }
            Self::Known(KnownPart::ImageUrl { image }) => format!("[image {}]", image.url),
            Self::Unknown(part) => describe_unknown_part(part),
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v4/conversations", "add_conversation")
            .group("Ingest")
            .summary("Add the turns of a chat.")
            .description(
                "Send the whole history, its latest part or only what is new. Turns that are \
                 stored already are not stored again. A single turn that equals the last stored \
                 one counts as sent again, so a client whose users repeat themselves sends the \
                 whole history.",
            )
            .query::<WaitQuery>()
            .body::<JsonParts<ConversationRequest, CommonFields>>(json!({
                "conversationId": "support-2026-03-01",
                "containerTags": ["user_42"],
                "messages": [
                    {"role": "user", "content": "When does the ferry leave?"},
                    {"role": "assistant", "content": "At eight and at five."},
                ],
            }))
            .answer::<ConversationResponse>(
                "The turns are accepted.",
                json!({
                    "id": "acxV5LHMEsG2hMSNb4umbn",
                    "conversationId": "support-2026-03-01",
                    "status": "queued",
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged. Send the request again later.",
            ),
    ]
}
