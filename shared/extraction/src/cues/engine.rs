//! Extraction of statements from a sentence with the words and cues of its language.

use std::cell::LazyCell;

use domain::{MemoryKind, Statement, Topic, Trust};

use super::answers::{find_word, is_clause, is_speaker, parse_answer, parse_subject, strip_word};
use super::calendar::{self, DateSide};
use super::cue::{CueMatch, is_unspaced};
use super::wording::{
    format_statement, lowercase_chars, normalize_line, strip_fillers, strip_leading_words,
};
use super::{CueMeaning, LanguageRules, Rule};
use crate::dates::DayRange;
use crate::sentences::Sentence;
use crate::{Passage, Role};

/// A part of the passage that may state something: a sentence or a clause of it.
struct StatementUnit {
    /// The text as written, which can be understood alone.
    text: String,
    start: usize,
    end: usize,
}

/// The result of matching a rule against a unit.
struct RuleReading {
    meaning: CueMeaning,
    attribute: &'static str,
    constant: Option<&'static str>,
    cue_match: CueMatch,
    days: Option<DayRange>,
}

/// Extracts the statements of a sentence.
pub(super) fn extract_sentence(
    language: &LanguageRules,
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    trust: Trust,
) -> Vec<Statement> {
    let line = normalize_line(sentence.text);
    if line.ends_with(['?', '？', '؟']) {
        return Vec::new();
    }

    let (text, lower) = strip_leading_words(&language.fillers, &line);
    if language
        .questions
        .iter()
        .any(|word| ends_with_word(&lower, word))
    {
        return Vec::new();
    }

    let clauses = extract_identity_clauses(language, passage, sentence, text, trust);
    if clauses.len() > 1 {
        return clauses;
    }

    let clean_text = strip_fillers(language, &line, text, &lower);
    let unit = StatementUnit {
        text: clean_text.to_owned(),
        start: sentence.start,
        end: sentence.end,
    };

    let reading = first_reading(language, passage, text, &lower);
    reading
        .and_then(|reading| build_statement(language, passage, unit, &lower, reading, trust))
        .into_iter()
        .collect()
}

/// Returns one statement for each clause, if several clauses each state a trait.
fn extract_identity_clauses(
    language: &LanguageRules,
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    text: &str,
    trust: Trust,
) -> Vec<Statement> {
    let parts = split_clauses(language, text);
    if parts.len() < 2 {
        return Vec::new();
    }

    let is_trait = |meaning| meaning == CueMeaning::Trait;
    let statements = parts.into_iter().filter_map(|part| {
        let lower = lowercase_chars(part);
        let reading = first_reading(language, passage, part, &lower)
            .filter(|reading| is_trait(reading.meaning))?;
        let (start, end) = locate_part(sentence, part);
        let unit = StatementUnit {
            text: part.to_owned(),
            start,
            end,
        };
        build_statement(language, passage, unit, &lower, reading, trust)
    });

    statements.collect()
}

/// Returns the range of a part within the sentence, or that of the whole sentence if its spaces
/// differ from those of the part.
fn locate_part(sentence: &Sentence<'_>, part: &str) -> (usize, usize) {
    match sentence.text.find(part) {
        Some(at) => {
            let start = sentence.start + sentence.text[..at].chars().count();
            (start, start + part.chars().count())
        }
        None => (sentence.start, sentence.end),
    }
}

