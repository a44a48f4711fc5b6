//! The memory model: memories are computed from statements ([`Ledger`]), and profiles from
//! memories.
//!
//! The crate `extraction` extracts statements by rules. The operator's model may propose statements
//! too ([`model`]).
//!
//! The crate is pure: it does no I/O, reads no clock and has no async code. The same statements and
//! edits always give the same memories.

pub mod asker;
pub mod asking;
pub mod ledger;
pub mod model;
pub mod profile;
pub mod words;
mod written;

pub use ledger::{
    DocumentStatements, ForgetRecord, Ledger, LedgerChanges, LedgerStore, Memory, MemoryFilter,
    MemoryRelation, SupportingSpan, sort_edits, topic_id_of,
};
pub use profile::{
    BucketSorter, Profile, ProfileLine, ProfileOptions, build_complete_profile, build_profile,
    build_shortlisted_profile,
};
pub use written::statement_from_client;
