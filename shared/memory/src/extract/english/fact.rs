//! Facts about things.

use domain::MemoryKind;

use super::classes::{JUDGING, is};
use super::grammar::{Reading, Who};
use super::lexicon::content;
use super::words::Clause;
use super::{Draft, Env};

/// Drafts a statement about something named or definite.
pub(crate) fn draft(reading: Reading<'_>, env: &Env<'_>) -> Option<Draft> {
    let rest = reading.rest();
    let much = rest.words.iter().filter(|word| content(word.low)).count();
    let later = reading.verb.future || rest.find("by then").is_some();
    if reading.verb.modal || later || much == 0 || reading.who == Who::Listener {
        return None;
    }

    let fact = |confidence: f32| {
        Some(Draft::new(MemoryKind::Fact, confidence).lasting(!reading.verb.past))
    };

    let firm = rest.words.iter().any(|word| word.number()) || names(rest) > 0;
    if env.marked {
        return fact(0.75);
    }

    let general =
        matches!(reading.who, Who::Plain | Who::Definite) && !env.chat && !reading.verb.past;
    let goes_on = general
        || reading.who == Who::Pronoun
            && !matches!(reading.clause.low(0), "this" | "that" | "there" | "here");
    if env.after_opinion && goes_on {
        return Some(Draft::new(MemoryKind::Preference, 0.5).opinion());
    }

    if matches!(reading.who, Who::Speaker | Who::Group) {
        return lasting_state(reading, much).then(|| Draft::new(MemoryKind::Fact, 0.6));
    }

    fact(of_thing(reading, env, much, firm)?)
}

/// Returns the confidence of a statement about a thing, or `None` if it says too little.
fn of_thing(reading: Reading<'_>, env: &Env<'_>, much: usize, firm: bool) -> Option<f32> {
    let rest = reading.rest();
    let judged = judges(rest);
    let (tells, confidence) = match reading.who {
        Who::Named if env.chat => (firm && !judged, 0.55),
        Who::Named => (firm || !judged, if firm { 0.65 } else { 0.55 }),
        Who::Definite => {
            let near = firm || names(reading.subject()) > 0 || env.first;
            (near && (numbers(rest) || !judged), 0.55)
        }
        Who::Owned => (!judged && (much >= 2 || firm), 0.6),
        Who::Plain => (
            !judged && (numbers(rest) || (env.first || env.listing) && much >= 2),
            0.5,
        ),
        _ => return None,
    };

    tells.then_some(confidence)
}

/// Checks for lasting states: `I have two cats`, `I've been painting for seven years`,
/// `we own a boat`.
fn lasting_state(reading: Reading<'_>, much: usize) -> bool {
    let rest = reading.rest();
    let vague = super::lexicon::pronoun(rest.low(0));
    match reading.verb.base {
        "have" | "own" | "use" | "run" | "speak" | "play" | "teach" | "study" | "volunteer"
        | "practice" | "collect" | "keep" | "drive" => {
            !vague
                && much >= 1
                && rest.low(0) != "to"
                && !matches!(rest.low(0), "a" if matches!(rest.low(1), "great" | "good" | "blast" | "question"))
        }
        "work" | "go" | "live" | "train" | "help" | "create" | "make" => !vague && much >= 2,
        "be" => much >= 2 && numbers(rest),
        _ => false,
    }
}

/// Counts the words that are names: capitalized words after the first one.
fn names(clause: Clause<'_>) -> usize {
    clause
        .words
        .iter()
        .skip(1)
        .filter(|word| word.capital() && word.low != "i")
        .count()
}

fn numbers(clause: Clause<'_>) -> bool {
    const WORDS: &[&str] = &[
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    clause
        .words
        .iter()
        .any(|word| word.number() || WORDS.contains(&word.low))
}

/// Checks whether the clause judges rather than informs: `better`, `tighter`, `great`.
pub(crate) fn judges(clause: Clause<'_>) -> bool {
    clause.words.iter().any(|word| is(word.low, JUDGING))
}
