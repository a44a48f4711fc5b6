//! The structure of source code, and of data whose structure is its indentation, in any language.
//! Definitions and their content are found by indentation, closing lines and leading comments.

use std::ops::Range;

use super::blocks::{Section, begin_section, line_units};
use super::pack::{TextUnit, UnitEnd};
use super::path::HeadingPath;

/// The depth from which nested definitions are cut as lines.
const MAX_DEPTH: usize = 16;
/// The most lines of a signature.
const MAX_SIGNATURE_LINES: usize = 24;
/// The width of a tab in columns.
const TAB_WIDTH: usize = 4;

/// Words that begin a branch, a loop or a statement.
const FLOW_WORDS: [&str; 16] = [
    "if", "for", "foreach", "while", "until", "unless", "loop", "try", "with", "switch", "match",
    "case", "select", "return", "using", "let",
];

/// The kind of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IndentedFormat {
    /// Source code.
    Code,
    /// YAML, TOML, XML.
    Data,
}

/// Returns the sections of a text. There is one for the lines at the top, and one for each
/// definition that has parts and is too large to stay whole (a chunk and a half), under the
/// signatures of the enclosing definitions.
pub(super) fn split_sections(text: &str, format: IndentedFormat, target: usize) -> Vec<Section> {
    let lines = read_lines(text, format);
    let mut outline = CodeOutline {
        text,
        format,
        target,
        lines: &lines,
        sections: vec![Section::default()],
    };
    outline.cut(0..lines.len(), &HeadingPath::default(), 0);
    outline.sections.retain(|section| !section.units.is_empty());
    outline.sections
}

/// A line that is not blank.
struct CodeLine {
    bytes: Range<usize>,
    indent: usize,
    role: LineRole,
    /// True if a blank line precedes it.
    is_after_blank: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineRole {
    /// A comment, decorator or attribute, which belongs to the lines after it.
    Leading,
    /// A bracket or word that closes or continues the lines before it.
    Closing,
    /// Anything else.
    Body,
}

fn read_lines(text: &str, format: IndentedFormat) -> Vec<CodeLine> {
    let mut lines = Vec::new();
    let mut at = 0;
    let mut is_after_blank = false;
    let mut in_comment = false;
    for line in text.split_inclusive('\n') {
        let bytes = at..at + line.len();
        at = bytes.end;
        let trimmed = line.trim();
        if trimmed.is_empty() {
            is_after_blank = true;
            continue;
        }
        in_comment |= format == IndentedFormat::Code && trimmed.starts_with("/*");
        let role = if in_comment {
            LineRole::Leading
        } else {
            line_role(trimmed, format)
        };
        in_comment &= !trimmed.contains("*/");
        lines.push(CodeLine {
            bytes,
            indent: line_depth(line, format),
            role,
            is_after_blank,
        });
        is_after_blank = false;
    }

    lines
}

/// Returns the depth of a line. In data, the items of a list are below a key in the same column,
/// and the lines after the header of a TOML table are below it.
fn line_depth(line: &str, format: IndentedFormat) -> usize {
    let trimmed = line.trim_start();
    let mut columns = 0;
    for byte in line[..line.len() - trimmed.len()].bytes() {
        columns += if byte == b'\t' { TAB_WIDTH } else { 1 };
    }

    if format == IndentedFormat::Code {
        return columns;
    }

    let is_table = trimmed.starts_with('[') && trimmed.trim_end().ends_with(']');
    if is_table {
        0
    } else {
        1 + 2 * columns + usize::from(trimmed.starts_with("- "))
    }
}

fn line_role(trimmed: &str, format: IndentedFormat) -> LineRole {
    const CLOSING_WORDS: [&str; 18] = [
        "end", "else", "elif", "elsif", "except", "finally", "rescue", "ensure", "catch", "fi",
        "done", "esac", "then", "do", "begin", "where", "EOF", "#endif",
    ];
    let is_closing = trimmed.starts_with(['}', ')', ']', '{']) || trimmed.starts_with("</");
    if is_closing && format == IndentedFormat::Code
        || trimmed.starts_with(['}', ')', ']'])
        || trimmed.starts_with("</")
    {
        return LineRole::Closing;
    }

    let word = trimmed
        .split(|character: char| !character.is_alphanumeric() && !"_#".contains(character))
        .next()
        .unwrap_or_default();
    if format == IndentedFormat::Code && CLOSING_WORDS.contains(&word) {
        return LineRole::Closing;
    }

    let is_attribute =
        format == IndentedFormat::Code && trimmed.starts_with('[') && trimmed.ends_with(']');
    let is_leading = ["//", "#", "/*", "--", "@", ";;", "<!--"]
        .iter()
        .any(|mark| trimmed.starts_with(mark));

    if is_leading || is_attribute {
        LineRole::Leading
    } else {
        LineRole::Body
    }
}

struct CodeOutline<'a> {
    text: &'a str,
    format: IndentedFormat,
    target: usize,
    lines: &'a [CodeLine],
    sections: Vec<Section>,
}

