//! The routes as callers and browsers meet them.

mod consent;
mod picker;
mod provider;
mod records;
mod renew;
mod routes;
mod world;
