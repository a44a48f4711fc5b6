//! Packing of the units of a section into chunks.

use std::ops::Range;

use super::path::{HeadingPath, MAX_HEADING_CHARS};
use super::segments::split_segments;
use super::{ChunkOptions, MAX_CHUNKS};

/// A piece of text that is kept whole.
#[derive(Debug, Clone)]
pub(crate) struct TextUnit {
    pub(crate) bytes: Range<usize>,
    /// Its length in characters.
    pub(crate) chars: usize,
    /// The kind of structure that ends with it.
    pub(crate) boundary: UnitEnd,
    /// The header of the table, if this is one of its later rows.
    pub(crate) header: Option<Range<usize>>,
}

/// The suitability of a unit as the end of a chunk, from best to never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnitEnd {
    /// A paragraph, a table, a definition.
    Block,
    /// An item of a list, a row, a line.
    Item,
    /// A sentence, which the next chunk may repeat.
    Sentence,
    /// A heading, which does not stand alone.
    Heading,
}

impl TextUnit {
    pub(crate) fn of(text: &str, bytes: Range<usize>, boundary: UnitEnd) -> Self {
        let chars = text[bytes.clone()].chars().count();
        Self {
            bytes,
            chars,
            boundary,
            header: None,
        }
    }
}

/// The span of a chunk in bytes, untrimmed.
pub(crate) struct ChunkSpan {
    pub(crate) bytes: Range<usize>,
    pub(crate) headings: Vec<String>,
    /// The turns of a conversation in the chunk.
    pub(crate) turns: Option<Range<usize>>,
}

/// Packs `units`, which are in order and none longer than twice the target, into spans that are not
/// blank. Stops when there are more than [`MAX_CHUNKS`].
pub(crate) fn pack_units(
    text: &str,
    units: &[TextUnit],
    headings: &HeadingPath,
    options: &ChunkOptions,
    spans: &mut Vec<ChunkSpan>,
) {
    let target = options.clamped_target();
    let ruler = UnitRuler::new(text, units);
    // The first unit of the previous chunk.
    let mut previous_start = 0;

    // Shorter segments would make small chunks. Longer ones would let a change reach further.
    for segment in split_segments(text, &ruler, target * 3 / 4) {
        // The first unit that is not in a span yet.
        let mut new_start = segment.start;
        while new_start < segment.end {
            let first = find_overlap_start(&ruler, previous_start, new_start, options);
            let end = find_best_end(&ruler, first, new_start..segment.end, target);
            let bytes = units[first].bytes.start..units[end - 1].bytes.end;
            if spans.len() > MAX_CHUNKS {
                return;
            }
            if !text[bytes.clone()].trim().is_empty() {
                spans.push(ChunkSpan {
                    bytes,
                    headings: chunk_headings(text, headings, &units[first]),
                    turns: None,
                });
            }
            previous_start = first;
            new_start = end;
        }
    }
}

/// Returns the headings above a chunk. A chunk that begins inside a table also gets the table's
/// header.
fn chunk_headings(text: &str, headings: &HeadingPath, first: &TextUnit) -> Vec<String> {
    let mut chunk_headings = headings.titles();
    if let Some(header) = &first.header {
        let header = text[header.clone()].trim().trim_matches('|').trim();
        chunk_headings.push(header.chars().take(MAX_HEADING_CHARS).collect());
    }

    chunk_headings
}

/// Returns the best end of the chunk from `first`. The rest of the segment is cut into chunks of
/// about the same size, preferably after whole blocks.
fn find_best_end(ruler: &UnitRuler, first: usize, rest: Range<usize>, target: usize) -> usize {
    let length = ruler.length(rest.start, rest.end - 1);
    let count = (length + target / 2) / target;
    if count <= 1 {
        return rest.end;
    }

    let ideal = length / count;
    let mut best: Option<(usize, usize)> = None;
    for last in rest.clone() {
        let length = ruler.length(rest.start, last);
        let is_too_long = best.is_some() && length > ideal * 3 / 2;
        if is_too_long || ruler.length(first, last) > 2 * target {
            break;
        }
        let penalty = match ruler.units[last].boundary {
            UnitEnd::Block => 0,
            UnitEnd::Item => ideal / 5,
            UnitEnd::Sentence => ideal * 2 / 5,
            UnitEnd::Heading => continue,
        };
        let cost = length.abs_diff(ideal) + penalty;
        if best.is_none_or(|(lowest, _)| cost < lowest) {
            best = Some((cost, last + 1));
        }
    }

    match best {
        Some((_, end)) => end,
        None => rest.start + 1,
    }
}

/// A ruler that measures runs of units, with the blank lines between them.
pub(super) struct UnitRuler<'a> {
    pub(super) units: &'a [TextUnit],
    /// The number of characters before each unit, counted from the first.
    offsets: Vec<usize>,
}

impl<'a> UnitRuler<'a> {
    fn new(text: &str, units: &'a [TextUnit]) -> Self {
        let mut offsets = Vec::with_capacity(units.len());
        let mut chars = 0;
        let mut end = units.first().map_or(0, |unit| unit.bytes.start);
        for unit in units {
            chars += text[end..unit.bytes.start].chars().count();
            offsets.push(chars);
            chars += unit.chars;
            end = unit.bytes.end;
        }
        Self { units, offsets }
    }

    /// Returns the number of characters from the start of one unit to the end of another.
    pub(super) fn length(&self, first: usize, last: usize) -> usize {
        self.offsets[last] + self.units[last].chars - self.offsets[first]
    }
}

/// Returns the unit with which a chunk starts: a sentence or two before `new_start`, if a paragraph
/// was cut there, and if they are short enough and do not repeat the whole chunk that starts at
/// `previous_start`.
fn find_overlap_start(
    ruler: &UnitRuler,
    previous_start: usize,
    new_start: usize,
    options: &ChunkOptions,
) -> usize {
    let target = options.clamped_target();
    let mut start = new_start;
    for _ in 0..options.overlap_sentences {
        if start <= previous_start + 1 {
            break;
        }
        let candidate = start - 1;
        let repeated_chars = ruler.length(candidate, new_start - 1);
        let is_small =
            repeated_chars <= target / 5 && ruler.length(candidate, new_start) <= target * 3 / 2;
        if ruler.units[candidate].boundary != UnitEnd::Sentence || !is_small {
            break;
        }
        start = candidate;
    }

    start
}
