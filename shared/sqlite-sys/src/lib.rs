//! Gives rusqlite 0.36 the SQLite of today.
//!
//! The crate `dynoxide-rs` pins rusqlite 0.36, whose bundled SQLite 3.49.2 can corrupt a database that several processes
//! write (fixed in 3.51.3). Only one crate may link SQLite, so both have to use one version. This crate stands in for
//! `libsqlite3-sys` 0.34 (`[patch.crates-io]` in the workspace's manifest) and passes on a current one. Its bindings are a
//! superset of those that rusqlite 0.36 calls. Delete it once `dynoxide-rs` follows rusqlite.

pub use current::*;
