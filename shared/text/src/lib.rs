//! What every reader of text needs: its language ([`detect_language`]), its words
//! ([`find_words`]), and the names of days, months and numbers ([`calendar`]).
//!
//! The words of each language stand in a file, whose form is the module [`file`]. The crate is
//! pure: it does no I/O and reads no clock.

pub mod calendar;
mod detection;
pub mod file;
mod hash;
mod language;
mod words;

pub use detection::{LanguageGuess, detect_language, guess_language};
pub use hash::{FnvHasher, WordTable};
pub use language::Language;
pub use words::{Word, find_words, join_words};
