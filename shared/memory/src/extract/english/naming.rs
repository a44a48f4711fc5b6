//! Names of persons and things.

use super::ClauseContext;
use super::grammar::{ParsedClause, SubjectKind};
use super::identity::{parse_name, relation_attribute};
use super::topic::{KnownTopic, phrase_key};
use super::words::Clause;

/// Returns the topic of `Everyone calls me Bee`, `I go by Bee`, `my dog is called Rex` and
/// `our band is called Seven Spoons`.
pub(crate) fn naming_topic(
    reading: ParsedClause<'_>,
    subject: &str,
    env: &ClauseContext<'_>,
) -> Option<KnownTopic> {
    let (rest, verb) = (reading.rest(), reading.verb);
    if verb.modal || verb.future || verb.past && !verb.passive {
        return None;
    }

    let speaker = env.key.to_lowercase();
    let known = match verb.base {
        "call" if verb.passive => passive_topic(reading, subject, &speaker),
        "call" if matches!(rest.lower_at(0), "me" | "us") => {
            KnownTopic::fact(speaker, "nickname", parse_name(rest, 1)?)
        }
        "be" if reading.who == SubjectKind::Named => inverse_topic(reading, &speaker),
        "go" if reading.someone() => KnownTopic::fact(
            subject.to_owned(),
            "nickname",
            parse_name(rest, rest.match_phrase(0, "by")?)?,
        ),
        _ => None,
    };

    known.map(|known| known.with_negation(verb.negated))
}

/// Returns the topic of `Paula is my girlfriend`.
fn inverse_topic(reading: ParsedClause<'_>, speaker: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    let at = usize::from(matches!(rest.lower_at(1), "new" | "own" | "little" | "big"));
    let ends = rest
        .words
        .get(at + 2)
        .is_none_or(|word| word.mark || matches!(word.low, "now" | "and" | "who"));
    let own = matches!(rest.lower_at(0), "my" | "our") && ends;
    let name = own.then(|| parse_name(reading.subject(), 0))??;
    KnownTopic::fact(
        speaker.to_owned(),
        relation_attribute(rest.lower_at(at + 1))?,
        name,
    )
}

fn passive_topic(reading: ParsedClause<'_>, subject: &str, speaker: &str) -> Option<KnownTopic> {
    let rest = reading.rest();
    match reading.who {
        SubjectKind::Owned => {
            let last = reading.subject().words.last()?.low;
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
    let told = subject.until_index(first).from(1);
    let plain = told
        .words
        .iter()
        .all(|word| !word.is_capitalized() && !word.mark && word.low != "'s");
    let close = told.len() > 0
        && !told
            .words
            .iter()
            .any(|word| super::lexicon::is_preposition(word.low));

    (names > 0 && plain && close).then(|| phrase_key(subject.from(first)))
}
