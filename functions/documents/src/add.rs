//! `POST /v3/documents`: text, markdown or HTML as a JSON string.

use axum::extract::State;
use domain::document::BodyForm;
use domain::usecase::{Accepted, Content, NewDocument, submit};
use domain::{CustomId, Error, Metadata, Result, Status, TaskType, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, Write, tag_of};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most bytes of text. Contract: 1 MB.
pub(crate) const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The most characters of a path.
const MAX_FILEPATH: usize = 1024;
/// The most characters of guidance about a container. Contract.
const MAX_ENTITY_CONTEXT: usize = 1500;

/// The fields that every way of adding content shares.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Common {
    pub(crate) container_tag: Option<String>,
    pub(crate) container_tags: Option<Vec<String>>,
    pub(crate) custom_id: Option<String>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) filepath: Option<String>,
    pub(crate) task_type: Option<TaskType>,
    pub(crate) document_date: Option<String>,
    pub(crate) entity_context: Option<String>,
    pub(crate) dreaming: Option<Dreaming>,
}

/// When memories are to form. Chunks are searchable as soon as the document is `done`, either way.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dreaming {
    /// When it suits.
    Dynamic,
    /// At once.
    Instant,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AddRequest {
    content: String,
}

/// The answer to accepted content.
#[derive(Debug, Serialize)]
pub(crate) struct AddResponse {
    id: String,
    status: Status,
}

impl From<Accepted> for AddResponse {
    fn from(accepted: Accepted) -> Self {
        Self { id: accepted.id.to_string(), status: accepted.status }
    }
}

pub(crate) async fn add_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Write>,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<AddRequest, Common>,
) -> ApiResult<Json<AddResponse>> {
    if request.content.len() > MAX_TEXT_BYTES {
        let size = request.content.len();
        let message =
            format!("content has {size} bytes, but text has at most {MAX_TEXT_BYTES}; send a file instead");
        return Err(Error::TooLarge(message).into());
    }
    let content = Content { bytes: request.content.into(), form: BodyForm::Text };
    let new = common.into_document(content, &headers)?;
    Ok(Json(submit(&app.ctx, &tenant, new).await?.into()))
}

impl Common {
    /// Checks every field and adds the content.
    pub(crate) fn into_document(self, content: Content, headers: &HeaderMap) -> Result<NewDocument> {
        let within = |field: &str, text: &Option<String>, max: usize| match text {
            Some(text) if text.chars().count() > max => {
                Err(Error::invalid_field(field, format!("at most {max} characters")))
            }
            _ => Ok(()),
        };
        within("filepath", &self.filepath, MAX_FILEPATH)?;
        within("entityContext", &self.entity_context, MAX_ENTITY_CONTEXT)?;
        let date = self.document_date.as_deref();
        Ok(NewDocument {
            tag: tag_of(self.container_tag.as_deref(), self.container_tags.as_deref())?,
            custom_id: self.custom_id.as_deref().map(CustomId::parse).transpose()?,
            content,
            metadata: self.metadata.map(Metadata::parse).transpose()?,
            filepath: self.filepath.filter(|path| !path.is_empty()),
            title: None,
            task_type: self.task_type.unwrap_or_default(),
            document_date: date.map(|date| Timestamp::parse("documentDate", date)).transpose()?,
            idempotency_key: idempotency_key(headers)?,
        })
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|text| (1..=255).contains(&text.len()));
    let text =
        text.ok_or_else(|| Error::invalid_field("Idempotency-Key", "1 to 255 printable ASCII characters"))?;
    Ok(Some(text.to_owned()))
}
