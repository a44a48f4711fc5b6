//! `POST /v3/connections/{provider}` and `/{id}/reconnect`: links with which users give permission.

use axum::extract::State;
use domain::{ConnectionId, Error, Metadata, Result};
use edge::{ApiResult, Auth, Json, Path, WriteSurroundings, deserialize_count, parse_scope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{CreatedConnection, NewConnection, find_connection};

use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::wire::parse_provider;

/// The lifetime of the link, in the words of the API.
const LINK_LIFETIME: &str = "1 hour";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CreateRequest {
    redirect_url: Option<String>,
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    #[serde(deserialize_with = "deserialize_count")]
    document_limit: Option<usize>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReconnectRequest {
    redirect_url: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateResponse {
    id: ConnectionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<&'static str>,
    /// The address to which the user's browser is finally sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirects_to: Option<String>,
}

impl CreateResponse {
    fn new(base: &BaseUrl, created: CreatedConnection) -> Self {
        let link = created.link.map(|ticket| {
            base.url_of_path(&format!("/v3/connections/auth/start/{}", ticket.expose()))
        });
        Self {
            id: created.connection.id,
            expires_in: link.is_some().then_some(LINK_LIFETIME),
            redirects_to: created.connection.redirect_url.filter(|_| link.is_some()),
            auth_link: link,
        }
    }
}

pub(crate) async fn create_connection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(name): Path<String>,
    base: BaseUrl,
    Json(request): Json<CreateRequest>,
) -> ApiResult<Json<CreateResponse>> {
    let provider = parse_provider(&name)?;
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
        metadata: Metadata::parse(request.metadata.unwrap_or_default())?,
    };

    let created =
        service::create_connection(&state.app.ctx, connector, &tenant, new_connection).await?;
    Ok(Json(CreateResponse::new(&base, created)))
}

pub(crate) async fn reconnect_connection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
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