/// Divides a text into clauses at its joints, such as commas and conjunctions.
fn split_clauses<'t>(language: &LanguageRules, text: &'t str) -> Vec<&'t str> {
    let mut parts = vec![text];
    for conjunction in &language.conjunctions {
        parts = parts
            .into_iter()
            .flat_map(|part| part.split(conjunction))
            .collect();
    }
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns the reading of the first rule that matches.
fn first_reading(
    language: &LanguageRules,
    passage: &Passage<'_>,
    text: &str,
    lower: &str,
) -> Option<RuleReading> {
    let has_anaphor = language
        .anaphors
        .iter()
        .any(|word| begins_with_word(lower, word));
    let has_definite = LazyCell::new(|| is_definite(text));

    let days = |side| calendar::find_days(&language.calendar, lower, passage.said_at, side);
    let future = LazyCell::new(|| days(DateSide::Future));
    let past = LazyCell::new(|| days(DateSide::Past));

    for Rule {
        meaning,
        attribute,
        constant,
        cue,
    } in language.candidates(lower)
    {
        if has_anaphor
            && !matches!(
                meaning,
                CueMeaning::Noise | CueMeaning::Instruct | CueMeaning::Decide
            )
        {
            continue;
        }

        if *meaning == CueMeaning::Weak && !*has_definite {
            continue;
        }

        let Some(cue_match) = cue.find_match(lower, &language.kinship) else {
            continue;
        };
        if !has_valid_subject(language, lower, *meaning, &cue_match) {
            continue;
        }
        let answer = cue_match.answer().map(|range| lower[range].trim());
        if *attribute == "age" && !answer.is_none_or(may_be_age) {
            continue;
        }

        let days = date_side(*meaning).and_then(|side| {
            if side == DateSide::Future {
                *future
            } else {
                *past
            }
        });
        if days.is_none() && matches!(meaning, CueMeaning::Dated | CueMeaning::Happened) {
            continue;
        }

        return (*meaning != CueMeaning::Noise).then_some(RuleReading {
            meaning: *meaning,
            attribute,
            constant: *constant,
            cue_match,
            days,
        });
    }

    None
}

/// Checks whether an answer may be an age. Where words are written without spaces, it begins with a number:
/// 32, but not "my mother 60".
fn may_be_age(answer: &str) -> bool {
    const DIGITS: &str = "一二三四五六七八九十两";
    let is_hangul = |c: char| matches!(c, '\u{ac00}'..='\u{d7a3}');
    !answer.starts_with(|c| is_unspaced(c) && !is_hangul(c) && !DIGITS.contains(c))
}

/// Checks whether the captured subject can be one, if the topic needs a subject.
fn has_valid_subject(
    language: &LanguageRules,
    lower: &str,
    meaning: CueMeaning,
    cue_match: &CueMatch,
) -> bool {
    let needs_subject = matches!(
        meaning,
        CueMeaning::Trait | CueMeaning::Like | CueMeaning::Dislike | CueMeaning::Favourite
    );
    let Some(range) = cue_match.subject().filter(|_| needs_subject) else {
        return true;
    };
    parse_subject(language, &lower[range]).is_some_and(|name| !is_clause(language, &name))
}

/// Returns the side on which the dates of a sentence lie, for signs of something that happens.
fn date_side(meaning: CueMeaning) -> Option<DateSide> {
    match meaning {
        CueMeaning::Happened => Some(DateSide::Past),
        CueMeaning::Decide
        | CueMeaning::Plan
        | CueMeaning::Dated
        | CueMeaning::Property
        | CueMeaning::State
        | CueMeaning::Weak => Some(DateSide::Future),
        CueMeaning::Noise
        | CueMeaning::Instruct
        | CueMeaning::Trait
        | CueMeaning::Like
        | CueMeaning::Dislike
        | CueMeaning::Favourite
        | CueMeaning::Prefer
        | CueMeaning::Opinion => None,
    }
}

/// Checks whether a text names something definite: a number, a name after the first word, or Latin
/// letters among others.
fn is_definite(text: &str) -> bool {
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    text.contains(|c: char| c.is_ascii_digit())
        || (latin >= 2 && latin * 2 < letters)
        || text.split_whitespace().skip(1).any(|word| {
            word.chars()
                .find(|c| c.is_alphabetic())
                .is_some_and(char::is_uppercase)
        })
}

fn build_statement(
    language: &LanguageRules,
    passage: &Passage<'_>,
    unit: StatementUnit,
    lower: &str,
    reading: RuleReading,
    trust: Trust,
) -> Option<Statement> {
    let (kind, is_static, confidence) = rate_sign(reading.meaning);
    let is_assistant = passage.role == Role::Assistant;
    // Of an assistant, only promises for a day are kept, not how it is going to answer.
    let is_plan = matches!(reading.meaning, CueMeaning::Plan | CueMeaning::Decide);
    if is_assistant && (!is_plan || reading.days.is_none()) {
        return None;
    }

    let topic = build_topic(language, passage, lower, &reading);
    let text = format_statement(passage, &unit.text);
    Some(Statement {
        text: add_days(text, reading.days),
        start: unit.start,
        end: unit.end,
        kind,
        is_static,
        confidence: if is_assistant {
            confidence * 0.7
        } else {
            confidence
        },
        trust,
        speaker: passage.speaker.map(str::to_owned),
        attribution: None,
        said_at: passage.said_at,
        event: reading.days.and_then(DayRange::to_period),
        forget_after: None,
        forget_reason: None,
        topic,
        aspects: Vec::new(),
        retraction: None,
        metadata: serde_json::Map::new(),
    })
}

