//! The resources that may be selected, for callers with a picker of their own, and the address of
//! the hosted picker.

use std::collections::HashSet;

use axum::extract::State;
use domain::connection::{Connection, ExcludedItem};
use domain::ports::{Connector, PickerView};
use domain::{Error, Result, Tenant, Timestamp};
use edge::{Admin, ApiResult, Auth, Json, Path, Query, WriteUnscoped, deserialize_count};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    Ctx, PickerLocation, browse_items, find_connection, open_picker, resolve_selected_items,
    save_selection,
};

use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::create::{CONNECTION, MAX_URL_CHARS, NO_CONNECTION, NO_PROVIDER};
use crate::wire::ChoiceShape;

/// The number of resources on a page if the request does not set it. Part of the API.
const DEFAULT_PER_PAGE: usize = 30;
/// The most resources on a page.
const MAX_PER_PAGE: usize = 100;
/// The most pages of the provider that are read for one answer. Pages of this API are numbered, and
/// those of the provider are not.
const MAX_PAGES: usize = 20;
/// The most items of a selection. Part of the API.
pub(crate) const MAX_SELECTED_ITEMS: usize = 500;
/// The rule that an empty selection breaks.
pub(crate) const EMPTY_SELECTION: &str =
    "at least one; to take nothing any more, delete the connection";
/// The lifetime of the picker's address, in words.
const PICKER_LIFETIME: &str = "5 minutes";

/// The resources to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ResourcesQuery {
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, { usize::MAX }>")]
    page: Option<usize>,
    /// The number of resources on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_PER_PAGE>")]
    per_page: Option<usize>,
    /// The id of the folder whose content is listed. Without it, the top.
    #[schemars(length(min = 1))]
    parent_id: Option<String>,
    /// The place: the user's own items, those that others share, or shared drives.
    #[schemars(extend("enum" = ["my", "shared", "drives"]))]
    view: Option<String>,
    /// The beginning of words of a name, for a search everywhere.
    q: Option<String>,
}

/// An item of the account, and whether it is selected.
#[derive(Debug, Serialize, JsonSchema)]
struct Resource {
    #[serde(flatten)]
    item: ChoiceShape,
    /// True if it is selected.
    selected: bool,
    /// True if it is left out of a selected folder.
    excluded: bool,
}

