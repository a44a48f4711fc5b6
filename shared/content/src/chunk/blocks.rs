//! The structure of a text: sections under headings, made of units that are kept whole.

use std::ops::Range;

use super::pack::{TextUnit, UnitEnd};
use super::path::HeadingPath;
use crate::format::Format;
use crate::markdown::{parse_atx_heading, split_front_matter, strip_indent};
use crate::sentences::{split_pieces, split_sentences};

/// The number of sections above which short ones are joined. Many sections with less than
/// `TINY_SECTION_BYTES` on average are a list that is written in headings, for which a chunk each
/// would be too much.
const MANY_SECTIONS: usize = 256;
const TINY_SECTION_BYTES: usize = 64;

/// The part of a text under one heading.
#[derive(Default)]
pub(super) struct Section {
    pub(super) headings: HeadingPath,
    pub(super) units: Vec<TextUnit>,
}

/// Begins a section with the units that announce it. The announcement of an outer section without
/// other content is moved to it.
pub(super) fn begin_section(
    sections: &mut Vec<Section>,
    headings: HeadingPath,
    mut heading_units: Vec<TextUnit>,
) {
    let has_only_headings = |section: &Section| {
        section
            .units
            .iter()
            .all(|unit| unit.boundary == UnitEnd::Heading)
    };
    let mut units = match sections.last_mut() {
        Some(last) if has_only_headings(last) => std::mem::take(&mut last.units),
        _ => Vec::new(),
    };
    for unit in &mut heading_units {
        unit.boundary = UnitEnd::Heading;
    }
    units.append(&mut heading_units);
    sections.push(Section { headings, units });
}

/// A run of lines of one kind.
struct LineBlock {
    kind: BlockKind,
    bytes: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Heading(u8),
    /// Running text or a list.
    Paragraph,
    /// A table, which stays whole while it fits.
    Table,
    /// Code, which stays whole while it fits.
    Code,
}

/// Returns the sections of a text in order. Blank lines belong to no unit.
pub(super) fn split_sections(text: &str, format: Format, target: usize) -> Vec<Section> {
    // The open headings with the paths that end with them.
    let mut path: Vec<(u8, HeadingPath)> = Vec::new();
    let mut sections = vec![Section::default()];

    // While the last section has only headings, deeper headings join it.
    let mut is_after_heading = false;
    for block in split_blocks(text, format != Format::Text) {
        if let BlockKind::Heading(level) = block.kind {
            let is_child = matches!(path.last(), Some((outer, _)) if *outer < level);
            path.retain(|(outer, _)| *outer < level);
            let outer = path.last().map(|(_, outer)| outer.clone());
            let title = heading_text(&text[block.bytes.clone()]);
            let headings = outer.unwrap_or_default().with_inner(title);
            path.push((level, headings.clone()));
            match sections.last_mut() {
                Some(last) if is_after_heading && is_child => last.headings = headings,
                _ => sections.push(Section {
                    headings,
                    units: Vec::new(),
                }),
            }
        }
        is_after_heading = matches!(block.kind, BlockKind::Heading(_));
        if let Some(last) = sections.last_mut() {
            push_units(text, &block, target, &mut last.units);
        }
    }

    sections.retain(|section| !section.units.is_empty());
    if sections.len() > MANY_SECTIONS && text.len() / sections.len() < TINY_SECTION_BYTES {
        sections = join_sections(sections, target);
    }

    sections
}

/// Joins adjacent sections up to the target size. They keep the part of their paths that they
/// share.
fn join_sections(sections: Vec<Section>, target: usize) -> Vec<Section> {
    let mut joined: Vec<Section> = Vec::new();
    let mut remaining = 0;
    for section in sections {
        let chars: usize = section.units.iter().map(|unit| unit.chars).sum();
        match joined.last_mut() {
            Some(last) if chars <= remaining => {
                last.headings = last.headings.shared_with(&section.headings);
                last.units.extend(section.units);
                remaining -= chars;
            }
            _ => {
                remaining = target.saturating_sub(chars);
                joined.push(section);
            }
        }
    }

    joined
}

