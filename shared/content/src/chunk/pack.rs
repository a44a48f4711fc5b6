//! Packs the units of a section into chunks.

use std::ops::Range;

use super::ChunkOptions;
use super::sync::segments;

/// A piece of text that is not torn.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) bytes: Range<usize>,
    /// Its length in characters.
    pub(crate) chars: usize,
    /// What ends with it.
    pub(crate) end: End,
    /// The header of the table whose later rows it holds.
    pub(crate) header: Option<Range<usize>>,
}

/// How well a chunk may end after a unit, from well to never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// A paragraph, a table, a definition.
    Block,
    /// An item of a list, a row, a line.
    Item,
    /// A sentence: the next chunk may repeat it.
    Sentence,
    /// A heading does not stand alone.
    Heading,
}

impl Unit {
    pub(crate) fn of(text: &str, bytes: Range<usize>, end: End) -> Self {
        let chars = text[bytes.clone()].chars().count();
        Self {
            bytes,
            chars,
            end,
            header: None,
        }
    }
}

/// The place of a chunk in bytes, untrimmed.
pub(crate) struct Span {
    pub(crate) bytes: Range<usize>,
    pub(crate) headings: Vec<String>,
    /// The turns of a conversation that it holds.
    pub(crate) turns: Option<Range<usize>>,
}

/// The longest heading kept in a path, in characters.
pub(crate) const MAX_HEADING_CHARS: usize = 200;

/// Packs `units`, which are in order and none longer than twice the target, into spans.
pub(crate) fn pack(
    text: &str,
    units: &[Unit],
    headings: &[String],
    options: &ChunkOptions,
    spans: &mut Vec<Span>,
) {
    let target = options.target();
    let ruler = Ruler::new(text, units);
    // The first unit of the chunk before.
    let mut before = 0;

    // Shorter segments would make small chunks, longer ones let a change reach further.
    for segment in segments(text, &ruler, target * 3 / 4) {
        // The first unit that no span holds yet.
        let mut fresh = segment.start;
        while fresh < segment.end {
            let first = overlap_start(&ruler, before, fresh, options);
            let end = best_end(&ruler, first, fresh..segment.end, target);
            let bytes = units[first].bytes.start..units[end - 1].bytes.end;
            spans.push(Span {
                bytes,
                headings: path(text, headings, &units[first]),
                turns: None,
            });
            before = first;
            fresh = end;
        }
    }
}

/// The headings above a chunk. One that begins inside a table knows what its columns mean.
fn path(text: &str, headings: &[String], first: &Unit) -> Vec<String> {
    let row = first
        .header
        .clone()
        .map(|row| text[row].trim().trim_matches('|').trim());
    let header = row.map(|row| row.chars().take(MAX_HEADING_CHARS).collect());
    headings.iter().cloned().chain(header).collect()
}

/// Returns where the chunk from `first` ends best: the rest of the segment is cut into chunks of about the same size,
/// after whole blocks rather than inside.
fn best_end(ruler: &Ruler, first: usize, rest: Range<usize>, target: usize) -> usize {
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
        let penalty = match ruler.units[last].end {
            End::Block => 0,
            End::Item => ideal / 5,
            End::Sentence => ideal * 2 / 5,
            End::Heading => continue,
        };
        let cost = length.abs_diff(ideal) + penalty;
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, last + 1));
        }
    }

    best.map_or(rest.start + 1, |(_, end)| end)
}

/// Measures runs of units, with the blank lines between them.
pub(super) struct Ruler<'a> {
    pub(super) units: &'a [Unit],
    /// The number of characters before each unit, counted from the first.
    before: Vec<usize>,
}

impl<'a> Ruler<'a> {
    fn new(text: &str, units: &'a [Unit]) -> Self {
        let mut before = Vec::with_capacity(units.len());
        let mut chars = 0;
        let mut end = units.first().map_or(0, |unit| unit.bytes.start);
        for unit in units {
            chars += text[end..unit.bytes.start].chars().count();
            before.push(chars);
            chars += unit.chars;
            end = unit.bytes.end;
        }
        Self { units, before }
    }

    /// The characters from the start of one unit to the end of another.
    pub(super) fn length(&self, first: usize, last: usize) -> usize {
        self.before[last] + self.units[last].chars - self.before[first]
    }
}

/// Returns the unit that a chunk starts with: a sentence or two before `fresh`, if a paragraph was cut there and they
/// are small enough and not the whole chunk `before`.
fn overlap_start(ruler: &Ruler, before: usize, fresh: usize, options: &ChunkOptions) -> usize {
    let target = options.target();
    let mut start = fresh;
    for _ in 0..options.overlap_sentences {
        let Some(candidate) = start.checked_sub(1).filter(|candidate| *candidate > before) else {
            break;
        };
        let repeated = ruler.length(candidate, fresh - 1);
        let is_small = repeated <= target / 5 && ruler.length(candidate, fresh) <= target * 3 / 2;
        if ruler.units[candidate].end != End::Sentence || !is_small {
            break;
        }
        start = candidate;
    }

    start
}
