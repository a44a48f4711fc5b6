//! The phases of a run, in the order of `step::execute_tick`: feeds, roots, scan, walk, changes,
//! sweep, refilter, fetch, removals, watch.
//!
//! `removals` removes documents of items that are gone while the connection lives on. `deletion` is
//! the only phase of a connection that a user has deleted.

pub(crate) mod changes;
pub(crate) mod deletion;
pub(crate) mod feeds;
pub(crate) mod fetch;
pub(crate) mod refilter;
pub(crate) mod removals;
pub(crate) mod roots;
pub(crate) mod scan;
pub(crate) mod sweep;
pub(crate) mod walk;
pub(crate) mod watch;
