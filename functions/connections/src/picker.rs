//! The hosted picker: a page of this service on which a user chooses folders and files. The browser
//! never sees a token of the provider, and the session in its cookie restricts it to one
//! connection.

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use domain::connection::{Connection, ExcludedItem, MAX_SELECTED_ITEMS, SelectedItem, SyncState};
use domain::settings::PickerSettings;
use domain::{Error, Result, Secret, Tenant};
use edge::{ApiError, ApiResult, Json, Path, ProviderNames, Query};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{
    Ctx, PICKER_SESSION_SECONDS, PickerLocation, PickerSession, browse_items, derive_token,
    end_picker_session, enter_picker, find_picker_session, save_selection,
};

use crate::ConnectionsState;
use crate::address::BaseUrl;
use crate::consent::outcome_url;
use crate::cookie::{self, PICKER_COOKIE};
use crate::look;
use crate::page::{add_page_headers, add_picker_headers, escape_html, redirect_to, refusal_page};
use crate::resources::parse_view;
use crate::wire::{ChoiceShape, newest_run, run_status};

const PAGE: &str = include_str!("picker/page.html");
const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
const STYLE_TYPE: &str = "text/css; charset=utf-8";
/// The file that has the colour of an organization.
const LOOK_FILE: &str = "look.css";
/// The mark of the picker, in place of which an organization may have a logo.
const MARK: &str = include_str!("picker/mark.svg");
/// The files of the page: name, media type and text.
static FILES: [(&str, &str, &str); 8] = [
    ("app.js", SCRIPT_TYPE, include_str!("picker/app.js")),
    ("finish.js", SCRIPT_TYPE, include_str!("picker/finish.js")),
    ("frame.js", SCRIPT_TYPE, include_str!("picker/frame.js")),
    ("parts.js", SCRIPT_TYPE, include_str!("picker/parts.js")),
    ("places.js", SCRIPT_TYPE, include_str!("picker/places.js")),
    (
        "selection.js",
        SCRIPT_TYPE,
        include_str!("picker/selection.js"),
    ),
    ("app.css", STYLE_TYPE, include_str!("picker/app.css")),
    ("icon.svg", "image/svg+xml", include_str!("picker/icon.svg")),
];
/// The header that a page of another site cannot send.
const CSRF_HEADER: &str = "x-csrf-token";
/// The most characters of a search.
const MAX_QUERY_CHARS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FileQuery {
    /// The colour of [`LOOK_FILE`]: six hexadecimal digits.
    color: Option<String>,
}

pub(crate) async fn serve_file(
    Path(name): Path<String>,
    Query(query): Query<FileQuery>,
) -> ApiResult<Response> {
    if name == LOOK_FILE {
        let sheet = look::stylesheet(query.color.as_deref().unwrap_or_default())
            .ok_or_else(|| Error::invalid_field("color", "six hexadecimal digits in lower case"))?;
        let headers = [(CONTENT_TYPE, STYLE_TYPE), (CACHE_CONTROL, "no-cache")];
        return Ok(add_page_headers((headers, sheet).into_response()));
    }

    let file = FILES.iter().find(|(file_name, ..)| *file_name == name);
    let (_, media_type, text) = *file.ok_or(Error::NotFound("File"))?;
    // Browsers have to revalidate the files, because the page and its files must come from one
    // version of the service.
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-cache")];
    Ok(add_page_headers((headers, text).into_response()))
}

/// Opens a session for the first browser that presents the ticket.
pub(crate) async fn show_entry(
    State(state): State<ConnectionsState>,
    base: BaseUrl,
    headers: HeaderMap,
    Path(ticket): Path<String>,
) -> Response {
    match begin_picking(&state.app.ctx, &base, &ticket).await {
        Ok(response) => response,
        Err(error) => refusal_page(&base, &headers, error.into()),
    }
}

