//! Names of persons and things.

use super::Env;
use super::grammar::{Reading, Who};
use super::identity::{name_at, relation};
use super::topic::{Known, phrase_key};
use super::words::Clause;

/// Returns the topic of `Everyone calls me Bee`, `I go by Bee`, `my dog is called Rex` and
/// `our band is called Seven Spoons`.
pub(crate) fn known(reading: Reading<'_>, subject: &str, env: &Env<'_>) -> Option<Known> {
    let (rest, verb) = (reading.rest(), reading.verb);
    if verb.modal || verb.future || verb.past && !verb.passive {
        return None;
    }

    let speaker = env.key.to_lowercase();
    let known = match verb.base {
        "call" if verb.passive => passive(reading, subject, &speaker),
        "call" if matches!(rest.low(0), "me" | "us") => {
            Known::fact(speaker, "nickname", name_at(rest, 1)?)
        }
        "be" if reading.who == Who::Named => inverse(reading, &speaker),
        "go" if reading.someone() => Known::fact(
            subject.to_owned(),
            "nickname",
            name_at(rest, rest.phrase(0, "by")?)?,
        ),
        _ => None,
    };

    known.map(|known| known.negated(verb.negated))
}

/// Returns the topic of `Paula is my girlfriend`.
fn inverse(reading: Reading<'_>, speaker: &str) -> Option<Known> {
    let rest = reading.rest();
    let at = usize::from(matches!(rest.low(1), "new" | "own" | "little" | "big"));
    let ends = rest
        .words
        .get(at + 2)
        .is_none_or(|word| word.mark || matches!(word.low, "now" | "and" | "who"));
    let own = matches!(rest.low(0), "my" | "our") && ends;
    let name = own.then(|| name_at(reading.subject(), 0))??;
    Known::fact(speaker.to_owned(), relation(rest.low(at + 1))?, name)
}

fn passive(reading: Reading<'_>, subject: &str, speaker: &str) -> Option<Known> {
    let rest = reading.rest();
    match reading.who {
        Who::Owned => {
            let last = reading.subject().words.last()?.low;
            match relation(last) {
                Some(attribute) => Known::fact(speaker.to_owned(), attribute, name_at(rest, 0)?),
                None => Known::fact(subject.to_owned(), "name", given(rest)?),
            }
        }
        Who::Named | Who::Definite => Known::fact(subject.to_owned(), "name", given(rest)?),
        _ => None,
    }
}

/// Returns the name that was given: capitalized names, otherwise the first word.
fn given(rest: Clause<'_>) -> Option<String> {
    name_at(rest, 0).or_else(|| Some(phrase_key(rest.to(1))).filter(|name| !name.is_empty()))
}

/// Returns the names at the end of a subject that first says who they are:
/// `my neighbour Mrs. Pohl`, `our friend Bob`.
pub(crate) fn named_last(subject: Clause<'_>) -> Option<String> {
    let names = subject
        .words
        .iter()
        .rev()
        .take_while(|word| word.capital())
        .count();
    let first = subject.len() - names;
    let told = subject.to(first).from(1);
    let plain = told
        .words
        .iter()
        .all(|word| !word.capital() && !word.mark && word.low != "'s");
    let close = told.len() > 0
        && !told
            .words
            .iter()
            .any(|word| super::lexicon::preposition(word.low));

    (names > 0 && plain && close).then(|| phrase_key(subject.from(first)))
}
