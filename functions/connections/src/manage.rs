//! Changes of connections by callers (import, limit, deletion), and the provider's notifications.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::connection::{Connection, Provider};
use domain::{ConnectionId, Error};
use edge::{
    ApiResult, App, Auth, Json, Path, Query, WriteSurroundings, deserialize_bool,
    deserialize_count, parse_scope,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use service::{
    self, ImportOutcome, change_document_limit, delete_connection, delete_connections,
    find_connection, find_connections, request_import,
};

use crate::create::named_scope;
use crate::overview::show_connection;
use crate::page::wants_text;
use crate::wire::{ConnectionShape, parse_provider};

/// The number of connections that are asked to run at the same time.
const PARALLEL_IMPORTS: usize = 8;
/// The header with the token of a notification channel.
const CHANNEL_TOKEN: &str = "x-goog-channel-token";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChangeRequest {
    #[serde(deserialize_with = "deserialize_count")]
    document_limit: Option<usize>,
}

pub(crate) async fn change_connection(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(id): Path<String>,
    Json(request): Json<ChangeRequest>,
) -> ApiResult<Json<ConnectionShape>> {
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    let limit = request
        .document_limit
        .ok_or_else(|| Error::invalid_field("documentLimit", "a number"))?;
    let connection = change_document_limit(&app.ctx, &tenant, &connection, limit).await?;
    Ok(Json(show_connection(&app.ctx, &tenant, connection).await?))
}

/// The options of a deletion, in the query string or in the body.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteRequest {
    #[serde(deserialize_with = "deserialize_bool")]
    delete_documents: bool,
    container_tags: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteQuery {
    #[serde(deserialize_with = "deserialize_bool")]
    delete_documents: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum DeleteResponse {
    Object {
        id: ConnectionId,
        provider: &'static str,
        /// All deleted connections, if the request named a provider.
        #[serde(skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<ConnectionId>>,
    },
    /// compat: the Python client expects a list, and the one for TypeScript an object.
    List(Vec<DeletedConnection>),
}

#[derive(Debug, Serialize)]
pub(crate) struct DeletedConnection {
    id: ConnectionId,
    provider: &'static str,
}

impl DeleteResponse {
    /// Returns the answer about deleted connections, of which the newest is the last.
    fn new(
        headers: &HeaderMap,
        provider: Provider,
        newest: ConnectionId,
        ids: Option<Vec<ConnectionId>>,
    ) -> Self {
        let provider = provider.as_str();
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

/// Checks whether the official Python client sends a request. Its name for itself is its own.
fn is_python_client(headers: &HeaderMap) -> bool {
    headers
        .get("x-stainless-lang")
        .is_some_and(|language| language == "python")
}

/// Deletes one connection by its id, or those to a provider in some containers.
pub(crate) async fn delete_connections_of(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(id): Path<String>,
    Query(query): Query<DeleteQuery>,
    headers: HeaderMap,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<DeleteResponse>> {
    let with_documents = query.delete_documents || request.delete_documents;
    if ConnectionId::parse(&id).is_some() {
        let deleted = delete_connection(&app.ctx, &tenant, &id, with_documents).await?;
        let response = DeleteResponse::new(&headers, deleted.provider, deleted.id, None);
        return Ok(Json(response));
    }

    let provider = parse_provider(&id)?;
    let scope = named_scope(&tenant, request.container_tags.as_deref())?;
    let deleted = delete_connections(&app.ctx, &tenant, provider, &scope, with_documents).await?;
    let ids: Vec<ConnectionId> = deleted
        .into_iter()
        .map(|connection| connection.id)
        .collect();
    let newest = ids.last().cloned().ok_or(Error::NotFound("Connection"))?;

    let response = DeleteResponse::new(&headers, provider, newest, Some(ids));
    Ok(Json(response))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImportRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct ImportResponse {
    message: String,
    provider: &'static str,
}

pub(crate) async fn import_connections(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<ImportRequest>,
) -> ApiResult<Response> {
    let ctx = &app.ctx;
    let connections = if ConnectionId::parse(&id).is_some() {
        vec![find_connection(ctx, &tenant, &id).await?]
    } else {
        let scope = parse_scope(
            request.container_tag.as_deref(),
            request.container_tags.as_deref(),
        )?;
        find_connections(ctx, &tenant, Some(parse_provider(&id)?), &scope).await?
    };

    // A request that matches no connection must not look successful.
    let provider = connections
        .first()
        .ok_or(Error::NotFound("Connection"))?
        .provider;
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
            Json(ImportResponse {
                message,
                provider: provider.as_str(),
            }),
        )
            .into_response()
    };

    Ok(response)
}

/// Describes the outcome of a request to import in one or more sentences.
fn describe_imports(provider: Provider, outcomes: &[ImportOutcome]) -> String {
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

    for (outcome, reason) in [
        (ImportOutcome::NoSelection, "nothing is selected yet"),
        (
            ImportOutcome::NoPermission,
            "the user has not given permission yet",
        ),
        (
            ImportOutcome::Expired,
            "the permission has ended, and the user has to connect again",
        ),
    ] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_says_what_it_did_and_what_not() {
        use ImportOutcome::{Expired, NoPermission, NoSelection, Requested};
        let describe =
            |outcomes: &[ImportOutcome]| describe_imports(Provider::CloudDrive, outcomes);
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
