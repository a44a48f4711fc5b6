//! The requests to a model: the source as numbered sentences, framed as data.

use std::collections::HashSet;
use std::fmt::Write;

use crate::extract::sentences::{BlockKind, Sentence, split_sentences};
use crate::extract::{Passage, Role, SourceText};

use super::words::content_roots;

/// The most characters of the source in one request. Small models lose track of the beginning of
/// longer ones.
const MAX_CHARS: usize = 12_000;
/// The sentences of the previous request that are shown again, so that a pronoun after a cut keeps
/// its referent.
const OVERLAP_SENTENCES: usize = 2;
/// The most characters of a sentence. Longer ones, such as table rows, are cut.
const MAX_SENTENCE_CHARS: usize = 2_000;
const MAX_NAME_CHARS: usize = 80;
/// The most characters of the guidance of a container and its organization together.
const MAX_GUIDANCE_CHARS: usize = 4_000;
const MAX_KNOWN: usize = 50;
const MAX_KNOWN_CHARS: usize = 300;

const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// An existing memory, shown so that the model uses the same words for the same topic.
#[derive(Debug, Clone, Copy)]
pub struct KnownMemory<'a> {
    /// Its number in the request; never an id.
    pub number: usize,
    /// Its text.
    pub text: &'a str,
}

/// One request to a model, with the sentences that the answer may refer to.
#[derive(Debug, Clone)]
pub struct ModelRequest<'a> {
    /// The system message: the task, and the note that the source is data.
    pub instructions: &'static str,
    /// The user message: guidance, known memories and the source, each in its own frame.
    pub text: String,
    /// The sentences by number, counted from 1.
    pub(super) shown: Vec<ShownSentence<'a>>,
    /// The number of sentences that the previous request has shown as well.
    pub(super) repeated: usize,
    /// Words of the guidance and the known memories, which support no statement.
    pub(super) borrowed: HashSet<String>,
}

/// A sentence with the index of its passage.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownSentence<'a> {
    pub(super) sentence: Sentence<'a>,
    pub(super) passage: usize,
}

/// Returns the requests that cover a source, in its order; none if the source has nothing to read.
///
/// `guidance` says what matters in the container and to its organization. Both it and `known` are
/// context: a statement that only they support is not a statement of the source.
pub fn build_requests<'a>(
    source: &SourceText<'a>,
    guidance: Option<&str>,
    known: &[KnownMemory<'_>],
) -> Vec<ModelRequest<'a>> {
    let shown = readable_sentences(source);
    let known = &known[..known.len().min(MAX_KNOWN)];
    let context = format_context(guidance, known);
    let mut borrowed: HashSet<String> = guidance.map(content_roots).unwrap_or_default();
    borrowed.extend(known.iter().flat_map(|known| content_roots(known.text)));
    let request = |(from, repeated, to): (usize, usize, usize)| {
        let shown = shown[from..to].to_vec();
        let text = format!("{context}{}", format_source(source, &shown));
        ModelRequest {
            instructions: INSTRUCTIONS,
            text,
            shown,
            repeated,
            borrowed: borrowed.clone(),
        }
    };

    request_ranges(&shown).into_iter().map(request).collect()
}

impl ModelRequest<'_> {
    /// Returns the characters of the canonical text that this request shows and no earlier one has
    /// shown.
    pub(super) fn covered_chars(&self) -> std::ops::Range<usize> {
        match (self.shown.get(self.repeated), self.shown.last()) {
            (Some(first), Some(last)) => first.sentence.start..last.sentence.end,
            _ => 0..0,
        }
    }
}

/// Returns the sentences that are worth showing to a model, without code, lines of punctuation, and
/// the words of tools.
fn readable_sentences<'a>(source: &SourceText<'a>) -> Vec<ShownSentence<'a>> {
    let said = source
        .passages
        .iter()
        .enumerate()
        .filter(|(_, passage)| passage.role != Role::Other);
    let shown = said.flat_map(|(index, passage)| {
        split_sentences(passage)
            .into_iter()
            .map(move |sentence| ShownSentence {
                sentence,
                passage: index,
            })
    });

    shown
        .filter(|shown| shown.sentence.block != BlockKind::Code)
        .filter(|shown| shown.sentence.text.chars().any(char::is_alphabetic))
        .collect()
}

/// Returns for each request where it begins, how many of its sentences are repeated, and where it
/// ends.
fn request_ranges(shown: &[ShownSentence<'_>]) -> Vec<(usize, usize, usize)> {
    let cost =
        |shown: &ShownSentence<'_>| shown.sentence.text.chars().count().min(MAX_SENTENCE_CHARS) + 8;
    let mut cuts = Vec::new();
    let (mut from, mut fresh) = (0, 0);
    while fresh < shown.len() {
        let mut spent: usize = shown[from..fresh].iter().map(cost).sum();
        let mut to = fresh;
        while to < shown.len() && (to == fresh || spent + cost(&shown[to]) <= MAX_CHARS) {
            spent += cost(&shown[to]);
            to += 1;
        }
        cuts.push((from, fresh - from, to));
        (from, fresh) = (to.saturating_sub(OVERLAP_SENTENCES), to);
    }

    cuts
}

fn format_context(guidance: Option<&str>, known: &[KnownMemory<'_>]) -> String {
    let mut text = String::new();
    if let Some(guidance) = guidance.filter(|guidance| !guidance.trim().is_empty()) {
        let _ = writeln!(
            text,
            "<guidance>\n{}\n</guidance>",
            flatten_line(guidance, MAX_GUIDANCE_CHARS)
        );
    }

    if !known.is_empty() {
        text.push_str("<known>\n");
        for KnownMemory { number, text: said } in known {
            let _ = writeln!(text, "({number}) {}", flatten_line(said, MAX_KNOWN_CHARS));
        }
        text.push_str("</known>\n");
    }

    text
}

/// Writes the source into its frame. Lines of the source begin with a bracket and all other lines
/// are ours, so a source cannot end its frame.
fn format_source(source: &SourceText<'_>, shown: &[ShownSentence<'_>]) -> String {
    let mut text = String::from("<source>\n");
    let mut passage = None;
    for (number, shown) in (1..).zip(shown) {
        if passage != Some(shown.passage) {
            passage = Some(shown.passage);
            write_heading(&source.passages[shown.passage], &mut text);
        }
        let _ = writeln!(
            text,
            "[{number}] {}",
            flatten_line(shown.sentence.text, MAX_SENTENCE_CHARS)
        );
    }

    text.push_str("</source>\n");
    text
}

fn write_heading(passage: &Passage<'_>, text: &mut String) {
    let role = match passage.role {
        Role::User => "The user",
        Role::Assistant => "The assistant",
        Role::Author | Role::Other => "A document",
    };
    let name = passage
        .speaker
        .map(|name| flatten_line(name, MAX_NAME_CHARS))
        .filter(|name| !name.is_empty());
    let name = name
        .map(|name| format!(" \"{}\"", name.replace('"', "'")))
        .unwrap_or_default();
    let _ = writeln!(
        text,
        "# {role}{name}, {}:",
        passage.said_at.format_long_date()
    );
}

/// Turns a text into a line that cannot be mistaken for a part of the frame.
fn flatten_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(
            word.chars()
                .map(|c| if c == '<' { '‹' } else { c })
                .filter(|c| !c.is_control()),
        );
    }

    match line.char_indices().nth(most) {
        Some((cut, _)) => line[..cut].to_owned(),
        None => line,
    }
}