/// Adds the days to a text that does not give them in digits.
pub(super) fn add_days(text: String, days: Option<DayRange>) -> String {
    match days.map(DayRange::format_label) {
        Some(label) if !text.contains(&label) => format!("{text} ({label})"),
        _ => text,
    }
}

/// Returns the kind of a statement, whether it lasts, and its confidence.
fn rate_sign(meaning: CueMeaning) -> (MemoryKind, bool, f32) {
    match meaning {
        CueMeaning::Trait => (MemoryKind::Fact, true, 0.85),
        CueMeaning::Instruct => (MemoryKind::Instruction, true, 0.85),
        CueMeaning::Like | CueMeaning::Dislike | CueMeaning::Favourite => {
            (MemoryKind::Preference, true, 0.85)
        }
        CueMeaning::Prefer => (MemoryKind::Preference, true, 0.8),
        CueMeaning::Opinion => (MemoryKind::Preference, false, 0.7),
        CueMeaning::Decide => (MemoryKind::Decision, false, 0.85),
        CueMeaning::Plan => (MemoryKind::Plan, false, 0.8),
        CueMeaning::Dated => (MemoryKind::Plan, false, 0.65),
        CueMeaning::Happened => (MemoryKind::Event, false, 0.65),
        CueMeaning::Property => (MemoryKind::Fact, false, 0.8),
        CueMeaning::State => (MemoryKind::Fact, false, 0.65),
        CueMeaning::Weak | CueMeaning::Noise => (MemoryKind::Fact, false, 0.5),
    }
}

fn build_topic(
    language: &LanguageRules,
    passage: &Passage<'_>,
    lower: &str,
    reading: &RuleReading,
) -> Option<Topic> {
    let capture_text = |range: Option<std::ops::Range<usize>>| range.map(|range| &lower[range]);
    let value = match reading.constant {
        Some(constant) => constant.to_owned(),
        None => parse_answer(language, capture_text(reading.cue_match.answer())?)?,
    };
    let property = || parse_subject(language, capture_text(reading.cue_match.property())?);
    let negated = reading.meaning == CueMeaning::Dislike
        || (reading.meaning == CueMeaning::Trait
            && language
                .negations
                .iter()
                .any(|word| find_word(lower, word).is_some()));
    let attribute = match reading.meaning {
        CueMeaning::Like | CueMeaning::Dislike => format!("likes {value}"),
        CueMeaning::Prefer => {
            let mut pair = [property()?, value.clone()];
            pair.sort();
            format!("prefers {}", pair.join(" / "))
        }
        CueMeaning::Favourite => format!("favourite {}", property()?),
        CueMeaning::Trait | CueMeaning::Property | CueMeaning::Weak | CueMeaning::Instruct => {
            match reading.attribute {
                "" => return None,
                "kin" => reading.cue_match.kinship?.to_owned(),
                "property" => property()?,
                "allergy to" => format!("allergy to {value}"),
                attribute => attribute.to_owned(),
            }
        }
        _ => return None,
    };

    let speaker = || {
        passage
            .speaker
            .map_or_else(|| "user".to_owned(), str::to_lowercase)
    };
    let subject = match capture_text(reading.cue_match.subject()) {
        None => speaker(),
        Some(words) => match parse_subject(language, words)? {
            name if is_speaker(language, &name) => speaker(),
            name if language.anaphors.contains(&name.as_str()) => return None,
            name => name,
        },
    };

    Some(Topic {
        subject,
        attribute,
        value,
        negated,
    })
}

fn begins_with_word(lower: &str, word: &str) -> bool {
    strip_word(lower, word).is_some()
}

fn ends_with_word(lower: &str, word: &str) -> bool {
    let text = lower.trim_end_matches(|c: char| !c.is_alphanumeric());
    text.strip_suffix(word).is_some_and(|rest| {
        word.starts_with(is_unspaced)
            || rest
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric())
    })
}