/// A page of what can be selected.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Resources")]
pub(crate) struct ResourcesResponse {
    /// The items of the account.
    resources: Vec<Resource>,
    /// Their number. Known only if the listing was read to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<usize>,
    /// True if there is another page.
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
    Auth { tenant, .. }: Auth<WriteUnscoped>,
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
    let excluded: HashSet<&str> = selection
        .excluded
        .iter()
        .map(|item| item.id.as_str())
        .collect();
    let total = items.len();
    let start = end - per_page;
    let page_items = items.into_iter().skip(start).take(per_page);
    let to_resource = |item: ChoiceShape| Resource {
        selected: selected.contains(item.id.as_str()),
        excluded: excluded.contains(item.id.as_str()),
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

/// The selection, which replaces the former one.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ConfigureRequest {
    /// The items to include. A folder includes everything below it, also in future.
    #[schemars(length(min = 1, max = MAX_SELECTED_ITEMS))]
    resources: Vec<SentResource>,
    /// The items to leave out of the folders among `resources`. A folder stands for everything below
    /// it, also in future. Without this, nothing is left out.
    #[serde(default)]
    #[schemars(length(max = MAX_SELECTED_ITEMS))]
    excluded: Vec<SentResource>,
}

/// A resource as [`list_resources`] returned it. Only its id is used, and everything else is looked
/// up.
#[derive(Debug, Deserialize, JsonSchema)]
struct SentResource {
    /// The id of the item.
    #[schemars(length(min = 1))]
    id: String,
}

/// A saved selection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Configured")]
pub(crate) struct ConfigureResponse {
    /// Always true.
    success: bool,
    /// A sentence about what was saved.
    message: String,
    /// Always zero: notifications are requested when a run ends, not here.
    webhooks_registered: usize,
}

pub(crate) async fn configure_selection(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(id): Path<String>,
    Json(request): Json<ConfigureRequest>,
) -> ApiResult<Json<ConfigureResponse>> {
    let ctx = &state.app.ctx;
    if request.resources.is_empty() {
        return Err(Error::invalid_field("resources", EMPTY_SELECTION).into());
    }

    let connection = find_connection(ctx, &tenant, &id).await?;
    let connector = state.connector_of(connection.provider)?;
    let resolve = async |field, sent: Vec<SentResource>| {
        let ids = sent.into_iter().map(|resource| resource.id).collect();
        resolve_selected_items(ctx, connector, &tenant, &connection, field, ids).await
    };
    let items = resolve("resources", request.resources).await?;
    let excluded = resolve("excluded", request.excluded).await?;
    let excluded = excluded.into_iter().map(|item| ExcludedItem {
        id: item.id,
        name: item.name,
        folder: item.folder,
        above: Vec::new(),
    });
    let count = items.len();
    save_selection(ctx, &tenant, &connection, items, excluded.collect()).await?;
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

/// The way back from the picker.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "OpenPickerRequest")]
pub(crate) struct PickerRequest {
    /// The address to which the user's browser is sent after the picker. The default is that of the
    /// connection.
    #[schemars(length(max = MAX_URL_CHARS))]
    return_url: Option<String>,
}

/// A link to the picker, which works once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PickerLink")]
pub(crate) struct PickerResponse {
    /// The link.
    url: String,
    /// Its lifetime.
    expires_in: &'static str,
    /// The time at which it ends.
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

    let (url, expires_at) = picker_link(ctx, &base, &tenant, &connection, return_url).await?;
    Ok(Json(PickerResponse {
        url,
        expires_in: PICKER_LIFETIME,
        expires_at,
    }))
}

/// Makes a link to the picker, and returns its address and the time at which it ends.
///
/// # Errors
/// Those of [`open_picker`].
pub(crate) async fn picker_link(
    ctx: &Ctx,
    base: &BaseUrl,
    tenant: &Tenant,
    connection: &Connection,
    return_url: Option<String>,
) -> Result<(String, Timestamp)> {
    let (ticket, expires_at) = open_picker(ctx, tenant, connection, return_url).await?;
    let url = base.url_of_path(&format!("/picker/s/{}", ticket.expose()));
    Ok((url, expires_at))
}

/// The description of the conflicts of a connection whose items cannot be selected.
pub(crate) const NOT_READY: &str =
    "The user has not given permission yet, or the connection includes everything.";

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let picker = |path: &str, id: &str| {
        Operation::post(path, id)
            .group("Connections")
            .summary("Make a link to the picker.")
            .description("It works once, in any browser, and needs no key.")
            .path_parameter::<PathId>("id", CONNECTION)
            .optional_body::<PickerRequest>(json!({"returnUrl": "https://app.example/connected"}))
            .answer::<PickerResponse>(
                "The link.",
                json!({
                    "url": "https://api.example.com/picker/s/Qm3xVt9bXw4KsYdRu1c7VhPq",
                    "expiresIn": PICKER_LIFETIME,
                    "expiresAt": "2026-03-01T09:36:20.000Z",
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Conflict, NOT_READY)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER)
    };

    vec![
        Operation::get("/v3/connections/{id}/resources", "list_resources")
            .group("Connections")
            .summary("List what can be selected.")
            .description("For callers with a picker of their own.")
            .path_parameter::<PathId>("id", CONNECTION)
            .query::<ResourcesQuery>()
            .answer::<ResourcesResponse>(
                "A page of what can be selected.",
                json!({
                    "resources": [
                        {
                            "id": "1aBcPlans",
                            "name": "Plans",
                            "type": "folder",
                            "mimeType": "application/vnd.google-apps.folder",
                            "parentId": null,
                            "driveId": null,
                            "size": null,
                            "modifiedAt": "2026-02-20T16:02:00.000Z",
                            "url": null,
                            "owner": "Mara",
                            "selectable": true,
                            "reason": null,
                            "selected": false,
                            "excluded": false,
                        },
                    ],
                    "total_count": 1,
                    "has_more": false,
                }),
            )
            .error(
                ErrorAnswer::Invalid,
                "The request is malformed, or the user has to give permission first.",
            )
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::post("/v3/connections/{id}/configure", "configure_connection")
            .group("Connections")
            .summary("Select what is included, in place of the former selection.")
            .description("The items that are no longer selected lose their documents.")
            .path_parameter::<PathId>("id", CONNECTION)
            .body::<ConfigureRequest>(json!({
                "resources": [{"id": "1aBcPlans", "name": "Plans", "type": "folder"}],
            }))
            .answer::<ConfigureResponse>(
                "The selection is saved.",
                json!({
                    "success": true,
                    "message": "1 item is selected; a sync has been asked for.",
                    "webhooksRegistered": 0,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Conflict, NOT_READY)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        picker(
            "/v3/connections/{id}/cloud-drive/hosted-picker",
            "open_hosted_picker",
        ),
        picker(
            "/v3/connections/{id}/google-drive/hosted-picker",
            "open_hosted_picker_alias",
        ),
    ]
}
