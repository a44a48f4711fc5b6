//! The resources that may be selected, for callers with a picker of their own, and the address of
//! the hosted picker.

use std::collections::HashSet;

use axum::extract::State;
use domain::connection::Connection;
use domain::ports::{Connector, PickerView};
use domain::{Error, Result, Tenant, Timestamp};
use edge::{Admin, ApiResult, Auth, Json, Path, Query, WriteSurroundings, deserialize_count};
use serde::{Deserialize, Serialize};
use service::{
    PickerLocation, browse_items, find_connection, open_picker, resolve_selected_items,
    save_selection,
};

use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::wire::ChoiceShape;

/// The number of resources on a page if the request does not set it. Part of the API.
const DEFAULT_PER_PAGE: usize = 30;
/// The most resources on a page.
const MAX_PER_PAGE: usize = 100;
/// The most pages of the provider that are read for one answer. Pages of this API are numbered, and
/// those of the provider are not.
const MAX_PAGES: usize = 20;
/// The lifetime of the picker's address, in words.
const PICKER_LIFETIME: &str = "5 minutes";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourcesQuery {
    #[serde(deserialize_with = "deserialize_count")]
    page: Option<usize>,
    #[serde(deserialize_with = "deserialize_count")]
    per_page: Option<usize>,
    parent_id: Option<String>,
    view: Option<String>,
    q: Option<String>,
}

/// A resource, and whether it is currently selected.
#[derive(Debug, Serialize)]
struct Resource {
    #[serde(flatten)]
    item: ChoiceShape,
    selected: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ResourcesResponse {
    resources: Vec<Resource>,
    /// Known only if the listing was read to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<usize>,
    has_more: bool,
}

/// Parses the name of a view, which says where users look for resources.
///
/// # Errors
/// [`Error::Invalid`] naming the field.
pub(crate) fn parse_view(name: Option<&str>) -> Result<PickerView> {
    match name {
        None | Some("my") => Ok(PickerView::My),
        Some("shared") => Ok(PickerView::Shared),
        Some("drives") => Ok(PickerView::Drives),
        Some(_) => Err(Error::invalid_field("view", "my, shared or drives")),
    }
}

pub(crate) async fn list_resources(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(id): Path<String>,
    Query(query): Query<ResourcesQuery>,
) -> ApiResult<Json<ResourcesResponse>> {
    let ctx = &state.app.ctx;
    let (page, per_page) = (
        query.page.unwrap_or(1),
        query.per_page.unwrap_or(DEFAULT_PER_PAGE),
    );
    if page == 0 {
        return Err(Error::invalid_field("page", "1 or more").into());
    }

    if !(1..=MAX_PER_PAGE).contains(&per_page) {
        return Err(Error::invalid_field("per_page", format!("1 to {MAX_PER_PAGE}")).into());
    }

    let view = parse_view(query.view.as_deref())?;
    let connection = find_connection(ctx, &tenant, &id).await?;
    let connector = state.connector_of(connection.provider)?;
    let end = page.saturating_mul(per_page);
    let (items, is_complete) =
        read_resources(&state, connector, &tenant, &connection, &view, &query, end).await?;
    let selection = ctx.sync.get_selection(&tenant, &connection.id).await?;
    let selected: HashSet<&str> = selection
        .items
        .iter()
        .map(|item| item.id.as_str())
        .collect();
    let total = items.len();
    let start = end - per_page;
    let page_items = items.into_iter().skip(start).take(per_page);
    let to_resource = |item: ChoiceShape| Resource {
        selected: selected.contains(item.id.as_str()),
        item,
    };

    Ok(Json(ResourcesResponse {
        resources: page_items.map(to_resource).collect(),
        total_count: is_complete.then_some(total),
        has_more: !is_complete || total > end,
    }))
}

/// Returns the first resources, at least `min_count` of them or all, and whether these are all.
async fn read_resources(
    state: &ConnectionsState,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    view: &PickerView,
    query: &ResourcesQuery,
    min_count: usize,
) -> Result<(Vec<ChoiceShape>, bool)> {
    let (mut items, mut next) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let (parent, search) = (query.parent_id.as_deref(), query.q.as_deref());
        let location = PickerLocation {
            view,
            parent,
            query: search,
            page: next.as_deref(),
        };
        let listing = browse_items(&state.app.ctx, connector, tenant, connection, location).await?;
        items.extend(listing.items.into_iter().map(ChoiceShape::from));
        next = listing.next;
        if next.is_none() || items.len() >= min_count {
            return Ok((items, next.is_none()));
        }
    }

    Err(Error::invalid_field(
        "page",
        "too far back; look into a folder with `parent_id`, or search with `q`",
    ))
}

#[derive(Debug, Deserialize)]
pub(crate) struct ConfigureRequest {
    resources: Vec<SentResource>,
}

/// A resource as [`list_resources`] returned it. Only its id is used, and everything else is looked
/// up.
#[derive(Debug, Deserialize)]
struct SentResource {
    id: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigureResponse {
    success: bool,
    message: String,
    /// Always zero: notifications are requested when a run ends, not here.
    webhooks_registered: usize,
}

pub(crate) async fn configure_selection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(id): Path<String>,
    Json(request): Json<ConfigureRequest>,
) -> ApiResult<Json<ConfigureResponse>> {
    let ctx = &state.app.ctx;
    if request.resources.is_empty() {
        let rule = "at least one; to take nothing any more, delete the connection";
        return Err(Error::invalid_field("resources", rule).into());
    }

    let connection = find_connection(ctx, &tenant, &id).await?;
    let connector = state.connector_of(connection.provider)?;
    let ids = request
        .resources
        .into_iter()
        .map(|resource| resource.id)
        .collect();
    let items = resolve_selected_items(ctx, connector, &tenant, &connection, ids).await?;
    let count = items.len();
    save_selection(ctx, &tenant, &connection, items).await?;
    let subject = if count == 1 {
        "1 item is".to_owned()
    } else {
        format!("{count} items are")
    };

    let message = format!("{subject} selected; a sync has been asked for.");
    Ok(Json(ConfigureResponse {
        success: true,
        message,
        webhooks_registered: 0,
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PickerRequest {
    return_url: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PickerResponse {
    url: String,
    expires_in: &'static str,
    expires_at: Timestamp,
}

pub(crate) async fn open_hosted_picker(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
    base: BaseUrl,
    Json(request): Json<PickerRequest>,
) -> ApiResult<Json<PickerResponse>> {
    let ctx = &state.app.ctx;
    let return_url =
        check_permitted_redirect(ctx, &tenant, "returnUrl", request.return_url).await?;
    let connection = find_connection(ctx, &tenant, &id).await?;
    if state
        .connector_of(connection.provider)?
        .oauth_flow()
        .is_none()
    {
        let name = connection.provider.as_str();
        return Err(Error::Unsupported(format!(
            "there is nothing to pick for a connection to {name}"
        ))
        .into());
    }

    let (ticket, expires_at) = open_picker(ctx, &tenant, &connection, return_url).await?;
    let url = base.url_of_path(&format!("/picker/s/{}", ticket.expose()));

    Ok(Json(PickerResponse {
        url,
        expires_in: PICKER_LIFETIME,
        expires_at,
    }))
}
