//! Bytes to markdown to chunks: sniffing, decoding, parsing, chunking.
//!
//! Pure: no input or output, no clock, no environment. A parser may still loop, leak or crash on a hostile
//! file, so a server runs [`extract`] through the `sandbox` crate, in a child process with limits.

mod canonical;
mod chunk;
mod conversation;
mod encoding;
mod extract;
mod failure;
mod html;
mod markdown;
mod pdf;
mod sentences;
mod sniff;

pub use chunk::{Chunk, ChunkOptions, chunk};
pub use conversation::{Turn, chunk_conversation, render_conversation};
pub use extract::{Extracted, MAX_TEXT_BYTES, extract};
pub use failure::{Failure, FailureCode};
pub use pdf::MAX_PAGES;
pub use sniff::{Format, Source, sniff};
