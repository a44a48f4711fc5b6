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

use crate::wait::WaitQuery;

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
    wait: WaitQuery,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<AddRequest, CommonFields>,
) -> ApiResult<Json<AddResponse>> {
    let (bytes, form) = body_of_text(request.content)?;
    let new = common.into_document(
        Content::Complete { bytes, form },
        read_idempotency_key(&headers)?,
    )?;
    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(accepted.into()))
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

        let date = self.document_date.as_deref();
        let object = |field: &'static str| move |object| Metadata::parse_field(field, object);

        Ok(NewDocument {
            tag: parse_single_tag(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?,
            custom_id: self.custom_id.as_deref().map(CustomId::parse).transpose()?,
            content,
            metadata: self.metadata.map(object("metadata")).transpose()?,
            filepath: self
                .filepath
                .filter(|path| !path.is_empty())
                .map(check_filepath)
                .transpose()?,
            filter_by_metadata: self
                .filter_by_metadata
                .map(object("filterByMetadata"))
                .transpose()?,
            entity_context: self.entity_context,
            task_type: self.task_type.unwrap_or_default(),
            dreaming: self.dreaming.unwrap_or_default(),
            document_date: date
                .map(|date| Timestamp::parse("documentDate", date))
                .transpose()?,
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
    let text = value
        .to_str()
        .ok()
        .filter(|text| (1..=255).contains(&text.len()));
    let text = text.ok_or_else(|| {
        Error::invalid_field("Idempotency-Key", "1 to 255 printable ASCII characters")
    })?;
    Ok(Some(text.to_owned()))
}
