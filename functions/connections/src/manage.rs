//! Changes of connections by callers (import, limit, deletion), and the provider's notifications.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::connection::Connection;
use domain::{ConnectionId, ContainerTag, Error};
use edge::{
    ApiResult, App, Auth, Json, MAX_ENTRIES, Path, ProviderName, Query, WriteUnscoped,
    deserialize_bool, deserialize_count, parse_scope,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use http::{HeaderMap, StatusCode};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    self, ImportOutcome, change_document_limit, delete_connection, delete_connections,
    find_connection, find_connections, request_import,
};

use crate::create::{CONNECTION, MAX_DOCUMENT_LIMIT, NO_CONNECTION, NO_PROVIDER, named_scope};
use crate::overview::{connection_example, show_connection};
use crate::page::wants_text;
use crate::wire::{ConnectionShape, parse_provider};

/// The number of connections that are asked to run at the same time.
const PARALLEL_IMPORTS: usize = 8;
/// The header with the token of a notification channel.
const CHANNEL_TOKEN: &str = "x-goog-channel-token";

/// The changes to a connection.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateConnectionRequest")]
pub(crate) struct ChangeRequest {
    /// The most documents. If there is more room than before, items that were left out are
    /// included. If there are more documents already, they stay, and none is added.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_DOCUMENT_LIMIT>")]
    document_limit: Option<usize>,
}

pub(crate) async fn change_connection(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(id): Path<String>,
    Json(request): Json<ChangeRequest>,
) -> ApiResult<Json<ConnectionShape>> {
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    let limit = request
        .document_limit
        .ok_or_else(|| Error::invalid_field("documentLimit", "a number"))?;
    let connection = change_document_limit(&app.ctx, &tenant, &connection, limit).await?;
    Ok(Json(show_connection(&app, &tenant, connection).await?))
}

/// The options of a deletion, in the query string or in the body.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "DeleteConnectionsRequest")]
pub(crate) struct DeleteRequest {
    /// True to delete the documents as well.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    delete_documents: bool,
    /// The container tags whose connections are deleted, if the path names a provider.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
}

/// The options of a deletion in the query string.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteQuery {
    /// True to delete the documents as well.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    delete_documents: bool,
}

/// The connections that were deleted: an object, and a list for the Python client, which names
/// itself in the header `X-Stainless-Lang`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "DeletedConnections")]
pub(crate) enum DeleteResponse {
    /// The newest of them.
    Object {
        /// The id of the newest deleted connection.
        id: ConnectionId,
        /// Its provider.
        provider: ProviderName,
        /// All deleted connections, if the request named a provider.
        #[serde(skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<ConnectionId>>,
    },
    // compat: the Python client expects a list, and the one for TypeScript an object.
    /// All of them.
    List(Vec<DeletedConnection>),
}

/// A connection that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeletedConnection {
    /// Its id.
    id: ConnectionId,
    /// Its provider.
    provider: ProviderName,
}

impl DeleteResponse {
    /// Returns the answer about deleted connections, of which the newest is the last.
    fn new(
        headers: &HeaderMap,
        provider: ProviderName,
        newest: ConnectionId,
        ids: Option<Vec<ConnectionId>>,
    ) -> Self {
        if !is_python_client(headers) {
            return Self::Object {
                id: newest,
                provider,
                ids,
            };
        }

        let ids = ids.unwrap_or_else(|| vec![newest]);
        let deleted = |id| DeletedConnection { id, provider };
        Self::List(ids.into_iter().map(deleted).collect())
    }
}

/// Checks whether the official Python client sends a request.
fn is_python_client(headers: &HeaderMap) -> bool {
    headers
        .get("x-stainless-lang")
        .is_some_and(|language| language == "python")
}

/// Deletes one connection by its id, or those to a provider in some containers.
pub(crate) async fn delete_connections_of(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(id): Path<String>,
    Query(query): Query<DeleteQuery>,
    headers: HeaderMap,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<DeleteResponse>> {
    let names = app.provider_names;
    let with_documents = query.delete_documents || request.delete_documents;
    if ConnectionId::parse(&id).is_some() {
        let deleted = delete_connection(&app.ctx, &tenant, &id, with_documents).await?;
        let provider = names.of_provider(deleted.provider);
        let response = DeleteResponse::new(&headers, provider, deleted.id, None);
        return Ok(Json(response));
    }

    let provider = parse_provider(&id, names)?;
    let scope = named_scope(&tenant, request.container_tags.as_deref())?;
    let deleted = delete_connections(&app.ctx, &tenant, provider, &scope, with_documents).await?;
    let ids: Vec<ConnectionId> = deleted
        .into_iter()
        .map(|connection| connection.id)
        .collect();
    let newest = ids.last().cloned().ok_or(Error::NotFound("Connection"))?;

    let provider = names.of_provider(provider);
    let response = DeleteResponse::new(&headers, provider, newest, Some(ids));
    Ok(Json(response))
}

/// The containers whose connections are synchronized, if the path names a provider.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ImportConnectionsRequest")]
pub(crate) struct ImportRequest {
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
}

/// The runs that were requested.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportRequested")]
struct ImportResponse {
    /// A sentence about what was requested, and what was skipped for which reason.
    message: String,
    /// The provider.
    provider: ProviderName,
}

pub(crate) async fn import_connections(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<ImportRequest>,
) -> ApiResult<Response> {
    let (ctx, names) = (&app.ctx, app.provider_names);
    let connections = if ConnectionId::parse(&id).is_some() {
        vec![find_connection(ctx, &tenant, &id).await?]
    } else {
        let scope = parse_scope(
            request.container_tag.as_deref(),
            request.container_tags.as_deref(),
        )?;
        let provider = parse_provider(&id, names)?;
        find_connections(ctx, &tenant, Some(provider), &scope).await?
    };

    // A request that matches no connection must not look successful.
    let first = connections.first().ok_or(Error::NotFound("Connection"))?;
    let provider = names.of_provider(first.provider);
    let tenant = &tenant;
    let request_one =
        |connection: Connection| async move { request_import(ctx, tenant, &connection).await };
    let requests =
        stream::iter(connections.into_iter().map(request_one)).buffer_unordered(PARALLEL_IMPORTS);
    let outcomes: Vec<ImportOutcome> = requests.try_collect().await?;

    let message = describe_imports(provider, &outcomes);
    let response = if wants_text(&headers) {
        (StatusCode::ACCEPTED, message).into_response()
    } else {
        (
            StatusCode::ACCEPTED,
            Json(ImportResponse { message, provider }),
        )
            .into_response()
    };

    Ok(response)
}

/// The outcomes of requests to import for which nothing is synchronized.
const SKIPPED: [ImportOutcome; 3] = [
    ImportOutcome::NoSelection,
    ImportOutcome::NoPermission,
    ImportOutcome::Expired,
];

/// Returns the reason why nothing is synchronized, or `None` if a run was requested.
pub(crate) const fn skip_reason(outcome: ImportOutcome) -> Option<&'static str> {
    match outcome {
        ImportOutcome::Requested => None,
        ImportOutcome::NoSelection => Some("nothing is selected yet"),
        ImportOutcome::NoPermission => Some("the user has not given permission yet"),
        ImportOutcome::Expired => {
            Some("the permission has ended, and the user has to connect again")
        }
    }
}

