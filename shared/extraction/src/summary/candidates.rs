//! The sentences of a text that may be in its summary.

use std::collections::HashSet;

use text::find_words;

use super::plain_text::to_plain_text;
use crate::sentences::{BlockKind, Sentence, is_mark, is_wide, split_sentences};
use crate::{Passage, Role, SourceText};

/// The bytes at the beginning of a text that are read.
const MAX_BYTES: usize = 48 * 1024;
/// The most sentences that are read.
const MAX_SENTENCES: usize = 400;
/// The bytes of a heading from which on it is none.
const MAX_HEADING_BYTES: usize = 600;

/// The width of a sentence in columns, of which a Chinese character has two.
const MIN_COLUMNS: usize = 20;
const MAX_COLUMNS: usize = 240;
/// The width below which a sentence says little.
const SHORT_COLUMNS: usize = 50;
/// The width to which longer sentences are shortened.
const SHORTENED_COLUMNS: usize = 180;
const MIN_WORDS: usize = 4;
/// The fewest words of a line without a full stop.
const MIN_LINE_WORDS: usize = 6;
/// The fewest columns of a part of a text in a script without full stops.
const PHRASE_COLUMNS: usize = 70;
/// Full stops of Urdu, Khmer, Burmese, Amharic and Armenian.
const FURTHER_MARKS: [char; 5] = ['۔', '។', '။', '።', '։'];
/// Marks with which a sentence may begin.
const OPENING_MARKS: [char; 13] = [
    '"', '\'', '“', '‘', '„', '«', '»', '「', '『', '(', '（', '¿', '¡',
];
/// The average width of the lines of a menu.
const MENU_COLUMNS: usize = 25;

/// The factor of a short sentence, which a few common words make similar to others.
const SHORT_FACTOR: f32 = 0.8;
/// The factor of the beginning of a sentence that is too long.
const SHORTENED_FACTOR: f32 = 0.8;
/// The factor of a sentence that begins in the middle.
const CONTINUATION_FACTOR: f32 = 0.6;
/// The factor of a sentence such as the notice of cookies.
const BOILERPLATE_FACTOR: f32 = 0.4;

/// Words of sentences that pages show everywhere, in lower case.
const BOILERPLATE_WORDS: &[&str] = &[
    "cookie",
    "クッキー",
    "куки",
    "javascript",
    "newsletter",
    "all rights reserved",
    "privacy policy",
    "terms of service",
    "terms of use",
    "unsubscribe",
    "©",
];

/// A sentence that may be in a summary.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    /// The sentence as plain text.
    pub(super) text: String,
    /// The speaker in a conversation, if the name is known.
    pub(super) speaker: Option<&'a str>,
    /// The factor of its score: 1, or less for a sentence that reads badly alone.
    pub(super) quality: f32,
    pub(super) is_question: bool,
    pub(super) is_boilerplate: bool,
    form: Form,
}

/// The form of a candidate, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// A sentence of running text.
    Sentence,
    /// A sentence in a list or a quotation.
    ListedSentence,
    /// A line of running text that no mark ends.
    Line,
}

/// The result of reading a text.
pub(super) struct ReadSentences<'a> {
    /// The candidates, in the order of the text.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// The number of sentences, without headings, code and tables.
    pub(super) sentence_count: usize,
    /// The title of the text, or else its first heading.
    pub(super) title: Option<String>,
    pub(super) is_conversation: bool,
}

