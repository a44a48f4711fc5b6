//! The structure of JSON: members of objects and items of arrays, under the keys that lead to them.

use std::ops::Range;

use super::blocks::{Section, begin_section, line_units};
use super::pack::{TextUnit, UnitEnd};
use super::path::HeadingPath;

/// The depth from which nested values are cut as lines.
const MAX_DEPTH: usize = 16;

/// Returns the sections of a text of one or more JSON values.
pub(super) fn split_sections(text: &str, target: usize) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut cutter = JsonCutter {
        text,
        target,
        sections: &mut sections,
    };
    cutter.cut(0..text.len(), &HeadingPath::default(), 0);
    sections.retain(|section| !section.units.is_empty());
    sections
}

struct JsonCutter<'a> {
    text: &'a str,
    target: usize,
    sections: &'a mut Vec<Section>,
}

impl JsonCutter<'_> {
    /// Cuts a run of members. Those that are too large get a section of their own.
    fn cut(&mut self, range: Range<usize>, path: &HeadingPath, depth: usize) {
        for member in split_members(self.text, range, depth) {
            let unit = TextUnit::of(self.text, member.clone(), UnitEnd::Block);
            if unit.chars <= 2 * self.target {
                self.push(vec![unit]);
                continue;
            }

            let inner = if depth < MAX_DEPTH {
                bracketed_range(self.text, member.clone())
            } else {
                None
            };
            let Some((open, close)) = inner else {
                self.push(line_units(self.text, member, self.target));
                continue;
            };

            let inner = path.with_inner(member_key(&self.text[member.start..open]));
            let head = line_units(self.text, member.start..open, self.target);
            begin_section(self.sections, inner.clone(), head);
            self.cut(open..close, &inner, depth + 1);
            self.close(close..member.end);
            self.sections.push(Section {
                headings: path.clone(),
                units: Vec::new(),
            });
        }
    }

    fn push(&mut self, units: Vec<TextUnit>) {
        if let Some(section) = self.sections.last_mut() {
            section.units.extend(units);
        }
    }

    /// Adds a closing bracket to the chunk before it, if there is room.
    fn close(&mut self, tail: Range<usize>) {
        let last = self
            .sections
            .iter_mut()
            .rev()
            .find_map(|section| section.units.last_mut());
        let tail = TextUnit::of(self.text, tail, UnitEnd::Block);

        match last {
            Some(last)
                if last.bytes.end == tail.bytes.start
                    && last.chars + tail.chars <= 2 * self.target =>
            {
                *last = TextUnit::of(self.text, last.bytes.start..tail.bytes.end, UnitEnd::Block);
            }
            _ => self.push(line_units(self.text, tail.bytes, self.target)),
        }
    }
}

/// Splits `range` after each comma outside of brackets; at depth 0, after each line end outside of
/// brackets.
fn split_members(text: &str, range: Range<usize>, depth: usize) -> Vec<Range<usize>> {
    let separator = if depth == 0 { b'\n' } else { b',' };
    let mut members = Vec::new();
    let mut start = range.start;
    let mut scanner = JsonScanner::default();
    for (offset, byte) in text[range.clone()].bytes().enumerate() {
        let is_outside = scanner.step(byte) && scanner.level == 0;
        if is_outside && byte == separator {
            members.push(start..range.start + offset + 1);
            start = range.start + offset + 1;
        }
    }

    members.push(start..range.end);
    members.retain(|member| !text[member.clone()].trim().is_empty());

    members
}

/// Returns the range inside the outermost brackets of a member.
fn bracketed_range(text: &str, member: Range<usize>) -> Option<(usize, usize)> {
    let mut scanner = JsonScanner::default();
    let mut open = None;
    for (offset, byte) in text[member.clone()].bytes().enumerate() {
        if !scanner.step(byte) {
            continue;
        }
        match (open, scanner.level) {
            (None, 1) => open = Some(member.start + offset + 1),
            (Some(open), 0) => return Some((open, member.start + offset)),
            _ => {}
        }
    }

    None
}

/// Returns the key at the start of a member, or an empty text.
fn member_key(head: &str) -> &str {
    let head = head.trim().trim_end_matches(['{', '[']).trim_end();
    match head.strip_suffix(':') {
        Some(key) => key.trim().trim_matches('"'),
        None => "",
    }
}

/// A scanner that tracks brackets and strings.
#[derive(Default)]
struct JsonScanner {
    level: usize,
    in_string: bool,
    is_escaped: bool,
}

impl JsonScanner {
    /// Takes a byte, and returns whether it is outside of strings.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            let is_end = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.in_string = !is_end;
            return false;
        }

        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.level += 1,
            b'}' | b']' => self.level = self.level.saturating_sub(1),
            _ => {}
        }

        !self.in_string
    }
}
