//! `POST /ns/{namespace}/connectors`: connects a namespace to an account of a provider.

use axum::extract::State;
use domain::{ConnectionId, ContainerTag, Metadata};
use edge::{ApiResult, Auth, Json, Path, WriteUnscoped, deserialize_count, parse_namespace};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{ConsentLink, NewConnection, create_connection};

use super::config::{ConfigShape, as_config_error, metadata_of};
use super::shape::{LinkShape, NAMES};
use super::{GROUP, NAMESPACE};
use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::create::{MAX_DOCUMENT_LIMIT, MAX_URL_CHARS, NO_PROVIDER, consent_url};
use crate::wire::parse_provider;

/// A new connector.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreateConnectorRequest")]
pub(crate) struct CreateRequest {
    /// The provider: `google-drive` or `web-crawler`.
    #[schemars(length(min = 1))]
    provider: String,
    /// The address to which the user's browser is finally sent, by https, or by http on the user's
    /// own machine.
    #[serde(default)]
    #[schemars(length(max = MAX_URL_CHARS))]
    redirect_url: Option<String>,
    /// The most documents.
    #[serde(default, deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_DOCUMENT_LIMIT>")]
    document_limit: Option<usize>,
    /// Its configuration. A website needs one.
    #[serde(default)]
    #[schemars(with = "Option<ConfigShape>")]
    config: Option<Map<String, Value>>,
}

/// A connector that waits for its user, or needs no permission.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectorSetupResult")]
pub(crate) struct CreateResponse {
    /// The id of the connector.
    id: ConnectionId,
    /// The link with which the user gives permission. Null if none is needed.
    authorization: Option<LinkShape>,
}

impl LinkShape {
    pub(super) fn of_consent(base: &BaseUrl, link: &ConsentLink) -> Self {
        Self {
            url: consent_url(base, link),
            expires_at: link.expires_at,
        }
    }
}

pub(crate) async fn create_connector(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(namespace): Path<String>,
    base: BaseUrl,
    Json(request): Json<CreateRequest>,
) -> ApiResult<Json<CreateResponse>> {
    let ctx = &state.app.ctx;
    let tag = parse_namespace(&namespace)?;
    let provider = parse_provider(&request.provider, NAMES)?;
    let connector = state.connector_of(provider)?;
    let metadata = metadata_of(provider, request.config.unwrap_or_default())?;
    let new_connection = NewConnection {
        provider,
        tag: Some(tag),
        redirect_url: check_permitted_redirect(ctx, &tenant, "redirectUrl", request.redirect_url)
            .await?,
        document_limit: request.document_limit,
        metadata: Metadata::parse_nested("config", metadata)?,
    };

    let created = create_connection(ctx, connector, &tenant, new_connection)
        .await
        .map_err(|error| as_config_error(error, provider))?;
    let authorization = created.link.map(|link| LinkShape::of_consent(&base, &link));
    Ok(Json(CreateResponse {
        id: created.connection.id,
        authorization,
    }))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/connectors", "create_connector")
            .group(GROUP)
            .summary("Connect a namespace to an account of a provider, or to a website.")
            .description(
                "The user of a drive opens `authorization.url`, permits access, and then selects \
                 what is included. Nothing is synchronized before that. A website is read at once.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<CreateRequest>(json!({
                "provider": "google-drive",
                "redirectUrl": "https://app.example/connected",
                "documentLimit": 2000,
                "config": {"syncScope": "selected"},
            }))
            .answer::<CreateResponse>(
                "The connector, and the link with which the user permits access.",
                json!({
                    "id": "c7VhPq2mZt9bXw4KsYdRu1",
                    "authorization": {
                        "url": "https://api.example.com/v3/connections/auth/start/Qm3xVt9bXw4KsYdR",
                        "expiresAt": "2026-03-01T10:30:00.000Z",
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The namespace is being merged, or the organization has as many connections as it \
                 may have.",
            )
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
    ]
}