/// Reads the sentences of a text, of a conversation those of its users in their own words.
///
/// Candidates of a worse form are left out if there are two of a better one.
pub(super) fn read_sentences<'a>(
    source: &SourceText<'a>,
    title: Option<&str>,
) -> ReadSentences<'a> {
    let is_conversation = source
        .passages
        .iter()
        .any(|passage| matches!(passage.role, Role::User | Role::Assistant));
    let mut read = ReadSentences {
        candidates: Vec::new(),
        sentence_count: 0,
        title: title.map(str::to_owned),
        is_conversation,
    };

    let mut seen = HashSet::new();
    if let Some(title) = title {
        seen.insert(comparable(title));
    }

    let (mut bytes_left, mut sentences_left) = (MAX_BYTES, MAX_SENTENCES);
    for passage in &source.passages {
        let is_summarized = match passage.role {
            Role::User => passage.origin.is_none(),
            Role::Author => !is_conversation,
            Role::Assistant | Role::Other => false,
        };
        if !is_summarized || bytes_left == 0 || sentences_left == 0 {
            continue;
        }

        let (text, is_cut) = beginning_of(passage.text, bytes_left);
        bytes_left -= text.len();
        let mut sentences = split_sentences(&Passage { text, ..*passage });
        if is_cut {
            sentences.pop();
        }
        sentences.truncate(sentences_left);
        sentences_left -= sentences.len();

        let speaker = passage.speaker.filter(|_| is_conversation);
        for sentence in &sentences {
            read.add(sentence, speaker, &mut seen);
        }
    }

    read.keep_best_forms();
    read
}

/// Returns the first bytes of a text, and whether there are more.
fn beginning_of(text: &str, bytes: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(bytes);
    (&text[..end], end < text.len())
}

impl<'a> ReadSentences<'a> {
    fn add(
        &mut self,
        sentence: &Sentence<'a>,
        speaker: Option<&'a str>,
        seen: &mut HashSet<String>,
    ) {
        match sentence.block {
            BlockKind::Code | BlockKind::Table => return,
            BlockKind::Heading if sentence.text.len() > MAX_HEADING_BYTES => return,
            BlockKind::Heading => {
                let heading = to_plain_text(sentence.text);
                seen.insert(comparable(&heading));
                self.title.get_or_insert(heading);
                return;
            }
            BlockKind::Prose | BlockKind::ListItem | BlockKind::Quote => {}
        }

        for text in divide_further(sentence.text) {
            self.sentence_count += 1;
            if let Some(candidate) = build_candidate(text, sentence.block, speaker)
                && seen.insert(comparable(&candidate.text))
            {
                self.candidates.push(candidate);
            }
        }
    }

    /// Leaves out the candidates of worse forms, if two of better forms remain.
    fn keep_best_forms(&mut self) {
        for form in [Form::Sentence, Form::ListedSentence] {
            let count = self
                .candidates
                .iter()
                .filter(|candidate| candidate.form <= form)
                .count();
            if count >= 2 {
                self.candidates.retain(|candidate| candidate.form <= form);
                return;
            }
        }
    }
}

/// Returns a text without its case and the marks at its ends, in which equal sentences are equal.
fn comparable(text: &str) -> String {
    text.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

/// Divides a sentence at marks that [`split_sentences`] does not know, and text in a script without
/// any at lines and at spaces, which divide its phrases.
fn divide_further(sentence: &str) -> Vec<&str> {
    let letter = sentence.chars().find(|c| c.is_alphabetic());
    let has_marks = !letter.is_some_and(is_without_marks);

    let mut parts = Vec::new();
    let (mut start, mut width) = (0, 0);
    for (at, c) in sentence.char_indices() {
        width += columns_of(c);
        let is_wide_enough = width >= PHRASE_COLUMNS || c == '\n';
        let ends_phrase = !has_marks && c.is_whitespace() && is_wide_enough;
        if ends_phrase || FURTHER_MARKS.contains(&c) {
            let end = at + c.len_utf8();
            parts.push(&sentence[start..end]);
            (start, width) = (end, 0);
        }
    }

    if start < sentence.len() {
        parts.push(&sentence[start..]);
    }
    parts
}

/// Checks for a letter of Thai, Lao, Burmese or Khmer.
pub(super) fn is_without_marks(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn build_candidate<'a>(
    sentence: &str,
    block: BlockKind,
    speaker: Option<&'a str>,
) -> Option<Candidate<'a>> {
    let text = to_plain_text(sentence);
    let last = text
        .trim_end_matches(is_closing_mark)
        .chars()
        .next_back()
        .unwrap_or_default();
    let form = match block {
        _ if !is_mark(last) && !FURTHER_MARKS.contains(&last) => Form::Line,
        BlockKind::Prose => Form::Sentence,
        _ => Form::ListedSentence,
    };
    if form == Form::Line && (block != BlockKind::Prose || !is_readable_line(sentence, &text, last))
    {
        return None;
    }
    let first = text.chars().next().unwrap_or_default();
    let begins_well = first.is_alphanumeric() || OPENING_MARKS.contains(&first);
    if !begins_well || columns(&text) < MIN_COLUMNS || !is_running_text(&text) {
        return None;
    }

    let lower = text.to_lowercase();
    let is_boilerplate = BOILERPLATE_WORDS.iter().any(|word| lower.contains(word));
    let width = columns(&text);
    let is_too_long = width > MAX_COLUMNS;
    let factors = [
        (width < SHORT_COLUMNS, SHORT_FACTOR),
        (is_too_long, SHORTENED_FACTOR),
        (first.is_lowercase(), CONTINUATION_FACTOR),
        (is_boilerplate, BOILERPLATE_FACTOR),
    ];
    let mut quality = 1.0;
    for (applies, factor) in factors {
        if applies {
            quality *= factor;
        }
    }

    Some(Candidate {
        text: if is_too_long { shorten(&text) } else { text },
        speaker,
        quality,
        is_question: matches!(last, '?' | '？' | '؟'),
        is_boilerplate,
        form,
    })
}

