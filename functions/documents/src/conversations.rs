//! `POST /v4/conversations`: a chat, turn by turn.

use axum::extract::State;
use domain::document::BodyForm;
use domain::usecase::{Content, submit};
use domain::{CustomId, Error, Result, Status};
use edge::{ApiResult, App, Auth, Json, JsonParts, Write};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::add::{Common, MAX_TEXT_BYTES};

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
    /// compat: assistants that call no tool send `null`.
    tool_calls: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
    System,
    Tool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum MessageContent {
    Text(String),
    Parts(Vec<Part>),
    /// compat: assistants that only call tools send `null`.
    #[default]
    Nothing,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
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
    status: Status,
}

pub(crate) async fn add_conversation(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Write>,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<ConversationRequest, Common>,
) -> ApiResult<Json<ConversationResponse>> {
    let custom_id = CustomId::parse_conversation(&request.conversation_id)?;
    let turns = turns(&request.messages)?;
    let bytes = serde_json::to_vec(&turns).map_err(|_| Error::internal("turns did not serialize"))?;
    if bytes.len() > MAX_TEXT_BYTES {
        return Err(
            Error::TooLarge(format!("a conversation has at most {MAX_TEXT_BYTES} bytes of turns")).into()
        );
    }
    let content = Content { bytes: bytes.into(), form: BodyForm::Conversation };
    let mut new = common.into_document(content, &headers)?;
    new.custom_id = Some(custom_id);
    let accepted = submit(&app.ctx, &tenant, new).await?;
    Ok(Json(ConversationResponse {
        id: accepted.id.to_string(),
        conversation_id: request.conversation_id,
        status: accepted.status,
    }))
}

/// The stored form of the turns: `[{role, name?, text}]`. A turn without text (a bare tool call) is left out.
fn turns(messages: &[Message]) -> Result<Vec<Value>> {
    if messages.is_empty() {
        return Err(Error::invalid_field("messages", "at least one message"));
    }
    let turns: Vec<Value> = messages
        .iter()
        .map(|message| (message, message.text()))
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(message, text)| json!({"role": message.role, "name": message.name, "text": text}))
        .collect();
    if turns.is_empty() {
        return Err(Error::invalid_field("messages", "no message has any text"));
    }
    Ok(turns)
}

impl Message {
    fn text(&self) -> String {
        let mut lines: Vec<String> = match &self.content {
            MessageContent::Text(text) => vec![text.clone()],
            MessageContent::Parts(parts) => parts.iter().map(Part::text).collect(),
            MessageContent::Nothing => Vec::new(),
        };
        let called = self.tool_calls.iter().flatten().filter_map(|call| call["function"]["name"].as_str());
        lines.extend(called.map(|name| format!("[called {name}]")));
        lines.join("\n")
    }
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            // An image inside the message is bytes, not words.
            Self::ImageUrl { image } if image.url.starts_with("data:") => "[image]".to_owned(),
            Self::ImageUrl { image } => format!("[image {}]", image.url),
        }
    }
}