impl CodeOutline<'_> {
    /// Cuts a run of lines into definitions. Those that are too large get a section of their own.
    fn cut(&mut self, lines: Range<usize>, path: &HeadingPath, depth: usize) {
        for item in self.items(lines) {
            let bytes = self.bytes(&item);
            let is_small = self.text[bytes].chars().nth(self.target * 3 / 2).is_none();
            let parts = if is_small || depth == MAX_DEPTH {
                None
            } else {
                self.parts(&item)
            };
            let Some((head, body)) = parts else {
                self.push(&item);
                continue;
            };

            let inner = match self.signature(&head) {
                Some(signature) => path.with_inner(&signature),
                None => path.clone(),
            };
            let head = line_units(self.text, self.bytes(&head), self.target);
            begin_section(&mut self.sections, inner.clone(), head);
            self.cut(body.clone(), &inner, depth + 1);
            if body.end < item.end {
                self.push(&(body.end..item.end));
            }

            self.sections.push(Section {
                headings: path.clone(),
                units: Vec::new(),
            });
        }
    }

    /// Adds an item to the current section, whole if it fits.
    fn push(&mut self, item: &Range<usize>) {
        let boundary = if self.ends_block(item) {
            UnitEnd::Block
        } else {
            UnitEnd::Item
        };

        let unit = TextUnit::of(self.text, self.bytes(item), boundary);
        let is_whole = unit.chars <= 2 * self.target;
        let units = if is_whole {
            vec![unit]
        } else {
            line_units(self.text, unit.bytes, self.target)
        };

        if let Some(section) = self.sections.last_mut() {
            section.units.extend(units);
        }
    }

    fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        self.lines[lines.start].bytes.start..self.lines[lines.end - 1].bytes.end
    }

    /// Checks whether a definition or a paragraph of statements ends with an item.
    fn ends_block(&self, item: &Range<usize>) -> bool {
        if item.len() > 1 {
            return true;
        }
        match self.lines.get(item.end) {
            Some(next) => next.is_after_blank || next.role == LineRole::Closing,
            None => true,
        }
    }

    /// Groups lines into items. A line at the depth of the first line begins an item, together with
    /// the comments directly above it.
    fn items(&self, lines: Range<usize>) -> Vec<Range<usize>> {
        let mut items: Vec<Range<usize>> = Vec::new();
        let mut base = self.lines.get(lines.start).map_or(0, |line| line.indent);
        // Set while the item has nothing but comments.
        let mut is_lead = false;
        for at in lines {
            let line = &self.lines[at];
            let is_first = items.is_empty();
            let starts_item = line.indent <= base
                && line.role != LineRole::Closing
                && (!is_lead || line.is_after_blank);
            match items.last_mut() {
                Some(item) if !starts_item => item.end = at + 1,
                _ => items.push(at..at + 1),
            }
            if starts_item || is_first || line.indent <= base {
                is_lead = line.role == LineRole::Leading;
            }
            // Entries that belong to no table may precede the first header.
            if self.format == IndentedFormat::Data {
                base = base.min(line.indent);
            }
        }

        items
    }

    /// Splits an item into its head and its body.
    fn parts(&self, item: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
        let start = self.signature_start(item);
        let base = self.lines[start].indent;
        let mut bracket_depth = 0;
        let mut end = start;
        // The signature ends with the line in which its brackets are closed.
        for line in &self.lines[start..item.end.min(start + MAX_SIGNATURE_LINES)] {
            let words = &self.text[line.bytes.clone()];
            bracket_depth += words.matches(['(', '[']).count();
            bracket_depth = bracket_depth.saturating_sub(words.matches([')', ']']).count());
            end += 1;
            if bracket_depth == 0 || self.format == IndentedFormat::Data {
                break;
            }
        }

        let is_open_line = |at: &usize| self.text[self.lines[*at].bytes.clone()].trim() == "{";
        let limit = item.end.min(end + MAX_SIGNATURE_LINES / 3);
        let own_line = (end..limit).find(|at| self.lines[*at].indent == base && is_open_line(at));
        if let Some(at) = own_line {
            end = at + 1;
        }

        let tail = (end..item.end)
            .rev()
            .take_while(|at| self.lines[*at].indent <= base)
            .count();
        let body = end..item.end - tail;

        (body.len() > 1).then_some((item.start..end, body))
    }

    /// Returns the first line of an item that is not a comment.
    fn signature_start(&self, item: &Range<usize>) -> usize {
        item.clone()
            .find(|at| self.lines[*at].role != LineRole::Leading)
            .unwrap_or(item.start)
    }

    /// Returns the signature of a definition on one line. A branch or a loop defines nothing.
    fn signature(&self, head: &Range<usize>) -> Option<String> {
        let bytes = self.bytes(&(self.signature_start(head)..head.end));
        let words = self.text[bytes]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let words = words
            .replace("( ", "(")
            .replace(", )", ")")
            .replace(" )", ")");
        let words = words.trim_end_matches(['{', ':', '[', ' ', '(', '=']);
        let words = match self.format {
            IndentedFormat::Code => words,
            IndentedFormat::Data => words
                .trim_start_matches(['-', '[', ' ', '"'])
                .trim_end_matches([']', '"']),
        };

        let first = words
            .split(|character: char| !character.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let is_flow = self.format == IndentedFormat::Code && FLOW_WORDS.contains(&first);

        (!is_flow).then(|| words.trim().to_owned())
    }
}
