//! Markup of strangers, read by html5ever, the tokenizer of the HTML standard, in time proportional
//! to its length. It does no I/O.
//!
//! [`read_tokens`] gives the tags and texts of a page or an XML file one after the other.
//! [`tokenize`] feeds a page to a sink of html5ever, such as one that builds a tree.

mod tags;
mod tokenizer;
mod tokens;

pub use tags::MAX_ATTRIBUTES;
pub use tokenizer::tokenize;
pub use tokens::{MarkupKind, MarkupToken, StartTag, read_tokens};
