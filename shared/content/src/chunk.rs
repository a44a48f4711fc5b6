//! Splitting of canonical text into chunks that follow its structure.
//!
//! Markdown is cut at its headings, code at its definitions, and data at its members. Within a
//! section, whole blocks, then items, then sentences are packed into chunks of about the target
//! size. Tables and fenced code stay whole up to twice the target. Where a paragraph is cut,
//! adjacent chunks share sentences. A change in one place leaves the chunks elsewhere as they were.
//! The result depends on nothing but the arguments.

mod blocks;
mod code;
mod json;
mod pack;
mod path;
mod segments;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::is_json;
use crate::format::Format;
use blocks::Section;
pub(crate) use pack::{ChunkSpan, TextUnit, UnitEnd, pack_units};
pub(crate) use path::HeadingPath;

/// A part of a document that is embedded and found on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The index of the chunk in the document, from 0.
    pub position: u32,
    /// The first character in the canonical text, counted in characters, not bytes.
    pub start: usize,
    /// The character after the last one.
    pub end: usize,
    /// The headings above it, outermost first: titles of sections, signatures of enclosing
    /// definitions, keys of data, and the header of a table that began in an earlier chunk. The outer
    /// ones of a very long path are left out.
    pub headings: Vec<String>,
    /// The canonical text between `start` and `end`.
    pub text: String,
    /// The turns of a conversation in the chunk, by index; `None` in other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Range<usize>>,
}

/// The size of chunks, and the overlap between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// The target size in characters. No chunk exceeds twice this.
    pub target_chars: usize,
    /// The most sentences that a chunk repeats from the previous one. They never take more than a
    /// fifth of the target.
    pub overlap_sentences: usize,
    /// The number of turns of a conversation in a window.
    pub turns_per_window: usize,
    /// The number of turns that adjacent windows share.
    pub overlap_turns: usize,
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self {
            target_chars: DEFAULT_TARGET_CHARS,
            overlap_sentences: 2,
            turns_per_window: 6,
            overlap_turns: 0,
        }
    }
}

/// The default target of about 200 tokens: small enough for one thought, large enough to be
/// understood alone.
const DEFAULT_TARGET_CHARS: usize = 900;
/// The most chunks of a document: far more than any book has, and few enough for the memory of a
/// function.
pub const MAX_CHUNKS: usize = 100_000;
/// The smallest and the largest target; others are clamped to this range.
const TARGET_RANGE: (usize, usize) = (64, 16_000);

impl ChunkOptions {
    /// Returns the options for the `chunkSize` setting, in characters; -1 and 0 mean the default.
    pub fn for_chunk_size(chunk_size: i64) -> Self {
        match usize::try_from(chunk_size) {
            Ok(target_chars) if target_chars > 0 => Self {
                target_chars,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// Returns the target, clamped to the allowed range.
    pub(crate) fn clamped_target(&self) -> usize {
        self.target_chars.clamp(TARGET_RANGE.0, TARGET_RANGE.1)
    }
}

/// Cuts canonical text into chunks.
///
/// Every chunk is the slice of the text between its offsets, and none is blank or longer than twice
/// the target. Their starts are ascending, and together they cover everything but white space. A
/// text with more than [`MAX_CHUNKS`] is cut only until there are more.
pub fn split_into_chunks(text: &str, format: Format, options: &ChunkOptions) -> Vec<Chunk> {
    let mut spans = Vec::new();
    for section in split_sections(text, format, options.clamped_target()) {
        pack_units(text, &section.units, &section.headings, options, &mut spans);
        if spans.len() > MAX_CHUNKS {
            break;
        }
    }
    chunks_from_spans(text, spans)
}

fn split_sections(text: &str, format: Format, target: usize) -> Vec<Section> {
    match format {
        Format::Code => code::split_sections(text, code::IndentedFormat::Code, target),
        // A file with one value per line is not JSON as a whole.
        Format::Data if text.starts_with('{') || is_json(text) => {
            json::split_sections(text, target)
        }
        Format::Data => code::split_sections(text, code::IndentedFormat::Data, target),
        _ => blocks::split_sections(text, format, target),
    }
}

/// Adds the character offsets and the text to byte spans, none of which is blank.
pub(crate) fn chunks_from_spans(text: &str, spans: Vec<ChunkSpan>) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::with_capacity(spans.len());
    let (mut byte_offset, mut char_offset) = (0, 0);
    for span in spans {
        let untrimmed = &text[span.bytes.clone()];
        let slice = untrimmed.trim();
        let start = span.bytes.start + (untrimmed.len() - untrimmed.trim_start().len());
        // Spans start in order, so the characters of the text are counted only once.
        char_offset += text[byte_offset..start].chars().count();
        byte_offset = start;
        chunks.push(Chunk {
            position: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            start: char_offset,
            end: char_offset + slice.chars().count(),
            headings: span.headings,
            text: slice.to_owned(),
            turns: span.turns,
        });
    }

    chunks
}
