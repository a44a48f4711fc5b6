//! `DELETE /v3/documents/bulk`: deletes by ids, by container tags, or by tags and path.

use axum::extract::State;
use domain::{ContainerTag, Document, Error, Result, Tenant};
use edge::{ApiResult, App, Auth, Json, WriteContent, parse_scope};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    ContainerScope, DocumentNameKind, ListQuery, add_documents_with_same_custom_ids,
    find_documents, find_superseded_documents, list_documents, path_matches, remove_documents,
};

/// The most ids of one request. Part of the API.
pub(crate) const MAX_IDS: usize = 100;

/// The documents to delete, by ids or by container tags, which a path may narrow.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "DeleteBulkRequest")]
pub(crate) struct BulkRequest {
    /// Ids or customIds.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Option<Vec<String>>,
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, the ids may be anywhere that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = 100))]
    container_tags: Option<Vec<String>>,
    /// An exact path, or a prefix if it ends with `/`. It goes with container tags, not with ids. A
    /// key that is limited to container tags needs no others.
    filepath: Option<String>,
}

/// The number of documents that were deleted, and the ids that were not found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeleteBulkResponse")]
pub(crate) struct BulkResponse {
    /// True if every id was found.
    success: bool,
    /// The number of documents that were deleted.
    deleted_count: usize,
    /// The ids that were not found, or that were found in several containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    errors: Vec<BulkError>,
    /// The container tags of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    container_tags: Vec<ContainerTag>,
}

/// An id that was not deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BulkError {
    /// The id in the request.
    pub(crate) id: String,
    /// A sentence that says why.
    pub(crate) error: String,
}

pub(crate) async fn delete_bulk(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<BulkRequest>,
) -> ApiResult<Json<BulkResponse>> {
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let container_tags = scope.tags.clone();
    let (documents, errors) = match request.ids.as_deref() {
        Some(_) if request.filepath.is_some() => {
            return Err(
                Error::invalid_field("filepath", "goes with containerTags, not with ids").into(),
            );
        }
        Some(ids) => find_by_ids(&app, &tenant, ids, &scope).await?,
        // With a key that is limited to tags, a path is enough. Without either, nothing says that
        // all documents are meant.
        None if scope.tags.is_empty()
            && (request.filepath.is_none() || tenant.allowed_tags().is_none()) =>
        {
            return Err(Error::invalid(
                "say what to delete: `ids`, or `containerTags` with or without `filepath`",
            )
            .into());
        }
        None => (
            find_by_tags(&app, &tenant, scope, request.filepath.clone()).await?,
            Vec::new(),
        ),
    };

    let is_selected = |document: &Document| {
        request
            .filepath
            .as_ref()
            .is_none_or(|path| path_matches(path, document.filepath.as_deref()))
    };

    let deleted_count = remove_documents(&app.ctx, &tenant, documents, is_selected).await?;

    Ok(Json(BulkResponse {
        success: errors.is_empty(),
        deleted_count,
        errors,
        container_tags,
    }))
}

/// Returns the documents with these ids or customIds, and an error for each that is not found.
///
/// # Errors
/// [`Error::Invalid`] for no ids or too many, and the errors of the ports.
pub(crate) async fn find_by_ids(
    app: &App,
    tenant: &Tenant,
    ids: &[String],
    scope: &ContainerScope,
) -> Result<(Vec<Document>, Vec<BulkError>)> {
    if !(1..=MAX_IDS).contains(&ids.len()) {
        return Err(Error::invalid_field("ids", format!("1 to {MAX_IDS} ids")));
    }

    let (mut documents, mut errors) = (Vec::new(), Vec::new());
    let results = find_documents(&app.ctx, tenant, ids, DocumentNameKind::Either, scope).await?;
    for (id, found) in ids.iter().zip(results) {
        match found {
            Ok(document) => documents.push(document),
            Err(error @ (Error::NotFound(_) | Error::Conflict(_))) => {
                errors.push(BulkError {
                    id: id.clone(),
                    error: error.to_string(),
                });
            }
            Err(error) => return Err(error),
        }
    }

    Ok((
        add_documents_with_same_custom_ids(&app.ctx, tenant, documents).await?,
        errors,
    ))
}

/// Returns the documents of some containers, below a path. Documents that a merge has superseded
/// are included. The listing may be slightly outdated, and a document that was just moved out of
/// the path must stay, so with a path the records themselves are read.
async fn find_by_tags(
    app: &App,
    tenant: &Tenant,
    scope: ContainerScope,
    filepath: Option<String>,
) -> Result<Vec<Document>> {
    let superseded = find_superseded_documents(&app.ctx, tenant, &scope).await?;
    let query = ListQuery {
        filepath: filepath.clone(),
        ..ListQuery::all_documents(scope)
    };

    let mut documents = list_documents(&app.ctx, tenant, &query).await?.documents;
    documents.extend(superseded);
    if filepath.is_none() {
        return Ok(documents);
    }

    let ids: Vec<_> = documents.into_iter().map(|document| document.id).collect();
    Ok(app
        .ctx
        .documents
        .get(tenant, &ids)
        .await?
        .into_iter()
        .flatten()
        .collect())
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let delete = Operation::delete("/v3/documents/bulk", "delete_bulk")
        .group("Content Management")
        .summary("Delete documents by ids, or by container tags with or without a path.")
        .description("Ids that are not found are listed as errors, and the others are deleted.")
        .body::<BulkRequest>(json!({"containerTags": ["user_42"], "filepath": "/notes/"}))
        .answer::<BulkResponse>(
            "The number of documents that were deleted.",
            json!({"success": true, "deletedCount": 3, "containerTags": ["user_42"]}),
        )
        .error(ErrorAnswer::Invalid, "");
    vec![delete.alias("/v3/memories/bulk"), delete]
}
