//! Division of a sentence of a message into remarks: clauses that can be read by themselves.
//!
//! People end a clause with an emoji, with two dots, with `lol`, with a comma before the next
//! subject, or with nothing at all.

use text::Language;

use super::words::{
    ChatWords, LowerText, chat_words_of, first_word, is_unspaced, is_word_char, word_ranges,
    words_of,
};
use crate::all_languages::all_languages;
use crate::english::{is_clause, is_relative};
use crate::sentences::{BlockKind, Sentence, is_mark};

/// The length in characters from which a line is taken for a wrapped one, whose end divides nothing.
const WRAPPED_LINE_CHARS: usize = 60;
/// The fewest words of both sides of a dash between two remarks.
const MIN_WORDS_BESIDE_DASH: usize = 2;
/// The fewest words of a statement before a question in the same sentence.
const MIN_WORDS_BEFORE_QUESTION: usize = 3;
/// The fewest words of a clause in brackets.
const MIN_WORDS_IN_BRACKET: usize = 3;
/// The fewest words of a clause before a conjunction. Fewer are a subject: `my wife and I`.
const MIN_WORDS_BEFORE_CONJUNCTION: usize = 4;
/// The number of words before a clause among which a subordinating conjunction makes it a main
/// clause: `since Friday I'm …`.
const SUBORDINATE_WORDS: usize = 4;

/// A part of a sentence that can be read by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remark<'a> {
    /// The words of the remark with their position.
    pub(crate) sentence: Sentence<'a>,
    /// True if it ends with a question mark.
    pub(crate) is_question: bool,
    /// True if its sentence says the opposite of what it means.
    pub(crate) is_ironic: bool,
}

/// Divides a sentence into remarks.
pub(crate) fn split_remarks<'a>(sentence: &Sentence<'a>, language: Language) -> Vec<Remark<'a>> {
    let words = chat_words_of(language);
    let is_divisible = matches!(sentence.block, BlockKind::Prose | BlockKind::ListItem);
    let cuts = if is_divisible {
        find_cuts(sentence.text, words)
    } else {
        Vec::new()
    };
    let cuts = add_question_cut(sentence.text, cuts, words);
    let is_ironic = is_ironic(sentence.text, words);

    let mut remarks = Vec::new();
    let mut from = 0;
    for cut in cuts.into_iter().chain([Cut::at(sentence.text.len())]) {
        if cut.end < from {
            continue;
        }
        let text = &sentence.text[from..cut.end];
        if let Some(part) = part_of(sentence, from, text) {
            remarks.push(Remark {
                sentence: part,
                is_question: text.trim_end().ends_with(['?', '？', '؟']),
                is_ironic,
            });
        }
        from = cut.next;
    }

    if language == Language::English {
        move_question(&mut remarks, words);
    }
    remarks
}

/// The openings of a clause that tells something although a question mark ends it.
const TELLING_OPENINGS: [&str; 12] = [
    "he", "he's", "hes", "i", "i'm", "im", "i've", "my", "she", "she's", "shes", "we're",
];

/// Words of a question about what somebody says or thinks, which the last clause repeats: `what did Tom
/// say, he's moving to Spain?`.
const REPORTING_WORDS: [&str; 9] = [
    "hear", "heard", "mean", "said", "say", "says", "tell", "think", "thinks",
];

/// Words of a clause that asks for advice: `what do you think, i should quit?`.
const ADVICE_WORDS: [&str; 8] = [
    "can", "could", "may", "might", "must", "or", "should", "would",
];

