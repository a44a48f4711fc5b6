//! Measures and states of things.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::lexicon::content;
use super::lists::Phrases;
use super::topic::{Known, joined, object, phrase_key, value};
use super::words::Clause;

/// Returns the topic of `The server has 16 GB of RAM`, `costs $5` and `is at 19 °C`.
pub(super) fn measured(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let thing = matches!(reading.who, Who::Definite | Who::Named | Who::Owned)
        || reading.who == Who::Speaker && (reading.verb.base == "weigh" || tall(reading.rest()));
    if !thing || reading.verb.past || reading.verb.future || reading.verb.modal {
        return None;
    }

    let fact = |attribute: &str, value: String| Known::fact(subject.to_owned(), attribute, value);
    let money = matches!(rest.low(0), "$" | "€" | "£");
    let number = rest.words.first()?.number() || money;

    match reading.verb.base {
        "have" if number => {
            let of = rest.find("of").filter(|(at, _)| *at <= 3);
            match of {
                Some((at, end)) => fact(&value(rest, end), joined(rest.to(at))),
                None => fact(
                    &format!("number of {}", phrase_key(object(rest, 1).to(2))),
                    rest.low(0).to_owned(),
                ),
            }
        }
        "cost" => fact("price", value(rest, 0)),
        "weigh" => fact("weight", value(rest, 0)),
        "be" if tall(rest) => fact("height", joined(rest.to(rest.until(0, &["tall"])))),
        "be" if money => fact("price", value(rest, 0)),
        "be" if rest.low(0) == "at" && rest.words.get(1).is_some_and(|word| word.number()) => {
            fact("value", value(rest, 1))
        }
        "run" | "be" if rest.find("version").is_some() => {
            let (_, at) = rest.find("version")?;
            fact("version", value(rest, at))
        }
        _ => None,
    }
}

static STATES: Phrases = Phrases::new(
    "up;down;online;offline;done;finished;complete;completed;ready;blocked;open;closed;broken;fixed;\
     pending;on hold;cancelled;canceled;delayed;live;active;inactive;available;unavailable;on track;\
     behind schedule;in progress;approved;rejected;stable;unstable;deprecated;discontinued;in production;\
     in review;stalled;in beta",
);

/// Returns the topic of `The build is broken` and `the project is on hold`.
pub(super) fn state(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let thing = matches!(reading.who, Who::Definite | Who::Named | Who::Owned);
    if !thing || reading.verb.modal || reading.verb.future {
        return None;
    }

    let from = if reading.verb.passive {
        reading.verb.main
    } else if reading.verb.base == "be" {
        reading.verb.main + 1
    } else {
        return None;
    };

    let rest = reading.clause.from(from);
    let rest = rest.from(rest.phrase(0, "no longer").unwrap_or(0));
    let at = usize::from(matches!(
        rest.low(0),
        "now" | "still" | "currently" | "finally" | "n't" | "not"
    ));
    let ends = |end: usize| {
        rest.words
            .get(end)
            .is_none_or(|next| next.mark || !content(next.low))
    };
    let (state, _) = STATES.standing(rest, at).find(|(_, end)| ends(*end))?;
    let known = Known::new(
        subject.to_owned(),
        "status",
        state.to_owned(),
        MemoryKind::Fact,
        false,
    )?;

    Some(known.negated(reading.verb.negated))
}

/// Checks for `1.80 m tall`.
fn tall(rest: Clause<'_>) -> bool {
    rest.to(5).has(&["tall"]) && rest.words.first().is_some_and(|word| word.number())
}
