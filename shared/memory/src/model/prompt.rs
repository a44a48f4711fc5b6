//! What a model is asked: the source as numbered sentences, framed as data.

use std::collections::HashSet;
use std::fmt::Write;

use crate::extract::sentences::{Block, Sentence, sentences};
use crate::extract::{Passage, Role, Source};

use super::words::roots;

/// Characters of the source in one request: small models lose sight of the beginning of longer ones.
const MAX_CHARS: usize = 12_000;
/// Sentences of the request before that are shown again, so that a pronoun at a cut has what it stands for.
const OVERLAP: usize = 2;
/// Longer sentences are cut; they are rows of tables and the like.
const MAX_SENTENCE_CHARS: usize = 2_000;
const MAX_NAME_CHARS: usize = 80;
/// What a container and its organization may say together.
const MAX_GUIDANCE_CHARS: usize = 4_000;
const MAX_KNOWN: usize = 50;
const MAX_KNOWN_CHARS: usize = 300;

const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// A memory that exists already, shown so that a model uses the same words for the same topic.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// What it is called in the request; never an id.
    pub number: usize,
    /// What it says.
    pub text: &'a str,
}

/// One question to a model, and what its answer may refer to.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The message of the system: the task, and that the source is data.
    pub instructions: &'static str,
    /// The message of the user: guidance, known memories and the source, each framed.
    pub text: String,
    /// The sentences by their numbers; the first has number 1.
    pub(super) shown: Vec<Shown<'a>>,
    /// How many of them the request before has shown as well.
    pub(super) repeated: usize,
    /// Words of guidance and known memories: they are no source.
    pub(super) borrowed: HashSet<String>,
}

/// A sentence and the passage that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) sentence: Sentence<'a>,
    pub(super) passage: usize,
}

/// Returns the questions that cover a source, in its order; none when there is nothing to read in it.
///
/// `guidance` says what matters in the container and to its organization; it and `known` are context, and a statement that
/// only they support is no statement of the source.
pub fn prompt<'a>(
    source: &Source<'a>,
    guidance: Option<&str>,
    known: &[Known<'_>],
) -> Vec<Request<'a>> {
    let shown = readable(source);
    let known = &known[..known.len().min(MAX_KNOWN)];
    let context = context(guidance, known);
    let mut borrowed: HashSet<String> = guidance.map(roots).unwrap_or_default();
    borrowed.extend(known.iter().flat_map(|known| roots(known.text)));
    let request = |(from, repeated, to): (usize, usize, usize)| {
        let shown = shown[from..to].to_vec();
        let text = format!("{context}{}", framed_source(source, &shown));
        Request {
            instructions: INSTRUCTIONS,
            text,
            shown,
            repeated,
            borrowed: borrowed.clone(),
        }
    };

    cuts(&shown).into_iter().map(request).collect()
}

impl Request<'_> {
    /// The characters of the canonical text that this request, and none before it, has shown.
    pub(super) fn covers(&self) -> std::ops::Range<usize> {
        match (self.shown.get(self.repeated), self.shown.last()) {
            (Some(first), Some(last)) => first.sentence.start..last.sentence.end,
            _ => 0..0,
        }
    }
}

/// What is worth a model's time: no code, no lines of punctuation, nothing that tools said.
fn readable<'a>(source: &Source<'a>) -> Vec<Shown<'a>> {
    let said = source
        .passages
        .iter()
        .enumerate()
        .filter(|(_, passage)| passage.role != Role::Other);
    let shown = said.flat_map(|(index, passage)| {
        sentences(passage).into_iter().map(move |sentence| Shown {
            sentence,
            passage: index,
        })
    });

    shown
        .filter(|shown| shown.sentence.block != Block::Code)
        .filter(|shown| shown.sentence.text.chars().any(char::is_alphabetic))
        .collect()
}

/// Where requests begin, how many of their sentences are repeated, and where they end.
fn cuts(shown: &[Shown<'_>]) -> Vec<(usize, usize, usize)> {
    let cost = |shown: &Shown<'_>| shown.sentence.text.chars().count().min(MAX_SENTENCE_CHARS) + 8;
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
        (from, fresh) = (to.saturating_sub(OVERLAP), to);
    }

    cuts
}

fn context(guidance: Option<&str>, known: &[Known<'_>]) -> String {
    let mut text = String::new();
    if let Some(guidance) = guidance.filter(|guidance| !guidance.trim().is_empty()) {
        let _ = writeln!(
            text,
            "<guidance>\n{}\n</guidance>",
            one_line(guidance, MAX_GUIDANCE_CHARS)
        );
    }

    if !known.is_empty() {
        text.push_str("<known>\n");
        for Known { number, text: said } in known {
            let _ = writeln!(text, "({number}) {}", one_line(said, MAX_KNOWN_CHARS));
        }
        text.push_str("</known>\n");
    }

    text
}

/// Every line that begins with a bracket is the source's, every other one is ours: a source cannot end its frame.
fn framed_source(source: &Source<'_>, shown: &[Shown<'_>]) -> String {
    let mut text = String::from("<source>\n");
    let mut passage = None;
    for (number, shown) in (1..).zip(shown) {
        if passage != Some(shown.passage) {
            passage = Some(shown.passage);
            heading(&source.passages[shown.passage], &mut text);
        }
        let _ = writeln!(
            text,
            "[{number}] {}",
            one_line(shown.sentence.text, MAX_SENTENCE_CHARS)
        );
    }

    text.push_str("</source>\n");
    text
}

fn heading(passage: &Passage<'_>, text: &mut String) {
    let role = match passage.role {
        Role::User => "The user",
        Role::Assistant => "The assistant",
        Role::Author | Role::Other => "A document",
    };
    let name = passage
        .speaker
        .map(|name| one_line(name, MAX_NAME_CHARS))
        .filter(|name| !name.is_empty());
    let name = name
        .map(|name| format!(" \"{}\"", name.replace('"', "'")))
        .unwrap_or_default();
    let _ = writeln!(text, "# {role}{name}, {}:", passage.said_at.long_date());
}

/// A text that cannot be taken for a part of the frame.
fn one_line(text: &str, most: usize) -> String {
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
