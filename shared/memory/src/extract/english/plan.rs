//! Plans and promises of a person, and their cancellations.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::lexicon::{base, content, determiner, preposition, pronoun};
use super::lists::{List, Phrases};
use super::topic::{Known, object, phrase_key, says};
use super::words::Clause;
use super::{Draft, Env};

const INTENDING: &[&str] = &[
    "plan", "intend", "aim", "promise", "commit", "pledge", "schedule", "book", "hope",
];

/// Verbs for things that are hoped, tried or only said to be polite. They commit nobody.
static IDLE: List = List::new(
    "be try see let get think know say tell forget stay miss love admit keep support explain remember",
);
/// Predicates of somebody who will do something.
static BOUND: Phrases =
    Phrases::new("committed to;determined to;due to;set to;scheduled to;excited to;ready to");

/// Returns the topic of a plan: what is to be done.
pub(crate) fn known(reading: Reading<'_>, subject: &str) -> Option<Known> {
    if !reading.person() && reading.who != Who::Pronoun {
        return None;
    }

    let rest = reading.rest();
    let denied = reading.verb.negated || super::identity::no_longer(reading);
    let (action, negated) = if reading.verb.future {
        (reading.clause.from(reading.verb.main), denied)
    } else {
        match reading.verb.base {
            "plan" | "intend" | "hope" | "aim" => {
                let at = rest.any(0, &["to", "on"])?;
                (rest.from(at), denied)
            }
            "decide" => return trip(reading, subject).or_else(|| outcome(reading, subject)),
            "cancel"
                if object(rest, 0)
                    .words
                    .iter()
                    .any(|word| super::occasion::is_event(word.low)) =>
            {
                return None;
            }
            "cancel" => (rest, true),
            _ => return None,
        }
    };

    let key = if reading.verb.base == "cancel" && !reading.verb.future {
        phrase_key(object(rest, 0))
    } else {
        key(action)?
    };

    let known = Known::new(
        subject.to_owned(),
        &format!("plans {key}"),
        key,
        MemoryKind::Plan,
        false,
    )?;
    Some(known.negated(negated))
}

/// Returns the topic of `decided to go to Norway this summer`: one destination at a time.
fn trip(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let denied = rest.phrase(0, "not").is_some();
    let at = rest.from(usize::from(denied)).any(
        0,
        &[
            "to go to",
            "to travel to",
            "to fly to",
            "to visit",
            "to spend",
            "against going to",
            "to drive to",
            "to move to",
        ],
    )?;

    let rest = rest.from(at + usize::from(denied));
    let place = object(rest, 0);
    let capital = place.words.iter().all(|word| word.capital()) && place.len() > 0;
    let after = rest.from(usize::from(determiner(rest.low(0))) + place.len());
    let (word, when) = match after.low(0) {
        "this" | "next" | "in" | "for" => (after.low(1), after.to(2)),
        _ => return None,
    };
    let long = super::super::dates::is_season_or_month(word)
        || matches!(
            word,
            "year" | "weekend" | "holiday" | "christmas" | "easter"
        );
    let known = Known::new(
        subject.to_owned(),
        &format!("destination {}", phrase_key(when)),
        phrase_key(place),
        MemoryKind::Decision,
        false,
    )?;

    (capital && long).then(|| known.negated(denied))
}

/// Returns the topic of `decided to paint the kitchen green`: how the thing is to be.
fn outcome(reading: Reading<'_>, subject: &str) -> Option<Known> {
    let rest = reading.rest();
    let verb = base(rest.low(1));
    let what = object(rest, 3);
    let opened =
        rest.low(0) == "to" && matches!(rest.low(2), "the" | "our" | "my") && !verb.is_empty();
    let plain = !what.words.iter().any(|word| preposition(word.low));
    if !opened || !plain || !matches!(what.len(), 2 | 3) {
        return None;
    }

    let attribute = format!("{verb} {}", what.low(0));
    let value = phrase_key(what.from(1));

    Known::new(
        subject.to_owned(),
        &attribute,
        value,
        MemoryKind::Decision,
        false,
    )
}

/// Returns a verb in its base form with its object.
fn key(action: Clause<'_>) -> Option<String> {
    let verb = base(action.low(0));
    let preposition = usize::from(matches!(
        action.low(1),
        "to" | "in" | "with" | "for" | "on" | "at"
    ));
    let what = phrase_key(object(action, 1 + preposition).to(5));
    (!verb.is_empty() && verb != "be" && says(&what)).then(|| format!("{verb} {what}"))
}

/// Drafts a statement of what will be done.
pub(crate) fn draft(reading: Reading<'_>, env: &Env<'_>, dated: bool) -> Option<Draft> {
    let rest = reading.rest();
    let much = rest.words.iter().filter(|word| content(word.low)).count();
    let plan = |confidence| Some(Draft::new(MemoryKind::Plan, confidence));
    if rest.find("by then").is_some() {
        return None;
    }

    if !reading.person() {
        let things = reading.verb.future && dated && reading.who != Who::Listener;
        return if things { plan(0.6) } else { None };
    }

    if much == 0 || pronoun(rest.low(0)) && much < 2 {
        return None;
    }

    let negated = reading.verb.negated;
    if reading.verb.future {
        let idle = IDLE.has(reading.verb.base);
        let firm = dated || much >= 2 || rest.words.iter().any(|word| word.capital());
        return if idle && !dated || !firm {
            None
        } else {
            plan(0.75)
        };
    }

    let taken_back = negated && !reading.verb.past && reading.is(&["plan", "intend"]);
    if reading.is(INTENDING)
        && !reading.verb.modal
        && (!negated || taken_back)
        && reading.verb.base != "hope"
    {
        return plan(if reading.is(&["promise", "commit", "pledge"]) {
            0.85
        } else {
            0.75
        });
    }

    if reading.verb.base == "be" && much >= 3 && BOUND.end(rest, 0).is_some() {
        return plan(0.6);
    }

    if reading.verb.progressive && !reading.verb.past && reading.who == Who::Elided {
        return if much >= 2 && !env.chat {
            plan(0.65)
        } else {
            None
        };
    }

    let coming = dated && reading.verb.progressive && !reading.verb.past;
    let due =
        !reading.verb.past && reading.is(&["need", "have"]) && rest.low(0) == "to" && much >= 3;
    if coming || due && dated {
        return plan(0.7);
    }

    if reading.verb.past && reading.is(&["cancel", "postpone", "reschedule"]) {
        return plan(0.7);
    }

    said_yes(reading).then(|| Draft::new(MemoryKind::Plan, 0.75))
}

/// Checks for a promise: `Confirmed I'll be there`, `said yes — committed to one round`.
fn said_yes(reading: Reading<'_>) -> bool {
    let rest = reading.rest();
    match reading.verb.base {
        "confirm" => rest
            .find_any(&["i 'll", "i will", "we 'll", "we will"])
            .is_some_and(|(at, _)| at < 2),
        "say" => {
            rest.low(0) == "yes"
                && rest
                    .words
                    .iter()
                    .any(|word| INTENDING.contains(&base(word.low)))
        }
        "agree" => rest.low(0) == "to",
        _ => false,
    }
}
