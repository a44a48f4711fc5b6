//! Extraction of statements from a sentence with the tables of its language.

use std::cell::LazyCell;

use domain::{MemoryKind, Period, Statement, Topic, Trust};

use super::answers::{answer, is_clause, is_first, strip_word, subject, word_at};
use super::calendar::{self, Side};
use super::cue::{Found, is_unspaced};
use super::wording::{lower, plain, tidy, without, wording};
use super::{Compiled, Language, Rule, Sign};
use crate::extract::sentences::Sentence;
use crate::extract::{Passage, Role};

/// A part of the passage that may state something: a sentence or a clause of it.
struct Unit {
    /// The text as written, which can be understood alone.
    text: String,
    start: usize,
    end: usize,
}

/// The result of matching a rule against a unit.
struct Reading {
    sign: Sign,
    about: &'static str,
    found: Found,
    event: Option<Period>,
}

/// Extracts the statements of a sentence.
pub(super) fn read(
    tables: &Compiled,
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    trust: Trust,
) -> Vec<Statement> {
    let language = tables.language;
    let whole = tidy(sentence.text);
    if whole.ends_with(['?', '？', '؟']) {
        return Vec::new();
    }

    let (text, lower) = without(language.fillers, &whole);
    if language
        .questions
        .split('|')
        .any(|word| !word.is_empty() && ends_with(&lower, word))
    {
        return Vec::new();
    }

    let clauses = identity_clauses(tables, passage, sentence, text, trust);
    if clauses.len() > 1 {
        return clauses;
    }

    let plain = plain(language, &whole, text, &lower);
    let unit = Unit {
        text: plain.to_owned(),
        start: sentence.start,
        end: sentence.end,
    };

    let reading = reading(tables, passage, text, &lower);
    reading
        .and_then(|reading| statement(language, passage, unit, &lower, reading, trust))
        .into_iter()
        .collect()
}

/// Returns one statement for each clause, if several clauses each state a trait.
fn identity_clauses(
    tables: &Compiled,
    passage: &Passage<'_>,
    sentence: &Sentence<'_>,
    text: &str,
    trust: Trust,
) -> Vec<Statement> {
    let parts = clauses(tables.language, text);
    if parts.len() < 2 {
        return Vec::new();
    }

    let is_trait = |sign| sign == Sign::Trait;
    let read = parts.into_iter().filter_map(|part| {
        let lower = lower(part);
        let reading =
            reading(tables, passage, part, &lower).filter(|reading| is_trait(reading.sign))?;
        let (start, end) = place(sentence, part);
        let unit = Unit {
            text: part.to_owned(),
            start,
            end,
        };
        statement(tables.language, passage, unit, &lower, reading, trust)
    });

    read.collect()
}

/// Returns the range of a part within the sentence, or that of the whole sentence if its spaces
/// differ from those of the part.
fn place(sentence: &Sentence<'_>, part: &str) -> (usize, usize) {
    match sentence.text.find(part) {
        Some(at) => {
            let start = sentence.start + sentence.text[..at].chars().count();
            (start, start + part.chars().count())
        }
        None => (sentence.start, sentence.end),
    }
}

/// Divides a text into clauses at its joints, such as commas and conjunctions.
fn clauses<'t>(language: &Language, text: &'t str) -> Vec<&'t str> {
    let mut parts = vec![text];
    for joint in language.joints.split('|').filter(|joint| !joint.is_empty()) {
        parts = parts
            .into_iter()
            .flat_map(|part| part.split(joint))
            .collect();
    }
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns the reading of the first rule that matches.
fn reading(tables: &Compiled, passage: &Passage<'_>, text: &str, lower: &str) -> Option<Reading> {
    let language = tables.language;
    let bound = language
        .anaphors
        .split('|')
        .any(|word| begins_with(lower, word));
    let definite = LazyCell::new(|| is_definite(text));

    let period = |side| calendar::period(&language.calendar, lower, passage.said_at, side);
    let ahead = LazyCell::new(|| period(Side::Ahead));
    let behind = LazyCell::new(|| period(Side::Behind));

    for Rule { sign, about, cue } in tables.candidates(lower) {
        if bound && !matches!(sign, Sign::Noise | Sign::Instruct | Sign::Decide) {
            continue;
        }

        if *sign == Sign::Weak && !*definite {
            continue;
        }

        let Some(found) = cue.find(lower, language.kin) else {
            continue;
        };
        if !names_subject(language, lower, *sign, &found) {
            continue;
        }

        let event = side(*sign).and_then(|side| if side == Side::Ahead { *ahead } else { *behind });
        if event.is_none() && matches!(sign, Sign::Dated | Sign::Happened) {
            continue;
        }

        return (*sign != Sign::Noise).then_some(Reading {
            sign: *sign,
            about,
            found,
            event,
        });
    }

    None
}

/// Checks whether the captured subject can be one, if the topic needs a subject.
fn names_subject(language: &Language, lower: &str, sign: Sign, found: &Found) -> bool {
    let needed = matches!(
        sign,
        Sign::Trait | Sign::Like | Sign::Dislike | Sign::Favourite
    );
    let Some(range) = found.subject().filter(|_| needed) else {
        return true;
    };
    subject(language, &lower[range]).is_some_and(|name| !is_clause(language, &name))
}

