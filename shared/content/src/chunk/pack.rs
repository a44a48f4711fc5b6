//! Packs the units of a section into chunks.

use std::ops::Range;

use super::ChunkOptions;

/// A piece of text that is not torn.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    pub(crate) bytes: Range<usize>,
    /// Its length in characters.
    pub(crate) chars: usize,
    /// Whether the next chunk may repeat it.
    pub(crate) is_sentence: bool,
}

impl Unit {
    pub(crate) fn of(text: &str, bytes: Range<usize>, is_sentence: bool) -> Self {
        let chars = text[bytes.clone()].chars().count();
        Self { bytes, chars, is_sentence }
    }
}

/// The place of a chunk in bytes, untrimmed.
pub(crate) struct Span {
    pub(crate) bytes: Range<usize>,
    pub(crate) headings: Vec<String>,
}

/// Packs `units`, which are in order and none longer than twice the target, into spans.
pub(crate) fn pack(
    text: &str,
    units: &[Unit],
    headings: Vec<String>,
    options: &ChunkOptions,
    spans: &mut Vec<Span>,
) {
    let target = options.target();
    let ruler = Ruler::new(text, units);
    let mut first = 0;
    // The first unit that no span holds yet.
    let mut fresh = 0;
    while fresh < units.len() {
        let mut end = fresh + 1;
        while end < units.len() && ruler.takes(first, end, target) {
            end += 1;
        }
        let bytes = units[first].bytes.start..units[end - 1].bytes.end;
        spans.push(Span { bytes, headings: headings.clone() });
        fresh = end;
        first = if fresh < units.len() { overlap_start(&ruler, first, fresh, options) } else { fresh };
    }
}

/// Measures runs of units, with the blank lines between them.
struct Ruler<'a> {
    units: &'a [Unit],
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
    fn length(&self, first: usize, last: usize) -> usize {
        self.before[last] + self.units[last].chars - self.before[first]
    }

    /// Whether a chunk from `first` should take unit `next` as well.
    fn takes(&self, first: usize, next: usize, target: usize) -> bool {
        let length = self.length(first, next);
        if length <= target {
            return true;
        }
        // A heading does not stand alone.
        if self.length(first, next - 1) <= target / 4
            && length <= 2 * target
            && !self.units[first].is_sentence
        {
            return true;
        }
        // What would be left alone and is little, comes along.
        let all = self.length(first, self.units.len() - 1);
        let left = self.length(next, self.units.len() - 1);
        left <= target / 4 && all <= target * 3 / 2
    }
}

/// Returns the unit that the next chunk starts with: a sentence or two before `fresh` if they are small
/// enough and not the whole chunk before.
fn overlap_start(ruler: &Ruler, first: usize, fresh: usize, options: &ChunkOptions) -> usize {
    let target = options.target();
    let mut start = fresh;
    for _ in 0..options.overlap_sentences {
        let Some(candidate) = start.checked_sub(1).filter(|candidate| *candidate > first) else {
            break;
        };
        let repeated = ruler.length(candidate, fresh - 1);
        let is_small = repeated <= target / 5 && ruler.length(candidate, fresh) <= target * 3 / 2;
        if !ruler.units[candidate].is_sentence || !ruler.units[fresh].is_sentence || !is_small {
            break;
        }
        start = candidate;
    }
    start
}
