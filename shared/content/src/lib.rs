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

pub use chunk::{Chunk, ChunkOptions, MAX_CHUNKS, split_into_chunks};
pub use conversation::{Turn, chunk_conversation, render_conversation};
pub use extract::{ExtractedDocument, MAX_TEXT_BYTES, extract_document, extract_document_as};
pub use failure::{ContentFailure, FailureCode};
pub use format::Format;
pub use pdf::MAX_PAGES;
pub use sheets::MAX_CELLS;
pub use sniff::{ContentSource, detect_format, detect_media, is_plain_text};
