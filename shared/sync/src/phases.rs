//! The phases of a run.

pub(crate) mod changes;
pub(crate) mod feeds;
pub(crate) mod fetch;
pub(crate) mod forget;
pub(crate) mod leave;
mod nodes;
pub(crate) mod refilter;
pub(crate) mod roots;
pub(crate) mod scan;
pub(crate) mod sweep;
pub(crate) mod walk;
pub(crate) mod watch;
