//! `POST /v3/documents`: text, Markdown, HTML or an address as a JSON string. Also defines the
//! fields that every way of adding content shares.

use axum::extract::State;
use domain::{
    BodyForm, CustomId, DocumentStatus, Dreaming, Error, Metadata, Provenance, Result, TaskType,
    Timestamp,
};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteContent, parse_single_tag};
use http::HeaderMap;
use remote::parse_page_url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{AcceptedDocument, Content, NewDocument, submit_document};

/// The most bytes of text: 1 MB. Part of the API.
pub(crate) const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The most characters of a path.
const MAX_FILEPATH_CHARS: usize = 1024;
/// The most characters of the guidance about a container. Part of the API.
const MAX_ENTITY_CONTEXT: usize = 1500;

/// The fields that every way of adding content shares.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommonFields {
    pub(crate) container_tag: Option<String>,
    pub(crate) container_tags: Option<Vec<String>>,
    pub(crate) custom_id: Option<String>,
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) filepath: Option<String>,
    pub(crate) filter_by_metadata: Option<Map<String, Value>>,
    pub(crate) task_type: Option<TaskType>,
    pub(crate) document_date: Option<String>,
    pub(crate) entity_context: Option<String>,
    pub(crate) dreaming: Option<Dreaming>,
    pub(crate) provenance: Option<Provenance>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AddRequest {
    content: String,
}

/// The answer to accepted content.
#[derive(Debug, Serialize)]
pub(crate) struct AddResponse {
    id: String,
    status: DocumentStatus,
}

impl From<AcceptedDocument> for AddResponse {
    fn from(accepted: AcceptedDocument) -> Self {
        Self {
            id: accepted.id.to_string(),
            status: accepted.status,
        }
    }
}

pub(crate) async fn add_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<AddRequest, CommonFields>,
) -> ApiResult<Json<AddResponse>> {
    let (bytes, form) = body_of_text(request.content)?;
    let new = common.into_document(
        Content::Complete { bytes, form },
        read_idempotency_key(&headers)?,
    )?;
    Ok(Json(submit_document(&app.ctx, &tenant, new).await?.into()))
}

/// Returns the bytes of a text, and whether it is text or the address of a page.
pub(crate) fn body_of_text(text: String) -> Result<(bytes::Bytes, BodyForm)> {
    if text.len() > MAX_TEXT_BYTES {
        let size = text.len();
        let message = format!(
            "content has {size} bytes, but text has at most {MAX_TEXT_BYTES}; send a file instead"
        );
        return Err(Error::TooLarge(message));
    }

    let form = if parse_page_url(&text).is_some() {
        BodyForm::Url
    } else {
        BodyForm::Text
    };

    Ok((text.into(), form))
}

/// Checks the path of a document.
pub(crate) fn check_filepath(path: String) -> Result<String> {
    check_length("filepath", &path, MAX_FILEPATH_CHARS)?;
    Ok(path)
}

/// Parses the field `customId`.
pub(crate) fn parse_custom_id(text: Option<&str>) -> Result<Option<CustomId>> {
    match text {
        Some(text) => Ok(Some(CustomId::parse(text)?)),
        None => Ok(None),
    }
}

/// Parses the field `documentDate`.
pub(crate) fn parse_document_date(text: Option<&str>) -> Result<Option<Timestamp>> {
    match text {
        Some(text) => Ok(Some(Timestamp::parse("documentDate", text)?)),
        None => Ok(None),
    }
}

fn parse_object(field: &str, object: Option<Map<String, Value>>) -> Result<Option<Metadata>> {
    match object {
        Some(object) => Ok(Some(Metadata::parse_field(field, object)?)),
        None => Ok(None),
    }
}

fn check_length(field: &str, text: &str, max: usize) -> Result<()> {
    if text.chars().count() > max {
        return Err(Error::invalid_field(
            field,
            format!("at most {max} characters"),
        ));
    }
    Ok(())
}

impl CommonFields {
    /// Checks every field and returns the new document.
    pub(crate) fn into_document(
        self,
        content: Content,
        idempotency_key: Option<String>,
    ) -> Result<NewDocument> {
        if let Some(context) = &self.entity_context {
            check_length("entityContext", context, MAX_ENTITY_CONTEXT)?;
        }

        Ok(NewDocument {
            tag: parse_single_tag(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?,
            custom_id: parse_custom_id(self.custom_id.as_deref())?,
            content,
            metadata: parse_object("metadata", self.metadata)?,
            filepath: match self.filepath {
                Some(path) if !path.is_empty() => Some(check_filepath(path)?),
                _ => None,
            },
            filter_by_metadata: parse_object("filterByMetadata", self.filter_by_metadata)?,
            entity_context: self.entity_context,
            task_type: self.task_type.unwrap_or_default(),
            dreaming: self.dreaming.unwrap_or_default(),
            document_date: parse_document_date(self.document_date.as_deref())?,
            provenance: self.provenance,
            idempotency_key,
        })
    }

    /// Returns these fields, with those of `defaults` in place of absent ones. A container tag in
    /// either field replaces both default tags.
    pub(crate) fn or_defaults(self, defaults: &Self) -> Self {
        let has_tag = self.container_tag.is_some() || self.container_tags.is_some();
        let tags = if has_tag { &self } else { defaults };

        Self {
            container_tag: tags.container_tag.clone(),
            container_tags: tags.container_tags.clone(),
            custom_id: self.custom_id,
            metadata: self.metadata.or_else(|| defaults.metadata.clone()),
            filepath: self.filepath.or_else(|| defaults.filepath.clone()),
            filter_by_metadata: self
                .filter_by_metadata
                .or_else(|| defaults.filter_by_metadata.clone()),
            task_type: self.task_type.or(defaults.task_type),
            document_date: self
                .document_date
                .or_else(|| defaults.document_date.clone()),
            entity_context: self
                .entity_context
                .or_else(|| defaults.entity_context.clone()),
            dreaming: self.dreaming.or(defaults.dreaming),
            provenance: self.provenance.or(defaults.provenance),
        }
    }
}

/// Returns the header that identifies a request when it is repeated because its answer was lost.
pub(crate) fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) if (1..=255).contains(&text.len()) => Ok(Some(text.to_owned())),
        _ => Err(Error::invalid_field(
            "Idempotency-Key",
            "1 to 255 printable ASCII characters",
        )),
    }
}
