//! The content pipeline: recognizes formats, decodes and parses bytes to Markdown, and cuts it into
//! chunks.
//!
//! The crate is pure: it does no I/O, reads no clock and no environment. A parser may still loop,
//! leak or crash on a hostile file, so a server runs [`extract`] through the `sandbox` crate, in a
//! child process with limits.

mod canonical;
mod chunk;
mod compound;
mod conversation;
mod csv;
mod data;
mod encoding;
mod extract;
mod failure;
mod format;
mod html;
mod mail;
mod markdown;
mod notebook;
mod office;
mod package;
mod pdf;
mod rtf;
mod sentences;
mod sheets;
mod sniff;
mod table;

pub use chunk::{Chunk, ChunkOptions, chunk};
pub use conversation::{Turn, chunk_conversation, render_conversation};
pub use extract::{Extracted, MAX_TEXT_BYTES, extract, extract_as};
pub use failure::{Failure, FailureCode};
pub use format::Format;
pub use pdf::MAX_PAGES;
pub use sheets::MAX_CELLS;
pub use sniff::{Source, is_plain, media, sniff};
