//! The wording of remarks that are kept word for word.

use super::Conversation;
use super::classes::{JUDGING, is_in_class};
use super::grammar::{ParsedClause, SubjectKind, is_compound_noun, parse_clause};
use super::identity::relation_attribute;
use super::lexicon::{VerbForm, is_adverb, is_content_word, parse_verb};
use super::piece::{is_intended, remark_direction};
use super::render::{PronounSubstitution, render_statement};
use super::vocabulary::vocabulary;
use super::words::{Clause, split_words};
use crate::dates::{FoundDate, SaidAt, find_dates};

/// The fewest content words of a remark that has no number and no date.
const MIN_CONTENT_WORDS: usize = 2;
/// The most words of a label, and of what it names.
const MAX_LABEL_WORDS: usize = 2;
const MAX_LABELLED_WORDS: usize = 6;

/// Words for the person spoken to.
const LISTENER_WORDS: [&str; 4] = ["you", "your", "yours", "yourself"];

/// The context in which a remark is written down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemarkContext<'a> {
    pub(crate) conversation: Conversation<'a>,
    pub(crate) said_at: SaidAt,
    /// The person to whom a pronoun at the beginning refers.
    pub(crate) person: Option<&'a str>,
    /// True if the remark may be added to one before it.
    pub(crate) may_continue: bool,
    /// True for an item of a list about the speaker, in which a verb in its base form is no order.
    pub(crate) is_listed: bool,
    /// True if it changes an aspect of the speaker's life, so that few words are enough: `we moved`.
    pub(crate) is_change: bool,
}

/// The way in which a remark names its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemarkSubject<'a> {
    /// By words of its own.
    Named,
    /// By a pronoun for somebody who was named before.
    Pronoun(&'a str),
    /// Not at all. The speaker and this word stand before the verb.
    Elided(&'static str),
    /// Not at all, and it has no verb.
    Fragment,
}

/// Checks whether a word names a relative, another person of somebody's, or an animal.
pub(crate) fn is_relative(lower: &str) -> bool {
    relation_attribute(lower).is_some() || vocabulary().kept_animals.has(lower)
}

/// Openings of what is told without `I` and cannot be an order.
const OPENINGS_WITHOUT_SPEAKER: [&str; 9] = [
    "can't cook ",
    "can't drive",
    "can't swim",
    "do not have ",
    "do not own ",
    "don't have ",
    "don't own ",
    "haven't got ",
    "never had ",
];

/// Nouns for things that people lack only for the moment.
const PASSING_OBJECTS: [&str; 8] = [
    "choice", "clue", "energy", "idea", "mood", "problem", "strength", "time",
];

/// Returns a statement with the speaker before its verb: `I don't have a car` for `don't have a car`.
pub(crate) fn add_speaker(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_passing = words.any(|word| PASSING_OBJECTS.contains(&word));
    let mut openings = OPENINGS_WITHOUT_SPEAKER.iter();
    let is_told = openings.any(|opening| lower.starts_with(opening));
    (is_told && !is_passing).then(|| {
        let verb = lower.split(' ').next().unwrap_or_default();
        format!("I {verb}{}", &text[verb.len()..])
    })
}

/// Checks whether a text has a subject and a verb.
pub(crate) fn is_clause(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    parse_clause(Clause { words: &words }).is_some()
}

/// Writes an instruction as a sentence with the speaker's name.
pub(crate) fn render_instruction(text: &str, conversation: Conversation<'_>) -> String {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let substitution = PronounSubstitution {
        speaker: conversation.speaker,
        antecedent: None,
        lead: None,
    };
    render_statement(text, Clause { words: &words }, &[], substitution)
}

/// A remark that is written down.
pub(crate) struct RenderedRemark {
    /// The sentence with the speaker's name.
    pub(crate) text: String,
    pub(crate) dates: Vec<FoundDate>,
    /// True if its verb is in the past.
    pub(crate) is_past: bool,
}

