//! Verbs with their auxiliaries.

use super::grammar::{Who, skip_adverbs};
use super::lexicon::{Form, adverb, auxiliary, modal, verb};
use super::words::Clause;

/// A verb with its auxiliaries and negations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Group {
    /// The index of the first word.
    pub(crate) first: usize,
    /// The index of the main verb, which is a form of `be` when that links.
    pub(crate) main: usize,
    /// The base form of the main verb, or empty if the verb is not known.
    pub(crate) base: &'static str,
    /// True if it is still to come: `will`, `going to`.
    pub(crate) future: bool,
    /// True for `would`, `could`, `might` and other modal verbs.
    pub(crate) modal: bool,
    /// True for the past tense and `used to`.
    pub(crate) past: bool,
    /// True for `used to`: it is no longer so.
    pub(crate) used: bool,
    /// True for `have done`.
    pub(crate) perfect: bool,
    /// True for `is doing`.
    pub(crate) progressive: bool,
    /// True for `is done`.
    pub(crate) passive: bool,
    /// True for `not` and `never`.
    pub(crate) negated: bool,
}

/// Returns the verb at `first` with its auxiliaries.
pub(super) fn group(clause: Clause<'_>, first: usize, who: Who) -> Option<Group> {
    let mut group = Group {
        first,
        negated: clause.low(first.saturating_sub(1)) == "never"
            || first > 1 && clause.phrase(first - 2, "no longer").is_some(),
        ..Group::default()
    };

    if first >= clause.len() {
        return None;
    }

    let mut at = skip(clause, first, &mut group);
    for _ in 0..6 {
        match auxiliary_at(clause, at, &mut group) {
            Some(next) => at = skip(clause, next, &mut group),
            None => break,
        }
    }

    let (base, form) = verb(clause.low(at)).unwrap_or(("", Form::Base));
    let base = match clause.low(at) {
        "'s" | "'m" | "'re" => "be",
        "'ve" | "has" => "have",
        _ => base,
    };
    let has_got = got(clause, at, &group);
    let base = if has_got { "have" } else { base };
    group.perfect &= !has_got;
    let unknown = base.is_empty() && form == Form::Base;
    if clause.words.get(at).is_none_or(|word| word.mark)
        || unknown
            && !matches!(
                who,
                Who::Speaker | Who::Group | Who::Pronoun | Who::Listener
            )
    {
        return None;
    }

    group.main = at;
    group.base = base;
    let finite_past = form == Form::Past && !group.passive && !group.perfect && !has_got;
    group.past |= finite_past && !group.future && !group.modal;
    group.progressive |= form == Form::Ing && who == Who::Elided;

    Some(group)
}

/// Checks whether `have got` says what somebody has rather than received: `I've got two cats`.
fn got(clause: Clause<'_>, at: usize, group: &Group) -> bool {
    let counted = matches!(
        clause.low(at + 1),
        "a" | "an" | "one" | "two" | "three" | "four" | "five" | "no"
    );
    let received = clause
        .from(at)
        .to(8)
        .has(&["job", "offer", "position", "promotion", "role"]);
    clause.low(at) == "got" && group.perfect && !group.past && counted && !received
}

/// Skips adverbs and negations, and notes the negations in `group`.
fn skip(clause: Clause<'_>, mut at: usize, group: &mut Group) -> usize {
    loop {
        match clause.low(at) {
            "not" | "n't" | "never" => group.negated = true,
            "no" if clause.low(at + 1) == "longer" => {
                group.negated = true;
                at += 1;
            }
            low if adverb(low) => {}
            _ => return at,
        }
        at += 1;
    }
}

/// Notes the auxiliary at `at` in `group` and returns the index after it. Returns `None` if the
/// word is not an auxiliary.
fn auxiliary_at(clause: Clause<'_>, at: usize, group: &mut Group) -> Option<usize> {
    let low = clause.low(at);
    let mut probe = *group;
    let next = skip(clause, at + 1, &mut probe);
    let form = verb(clause.low(next)).map(|(_, form)| form);
    let verbal = form.is_some() || auxiliary(clause.low(next)) || clause.low(next) == "be";
    match low {
        "will" | "'ll" | "shall" => group.future = true,
        _ if modal(low) => group.modal = true,
        "'d" if form == Some(Form::Past) => group.perfect = true,
        "'d" => group.modal = true,
        "have" | "has" | "had" | "'ve" | "having" if form == Some(Form::Past) => {
            group.perfect = true;
            group.past |= low == "had";
        }
        "do" | "does" | "did" if form == Some(Form::Base) || verbal && low != "do" => {
            group.past |= low == "did"
        }
        "used" if clause.low(at + 1) == "to" => {
            group.used = true;
            group.past = true;
            return Some(at + 2);
        }
        "gonna" => group.future = true,
        "be" | "am" | "is" | "are" | "was" | "were" | "been" | "being" | "'s" | "'m" | "'re" => {
            let past = matches!(low, "was" | "were");
            group.negated |= probe.negated;
            return linked(clause, next, form, past, group);
        }
        _ => return None,
    }

    Some(at + 1)
}

/// Notes what follows a form of `be`: `going to`, a progressive or a passive. Returns `None` if the
/// form of `be` links.
fn linked(
    clause: Clause<'_>,
    next: usize,
    form: Option<Form>,
    past: bool,
    group: &mut Group,
) -> Option<usize> {
    group.past |= past;
    if let Some(end) = clause
        .any(next, &["going to", "about to"])
        .filter(|end| future_verb(clause, *end))
    {
        group.future = true;
        return Some(end);
    }

    match form {
        _ if clause.low(next) == "gonna" => {
            group.future = true;
            return Some(next + 1);
        }
        Some(Form::Ing) if clause.low(next) != "being" => group.progressive = true,
        Some(Form::Past) => group.passive = true,
        _ => return None,
    }

    Some(next)
}

fn future_verb(clause: Clause<'_>, at: usize) -> bool {
    let at = skip_adverbs(clause, at);
    clause.low(at) == "be" || matches!(verb(clause.low(at)), Some((_, Form::Base)))
}
