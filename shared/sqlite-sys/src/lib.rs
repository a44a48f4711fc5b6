//! Links a current SQLite into rusqlite 0.36.
//!
//! The crate `dynoxide-rs` pins rusqlite 0.36, whose bundled SQLite 3.49.2 can corrupt a database
//! that several processes write (fixed in 3.51.3). Only one crate may link SQLite, so both have to
//! use one version. This crate replaces `libsqlite3-sys` 0.34 (`[patch.crates-io]` in the
//! workspace's manifest) and re-exports a current one. Its bindings are a superset of those that
//! rusqlite 0.36 calls. Delete this crate once `dynoxide-rs` uses a newer rusqlite.

pub use current::*;
