//! The Model Context Protocol (MCP): tools, prompts and resources by which assistants use the
//! service. They send requests to the routes of the API, so they can do what the key of the caller
//! can do, and nothing else.
//!
//! [`router`] serves the protocol over HTTP at `/mcp`, without sessions: every request stands alone.
//! [`serve_stdio`] serves it over the standard streams of a process.

mod access;
mod arguments;
mod bounds;
mod discovery;
mod endpoint;
mod failure;
mod prompts;
mod resources;
mod schema;
mod server;
mod stdio;
mod tools;

use axum::Router;
use axum::routing::{get, post};
use edge::App;

use crate::endpoint::McpState;

pub use stdio::serve_stdio;

/// Returns the routes of this function. Its tools send their requests to `api`, which has to be a
/// complete service. `public_url` is the base address at which clients reach the service. Without
/// one, it is the host that a request names.
pub fn router(app: App, api: Router, public_url: Option<String>) -> Router {
    Router::new()
        .route("/mcp", post(endpoint::serve_mcp))
        .route(
            "/.well-known/oauth-protected-resource",
            get(discovery::show_metadata),
        )
        .route(
            "/.well-known/oauth-protected-resource/mcp",
            get(discovery::show_metadata),
        )
        .with_state(McpState::new(app, api, public_url))
}
