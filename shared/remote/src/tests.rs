//! Tests of the whole client, against loopback servers that claim to have public addresses.

mod api;
mod blocked;
mod chat;
mod decoding;
mod embedding;
mod limits;
mod models;
mod names;
mod pages;
mod redirects;
mod reranking;
mod retries;
mod server;
mod transport;