/// Writes a remark as a sentence with the speaker's name. Returns `None` if it tells nothing that can
/// be understood alone.
pub(crate) fn render_remark(text: &str, context: RemarkContext<'_>) -> Option<RenderedRemark> {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    if clause.contains_any(&LISTENER_WORDS) {
        return None;
    }

    let parsed = parse_clause(clause);
    let dates = find_dates(clause, context.said_at, remark_direction(parsed));
    let subject = find_subject(clause, parsed, context)?;
    // Among people, words without a subject are mostly exclamations.
    if subject == RemarkSubject::Fragment && context.conversation.is_group_chat {
        return None;
    }
    if !context.is_listed && is_name(clause) {
        return None;
    }
    let may_be_short = context.is_listed || context.is_change;
    let is_telling = may_be_short || parsed.is_some_and(tells_of_speaker);
    if !is_telling && !has_content(clause, subject, !dates.is_empty()) {
        return None;
    }

    let is_about_other = context.conversation.is_about_other();
    let (antecedent, lead) = match subject {
        RemarkSubject::Pronoun(person) => (Some(person), None),
        RemarkSubject::Elided(lead) if !is_about_other => (None, Some(lead)),
        _ => (None, None),
    };
    let substitution = PronounSubstitution {
        speaker: context.conversation.speaker,
        antecedent,
        lead,
    };
    let sentence = render_statement(text, clause, &dates, substitution);
    let sentence = match subject {
        RemarkSubject::Fragment if !is_about_other => {
            name_speaker(&sentence, text, context.conversation.speaker)
        }
        _ => sentence,
    };

    let is_past = match parsed {
        Some(parsed) => (parsed.verb.past || parsed.verb.perfect) && !is_intended(parsed),
        None => matches!(parse_verb(clause.lower_at(0)), Some((_, VerbForm::Past))),
    };
    Some(RenderedRemark {
        text: sentence,
        dates,
        is_past,
    })
}

/// Checks whether an answer tells something: it has a number or some content, and is not about the
/// person who asked.
pub(crate) fn is_telling_answer(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    let is_content = |lower| is_content_word(lower) && !is_in_class(lower, JUDGING);
    let content_words = words.iter().filter(|word| is_content(word.lower)).count();
    let has_number = words.iter().any(|word| word.is_number());
    let is_about_other = matches!(
        clause.lower_at(0),
        "he" | "she" | "they" | "his" | "her" | "their"
    );
    let needed = MIN_CONTENT_WORDS + usize::from(!is_about_other);
    !clause.contains_any(&LISTENER_WORDS) && (has_number || content_words >= needed)
}

/// Puts the speaker before a sentence without a subject: `User: left handed.`,
/// `User's blood group: O neg.`
fn name_speaker(sentence: &str, text: &str, speaker: &str) -> String {
    if sentence.starts_with(speaker) {
        return sentence.to_owned();
    }

    let as_typed = if text.starts_with(char::is_lowercase) {
        let mut chars = sentence.chars();
        let first = chars.next().map(char::to_lowercase);
        first.into_iter().flatten().chain(chars).collect()
    } else {
        sentence.to_owned()
    };
    let has_label = as_typed
        .split_once(": ")
        .is_some_and(|(label, value)| is_label(label, value));
    if has_label {
        format!("{speaker}'s {as_typed}")
    } else {
        format!("{speaker}: {as_typed}")
    }
}