fn is_closing_mark(c: char) -> bool {
    matches!(
        c,
        ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '」' | '』' | '）' | '“'
    )
}

/// Checks whether text without a full stop is more than the beginning of a list, a label with its
/// value, or a menu.
fn is_readable_line(lines: &str, text: &str, last: char) -> bool {
    let line_count = lines.trim().lines().count();
    let is_menu = line_count > 1 && columns(text) / line_count < MENU_COLUMNS;
    let announces_more = matches!(last, ':' | '：' | ',' | '，');
    !is_menu
        && !announces_more
        && !has_label(text)
        && find_words(text).take(MIN_LINE_WORDS).count() == MIN_LINE_WORDS
}

/// Checks for a line such as `City: Bonn`.
fn has_label(text: &str) -> bool {
    match text.split_once([':', '：']) {
        Some((label, value)) => {
            label.split_whitespace().count() <= 3 && !value.starts_with(char::is_alphanumeric)
        }
        None => false,
    }
}

/// Checks whether a text is made of words: not of addresses, code, numbers or capitals.
fn is_running_text(text: &str) -> bool {
    let has_address = ["://", "www.", "]("].iter().any(|part| text.contains(part));
    if has_address || find_words(text).take(MIN_WORDS).count() < MIN_WORDS {
        return false;
    }

    let (mut visible, mut alphanumeric, mut letters) = (0, 0, 0);
    let (mut upper, mut cased, mut code) = (0, 0, 0);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        visible += 1;
        alphanumeric += usize::from(c.is_alphanumeric());
        letters += usize::from(c.is_alphabetic());
        upper += usize::from(c.is_uppercase());
        cased += usize::from(c.is_uppercase() || c.is_lowercase());
        code += usize::from(matches!(
            c,
            '{' | '}' | '<' | '>' | '=' | ';' | '|' | '\\' | '@' | '#' | '$' | '~'
        ));
    }

    let is_made_of_words = alphanumeric * 4 >= visible * 3 && letters * 2 >= visible;
    is_made_of_words && upper * 2 <= cased.max(1) && code <= 1
}

/// Returns the width of a text in columns.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if is_wide(c) { 2 } else { 1 }
}

/// Returns the beginning of a long sentence, up to the last clause or word that fits, with an
/// ellipsis.
fn shorten(text: &str) -> String {
    let mut width = 0;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        width += columns_of(c);
        if width > SHORTENED_COLUMNS {
            end = at;
            break;
        }
    }

    let beginning = &text[..end];
    let is_late = |at: &usize| *at > end / 2;
    let clause_end = beginning
        .rfind([',', ';', '，', '；', '、', '،', '؛', '—'])
        .filter(is_late);
    let word_end = beginning.rfind(' ').filter(is_late);
    let cut = clause_end.or(word_end).unwrap_or(end);
    let kept =
        beginning[..cut].trim_end_matches(|c: char| !c.is_alphanumeric() && !is_closing_mark(c));

    if kept.chars().next_back().is_some_and(is_wide) {
        format!("{kept}……")
    } else {
        format!("{kept} …")
    }
}
