//! Ingest, processing, search and deletion while everything around them fails: by seeds, and by a
//! crash between any two calls.
//!
//! `RECOLLECT_SEEDS=first..last` runs other seeds than the committed ones. A failure prints its
//! seed.

mod containers;
mod crash;
mod history;
mod orphans;
mod processes;
mod refused;
mod seeds;
mod service;
mod slow;
