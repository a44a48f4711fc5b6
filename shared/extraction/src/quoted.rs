//! Third-party text within the user's own words: pasted mails and pages, quotations, transcripts.
//!
//! A pasted text is treated as a document of its own: its statements are a third party's. No
//! statements are extracted from quotations.

mod marks;
mod recipe;
mod transcript;

use std::ops::Range;

use domain::SourceMedium;
use marks::HtmlSearch;

use super::{Passage, Role, TextOrigin};

/// The number of lines in which the sender of a mail is looked for, from the line that announces
/// it.
const HEADER_LINES: usize = 12;

/// A part of a passage that is not the speaker's own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PassagePart<'a> {
    range: Range<usize>,
    role: Role,
    speaker: Option<&'a str>,
    origin: Option<TextOrigin<'a>>,
}

impl<'a> PassagePart<'a> {
    /// Creates a part that holds a third party's text.
    fn third_party_document(
        range: Range<usize>,
        medium: SourceMedium,
        name: Option<&'a str>,
    ) -> Self {
        let origin = Some(TextOrigin { medium, name });
        Self {
            range,
            role: Role::Author,
            speaker: name.and_then(marks::parse_person_name),
            origin,
        }
    }

    /// Creates a part from which no statements are extracted.
    fn ignored(range: Range<usize>) -> Self {
        Self {
            range,
            role: Role::Other,
            speaker: None,
            origin: None,
        }
    }
}

/// Returns the person's name in the sender of a mail.
pub(super) fn parse_person_name(sender: &str) -> Option<&str> {
    marks::parse_person_name(sender)
}

/// Returns the sender of a text that begins with mail headers. The inner option is `None` if the
/// headers do not name a sender; the outer option is `None` for any other text.
pub(super) fn parse_mail_sender(text: &str) -> Option<Option<&str>> {
    let text = text.trim_start();
    marks::begins_with_mail_headers(text).then(|| {
        text.lines()
            .take(HEADER_LINES)
            .find_map(marks::parse_sender)
    })
}

/// Divides a passage of the user's own words into their own text and the text that they pass on, in
/// order.
pub(super) fn divide_passage<'a>(passage: &Passage<'a>) -> Vec<Passage<'a>> {
    let speakers = transcript::divide_transcript(passage.text, passage.role);
    if !speakers.is_empty() {
        let parts = cut_passage(passage, &speakers);
        // The user's own parts may contain a pasted text.
        let is_own = |part: &Passage<'a>| {
            part.origin.is_none() && matches!(part.role, Role::User | Role::Author)
        };
        let divided = parts.into_iter().map(|part| {
            if is_own(&part) {
                cut_passage(&part, &find_third_party_parts(part.text))
            } else {
                vec![part]
            }
        });
        return divided.flatten().collect();
    }

    cut_passage(passage, &find_third_party_parts(passage.text))
}

/// Cuts a passage into `parts` and the text between them, which keeps the role of the passage.
fn cut_passage<'a>(passage: &Passage<'a>, parts: &[PassagePart<'a>]) -> Vec<Passage<'a>> {
    let mut pieces = Vec::new();
    let (mut start_byte, mut start) = (0, passage.start_char);
    let mut push_part =
        |to: usize, role: Role, speaker: Option<&'a str>, origin: Option<TextOrigin<'a>>| {
            let text = &passage.text[start_byte..to];
            if !text.trim().is_empty() {
                pieces.push(Passage {
                    text,
                    start_char: start,
                    role,
                    speaker,
                    origin,
                    said_at: passage.said_at,
                });
            }
            start += text.chars().count();
            start_byte = to;
        };

    for part in parts {
        push_part(
            part.range.start,
            passage.role,
            passage.speaker,
            passage.origin,
        );
        push_part(part.range.end, part.role, part.speaker, part.origin);
    }

    push_part(
        passage.text.len(),
        passage.role,
        passage.speaker,
        passage.origin,
    );
    pieces
}

/// Finds the parts of a text that are not its speaker's own, in order.
fn find_third_party_parts(text: &str) -> Vec<PassagePart<'_>> {
    let mut parts: Vec<PassagePart<'_>> = Vec::new();
    let (mut at, mut open_fence) = (0, None);
    let mut excluded = Excluded::default();
    while let Some(line) = text[at..].split_inclusive('\n').next() {
        let end = at + line.len();
        let line_fence = marks::fence_char(line);
        if open_fence.is_some() || line_fence.is_some() {
            // Fenced code is skipped wherever it stands: no rule reads it.
            open_fence = if open_fence == line_fence {
                None
            } else {
                open_fence.or(line_fence)
            };
            at = end;
            continue;
        }

        at = match third_party_part_at(text, at, line, &mut excluded) {
            Some(part) => {
                let next = part.range.end.max(at + 1);
                parts.push(part);
                next
            }
            None => end,
        };
    }

    parts
}

