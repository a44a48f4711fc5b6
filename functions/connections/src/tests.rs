//! Tests of the routes as callers and browsers use them.

mod connector_changes;
mod connectors;
mod consent;
mod picker;
mod provider;
mod records;
mod renew;
mod routes;
mod world;
