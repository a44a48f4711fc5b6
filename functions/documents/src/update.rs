//! `PATCH /v3/documents/{id}` and `POST /v3/documents/{id}/retry`: changes or retries a document.

use axum::extract::State;
use domain::tag::MAX_TAGS_PER_DOCUMENT;
use domain::{ContainerTag, CustomId, Metadata, Patch, Provenance, Result, TaskType};
use edge::{ApiResult, App, Auth, Json, Path, Query, WriteContent, parse_scope};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{
    DocumentDescription, DocumentUpdate, find_document, retry_document, update_document,
};

use crate::add::{ACCEPTED, AddResponse, accepted_example};
use crate::common_fields::{
    MAX_FILEPATH_CHARS, MAX_TEXT_BYTES, body_of_text, check_filepath, parse_custom_id,
    parse_document_date,
};
use crate::document::{DOCUMENT_ID, DocumentScopeQuery, NO_DOCUMENT};

/// The fields to change. Absent fields keep their values, and `null` clears metadata, path and
/// filter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateDocumentRequest")]
pub(crate) struct UpdateRequest {
    /// A text, markdown, HTML or the address of one page in place of the content: at most 1 MiB of
    /// UTF-8. It may be empty if the document has a `filepath`.
    #[schemars(length(max = MAX_TEXT_BYTES))]
    content: Option<String>,
    /// Metadata in place of all there is. Null removes it.
    #[schemars(with = "Option<Metadata>")]
    metadata: Patch<Map<String, Value>>,
    /// A path in the caller's own tree. Null or an empty one removes it.
    #[schemars(with = "Option<String>", length(max = MAX_FILEPATH_CHARS))]
    filepath: Patch<String>,
    /// The metadata that other documents need to have for their memories to be considered beside
    /// those of this one. Null removes it.
    #[schemars(with = "Option<Metadata>")]
    filter_by_metadata: Patch<Map<String, Value>>,
    /// Another customId. The document keeps its id.
    #[schemars(with = "Option<CustomId>")]
    custom_id: Option<String>,
    /// The container tag to move the document to. It keeps its id.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The container tags in place of the present ones, if there are several.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_TAGS_PER_DOCUMENT))]
    container_tags: Option<Vec<String>>,
    /// The results of its processing.
    task_type: Option<TaskType>,
    /// The time that the content is from, as a day or a timestamp with an offset.
    #[schemars(extend("examples" = ["2025-04-15", "2025-04-15T11:30:00+02:00"]))]
    document_date: Option<String>,
    /// The author of the content.
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

        let scope = parse_scope(
            self.container_tag.as_deref(),
            self.container_tags.as_deref(),
        )?;
        Ok(DocumentUpdate {
            content,
            description,
            custom_id: parse_custom_id(self.custom_id.as_deref())?,
            tags: Some(scope.tags).filter(|tags| !tags.is_empty()),
            task_type: self.task_type,
            provenance: self.provenance,
            document_date: parse_document_date(self.document_date.as_deref())?,
        })
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let update = Operation::patch("/v3/documents/{id}", "update_document")
        .group("Content Management")
        .summary("Change a document.")
        .description(
            "Metadata and path change in place. Other content is processed again. Another \
             container or customId moves the document, which keeps its id. Absent fields stay as they are.",
        )
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .query::<DocumentScopeQuery>()
        .optional_body::<UpdateRequest>(json!({
            "metadata": {"source": "diary", "checked": true},
            "filepath": "/notes/heron.md",
        }))
        .answer::<AddResponse>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(
            ErrorAnswer::Conflict,
            "Several containers have a document with this customId: add the query parameter \
             `containerTag`. Or a document has the new customId already, a merge has superseded \
             the document, its container is being merged, or its content has not arrived or cannot \
             be read: the message says which.",
        );
    let retry = Operation::post("/v3/documents/{id}/retry", "retry_document")
        .group("Content Management")
        .summary("Process a document again that has failed, or whose stored data is damaged.")
        .description(
            "The stored content is read again, and a page is fetched again. What search serves \
             stays until the document is `done`.",
        )
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .query::<DocumentScopeQuery>()
        .answer::<AddResponse>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(
            ErrorAnswer::Conflict,
            "The document is neither failed nor damaged, a merge has superseded it, or its \
             container is being merged. Or several containers have a document with this customId: \
             add the query parameter `containerTag`.",
        );

    vec![update.alias("/v3/memories/{id}"), update, retry]
}
