//! The wire contract, route by route: whole shapes, every refusal, and what may be relied on between requests.
//!
//! Everything runs in this process: the production routers, adapters and workers over the embedded services.

mod add;
mod auth;
mod chunks;
mod client;
mod conversations;
mod delete;
mod filters;
mod freshness;
mod isolation;
mod list;
mod malformed;
mod pages;
mod processing;
mod read;
mod repeats;
mod search_documents;
mod search_hybrid;
mod shape;
mod steps;
mod upload;
mod upsert;