/// Takes the last clause of a question for a statement if the question stands before it: `what can i
/// cook for my wife, she's vegan?`.
fn move_question(remarks: &mut [Remark<'_>], words: &ChatWords) {
    let [.., asking, told] = remarks else {
        return;
    };
    if !told.is_question || asking.is_question {
        return;
    }

    let text = told.sentence.text.to_lowercase();
    let opening = first_word(&text);
    let tells = TELLING_OPENINGS.contains(&opening)
        && (opening != "my" || is_clause(told.sentence.text))
        && !words_of(&text).any(|word| ADVICE_WORDS.contains(&word));
    let asked = asking.sentence.text.to_lowercase();
    let asks = words.question_openings.opening_len(&asked).is_some()
        || words.first_person_subjects.opening_len(&asked).is_none()
            && !is_clause(asking.sentence.text);
    let is_reported = words_of(&asked).any(|word| REPORTING_WORDS.contains(&word));
    if tells && asks && !is_reported {
        told.is_question = false;
        asking.is_question = true;
    }
}

/// Adds a cut at the last comma of a question, unless the question begins before it: `flying on
/// Friday, what do i pack?`, but not `which shoes for bad knees, wide feet?`.
fn add_question_cut(text: &str, mut cuts: Vec<Cut>, words: &ChatWords) -> Vec<Cut> {
    if !text.trim_end().ends_with(['?', '？']) {
        return cuts;
    }

    let from = cuts.last().map_or(0, |cut| cut.next);
    let Some(at) = text[from..].rfind([',', '，', '、']).map(|at| from + at) else {
        return cuts;
    };
    let head = text[from..at].trim_start().to_lowercase();
    let is_question = words.question_openings.opening_len(&head).is_some()
        || words.request_openings.opening_len(&head).is_some();
    if !is_question && count_units(&head) >= MIN_WORDS_BEFORE_QUESTION {
        let mark_len = text[at..].chars().next().map_or(1, char::len_utf8);
        cuts.push(Cut::between(at, at + mark_len));
    }

    cuts
}

/// A place at which a sentence is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// The end of the remark before it.
    end: usize,
    /// The beginning of the next remark.
    next: usize,
}

impl Cut {
    fn at(index: usize) -> Self {
        Self::between(index, index)
    }

    fn between(end: usize, next: usize) -> Self {
        Self { end, next }
    }
}

/// Returns a part of a sentence with its position, without white space at its ends. Returns `None`
/// if it has no letters and digits.
fn part_of<'a>(sentence: &Sentence<'a>, from: usize, text: &'a str) -> Option<Sentence<'a>> {
    if !text.contains(char::is_alphanumeric) {
        return None;
    }

    let trimmed = text.trim();
    let at = from + (text.len() - text.trim_start().len());
    let start = sentence.start + sentence.text[..at].chars().count();
    Some(Sentence {
        text: trimmed,
        start,
        end: start + trimmed.chars().count(),
        block: sentence.block,
    })
}

/// Returns the places at which a sentence is divided, in order.
fn find_cuts(text: &str, words: &ChatWords) -> Vec<Cut> {
    let lower = text.to_ascii_lowercase();
    let mut cuts = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        if at < from {
            continue;
        }

        let cut = if is_word_char(c) {
            let begins_word = text[..at]
                .chars()
                .next_back()
                .is_none_or(|c| !is_word_char(c));
            begins_word
                .then(|| cut_at_word(text, &lower, from, at, words))
                .flatten()
        } else {
            cut_at_mark(text, &lower, from, at, words)
        };

        if let Some(cut) = cut.filter(|cut| cut.end > 0) {
            cuts.push(cut);
            from = cut.next.max(at + c.len_utf8());
        }
    }

    cuts
}

/// Returns the cut at the mark at `at`. The remark before it begins at `from`.
fn cut_at_mark(text: &str, lower: &str, from: usize, at: usize, words: &ChatWords) -> Option<Cut> {
    let mark = text[at..].chars().next()?;
    let after = at + mark.len_utf8();
    let ends_clause = mark == '；' || mark == ';' && text[after..].starts_with(' ');
    if is_pictograph(mark) || ends_clause {
        return Some(Cut::between(at, after));
    }

    match mark {
        '\n' => {
            let line = text[..at].rsplit('\n').next().unwrap_or_default();
            (line.chars().count() < WRAPPED_LINE_CHARS).then_some(Cut::between(at, after))
        }
        ',' | '，' | '、' => {
            let rest = lower[after..].trim_start();
            let may_cut =
                !is_inside_bracket(lower, at) && !is_apposition(&text[from..at], rest, words);
            (may_cut && begins_clause(rest, words)).then_some(Cut::between(at, after))
        }
        '(' | '（' => {
            let inner = lower[after..].split([')', '）']).next().unwrap_or_default();
            is_clause_inside(inner, words).then_some(Cut::between(at, after))
        }
        ')' | '）' => {
            let inner = lower[..at].rsplit(['(', '（']).next().unwrap_or_default();
            is_clause_inside(inner, words).then_some(Cut::between(at, after))
        }
        '-' | '–' | '—' => {
            let is_dash = text[..at].ends_with(' ') && text[after..].starts_with(' ');
            let has_words = |part: &str| word_ranges(part).count() >= MIN_WORDS_BESIDE_DASH;
            (is_dash && has_words(&text[..at]) && has_words(&text[after..]))
                .then_some(Cut::between(at, after))
        }
        _ if is_mark(mark) && !is_inside_bracket(lower, at) => cut_at_end_mark(text, at),
        _ => None,
    }
}

