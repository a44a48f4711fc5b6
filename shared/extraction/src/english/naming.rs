//! Names of persons and things.

use super::ClauseContext;
use super::grammar::{ParsedClause, SubjectKind};
use super::identity::{parse_name, relation_attribute};
use super::topic::{KnownTopic, phrase_key};
use super::words::Clause;

/// Returns the topic of `Everyone calls me Bee`, `I go by Bee`, `my dog is called Rex` and
/// `our band is called Seven Spoons`.
pub(crate) fn naming_topic(
    parsed: ParsedClause<'_>,
    subject: &str,
    context: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let (rest, verb) = (parsed.rest(), parsed.verb);
    if verb.modal || verb.future || verb.past && !verb.passive {
        return None;
    }

    let speaker = context.speaker_key.to_lowercase();
    let known_topic = match verb.base {
        "call" if verb.passive => passive_topic(parsed, subject, &speaker),
        "call" if matches!(rest.lower_at(0), "me" | "us") => {
            KnownTopic::fact(speaker, "nickname", parse_name(rest, 1)?)
        }
        "be" if parsed.subject_kind == SubjectKind::Named => inverse_topic(parsed, &speaker),
        "go" if parsed.someone() => KnownTopic::fact(
            subject.to_owned(),
            "nickname",
            parse_name(rest, rest.match_phrase(0, "by")?)?,
        ),
        _ => None,
    };

    known_topic.map(|known_topic| known_topic.with_negation(verb.negated))
}

/// Returns the topic of `Paula is my girlfriend`.
fn inverse_topic(parsed: ParsedClause<'_>, speaker: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    let at = usize::from(matches!(rest.lower_at(1), "new" | "own" | "little" | "big"));
    let is_end = rest
        .words
        .get(at + 2)
        .is_none_or(|word| word.is_punctuation || matches!(word.lower, "now" | "and" | "who"));
    let is_owned = matches!(rest.lower_at(0), "my" | "our") && is_end;
    let name = is_owned.then(|| parse_name(parsed.subject(), 0))??;
    KnownTopic::fact(
        speaker.to_owned(),
        relation_attribute(rest.lower_at(at + 1))?,
        name,
    )
}

fn passive_topic(parsed: ParsedClause<'_>, subject: &str, speaker: &str) -> Option<KnownTopic> {
    let rest = parsed.rest();
    match parsed.subject_kind {
        SubjectKind::Owned => {
            let last = parsed.subject().words.last()?.lower;
            match relation_attribute(last) {
                Some(attribute) => {
                    KnownTopic::fact(speaker.to_owned(), attribute, parse_name(rest, 0)?)
                }
                None => KnownTopic::fact(subject.to_owned(), "name", given_name(rest)?),
            }
        }
        SubjectKind::Named | SubjectKind::Definite => {
            KnownTopic::fact(subject.to_owned(), "name", given_name(rest)?)
        }
        _ => None,
    }
}

/// Returns the name that was given: capitalized names, otherwise the first word.
fn given_name(rest: Clause<'_>) -> Option<String> {
    parse_name(rest, 0)
        .or_else(|| Some(phrase_key(rest.until_index(1))).filter(|name| !name.is_empty()))
}

/// Returns the names at the end of a subject that first says who they are:
/// `my neighbour Mrs. Pohl`, `our friend Bob`.
pub(crate) fn trailing_name(subject: Clause<'_>) -> Option<String> {
    let names = subject
        .words
        .iter()
        .rev()
        .take_while(|word| word.is_capitalized())
        .count();
    let first = subject.len() - names;
    let description = subject.until_index(first).from(1);
    let is_plain = description
        .words
        .iter()
        .all(|word| !word.is_capitalized() && !word.is_punctuation && word.lower != "'s");
    let is_close = description.len() > 0
        && !description
            .words
            .iter()
            .any(|word| super::lexicon::is_preposition(word.lower));

    (names > 0 && is_plain && is_close).then(|| phrase_key(subject.from(first)))
}
