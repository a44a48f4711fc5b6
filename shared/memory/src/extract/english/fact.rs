//! Facts about things.

use domain::MemoryKind;

use super::classes::{JUDGING, is_in_class};
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::is_content_word;
use super::words::Clause;
use super::{ClauseContext, StatementDraft};

/// Drafts a statement about something named or definite.
pub(crate) fn draft_fact(
    reading: ParsedClause<'_>,
    env: &ClauseContext<'_>,
) -> Option<StatementDraft> {
    let rest = reading.rest();
    let much = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.low))
        .count();
    let later = reading.verb.future || rest.find_phrase("by then").is_some();
    if reading.verb.modal || later || much == 0 || reading.who == SubjectKind::Listener {
        return None;
    }

    let fact = |confidence: f32| {
        Some(StatementDraft::new(MemoryKind::Fact, confidence).lasting(!reading.verb.past))
    };

    let firm = rest.words.iter().any(|word| word.is_number()) || count_names(rest) > 0;
    if env.marked {
        return fact(0.75);
    }

    let general = matches!(reading.who, SubjectKind::Plain | SubjectKind::Definite)
        && !env.chat
        && !reading.verb.past;
    let goes_on = general
        || reading.who == SubjectKind::Pronoun
            && !matches!(
                reading.clause.lower_at(0),
                "this" | "that" | "there" | "here"
            );
    if env.after_opinion && goes_on {
        return Some(StatementDraft::new(MemoryKind::Preference, 0.5).opinion());
    }

    if matches!(reading.who, SubjectKind::Speaker | SubjectKind::Group) {
        return is_lasting_state(reading, much).then(|| StatementDraft::new(MemoryKind::Fact, 0.6));
    }

    fact(thing_confidence(reading, env, much, firm)?)
}

/// Returns the confidence of a statement about a thing, or `None` if it says too little.
fn thing_confidence(
    reading: ParsedClause<'_>,
    env: &ClauseContext<'_>,
    much: usize,
    firm: bool,
) -> Option<f32> {
    let rest = reading.rest();
    let judged = is_judgement(rest);
    let (tells, confidence) = match reading.who {
        SubjectKind::Named if env.chat => (firm && !judged, 0.55),
        SubjectKind::Named => (firm || !judged, if firm { 0.65 } else { 0.55 }),
        SubjectKind::Definite => {
            let near = firm || count_names(reading.subject()) > 0 || env.first;
            (near && (has_number(rest) || !judged), 0.55)
        }
        SubjectKind::Owned => (!judged && (much >= 2 || firm), 0.6),
        SubjectKind::Plain => (
            !judged && (has_number(rest) || (env.first || env.listing) && much >= 2),
            0.5,
        ),
        _ => return None,
    };

    tells.then_some(confidence)
}

/// Checks for lasting states: `I have two cats`, `I've been painting for seven years`,
/// `we own a boat`.
fn is_lasting_state(reading: ParsedClause<'_>, much: usize) -> bool {
    let rest = reading.rest();
    let vague = super::lexicon::is_pronoun(rest.lower_at(0));
    match reading.verb.base {
        "have" | "own" | "use" | "run" | "speak" | "play" | "teach" | "study" | "volunteer"
        | "practice" | "collect" | "keep" | "drive" => {
            !vague
                && much >= 1
                && rest.lower_at(0) != "to"
                && !matches!(rest.lower_at(0), "a" if matches!(rest.lower_at(1), "great" | "good" | "blast" | "question"))
        }
        "work" | "go" | "live" | "train" | "help" | "create" | "make" => !vague && much >= 2,
        "be" => much >= 2 && has_number(rest),
        _ => false,
    }
}

/// Counts the words that are names: capitalized words after the first one.
fn count_names(clause: Clause<'_>) -> usize {
    clause
        .words
        .iter()
        .skip(1)
        .filter(|word| word.is_capitalized() && word.low != "i")
        .count()
}

fn has_number(clause: Clause<'_>) -> bool {
    const WORDS: &[&str] = &[
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    clause
        .words
        .iter()
        .any(|word| word.is_number() || WORDS.contains(&word.low))
}

/// Checks whether the clause judges rather than informs: `better`, `tighter`, `great`.
pub(crate) fn is_judgement(clause: Clause<'_>) -> bool {
    clause
        .words
        .iter()
        .any(|word| is_in_class(word.low, JUDGING))
}