/// Returns the way in which a remark names its subject, or `None` if that cannot be understood
/// alone.
fn find_subject<'a>(
    clause: Clause<'_>,
    parsed: Option<ParsedClause<'_>>,
    context: RemarkContext<'a>,
) -> Option<RemarkSubject<'a>> {
    let first_at = (0..clause.len()).find(|&at| !is_adverb(clause.lower_at(at)))?;
    let first = clause.lower_at(first_at);
    // "Here's the loop": what follows is handed over.
    if first == "here" && matches!(clause.lower_at(first_at + 1), "'s" | "is" | "are") {
        return None;
    }
    if matches!(first, "he" | "she" | "they" | "his" | "her" | "their") {
        // "They moved my test": whoever they are, it is about the speaker.
        let is_about_speaker = first == "they" && clause.contains_any(&["my", "me", "our", "us"]);
        let person = context.person.filter(|_| !is_about_speaker);
        let is_named = is_about_speaker || context.may_continue;
        let named = is_named.then_some(RemarkSubject::Named);
        return person.map(RemarkSubject::Pronoun).or(named);
    }
    if first == "been" {
        return Some(RemarkSubject::Elided("has"));
    }

    let form = parse_verb(first).map(|(_, form)| form);
    if is_compound_noun(clause, first_at) {
        return Some(RemarkSubject::Fragment);
    }
    if let Some(parsed) = parsed {
        return match parsed.subject_kind {
            SubjectKind::Listener => None,
            SubjectKind::Elided if parsed.verb.progressive || form == Some(VerbForm::Ing) => {
                Some(RemarkSubject::Elided("is"))
            }
            SubjectKind::Elided => Some(RemarkSubject::Elided("")),
            _ => Some(RemarkSubject::Named),
        };
    }

    let is_own_verb = |lower| {
        matches!(parse_verb(lower), Some((base, VerbForm::Base))
            if context.is_listed && !base.is_empty() || vocabulary().own_verbs.has(base))
    };
    match form {
        Some(VerbForm::Ing) => Some(RemarkSubject::Elided("is")),
        Some(VerbForm::Base) if is_own_verb(first) => Some(RemarkSubject::Elided("")),
        _ => Some(RemarkSubject::Fragment),
    }
}

/// Checks whether the words before a colon name something that the speaker has: `blood group: O neg`,
/// and not `embarrassing: he was sick`.
fn is_label(label: &str, value: &str) -> bool {
    let is_name = label.split(' ').count() <= MAX_LABEL_WORDS
        && !label.contains(|c: char| c == ',' || c.is_ascii_digit());
    is_name && value.split(' ').count() <= MAX_LABELLED_WORDS
}

/// Checks whether a remark is only a person's name, as below a letter: `Ilse Brandt`, `M. Oyelaran`.
fn is_name(clause: Clause<'_>) -> bool {
    let words = clause.words.iter().filter(|word| !word.is_punctuation);
    let is_part = |raw: &str| {
        let mut chars = raw.chars();
        chars.next().is_some_and(char::is_uppercase) && !chars.any(|c| !c.is_lowercase())
    };
    (2..=3).contains(&words.clone().count()) && words.clone().all(|word| is_part(word.raw))
}

/// Checks whether the speaker says with one word of content what they never did, what they are, or
/// names somebody: `I've never smoked`, `we're Catholic`.
fn tells_of_speaker(parsed: ParsedClause<'_>) -> bool {
    let is_speaker = matches!(
        parsed.subject_kind,
        SubjectKind::Speaker | SubjectKind::Group
    );
    let rest = parsed.clause.from(parsed.verb.main);
    let refers = rest.contains_any(&["he", "her", "him", "it", "that", "them", "this", "those"]);
    let is_denied = parsed
        .clause
        .until_index(parsed.verb.main)
        .contains_any(&["never"])
        && parsed.verb.perfect
        && rest.words.iter().any(|word| is_content_word(word.lower));
    let is_of_group = parsed.verb.base == "be"
        && (rest.has_word_in(&vocabulary().nationalities)
            || rest.has_word_in(&vocabulary().faiths));
    is_speaker && !refers && (is_denied || is_of_group)
}

/// Checks whether a remark has enough content to be worth keeping. What only judges has none, and
/// what begins with a word such as `that` needs more.
fn has_content(clause: Clause<'_>, subject: RemarkSubject<'_>, has_date: bool) -> bool {
    let mut content_words = 0;
    let mut has_number = false;
    for word in clause.words {
        content_words +=
            usize::from(is_content_word(word.lower) && !is_in_class(word.lower, JUDGING));
        has_number |= word.is_number();
    }

    let first = clause.lower_at(0);
    let needed = match first {
        "this" | "that" => MIN_CONTENT_WORDS + 2,
        "it" | "there" | "these" | "those" | "here" if subject == RemarkSubject::Named => {
            MIN_CONTENT_WORDS + 1
        }
        _ => MIN_CONTENT_WORDS,
    };
    content_words >= needed || content_words > 0 && (has_number || has_date)
}
