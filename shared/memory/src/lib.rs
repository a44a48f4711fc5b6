//! The memory model: statements are extracted from text ([`extract`]), and memories are computed
//! from statements ([`Ledger`]).
//!
//! The crate is pure: it does no I/O, reads no clock and has no async code. The same statements and
//! edits always give the same memories.

pub mod asking;
pub mod extract;
pub mod ledger;
pub mod model;
pub mod profile;
pub mod words;
mod written;

pub use extract::{Passage, Quoted, Role, Source, extract, mail_sender, person};
pub use ledger::{Changed, Forgotten, Ledger, Memory, Relation, Support, Told, topic_of};
pub use profile::{Outline, Profile, Sorter, profile};
pub use written::written;