async fn begin_picking(ctx: &Ctx, base: &BaseUrl, ticket: &str) -> Result<Response> {
    let (session, tenant) = enter_picker(ctx, ticket).await?;
    let picker = picker_settings(ctx, &tenant).await?;
    let mut response = redirect_to(&base.url_of_path("/picker"));
    for cookie in cookie::set_picker_cookie(base, &picker, &session, PICKER_SESSION_SECONDS) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

pub(crate) async fn picker_settings(ctx: &Ctx, tenant: &Tenant) -> Result<PickerSettings> {
    let settings = ctx.settings.get(tenant).await?;
    Ok(settings.picker.unwrap_or_default())
}

/// Returns the token that the page's script has to send with each request.
fn csrf_token(session: &Secret) -> Secret {
    derive_token(session, "csrf", "picker")
}

pub(crate) async fn show_page(
    State(state): State<ConnectionsState>,
    base: BaseUrl,
    headers: HeaderMap,
) -> Response {
    let cookie = cookie::read_token(&headers, &base, PICKER_COOKIE);
    match answer_page(&state.app.ctx, &base, cookie.as_ref()).await {
        Ok(response) => response,
        Err(error) => refusal_page(&base, &headers, error.into()),
    }
}

async fn answer_page(ctx: &Ctx, base: &BaseUrl, cookie: Option<&Secret>) -> Result<Response> {
    let session = find_picker_session(ctx, cookie.map(Secret::expose)).await?;
    let picker = picker_settings(ctx, &session.tenant).await?;
    let csrf = cookie.map(csrf_token).unwrap_or_else(|| Secret::new(""));
    let html = format_page(&base.url_of_path("/picker"), csrf.expose(), &picker);
    let page = ([(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    Ok(add_picker_headers(page, &picker))
}

/// Returns the page with the look of an organization. Its own texts come last, so that nothing in
/// them is taken for a place to fill.
fn format_page(address: &str, csrf: &str, picker: &PickerSettings) -> String {
    let digits = picker
        .color
        .as_deref()
        .and_then(|color| color.strip_prefix('#'));
    let look = digits.map(|digits| {
        format!("<link rel=\"stylesheet\" href=\"{{{{base}}}}/{LOOK_FILE}?color={digits}\">")
    });
    let mark = match &picker.logo {
        Some(logo) => format!(
            "<img class=\"mark\" src=\"{}\" alt=\"\">",
            escape_html(logo)
        ),
        None => MARK.trim_end().to_owned(),
    };
    PAGE.replace("{{look}}", &look.unwrap_or_default())
        .replace("{{mark}}", &mark)
        .replace("{{base}}", &escape_html(address))
        .replace("{{csrf}}", &escape_html(csrf))
        .replace("{{origins}}", &escape_html(&picker.origins.join(" ")))
        .replace(
            "{{name}}",
            &escape_html(picker.name.as_deref().unwrap_or_default()),
        )
}

/// A request from the picker's own page: it carries the cookie and the page's token, and comes from
/// no other site.
pub(crate) struct PickerRequest {
    session: PickerSession,
    cookie: Secret,
    base: BaseUrl,
}

impl FromRequestParts<ConnectionsState> for PickerRequest {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConnectionsState,
    ) -> Result<Self, ApiError> {
        let base = BaseUrl::from_request_parts(parts, state).await?;
        let cookie = cookie::read_token(&parts.headers, &base, PICKER_COOKIE);
        let session =
            find_picker_session(&state.app.ctx, cookie.as_ref().map(Secret::expose)).await?;
        let cookie = cookie.ok_or(Error::Unauthenticated("no session"))?;
        if !is_own_page(&parts.headers, &parts.method, &base, &cookie) {
            return Err(Error::Forbidden(
                "this request does not come from the picker's page".into(),
            )
            .into());
        }

        Ok(Self {
            session,
            cookie,
            base,
        })
    }
}

fn is_own_page(headers: &HeaderMap, method: &Method, base: &BaseUrl, cookie: &Secret) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = header(ORIGIN.as_str());
    let site = header("sec-fetch-site");
    let is_same_origin = origin.is_none_or(|origin| base.is_own_origin(origin));
    let is_same_site = site.is_none_or(|site| site == "same-origin");
    // Browsers send the origin with every request that changes something.
    let names_origin = *method == Method::GET || origin.is_some() || site.is_some();
    is_same_origin
        && is_same_site
        && names_origin
        && header(CSRF_HEADER) == Some(csrf_token(cookie).expose())
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ItemsQuery {
    view: Option<String>,
    parent: Option<String>,
    q: Option<String>,
    page_token: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemsResponse {
    items: Vec<ChoiceShape>,
    next_page_token: Option<String>,
    /// Set if the provider reports that items are missing.
    incomplete: bool,
}

pub(crate) async fn list_items(
    State(state): State<ConnectionsState>,
    picker_request: PickerRequest,
    Query(query): Query<ItemsQuery>,
) -> ApiResult<Response> {
    let PickerSession {
        tenant, connection, ..
    } = &picker_request.session;

    let view = parse_view(query.view.as_deref())?;
    let search = query
        .q
        .as_deref()
        .map(str::trim)
        .filter(|search| !search.is_empty());
    if search.is_some_and(|search| search.chars().count() > MAX_QUERY_CHARS) {
        return Err(
            Error::invalid_field("q", format!("at most {MAX_QUERY_CHARS} characters")).into(),
        );
    }

    let non_empty = |text: &'_ Option<String>| text.clone().filter(|text| !text.is_empty());
    let (parent, page) = (non_empty(&query.parent), non_empty(&query.page_token));
    let location = PickerLocation {
        view: &view,
        parent: parent.as_deref(),
        query: search,
        page: page.as_deref(),
    };

    let connector = state.connector_of(connection.provider)?;
    let listing = browse_items(&state.app.ctx, connector, tenant, connection, location).await?;
    let items = listing.items.into_iter().map(ChoiceShape::from).collect();
    let body = ItemsResponse {
        items,
        next_page_token: listing.next,
        incomplete: listing.is_incomplete,
    };

    Ok(add_page_headers(Json(body).into_response()))
}

/// Returns what the page needs to know of the connection.
fn outline_connection(names: ProviderNames, picker_request: &PickerRequest) -> Value {
    let PickerSession {
        tenant, connection, ..
    } = &picker_request.session;
    json!({
        "id": connection.id,
        "provider": names.of_provider(connection.provider),
        "email": connection.account.as_ref().and_then(|account| account.email.as_deref()),
        "organization": tenant.org(),
        "containerTag": connection.tag,
        "documentLimit": connection.document_limit,
        "status": connection.status,
    })
}

/// Returns the selected items' places as synchronization last found them: the ids of the folders
/// above, and their path.
fn outline_places(state: &SyncState) -> Value {
    let places = state.selected_items.iter().map(|(id, item)| {
        let place = json!({"chain": item.chain, "path": item.above});
        (id.clone(), place)
    });
    Value::Object(places.collect())
}

/// Returns what the page shows of the synchronization's progress.
fn outline_sync(connection: &Connection, state: &SyncState) -> Value {
    let run = newest_run(connection, state).map(|run| {
        json!({
            "number": run.number,
            "status": run_status(run.state),
            "processed": run.processed,
            "failed": run.failed,
            "skipped": run.skipped,
            "error": run.error.as_ref().map(|(_, message)| message),
        })
    });
    let problem = connection.problem.as_ref();
    json!({
        "run": run,
        "documentCount": state.documents,
        "error": problem.map(|problem| &problem.message),
    })
}

/// Returns the stored selection, and what the page shows beside it. The page also asks for this
/// while it waits for the first synchronization.
pub(crate) async fn get_selection(
    State(state): State<ConnectionsState>,
    picker_request: PickerRequest,
) -> ApiResult<Response> {
    let PickerSession {
        tenant,
        connection,
        return_url,
    } = &picker_request.session;
    let sync = &state.app.ctx.sync;
    let selection = sync.get_selection(tenant, &connection.id).await?;
    let sync_state = sync.get_state(tenant, &connection.id).await?;

    let names = state.app.provider_names;
    let body = json!({
        "connection": outline_connection(names, &picker_request),
        "items": selection.items,
        "excluded": selection.excluded,
        "limit": MAX_SELECTED_ITEMS,
        "places": outline_places(&sync_state),
        "sync": outline_sync(connection, &sync_state),
        "redirectTo": outcome_url(names, return_url.as_deref(), connection, None),
    });
    Ok(add_page_headers(Json(body).into_response()))
}

#[derive(Debug, Deserialize)]
pub(crate) struct SelectRequest {
    items: Vec<SelectedItem>,
    #[serde(default)]
    excluded: Vec<ExcludedItem>,
}

pub(crate) async fn put_selection(
    State(state): State<ConnectionsState>,
    picker_request: PickerRequest,
    Json(request): Json<SelectRequest>,
) -> ApiResult<Response> {
    let PickerSession {
        tenant, connection, ..
    } = &picker_request.session;
    let SelectRequest { items, excluded } = request;
    save_selection(&state.app.ctx, tenant, connection, items, excluded).await?;
    let saved = state
        .app
        .ctx
        .sync
        .get_selection(tenant, &connection.id)
        .await?;
    let body = json!({"count": saved.items.len(), "items": saved.items});
    Ok(add_page_headers(Json(body).into_response()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompleteRequest {
    cancelled: bool,
}

/// Ends the session, and returns the address for the browser.
pub(crate) async fn complete_picking(
    State(state): State<ConnectionsState>,
    picker_request: PickerRequest,
    Json(request): Json<CompleteRequest>,
) -> ApiResult<Response> {
    let PickerSession {
        connection,
        return_url,
        ..
    } = &picker_request.session;

    if !request.cancelled && connection.selection == 0 {
        return Err(Error::Conflict("nothing is selected yet".into()).into());
    }

    end_picker_session(&state.app.ctx, picker_request.cookie.expose()).await?;
    let error = request.cancelled.then_some("selection_cancelled");
    let names = state.app.provider_names;
    let address = outcome_url(names, return_url.as_deref(), connection, error);
    let outline = outline_connection(names, &picker_request);
    let body = json!({"redirectTo": address, "connection": outline});
    let mut response = add_page_headers(Json(body).into_response());
    for cookie in cookie::delete_picker_cookie(&picker_request.base) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }

    Ok(response)
}