/// What the lines read so far exclude for those after them. Each line would search the rest of the
/// text for it again.
#[derive(Default)]
struct Excluded {
    /// The position before which no line begins the headers of a mail.
    mail_headers_until: usize,
    /// True if no HTML ends in the rest of the text.
    html: bool,
}

impl Excluded {
    /// Checks whether the headers of a mail begin in a line.
    fn has_mail_headers_at(&mut self, text: &str, at: usize) -> bool {
        // Lines that are no headers of a mail together are none from a later line on.
        if at < self.mail_headers_until {
            return false;
        }

        let headers = marks::find_mail_headers(&text[at..]);
        self.mail_headers_until = at + headers.len;
        headers.are_of_mail
    }

    /// Returns the range of the HTML that begins in a line.
    fn find_html(&mut self, text: &str, at: usize, line: &str) -> Option<Range<usize>> {
        if self.html {
            return None;
        }

        match marks::find_html(text, at, line) {
            HtmlSearch::Found(range) => Some(range),
            HtmlSearch::NoBlock => None,
            HtmlSearch::NoEnd => {
                self.html = true;
                None
            }
        }
    }
}

/// Returns the third-party part that begins in a line.
fn third_party_part_at<'a>(
    text: &'a str,
    at: usize,
    line: &'a str,
    excluded: &mut Excluded,
) -> Option<PassagePart<'a>> {
    let end = at + line.len();
    if line.trim_start().starts_with('>') {
        return Some(PassagePart::ignored(at..end));
    }

    if marks::is_mail_boundary(line) || excluded.has_mail_headers_at(text, at) {
        let sender = text[at..]
            .lines()
            .take(HEADER_LINES)
            .find_map(marks::parse_sender);
        return Some(PassagePart::third_party_document(
            at..text.len(),
            SourceMedium::Mail,
            sender,
        ));
    }

    if let Some(range) = excluded.find_html(text, at, line) {
        return Some(PassagePart::ignored(range));
    }

    if let Some(range) = recipe::find_recipe(text, at) {
        return Some(PassagePart::ignored(range));
    }

    if let Some((after, medium)) = marks::find_handover(line) {
        let from = at + after;
        if let Some(part) = handed_over_part(
            text,
            from,
            medium.filter(|_| !marks::asks_for_work(&line[..after])),
        ) {
            return Some(part);
        }
    }

    // A blank line separates the text from the words about it.
    if text[end..].starts_with('\n') && marks::announces_received_text(line) {
        let asks = line.trim_end().ends_with('?') || marks::asks_for_work(line);
        let medium = (!asks).then_some(SourceMedium::Paste);
        if let Some(part) = handed_over_part(text, end, medium) {
            return Some(part);
        }
    }

    if let Some(after) = marks::find_reported_speech(line) {
        let to = text[at + after..]
            .find("\n\n")
            .map_or(text.len(), |blank| at + after + blank);
        return Some(PassagePart::ignored(at + after..to));
    }

    marks::find_quotation(text, at, line).map(PassagePart::ignored)
}

/// Returns the part that was handed over and begins at `from`: a quotation up to its closing mark,
/// any other text up to the end. Returns `None` for quoted lines and code, which are recognized by
/// their own marks.
fn handed_over_part(
    text: &str,
    from: usize,
    medium: Option<SourceMedium>,
) -> Option<PassagePart<'_>> {
    let rest = &text[from..];
    let content_start = from + rest.len() - rest.trim_start().len();
    let content = &text[content_start..];
    if content.is_empty() || content.starts_with('>') || marks::fence_char(content).is_some() {
        return None;
    }

    if let Some(end) = marks::quotation_end(content) {
        return Some(PassagePart::ignored(content_start..content_start + end));
    }

    let content_range = content_start..text.len();
    let sender = content
        .lines()
        .take(HEADER_LINES)
        .find_map(marks::parse_sender);

    Some(match medium {
        Some(medium) => PassagePart::third_party_document(content_range, medium, sender),
        None => PassagePart::ignored(content_range),
    })
}

#[cfg(test)]
mod tests;
