//! The phases of a run.

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