/// Cuts a block into units of at most twice the target.
fn push_units(text: &str, block: &LineBlock, target: usize, units: &mut Vec<TextUnit>) {
    let bytes = block.bytes.clone();
    let chars = text[bytes.clone()].chars().count();
    let first = units.len();
    match block.kind {
        BlockKind::Paragraph => {
            for item in split_list_items(text, bytes) {
                for sentence in split_sentences(text, item) {
                    units.extend(sentence_units(text, sentence, target));
                }
                set_last_end(units, UnitEnd::Item);
            }
        }
        BlockKind::Heading(_) if chars <= 2 * target => {
            units.push(TextUnit::of(text, bytes, UnitEnd::Heading))
        }
        _ if chars <= 2 * target => units.push(TextUnit::of(text, bytes, UnitEnd::Block)),
        BlockKind::Table => {
            let end = match text[bytes.clone()].find('\n') {
                Some(newline) => bytes.start + newline,
                None => bytes.end,
            };
            let header = bytes.start..end;
            units.extend(line_units(text, bytes, target));
            for row in units.iter_mut().skip(first + 1) {
                row.header = Some(header.clone());
            }
        }
        _ => units.extend(line_units(text, bytes, target)),
    }

    if !matches!(block.kind, BlockKind::Heading(_)) {
        set_last_end(units, UnitEnd::Block);
    }
}

fn set_last_end(units: &mut [TextUnit], boundary: UnitEnd) {
    if let Some(last) = units.last_mut() {
        last.boundary = boundary;
    }
}

/// Returns a sentence as a unit. One that is longer than a chunk is a list or a log, and is cut at
/// its lines.
fn sentence_units(text: &str, sentence: Range<usize>, target: usize) -> Vec<TextUnit> {
    match text[sentence.clone()].chars().nth(target) {
        None => vec![TextUnit::of(text, sentence, UnitEnd::Sentence)],
        Some(_) => line_units(text, sentence, target),
    }
}

/// Returns lines as units, and those longer than the target in pieces. A blank line ends a block.
pub(super) fn line_units(text: &str, bytes: Range<usize>, target: usize) -> Vec<TextUnit> {
    let mut units: Vec<TextUnit> = Vec::new();
    let mut at = bytes.start;
    for line in text[bytes].split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        if line.trim().is_empty() {
            set_last_end(&mut units, UnitEnd::Block);
            continue;
        }
        for part in split_pieces(text, range, target) {
            units.push(TextUnit::of(text, part, UnitEnd::Item));
        }
    }

    units
}

/// Splits a paragraph at the items of a list.
fn split_list_items(text: &str, bytes: Range<usize>) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut start = bytes.start;
    let mut at = bytes.start;
    for line in text[bytes.clone()].split_inclusive('\n') {
        if at > start && is_item(line) {
            items.push(start..at);
            start = at;
        }
        at += line.len();
    }
    items.push(start..bytes.end);
    items
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    if ["- ", "* ", "+ ", "• "]
        .iter()
        .any(|marker| line.starts_with(marker))
    {
        return true;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits)
        && [". ", ") "]
            .iter()
            .any(|marker| line[digits..].starts_with(marker))
}

/// Returns a heading without its marks.
fn heading_text(block: &str) -> &str {
    let line = block.lines().next().unwrap_or_default();
    match parse_atx_heading(line) {
        Some((_, title)) => title,
        None => line.trim(),
    }
}

/// The block that is being read.
struct OpenBlock {
    kind: BlockKind,
    start: usize,
    first_line_end: usize,
}

impl OpenBlock {
    /// Begins a block with a line at `at`.
    fn new(kind: BlockKind, line: &str, at: usize) -> Self {
        Self {
            kind,
            start: at,
            first_line_end: at + line.len(),
        }
    }
}

/// A reader that processes a text line by line.
struct BlockReader<'a> {
    text: &'a str,
    blocks: Vec<LineBlock>,
    open_block: Option<OpenBlock>,
    /// The fence that closes the open code block.
    fence: Option<(u8, usize)>,
}

