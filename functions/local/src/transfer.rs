//! Export and import of a container: JSON lines, one object a line.
//!
//! An export has everything that is stored of a container, so that an import under the same container id is the same
//! container again: documents with their chunks and statements, and what callers did to memories. The memories
//! themselves are in it for other readers; they are computed anew from the rest. Files of other services are read too.

mod convert;
mod export;
mod foreign;
mod import;
mod lines;
mod mem0;
mod restore;
#[cfg(test)]
mod tests;
mod zep;

pub use export::{Exported, export};
pub use import::{Format, ImportOptions, Report, import};
pub use indicatif::ProgressBar;