/// Describes the outcome of a request to import in one or more sentences.
fn describe_imports(provider: ProviderName, outcomes: &[ImportOutcome]) -> String {
    let count = |outcome: ImportOutcome| outcomes.iter().filter(|other| **other == outcome).count();
    let connections = |count: usize| match count {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    };

    let name = provider.as_str();
    let mut message = match count(ImportOutcome::Requested) {
        0 => format!("Nothing to import from {name} now."),
        count => format!("Importing {name}: {} asked to sync.", connections(count)),
    };

    for outcome in SKIPPED {
        let Some(reason) = skip_reason(outcome) else {
            continue;
        };
        if count(outcome) > 0 {
            message.push_str(&format!(
                " Skipped {}: {reason}.",
                connections(count(outcome))
            ));
        }
    }

    message
}

/// Handles a provider's notification of a change. Its token identifies the connection. The rest of
/// the request is not read.
pub(crate) async fn receive_notification(
    State(app): State<App>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let token = headers
        .get(CHANNEL_TOKEN)
        .and_then(|token| token.to_str().ok());
    let is_known = match token {
        Some(token) => service::handle_notification(&app.ctx, token).await?,
        None => false,
    };
    Ok(if is_known {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::patch("/v3/connections/{id}", "update_connection")
            .group("Connections")
            .summary("Change the most documents of a connection.")
            .description("The next run follows the new limit.")
            .path_parameter::<PathId>("id", CONNECTION)
            .body::<ChangeRequest>(json!({"documentLimit": 500}))
            .answer::<ConnectionShape>("The connection.", connection_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION),
        Operation::delete("/v3/connections/{id}", "delete_connection")
            .group("Connections")
            .summary("Delete a connection, or those of a provider to some containers.")
            .description(
                "Its documents stay unless the request says otherwise. The permission is revoked \
                 once no other connection uses it. A provider in the path needs `containerTags`.",
            )
            .path_parameter::<PathId>("id", "The id of a connection, or a provider.")
            .query::<DeleteQuery>()
            .optional_body::<DeleteRequest>(json!({"containerTags": ["user_42"]}))
            .answer::<DeleteResponse>(
                "The connections that were deleted.",
                json!({"id": "c7VhPq2mZt9bXw4KsYdRu1", "provider": "cloud-drive"}),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::post("/v3/connections/{id}/import", "import_connection")
            .group("Connections")
            .summary("Synchronize a connection now, or all of a provider.")
            .description(
                "Answered at once. Connections without permission or selection are skipped. One \
                 that is being synchronized is synchronized once more.",
            )
            .path_parameter::<PathId>("id", "The id of a connection, or a provider.")
            .optional_body::<ImportRequest>(json!({"containerTags": ["user_42"]}))
            .answer_with::<ImportResponse>(
                202,
                "What was requested.",
                json!({
                    "message": "Importing cloud-drive: 1 connection asked to sync.",
                    "provider": "cloud-drive",
                }),
            )
            .or_as::<String>(
                "text/plain",
                json!("Importing cloud-drive: 1 connection asked to sync."),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
    ]
}

#[cfg(test)]
mod tests {
    use domain::connection::Provider;
    use edge::ProviderNames;

    use super::*;

    #[test]
    fn an_import_says_what_it_did_and_what_not() {
        let name = ProviderNames::Cloud.of_provider(Provider::CloudDrive);
        use ImportOutcome::{Expired, NoPermission, NoSelection, Requested};
        let describe = |outcomes: &[ImportOutcome]| describe_imports(name, outcomes);
        assert_eq!(
            describe(&[Requested]),
            "Importing cloud-drive: 1 connection asked to sync."
        );
        assert_eq!(
            describe(&[Requested, NoSelection, Requested]),
            "Importing cloud-drive: 2 connections asked to sync. Skipped 1 connection: nothing is selected yet."
        );

        let skipped_only = describe(&[NoSelection, NoPermission, Expired, Expired]);
        assert!(skipped_only.starts_with(
            "Nothing to import from cloud-drive now. Skipped 1 connection: nothing is selected"
        ));
        assert!(skipped_only.ends_with(
            "Skipped 2 connections: the permission has ended, and the user has to connect again."
        ));
    }
}
