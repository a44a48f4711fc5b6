//! Connections to accounts of providers: `/v3/connections`, `/connectors` and
//! `/ns/{namespace}/connectors`, the OAuth flow in a user's browser, and the picker.

mod address;
mod connectors;
mod consent;
mod cookie;
mod create;
mod look;
mod manage;
mod overview;
mod page;
mod picker;
mod resources;
mod wire;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use domain::connection::Provider;
use domain::ports::{Connector, Connectors};
use domain::{Error, Result};
use edge::App;
use openapi::Operation;

/// The state of these routes.
#[derive(Clone)]
struct ConnectionsState {
    app: App,
    connectors: Connectors,
    /// The address at which browsers reach this service, without a trailing slash. If it is `None`,
    /// each request names it.
    public_url: Option<String>,
}

impl FromRef<ConnectionsState> for App {
    fn from_ref(state: &ConnectionsState) -> Self {
        state.app.clone()
    }
}

impl ConnectionsState {
    /// Returns the connector of a provider.
    fn connector_of(&self, provider: Provider) -> Result<&dyn Connector> {
        let name = provider.as_str();
        let unavailable_error =
            || Error::Unsupported(format!("{name} cannot be reached from this installation"));
        self.connectors
            .for_provider(provider)
            .ok_or_else(unavailable_error)
    }
}

/// Returns the routes of this function. Browsers use `public_url` or, if that is unknown, the host
/// that each request names.
///
/// The segment after `/v3/connections/` is the id of a connection or the name of a provider. The
/// router needs one name for both.
pub fn router(app: App, connectors: Connectors, public_url: Option<String>) -> Router {
    let public_url = public_url
        .map(|url| url.trim_end_matches('/').to_owned())
        .filter(|url| !url.is_empty());

    let connection_routes = get(overview::get_connection)
        .patch(manage::change_connection)
        .delete(manage::delete_connections_of);

    Router::new()
        .route("/v3/connections/list", post(overview::list_connections))
        .route(
            "/v3/connections/{id}",
            connection_routes.post(create::create_connection),
        )
        .route(
            "/v3/connections/{id}/reconnect",
            post(create::reconnect_connection),
        )
        .route(
            "/v3/connections/{id}/connection",
            post(overview::find_by_tag),
        )
        .route(
            "/v3/connections/{id}/documents",
            post(overview::list_documents),
        )
        .route(
            "/v3/connections/{id}/import",
            post(manage::import_connections),
        )
        .route(
            "/v3/connections/{id}/resources",
            get(resources::list_resources),
        )
        .route(
            "/v3/connections/{id}/configure",
            post(resources::configure_selection),
        )
        .route("/v3/connections/{id}/sync-runs", get(overview::list_runs))
        .route("/v3/connections/{id}/items", get(overview::list_items))
        .route(
            "/v3/connections/{id}/cloud-drive/hosted-picker",
            post(resources::open_hosted_picker),
        )
        .route(
            "/v3/connections/{id}/google-drive/hosted-picker",
            post(resources::open_hosted_picker),
        )
        .route(
            "/v3/connections/{id}/notifications",
            post(manage::receive_notification),
        )
        .route(
            "/v3/connections/auth/start/{ticket}",
            get(consent::start_consent),
        )
        .route(
            "/v3/connections/auth/callback/{id}",
            get(consent::handle_callback),
        )
        .route(
            "/v3/connections/{id}/callback",
            get(consent::handle_callback),
        )
        .route("/connectors", get(connectors::list::list_connectors))
        .route(
            "/ns/{namespace}/connectors",
            get(connectors::list::list_namespace_connectors)
                .post(connectors::create::create_connector),
        )
        .route(
            "/ns/{namespace}/connectors/{id}",
            get(connectors::one::get_connector)
                .patch(connectors::change::update_connector)
                .delete(connectors::one::delete_connector),
        )
        .route(
            "/ns/{namespace}/connectors/{id}/sync",
            post(connectors::change::sync_connector),
        )
        .route("/picker/s/{ticket}", get(picker::show_entry))
        .route("/picker", get(picker::show_page))
        .route("/picker/{file}", get(picker::serve_file))
        .route("/picker/api/items", get(picker::list_items))
        .route(
            "/picker/api/selection",
            get(picker::get_selection).put(picker::put_selection),
        )
        .route("/picker/api/complete", post(picker::complete_picking))
        .with_state(ConnectionsState {
            app,
            connectors,
            public_url,
        })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        overview::operations(),
        create::operations(),
        manage::operations(),
        resources::operations(),
        connectors::operations(),
    ]
    .concat()
}
