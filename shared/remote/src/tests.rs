//! The whole client against servers on loopback that claim to live on public addresses.

mod blocked;
mod chat;
mod decoding;
mod limits;
mod models;
mod names;
mod pages;
mod redirects;
mod retries;
mod server;
mod transport;