/// Returns the side on which the dates of a sentence lie, for signs of something that happens.
fn side(sign: Sign) -> Option<Side> {
    match sign {
        Sign::Happened => Some(Side::Behind),
        Sign::Decide | Sign::Plan | Sign::Dated | Sign::Property | Sign::State | Sign::Weak => {
            Some(Side::Ahead)
        }
        Sign::Noise
        | Sign::Instruct
        | Sign::Trait
        | Sign::Like
        | Sign::Dislike
        | Sign::Favourite
        | Sign::Prefer
        | Sign::Opinion => None,
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

fn statement(
    language: &Language,
    passage: &Passage<'_>,
    unit: Unit,
    lower: &str,
    reading: Reading,
    trust: Trust,
) -> Option<Statement> {
    let (kind, is_static, confidence) = weigh(reading.sign);
    let assistant = passage.role == Role::Assistant;
    if assistant && !matches!(reading.sign, Sign::Plan | Sign::Decide) {
        return None;
    }

    let topic = topic(language, passage, lower, &reading);
    let expires = reading
        .event
        .filter(|_| kind == MemoryKind::Plan)
        .map(|event| event.to);

    Some(Statement {
        text: wording(passage, &unit.text),
        start: unit.start,
        end: unit.end,
        kind,
        is_static,
        confidence: if assistant {
            confidence * 0.7
        } else {
            confidence
        },
        trust,
        speaker: passage.speaker.map(str::to_owned),
        attribution: None,
        said_at: passage.said_at,
        event: reading.event,
        forget_after: expires,
        forget_reason: expires.map(|_| "its time has passed".to_owned()),
        topic,
        metadata: serde_json::Map::new(),
    })
}

/// Returns the kind of a statement, whether it lasts, and its confidence.
fn weigh(sign: Sign) -> (MemoryKind, bool, f32) {
    match sign {
        Sign::Trait => (MemoryKind::Fact, true, 0.85),
        Sign::Instruct => (MemoryKind::Instruction, true, 0.85),
        Sign::Like | Sign::Dislike | Sign::Favourite => (MemoryKind::Preference, true, 0.85),
        Sign::Prefer => (MemoryKind::Preference, true, 0.8),
        Sign::Opinion => (MemoryKind::Preference, false, 0.7),
        Sign::Decide => (MemoryKind::Decision, false, 0.85),
        Sign::Plan => (MemoryKind::Plan, false, 0.8),
        Sign::Dated => (MemoryKind::Plan, false, 0.65),
        Sign::Happened => (MemoryKind::Event, false, 0.65),
        Sign::Property => (MemoryKind::Fact, false, 0.8),
        Sign::State => (MemoryKind::Fact, false, 0.65),
        Sign::Weak | Sign::Noise => (MemoryKind::Fact, false, 0.5),
    }
}

fn topic(
    language: &Language,
    passage: &Passage<'_>,
    lower: &str,
    reading: &Reading,
) -> Option<Topic> {
    let taken = |range: Option<std::ops::Range<usize>>| range.map(|range| &lower[range]);
    let (about, constant) = reading.about.split_once('=').unwrap_or((reading.about, ""));
    let value = match constant {
        "" => answer(language, taken(reading.found.answer())?)?,
        constant => constant.to_owned(),
    };
    let property = || subject(language, taken(reading.found.property())?);
    let negated = reading.sign == Sign::Dislike
        || (reading.sign == Sign::Trait
            && language
                .negations
                .split('|')
                .any(|word| word_at(lower, word).is_some()));
    let attribute = match reading.sign {
        Sign::Like | Sign::Dislike => format!("likes {value}"),
        Sign::Prefer => {
            let mut pair = [property()?, value.clone()];
            pair.sort();
            format!("prefers {}", pair.join(" / "))
        }
        Sign::Favourite => format!("favourite {}", property()?),
        Sign::Trait | Sign::Property | Sign::Weak | Sign::Instruct => match about {
            "" => return None,
            "kin" => reading.found.kin?.to_owned(),
            "property" => property()?,
            "allergy to" => format!("allergy to {value}"),
            about => about.to_owned(),
        },
        _ => return None,
    };

    let speaker = || {
        passage
            .speaker
            .map_or_else(|| "user".to_owned(), str::to_lowercase)
    };
    let subject = match taken(reading.found.subject()) {
        None => speaker(),
        Some(words) => match subject(language, words)? {
            name if is_first(language, &name) => speaker(),
            name if language.anaphors.split('|').any(|word| word == name) => return None,
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

fn begins_with(lower: &str, word: &str) -> bool {
    strip_word(lower, word).is_some()
}

fn ends_with(lower: &str, word: &str) -> bool {
    let text = lower.trim_end_matches(|c: char| !c.is_alphanumeric());
    text.strip_suffix(word).is_some_and(|rest| {
        word.starts_with(is_unspaced)
            || rest
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric())
    })
}
