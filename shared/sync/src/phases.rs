//! The phases of a run, in the order of `step::execute_tick`: feeds, selected items, scan, walk,
//! changes, unseen items, refilter, fetch, removals, watch.
//!
//! `removals` removes documents of items that are gone while the connection lives on. `deletion` is
//! the only phase of a connection that a user has deleted.

pub(crate) mod changes;
pub(crate) mod deletion;
pub(crate) mod feeds;
pub(crate) mod fetch;
pub(crate) mod refilter;
pub(crate) mod removals;
pub(crate) mod scan;
pub(crate) mod selected_items;
pub(crate) mod unseen_items;
pub(crate) mod walk;
pub(crate) mod watch;