/// The most words of a name, and of the relationship after it.
const MAX_NAME_WORDS: usize = 2;
const MAX_RELATIONSHIP_WORDS: usize = 5;

/// Checks whether a comma stands between a name and what it is to the speaker: `Max, my oldest, swims`.
fn is_apposition(before: &str, after: &str, words: &ChatWords) -> bool {
    // The remark may be long: only its first words are read.
    let names = word_ranges(before).take(MAX_NAME_WORDS + 1);
    let names: Vec<&str> = names.map(|range| &before[range]).collect();
    let is_name = |name: &&str| {
        name.starts_with(char::is_uppercase)
            && !words.stop_words.contains_key(name.to_lowercase().as_str())
    };
    let is_owned = || words.first_person.opening_len(after).is_some();
    let is_closed = || {
        let relationship = after.split_once(',').map(|(relationship, _)| relationship);
        relationship.is_some_and(|relationship| {
            word_ranges(relationship).count() <= MAX_RELATIONSHIP_WORDS && !is_clause(relationship)
        })
    };
    (1..=MAX_NAME_WORDS).contains(&names.len())
        && names.iter().all(is_name)
        && is_owned()
        && is_closed()
}

/// Returns the cut at a run of full stops, exclamation and question marks within a sentence.
fn cut_at_end_mark(text: &str, at: usize) -> Option<Cut> {
    let rest = &text[at..];
    let end = at + rest.find(|c| !is_mark(c)).unwrap_or(rest.len());
    let marks = &text[at..end];
    let next = text[end..].chars().next()?;
    if !next.is_whitespace() && marks.chars().count() < 2 {
        return None;
    }

    if marks == "." {
        let before = text[..at].rsplit(char::is_whitespace).next()?;
        let is_word = before.chars().count() > 2 && before.chars().all(char::is_alphabetic);
        let is_abbreviation = all_languages()
            .non_final_abbreviations
            .has(&before.to_lowercase());
        if !is_word || is_abbreviation {
            return None;
        }
    }

    Some(Cut::between(end, end))
}

/// Returns the cut before or after the word at `at`. The remark before it begins at `from`.
fn cut_at_word(text: &str, lower: &str, from: usize, at: usize, words: &ChatWords) -> Option<Cut> {
    let rest = &lower[at..];
    if let Some(len) = words.closings.opening_len(rest) {
        return (!lower[at + len..].trim().is_empty()).then_some(Cut::at(at + len));
    }

    let before = &lower[from..at];
    if words.changes_of_subject.opening_len(rest).is_some() {
        return (!is_begun_clause(before, words)).then_some(Cut::at(at));
    }

    if let Some(len) = words.clause_conjunctions.opening_len(rest)
        && let next = rest[len..].trim_start()
        && begins_clause(next, words)
        && words.first_person.opening_len(next).is_some()
    {
        let is_clause = word_ranges(before).count() >= MIN_WORDS_BEFORE_CONJUNCTION
            && !is_named_relative(&text[from..at]);
        return is_clause.then_some(Cut::at(at));
    }

    let begins_run_on = words.run_on_openings.opening_len(rest).is_some();
    (begins_run_on && !continues_clause(before, words)).then_some(Cut::at(at))
}

/// Checks whether a text is nothing but a relative with a name, who is a subject together with the speaker
/// after it: `my husband Paul and I`.
fn is_named_relative(text: &str) -> bool {
    let mut words = words_of(text);
    let is_owned = matches!(words.next(), Some("my" | "My" | "our" | "Our"));
    let is_person = words.next().is_some_and(is_relative);
    let is_name = words
        .next()
        .is_some_and(|word| word.starts_with(char::is_uppercase));
    is_owned && is_person && is_name && words.next().is_none()
}

/// The most words of a clause that has only begun: `ich bin`.
const MAX_BEGUN_WORDS: usize = 2;

/// Checks whether a text is only the beginning of a clause about the speaker, so that a word which
/// otherwise begins a remark stands within it: `ich bin übrigens Linkshänder`.
pub(super) fn is_begun_clause(before: &str, words: &ChatWords) -> bool {
    let before = before.trim_start();
    let count = word_ranges(before).count();
    let is_open = before.trim_end().ends_with(is_word_char);
    is_open
        && (1..=MAX_BEGUN_WORDS).contains(&count)
        && words.first_person.opening_len(before).is_some()
}

