//! The requests to a model: the source as numbered sentences, framed as data.

use std::collections::HashSet;
use std::fmt::Write;

use extraction::{BlockKind, Passage, Role, Sentence, SourceText, split_sentences};
use serde_json::Value;

use super::answer::answer_schema;
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

/// The task of every request but the first of a source.
const INSTRUCTIONS: &str = concat!(
    include_str!("instructions.txt"),
    "The object is {\"memories\": [...]}.\n"
);
/// The task of the first request, whose answer has a summary as well. The beginning of a text says
/// what it is about, and a second call would cost as much again.
const INSTRUCTIONS_WITH_SUMMARY: &str = concat!(
    include_str!("instructions.txt"),
    include_str!("summary_instructions.txt"),
    "The object is {\"memories\": [...], \"summary\": \"...\"}.\n"
);
/// The number of sentences from which on a source has a summary.
const MIN_SUMMARIZED_SENTENCES: usize = 2;

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
    pub(super) sentences: Vec<ShownSentence<'a>>,
    /// The number of sentences that the previous request has shown as well.
    pub(super) repeated_count: usize,
    /// Words of the guidance and the known memories, which support no statement.
    pub(super) context_words: HashSet<String>,
    /// True if the answer is to have a summary of the source.
    pub(super) wants_summary: bool,
}

/// A sentence with the index of its passage.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownSentence<'a> {
    pub(super) sentence: Sentence<'a>,
    pub(super) passage_index: usize,
}

/// Returns the requests that cover a source, in its order; none if the source has nothing to read.
///
/// `guidance` says what matters in the container and to its organization. Both it and `known` are
/// context: a statement that only they support is not a statement of the source.
pub fn build_requests<'a>(
    source: &SourceText<'a>,
    guidance: Option<&str>,
    known_memories: &[KnownMemory<'_>],
) -> Vec<ModelRequest<'a>> {
    let sentences = readable_sentences(source);
    let known_memories = &known_memories[..known_memories.len().min(MAX_KNOWN)];
    let context = format_context(guidance, known_memories);

    let mut context_words: HashSet<String> = HashSet::new();
    if let Some(guidance) = guidance {
        context_words.extend(content_roots(guidance));
    }
    for known_memory in known_memories {
        context_words.extend(content_roots(known_memory.text));
    }

    let mut requests = Vec::new();
    for (from, repeated_count, to) in request_ranges(&sentences) {
        let sentences = sentences[from..to].to_vec();
        let text = format!("{context}{}", format_source(source, &sentences));
        let wants_summary = requests.is_empty() && sentences.len() >= MIN_SUMMARIZED_SENTENCES;
        requests.push(ModelRequest {
            instructions: if wants_summary {
                INSTRUCTIONS_WITH_SUMMARY
            } else {
                INSTRUCTIONS
            },
            text,
            sentences,
            repeated_count,
            context_words: context_words.clone(),
            wants_summary,
        });
    }

    requests
}

impl ModelRequest<'_> {
    /// Returns the JSON schema of an answer. It is also valid for endpoints that require every
    /// field to be listed as required.
    pub fn answer_schema(&self) -> Value {
        answer_schema(self.wants_summary)
    }

    /// Returns the characters of the canonical text that this request shows and no earlier one has
    /// shown.
    pub(super) fn covered_chars(&self) -> std::ops::Range<usize> {
        match (
            self.sentences.get(self.repeated_count),
            self.sentences.last(),
        ) {
            (Some(first), Some(last)) => first.sentence.start..last.sentence.end,
            _ => 0..0,
        }
    }
}

/// Returns the sentences that are worth showing to a model, without code, lines of punctuation, and
/// the words of tools.
fn readable_sentences<'a>(source: &SourceText<'a>) -> Vec<ShownSentence<'a>> {
    let mut sentences = Vec::new();
    for (passage_index, passage) in source.passages.iter().enumerate() {
        if passage.role == Role::Other {
            continue;
        }
        for sentence in split_sentences(passage) {
            let has_letters = sentence.text.chars().any(char::is_alphabetic);
            if has_letters && sentence.block != BlockKind::Code {
                sentences.push(ShownSentence {
                    sentence,
                    passage_index,
                });
            }
        }
    }

    sentences
}

/// Returns for each request where it begins, how many of its sentences are repeated, and where it
/// ends.
fn request_ranges(sentences: &[ShownSentence<'_>]) -> Vec<(usize, usize, usize)> {
    let cost = |shown_sentence: &ShownSentence<'_>| {
        shown_sentence
            .sentence
            .text
            .chars()
            .count()
            .min(MAX_SENTENCE_CHARS)
            + 8
    };
    let mut ranges = Vec::new();
    let (mut from, mut new_start) = (0, 0);
    while new_start < sentences.len() {
        let mut used_chars: usize = sentences[from..new_start].iter().map(cost).sum();
        let mut to = new_start;
        while to < sentences.len()
            && (to == new_start || used_chars + cost(&sentences[to]) <= MAX_CHARS)
        {
            used_chars += cost(&sentences[to]);
            to += 1;
        }
        ranges.push((from, new_start - from, to));
        (from, new_start) = (to.saturating_sub(OVERLAP_SENTENCES), to);
    }

    ranges
}

fn format_context(guidance: Option<&str>, known_memories: &[KnownMemory<'_>]) -> String {
    let mut text = String::new();
    if let Some(guidance) = guidance
        && !guidance.trim().is_empty()
    {
        let _ = writeln!(
            text,
            "<guidance>\n{}\n</guidance>",
            flatten_line(guidance, MAX_GUIDANCE_CHARS)
        );
    }

    if !known_memories.is_empty() {
        text.push_str("<known>\n");
        for KnownMemory {
            number,
            text: memory_text,
        } in known_memories
        {
            let _ = writeln!(
                text,
                "({number}) {}",
                flatten_line(memory_text, MAX_KNOWN_CHARS)
            );
        }
        text.push_str("</known>\n");
    }

    text
}

/// Writes the source into its frame. Lines of the source begin with a bracket and all other lines
/// are ours, so a source cannot end its frame.
fn format_source(source: &SourceText<'_>, sentences: &[ShownSentence<'_>]) -> String {
    let mut text = String::from("<source>\n");
    let mut current_passage = None;
    for (index, shown_sentence) in sentences.iter().enumerate() {
        if current_passage != Some(shown_sentence.passage_index) {
            current_passage = Some(shown_sentence.passage_index);
            write_heading(&source.passages[shown_sentence.passage_index], &mut text);
        }
        let _ = writeln!(
            text,
            "[{}] {}",
            index + 1,
            flatten_line(shown_sentence.sentence.text, MAX_SENTENCE_CHARS)
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
    let _ = write!(text, "# {role}");

    if let Some(speaker) = passage.speaker {
        let name = flatten_line(speaker, MAX_NAME_CHARS);
        if !name.is_empty() {
            let _ = write!(text, " \"{}\"", name.replace('"', "'"));
        }
    }

    let _ = writeln!(text, ", {}:", passage.said_at.format_long_date());
}

/// Turns a text into a line that cannot be mistaken for a part of the frame.
fn flatten_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            match c {
                '<' => line.push('‹'),
                c if c.is_control() => {}
                c => line.push(c),
            }
        }
    }

    match line.char_indices().nth(max_chars) {
        Some((cut, _)) => line[..cut].to_owned(),
        None => line,
    }
}
