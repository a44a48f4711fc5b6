//! `DELETE /v3/documents/bulk`: deletes by ids, by container tags, or by tags and path.

use axum::extract::State;
use domain::{ContainerTag, Document, Error, Result, Tenant};
use edge::{ApiResult, App, Auth, Json, MAX_ENTRIES, WriteContent, parse_scope};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    ContainerScope, DocumentNameKind, add_documents_with_same_custom_ids, find_documents,
    remove_documents, remove_documents_of_tags,
};

/// The most ids of one request. Part of the API.
pub(crate) const MAX_IDS: usize = 100;
/// The number of seconds after which no more documents of tags are deleted. An HTTP API of AWS waits
/// 30 seconds for an answer.
const MAX_SECONDS: i64 = 20;

/// The documents to delete, by ids or by container tags, which a path may narrow. Unknown fields are refused,
/// because without a misspelled `filepath` everything would be deleted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "DeleteBulkRequest")]
pub(crate) struct BulkRequest {
    /// Ids or customIds.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Option<Vec<String>>,
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, the ids may be anywhere that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// An exact path, or a prefix if it ends with `/`. It goes with container tags, not with ids. A
    /// key that is limited to container tags needs no others.
    filepath: Option<String>,
    /// The `cursor` of the last answer, if that had `hasMore`. With other container tags or another
    /// path, documents before its position are not deleted.
    #[schemars(length(max = 256))]
    cursor: Option<String>,
}

/// The number of documents that were deleted, and the ids that were not found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeleteBulkResponse")]
pub(crate) struct BulkResponse {
    /// True if every id was found and no document is left.
    success: bool,
    /// The number of documents that were deleted.
    deleted_count: usize,
    /// True if the container tags have too many documents for one request. Send the request again
    /// with the `cursor` to delete the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    has_more: bool,
    /// The position at which the deletion continues, if there is more. Without it, a request begins
    /// again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
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
    let response = match request.ids.as_deref() {
        Some(_) if request.filepath.is_some() => {
            return Err(
                Error::invalid_field("filepath", "goes with containerTags, not with ids").into(),
            );
        }
        Some(_) if request.cursor.is_some() => {
            return Err(
                Error::invalid_field("cursor", "goes with containerTags, not with ids").into(),
            );
        }
        Some(ids) => delete_by_ids(&app, &tenant, ids, scope).await?,
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
        None => delete_by_tags(&app, &tenant, scope, &request).await?,
    };
    Ok(Json(response))
}

async fn delete_by_ids(
    app: &App,
    tenant: &Tenant,
    ids: &[String],
    scope: ContainerScope,
) -> Result<BulkResponse> {
    let (documents, errors) = find_by_ids(app, tenant, ids, &scope).await?;
    Ok(BulkResponse {
        success: errors.is_empty(),
        deleted_count: remove_documents(&app.ctx, tenant, documents, |_| true).await?,
        has_more: false,
        cursor: None,
        errors,
        container_tags: scope.tags,
    })
}

async fn delete_by_tags(
    app: &App,
    tenant: &Tenant,
    scope: ContainerScope,
    request: &BulkRequest,
) -> Result<BulkResponse> {
    let (filepath, cursor) = (request.filepath.as_deref(), request.cursor.as_deref());
    let end = app.ctx.clock.now().plus_seconds(MAX_SECONDS);
    let removal = remove_documents_of_tags(&app.ctx, tenant, &scope, filepath, cursor, end).await?;
    let has_more = removal.cursor.is_some();
    Ok(BulkResponse {
        success: !has_more,
        deleted_count: removal.deleted,
        has_more,
        cursor: removal.cursor,
        errors: Vec::new(),
        container_tags: scope.tags,
    })
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
            Err(error @ (Error::NotFound(_) | Error::Conflict(_) | Error::Invalid { .. })) => {
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

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let delete = Operation::delete("/v3/documents/bulk", "delete_bulk")
        .group("Content Management")
        .summary("Delete documents by ids, or by container tags with or without a path.")
        .description(
            "Ids that are not found are listed as errors, and the others are deleted. Deleting by \
             container tags stops after 20 seconds: while the answer has `hasMore`, send the request \
             again with its `cursor`.",
        )
        .body::<BulkRequest>(json!({"containerTags": ["user_42"], "filepath": "/notes/"}))
        .answer::<BulkResponse>(
            "The number of documents that were deleted.",
            json!({"success": true, "deletedCount": 3, "containerTags": ["user_42"]}),
        )
        .error(ErrorAnswer::Invalid, "");
    vec![delete.alias("/v3/memories/bulk"), delete]
}
