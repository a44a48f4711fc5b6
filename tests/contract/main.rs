//! The wire contract, route by route: whole shapes, every refusal, and what may be relied on between requests.
//!
//! Everything runs in this process: the production routers, adapters and workers over the embedded services.

mod add;
mod aliases;
mod auth;
mod batch;
mod bulk;
mod chunks;
mod client;
mod conversations;
mod conversations_grow;
mod delete;
mod files;
mod filters;
mod freshness;
mod isolation;
mod list;
mod malformed;
mod media;
mod moves;
mod pages;
mod processing;
mod races;
mod read;
mod repeats;
mod retry;
mod reuse;
mod search_documents;
mod search_hybrid;
mod server;
mod settings;
mod shape;
mod steps;
mod update;
mod upload;
mod uploads;
mod upsert;
mod urls;
mod with_memories;
