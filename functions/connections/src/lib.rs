//! Connections to accounts of providers: `/v3/connections`, the OAuth flow in a user's browser, and
//! the picker.

mod address;
mod consent;
mod cookie;
mod create;
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

/// The state of these routes.
#[derive(Clone)]
struct Connecting {
    app: App,
    connectors: Connectors,
    /// The address at which browsers reach this service, without a trailing slash. If it is `None`,
    /// each request names it.
    public_url: Option<String>,
}

impl FromRef<Connecting> for App {
    fn from_ref(state: &Connecting) -> Self {
        state.app.clone()
    }
}

impl Connecting {
    /// Returns the connector of a provider.
    fn connector(&self, provider: Provider) -> Result<&dyn Connector> {
        let name = provider.as_str();
        let absent =
            || Error::Unsupported(format!("{name} cannot be reached from this installation"));
        self.connectors.of(provider).ok_or_else(absent)
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

    let one = get(overview::get_connection)
        .patch(manage::change)
        .delete(manage::delete);

    Router::new()
        .route("/v3/connections/list", post(overview::list_connections))
        .route("/v3/connections/{id}", one.post(create::create))
        .route("/v3/connections/{id}/reconnect", post(create::reconnect))
        .route(
            "/v3/connections/{id}/connection",
            post(overview::find_by_tag),
        )
        .route(
            "/v3/connections/{id}/documents",
            post(overview::list_documents),
        )
        .route("/v3/connections/{id}/import", post(manage::import))
        .route("/v3/connections/{id}/resources", get(resources::list))
        .route("/v3/connections/{id}/configure", post(resources::configure))
        .route("/v3/connections/{id}/sync-runs", get(overview::list_runs))
        .route("/v3/connections/{id}/items", get(overview::list_items))
        .route(
            "/v3/connections/{id}/cloud-drive/hosted-picker",
            post(resources::hosted_picker),
        )
        .route(
            "/v3/connections/{id}/google-drive/hosted-picker",
            post(resources::hosted_picker),
        )
        .route("/v3/connections/{id}/notifications", post(manage::notified))
        .route("/v3/connections/auth/start/{ticket}", get(consent::start))
        .route("/v3/connections/auth/callback/{id}", get(consent::callback))
        .route("/v3/connections/{id}/callback", get(consent::callback))
        .route("/picker/s/{ticket}", get(picker::enter))
        .route("/picker", get(picker::page))
        .route("/picker/app.js", get(picker::script))
        .route("/picker/app.css", get(picker::style))
        .route("/picker/icon.svg", get(picker::icon))
        .route("/picker/api/items", get(picker::items))
        .route(
            "/picker/api/selection",
            get(picker::selection).put(picker::select),
        )
        .route("/picker/api/complete", post(picker::complete))
        .with_state(Connecting {
            app,
            connectors,
            public_url,
        })
}
