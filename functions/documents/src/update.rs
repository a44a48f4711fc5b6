//! `PATCH /v3/documents/{id}` and `POST /v3/documents/{id}/retry`: changes or retries a document.

use axum::extract::State;
use domain::{Metadata, Patch, Provenance, Result, TaskType};
use edge::{ApiResult, App, Auth, Json, Path, Query, WriteContent, parse_single_tag};
use serde::Deserialize;
use serde_json::{Map, Value};
use service::{
    DocumentDescription, DocumentUpdate, find_document, retry_document, update_document,
};

use crate::add::{
    AddResponse, body_of_text, check_filepath, parse_custom_id, parse_document_date,
};
use crate::one::DocumentScopeQuery;

/// The fields to change. Absent fields keep their values, and `null` clears metadata, path and
/// filter.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UpdateRequest {
    content: Option<String>,
    metadata: Patch<Map<String, Value>>,
    filepath: Patch<String>,
    filter_by_metadata: Patch<Map<String, Value>>,
    custom_id: Option<String>,
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    task_type: Option<TaskType>,
    document_date: Option<String>,
    provenance: Option<Provenance>,
}

pub(crate) async fn patch_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<AddResponse>> {
    let update = request.into_update()?;
    // The tag in the body is the new place of the document. Only the tag in the query distinguishes
    // equal customIds.
    let document = find_document(&app.ctx, &tenant, &id, &query.scope()?).await?;

    Ok(Json(
        update_document(&app.ctx, &tenant, document, update)
            .await?
            .into(),
    ))
}

pub(crate) async fn post_retry(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<Json<AddResponse>> {
    let document = find_document(&app.ctx, &tenant, &id, &query.scope()?).await?;
    Ok(Json(
        retry_document(&app.ctx, &tenant, document).await?.into(),
    ))
}

impl UpdateRequest {
    fn into_update(self) -> Result<DocumentUpdate> {
        let object = |field: &'static str| move |object| Metadata::parse_field(field, object);
        let path = match self.filepath {
            Patch::Set(path) if path.is_empty() => Patch::Clear,
            path => path.try_map(check_filepath)?,
        };

        let description = DocumentDescription {
            metadata: self.metadata.try_map(object("metadata"))?,
            filepath: path,
            filter_by_metadata: self
                .filter_by_metadata
                .try_map(object("filterByMetadata"))?,
        };

        let content = match self.content {
            Some(text) => Some(body_of_text(text)?),
            None => None,
        };

        Ok(DocumentUpdate {
            content,
            description,
            custom_id: parse_custom_id(self.custom_id.as_deref())?,
            tag: parse_single_tag(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?,
            task_type: self.task_type,
            provenance: self.provenance,
            document_date: parse_document_date(self.document_date.as_deref())?,
        })
    }
}