/// Returns the blocks of a text. Plain text has only paragraphs.
fn split_blocks(text: &str, is_markdown: bool) -> Vec<LineBlock> {
    let mut reader = BlockReader {
        text,
        blocks: Vec::new(),
        open_block: None,
        fence: None,
    };

    let front_matter_len = if is_markdown {
        text.len() - split_front_matter(text).1.len()
    } else {
        0
    };

    if front_matter_len > 0 {
        reader.blocks.push(LineBlock {
            kind: BlockKind::Code,
            bytes: 0..front_matter_len,
        });
    }

    let mut at = front_matter_len;
    for line in text[front_matter_len..].split_inclusive('\n') {
        if is_markdown {
            reader.markdown_line(line, at);
        } else {
            reader.text_line(line, at);
        }
        at += line.len();
    }

    reader.close(text.len());
    reader.blocks
}

impl BlockReader<'_> {
    fn text_line(&mut self, line: &str, at: usize) {
        if line.trim().is_empty() {
            self.close(at);
        } else {
            self.open_block
                .get_or_insert_with(|| OpenBlock::new(BlockKind::Paragraph, line, at));
        }
    }

    fn markdown_line(&mut self, line: &str, at: usize) {
        let end = at + line.len();

        if let Some(open) = self.fence {
            if let Some((fence_char, length, "")) = parse_fence(line)
                && fence_char == open.0
                && length >= open.1
            {
                self.fence = None;
                self.close(end);
            }
        } else if line.trim().is_empty() {
            self.close(at);
        } else if let Some((fence_char, length, _)) = parse_fence(line) {
            self.close(at);
            self.open_block = Some(OpenBlock::new(BlockKind::Code, line, at));
            self.fence = Some((fence_char, length));
        } else if let Some((level, _)) = parse_atx_heading(line) {
            self.close(at);
            self.blocks.push(LineBlock {
                kind: BlockKind::Heading(level),
                bytes: at..end,
            });
        } else if let Some(level) = self.underline(line, at) {
            if let Some(open) = &mut self.open_block {
                open.kind = BlockKind::Heading(level);
            }
            self.close(end);
        } else {
            self.running_line(line, at);
        }
    }

    /// Reads a line of a table or a paragraph.
    fn running_line(&mut self, line: &str, at: usize) {
        let kind = if line.trim_start().starts_with('|') {
            BlockKind::Table
        } else {
            BlockKind::Paragraph
        };
        if let Some(open) = &self.open_block
            && open.kind != kind
        {
            self.close(at);
        }
        self.open_block
            .get_or_insert_with(|| OpenBlock::new(kind, line, at));
    }

    /// Returns the level that a line of `=` or `-` gives to the single line of text above it.
    fn underline(&self, line: &str, at: usize) -> Option<u8> {
        let open = self.open_block.as_ref()?;
        if open.kind != BlockKind::Paragraph || open.first_line_end != at {
            return None;
        }
        let mark = strip_indent(line)?.trim_end();
        let level = match mark.bytes().next()? {
            b'=' => 1,
            b'-' => 2,
            _ => return None,
        };
        let is_uniform = mark.len() >= 3 && mark.bytes().all(|byte| byte == mark.as_bytes()[0]);
        (is_uniform && !is_item(&self.text[open.start..at])).then_some(level)
    }

    fn close(&mut self, end: usize) {
        if let Some(open) = self.open_block.take() {
            self.blocks.push(LineBlock {
                kind: open.kind,
                bytes: open.start..end,
            });
        }
        self.fence = None;
    }
}

/// Returns mark, length and rest of a line that fences code.
fn parse_fence(line: &str) -> Option<(u8, usize, &str)> {
    let line = strip_indent(line)?.trim_end();
    let fence_char @ (b'`' | b'~') = line.bytes().next()? else {
        return None;
    };
    let length = line.bytes().take_while(|byte| *byte == fence_char).count();
    let rest = line[length..].trim();
    (length >= 3 && !(fence_char == b'`' && rest.contains('`')))
        .then_some((fence_char, length, rest))
}
