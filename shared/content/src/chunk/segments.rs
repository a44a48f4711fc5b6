//! Synchronization points: places at which chunks begin independently of the text before.
//!
//! A change near the start of a text must not move every later cut, because the vectors of
//! unchanged chunks are used again. A section is therefore first cut into segments at places that
//! depend only on the text around them, and each segment is packed by itself. Such a place is the
//! end of the unit that is the best one to end a chunk, and then has the smallest hash, of all
//! within reach on either side. Segments are at least that long, mostly twice as long, and a change
//! reaches no further than into the adjacent segments.

use std::ops::Range;

use super::pack::{UnitEnd, UnitRuler};

/// Cuts the units of a section into segments. Each is at least `min_distance` characters long, if
/// the section is.
pub(super) fn split_segments(
    text: &str,
    ruler: &UnitRuler,
    min_distance: usize,
) -> Vec<Range<usize>> {
    let units = ruler.units;
    if units.is_empty() {
        return Vec::new();
    }

    let mut segments = Vec::new();
    let mut start = 0;
    for end in find_local_minima(text, ruler, min_distance) {
        segments.push(start..end + 1);
        start = end + 1;
    }

    segments.push(start..units.len());
    segments
}

/// Returns the units with the smallest key within `min_distance` characters on either side and from
/// either end.
fn find_local_minima(text: &str, ruler: &UnitRuler, min_distance: usize) -> Vec<usize> {
    let last_index = ruler.units.len() - 1;
    let total = ruler.length(0, last_index);
    let offset_of = |unit: usize| ruler.length(0, unit);
    let key = |unit: usize| {
        (
            ruler.units[unit].boundary,
            hash_text(&text[ruler.units[unit].bytes.clone()]),
        )
    };

    // A stack of units with ascending keys: each has the smallest key since the one below it.
    let mut stack: Vec<(usize, (UnitEnd, u64))> = Vec::new();
    let mut found = Vec::new();
    let mut pop_unit =
        |stack: &mut Vec<(usize, (UnitEnd, u64))>, (unit, _): (usize, _), next: usize| {
            let previous_offset = match stack.last() {
                Some((before, _)) => offset_of(*before),
                None => 0,
            };
            if offset_of(unit) - previous_offset >= min_distance
                && next - offset_of(unit) >= min_distance
            {
                found.push(unit);
            }
        };

    for unit in 0..last_index {
        if ruler.units[unit].boundary == UnitEnd::Heading {
            continue;
        }
        let unit_key = key(unit);
        while let Some(top) = stack.pop_if(|(_, top)| *top > unit_key) {
            pop_unit(&mut stack, top, offset_of(unit));
        }
        stack.push((unit, unit_key));
    }

    while let Some(top) = stack.pop() {
        pop_unit(&mut stack, top, total);
    }

    found.sort_unstable();
    found
}

/// Computes FNV-1a. It must be the same in every version, because a changed hash would move every
/// cut.
fn hash_text(text: &str) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in text.trim().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }

    hash ^ (hash >> 32)
}
