//! `POST /v3/connections/{provider}` and `/{id}/reconnect`: links with which users give permission.

use axum::extract::State;
use domain::{ConnectionId, ContainerTag, Error, Metadata, Result};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, Path, WriteUnscoped, deserialize_count, parse_scope,
};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{ConsentLink, CreatedConnection, NewConnection, find_connection};

use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::wire::parse_provider;

/// The lifetime of the link, in the words of the API.
const LINK_LIFETIME: &str = "1 hour";

/// A new connection.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CreateConnectionRequest")]
pub(crate) struct CreateRequest {
    /// The address to which the user's browser is finally sent, by https, or by http on the user's
    /// own machine.
    #[schemars(length(max = MAX_URL_CHARS))]
    redirect_url: Option<String>,
    /// The container tag of the documents.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The most documents.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_DOCUMENT_LIMIT>")]
    document_limit: Option<usize>,
    /// The caller's own keys. `syncScope` says how much is included: `selected`, which is the
    /// default, or `full`. For a website, `startUrl` or `sitemapUrl`, of one host, `maxDepth`,
    /// `maxPages` and `pathPrefix` say what is read. Other values may be any JSON: at most 16 KiB.
    metadata: Option<Map<String, Value>>,
}

/// The most characters of an address.
pub(crate) const MAX_URL_CHARS: usize = 2048;
/// The most documents of a connection. Part of the API.
pub(crate) const MAX_DOCUMENT_LIMIT: usize = 10_000;

/// A request for permission.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReconnectRequest {
    /// The address to which the user's browser is finally sent. The default is that of the
    /// connection.
    #[schemars(length(max = MAX_URL_CHARS))]
    redirect_url: Option<String>,
}

/// A connection that waits for its user, or needs no permission.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConnectionBegun")]
pub(crate) struct CreateResponse {
    /// The id of the connection.
    id: ConnectionId,
    /// The link that the user has to open.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_link: Option<String>,
    /// The lifetime of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<&'static str>,
    /// The address to which the user's browser is finally sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirects_to: Option<String>,
}

impl CreateResponse {
    fn new(base: &BaseUrl, created: CreatedConnection) -> Self {
        let link = created.link.map(|link| consent_url(base, &link));
        Self {
            id: created.connection.id,
            expires_in: link.is_some().then_some(LINK_LIFETIME),
            redirects_to: created.connection.redirect_url.filter(|_| link.is_some()),
            auth_link: link,
        }
    }
}

/// Returns the address of a link with which a user gives permission.
pub(crate) fn consent_url(base: &BaseUrl, link: &ConsentLink) -> String {
    base.url_of_path(&format!(
        "/v3/connections/auth/start/{}",
        link.ticket.expose()
    ))
}

pub(crate) async fn create_connection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(name): Path<String>,
    base: BaseUrl,
    Json(request): Json<CreateRequest>,
) -> ApiResult<Json<CreateResponse>> {
    let provider = parse_provider(&name, state.app.provider_names)?;
    let connector = state.connector_of(provider)?;
    let mut tags = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?
    .tags;
    if tags.len() > 1 {
        return Err(Error::invalid_field(
            "containerTags",
            "a connection fills one container; send one tag",
        )
        .into());
    }

    let new_connection = NewConnection {
        provider,
        tag: tags.pop(),
        redirect_url: check_permitted_redirect(
            &state.app.ctx,
            &tenant,
            "redirectUrl",
            request.redirect_url,
        )
        .await?,
        document_limit: request.document_limit,
        metadata: Metadata::parse_nested("metadata", request.metadata.unwrap_or_default())?,
    };

    let created =
        service::create_connection(&state.app.ctx, connector, &tenant, new_connection).await?;
    Ok(Json(CreateResponse::new(&base, created)))
}

pub(crate) async fn reconnect_connection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(id): Path<String>,
    base: BaseUrl,
    Json(request): Json<ReconnectRequest>,
) -> ApiResult<Json<CreateResponse>> {
    let redirect =
        check_permitted_redirect(&state.app.ctx, &tenant, "redirectUrl", request.redirect_url)
            .await?;
    let connection = find_connection(&state.app.ctx, &tenant, &id).await?;
    let connector = state.connector_of(connection.provider)?;
    let created =
        service::reconnect_connection(&state.app.ctx, connector, &tenant, &connection, redirect)
            .await?;

    Ok(Json(CreateResponse::new(&base, created)))
}

/// Returns the containers that a request names, or else those that its key reaches.
///
/// # Errors
/// [`Error::Invalid`] if neither names any.
pub(crate) fn named_scope(
    tenant: &domain::Tenant,
    tags: Option<&[String]>,
) -> Result<service::ContainerScope> {
    let scope = parse_scope(None, tags)?;
    if scope.tags.is_empty() && tenant.allowed_tags().is_none() {
        return Err(Error::invalid_field("containerTags", "at least one tag"));
    }
    Ok(scope)
}

/// Returns an example of a link with which a user gives permission.
fn link_example() -> Value {
    json!({
        "id": "c7VhPq2mZt9bXw4KsYdRu1",
        "authLink": "https://api.example.com/v3/connections/auth/start/Qm3xVt9bXw4KsYdRu1c7VhPq",
        "expiresIn": LINK_LIFETIME,
        "redirectsTo": "https://app.example/connected",
    })
}

/// The description of the path segment that is a provider or a connection.
pub(crate) const PROVIDER: &str = "A provider.";
pub(crate) const CONNECTION: &str = "The id of a connection.";
/// The description of the answer about a missing connection.
pub(crate) const NO_CONNECTION: &str = "There is no such connection.";
/// The description of the answer about an unknown provider.
pub(crate) const NO_PROVIDER: &str = "Connections to this provider are not supported.";

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/connections/{id}", "create_connection")
            .group("Connections")
            .summary("Connect a container to an account of a provider.")
            .description(
                "The user opens `authLink`, permits access, and then selects what is included, or \
                 comes back to `redirectUrl` when everything is. Nothing is synchronized before \
                 that.",
            )
            .path_parameter::<PathId>("id", PROVIDER)
            .optional_body::<CreateRequest>(json!({
                "containerTag": "user_42",
                "redirectUrl": "https://app.example/connected",
                "documentLimit": 2000,
                "metadata": {"syncScope": "selected", "team": "ringers"},
            }))
            .answer::<CreateResponse>(
                "The link with which the user permits access, if that is needed.",
                link_example(),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged or deleted. Send the request again later.",
            )
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::post("/v3/connections/{id}/reconnect", "reconnect_connection")
            .group("Connections")
            .summary("Ask the user for permission again.")
            .description("The documents and the selection stay.")
            .path_parameter::<PathId>("id", CONNECTION)
            .optional_body::<ReconnectRequest>(
                json!({"redirectUrl": "https://app.example/connected"}),
            )
            .answer::<CreateResponse>(
                "The link with which the user permits access.",
                link_example(),
            )
            .error(
                ErrorAnswer::Invalid,
                "The request is malformed, or the connection needs no permission.",
            )
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
    ]
}
