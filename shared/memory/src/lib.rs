//! What the service learns: statements from text ([`extract`]), memories from statements ([`Ledger`]).
//!
//! Pure: no I/O, no clock, no async. The same statements and actions always give the same memories.

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
