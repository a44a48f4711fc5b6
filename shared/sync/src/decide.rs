//! The decisions of the synchronization, without I/O: each function takes what is stored and what
//! was observed, and returns what is to be written.
//!
//! The phases load what a decision needs, ask the provider, call the decision, and commit its
//! result. `cargo mutants` proves that the tests of this module notice each decision (see
//! `.cargo/mutants.toml`).

pub(crate) mod changes;
pub(crate) mod failures;
pub(crate) mod files;
pub(crate) mod items;
pub(crate) mod removals;
pub(crate) mod scans;
pub(crate) mod schedule;
pub(crate) mod selection;
pub(crate) mod walks;

#[cfg(test)]
mod tests;