/// Checks whether a clause continues after a text: a word that carries a clause stands near its end,
/// or a mark ends it.
fn continues_clause(before: &str, words: &ChatWords) -> bool {
    if before.trim_end().ends_with(|c| !is_word_char(c)) {
        return true;
    }

    let mut nearest_first = words_of(before).rev().peekable();
    let Some(last) = nearest_first.peek() else {
        return true;
    };
    if words.clause_carriers.is(last) {
        return true;
    }

    let is_own = words
        .first_person_subjects
        .opening_len(before.trim_start())
        .is_some();
    nearest_first.take(SUBORDINATE_WORDS).any(|word| {
        matches!(
            word,
            "since" | "when" | "if" | "after" | "before" | "while" | "until" | "once"
        ) || !is_own && matches!(word, "told" | "tells" | "telling")
    })
}

/// Checks whether a clause of its own begins with a text.
fn begins_clause(lower: &str, words: &ChatWords) -> bool {
    if words.clause_openings.opening_len(lower).is_some() {
        return true;
    }

    let conjunction_len = words.clause_conjunctions.opening_len(lower);
    conjunction_len.is_some_and(|len| {
        let rest = lower[len..].trim_start();
        words.clause_openings.opening_len(rest).is_some()
    })
}

/// Checks whether a bracket is open at a position.
fn is_inside_bracket(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before.rfind(['(', '（']) > before.rfind([')', '）'])
}

/// Checks whether the text of a bracket is a clause of its own: `(we run an agency)`, but not
/// `(my 15yo)`.
fn is_clause_inside(inner: &str, words: &ChatWords) -> bool {
    begins_clause(inner.trim_start(), words) && count_units(inner) >= MIN_WORDS_IN_BRACKET
}

/// Checks for an emoji or another picture.
pub(super) fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
        | '\u{fe0f}' | '\u{200d}')
}

/// Checks whether a sentence says the opposite of what it means, by its words or emoji.
fn is_ironic(text: &str, words: &ChatWords) -> bool {
    text.contains(['🙃', '🙄']) || words.ironies.occur_in(&LowerText::new(text))
}

/// Counts the words of a text. Two characters of a script without spaces count as a word.
pub(super) fn count_units(text: &str) -> usize {
    let wide = text.chars().filter(|c| is_unspaced(*c)).count();
    word_ranges(text).count() + wide / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_within_a_clause_divides_nothing() {
        for (language, text, expected) in [
            (
                Language::German,
                "ich bin übrigens linkshänder",
                "ich bin linkshänder",
            ),
            (
                Language::French,
                "j'ai d'ailleurs deux enfants",
                "j'ai deux enfants",
            ),
            (Language::English, "i'm btw left handed", "I'm left handed"),
        ] {
            let sentence = Sentence {
                text,
                start: 0,
                end: text.chars().count(),
                block: BlockKind::Prose,
            };
            let remarks = split_remarks(&sentence, language);
            assert_eq!(remarks.len(), 1, "{text}");
            let read = super::super::read_remark(&remarks[0], language);
            assert_eq!(read.text.to_lowercase(), expected.to_lowercase());
        }
    }

    #[test]
    fn a_sentence_is_divided_where_a_new_clause_begins() {
        for (text, expected) in [
            (
                "hes an african grey called Pickle, had him since 2019",
                "hes an african grey called Pickle|had him since 2019",
            ),
            (
                "love the flat 😍 its on the 7th floor lol whats the best lift",
                "love the flat|its on the 7th floor lol|whats the best lift",
            ),
            (
                "closed mondays. need a catchy caption",
                "closed mondays.|need a catchy caption",
            ),
            (
                "im a data clerk, i sit all day, bad back",
                "im a data clerk|i sit all day, bad back",
            ),
            ("the flat i live in is tiny", "the flat i live in is tiny"),
            ("i think im late", "i think im late"),
            (
                "two adults (we run an agency from the attic)",
                "two adults|we run an agency from the attic",
            ),
            (
                "hes mine (a collie!! my first one, ever), what food",
                "hes mine (a collie!! my first one, ever)|what food",
            ),
            (
                "the shop (Crumb & Tide) is open",
                "the shop (Crumb & Tide) is open",
            ),
        ] {
            let sentence = Sentence {
                text,
                start: 0,
                end: text.chars().count(),
                block: BlockKind::Prose,
            };
            let remarks = split_remarks(&sentence, Language::English);
            let parts: Vec<_> = remarks.iter().map(|remark| remark.sentence.text).collect();
            assert_eq!(parts.join("|"), expected);
        }
    }
}
