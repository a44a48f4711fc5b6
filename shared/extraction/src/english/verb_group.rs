//! Verbs with their auxiliaries.

use super::grammar::{SubjectKind, skip_adverbs};
use super::lexicon::{VerbForm, is_adverb, is_auxiliary, is_modal, parse_verb};
use super::words::Clause;

/// A verb with its auxiliaries and negations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VerbGroup {
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
    pub(crate) used_to: bool,
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
pub(super) fn parse_verb_group(
    clause: Clause<'_>,
    first: usize,
    subject_kind: SubjectKind,
) -> Option<VerbGroup> {
    let mut group = VerbGroup {
        first,
        negated: clause.lower_at(first.saturating_sub(1)) == "never"
            || first > 1 && clause.match_phrase(first - 2, "no longer").is_some(),
        ..VerbGroup::default()
    };

    if first >= clause.len() {
        return None;
    }

    let mut at = skip_adverbs_and_negations(clause, first, &mut group);
    for _ in 0..6 {
        match note_auxiliary(clause, at, &mut group) {
            Some(next) => at = skip_adverbs_and_negations(clause, next, &mut group),
            None => break,
        }
    }

    let (base, form) = parse_verb(clause.lower_at(at)).unwrap_or(("", VerbForm::Base));
    let base = match clause.lower_at(at) {
        "'s" | "'m" | "'re" => "be",
        "'ve" | "has" => "have",
        _ => base,
    };
    let has_got = is_have_got(clause, at, &group);
    let base = if has_got { "have" } else { base };
    group.perfect &= !has_got;
    let is_unknown = base.is_empty() && form == VerbForm::Base;
    if clause.words.get(at).is_none_or(|word| word.is_punctuation)
        || is_unknown
            && !matches!(
                subject_kind,
                SubjectKind::Speaker
                    | SubjectKind::Group
                    | SubjectKind::Pronoun
                    | SubjectKind::Listener
            )
    {
        return None;
    }

    group.main = at;
    group.base = base;
    let is_finite_past = form == VerbForm::Past && !group.passive && !group.perfect && !has_got;
    group.past |= is_finite_past && !group.future && !group.modal;
    group.progressive |= form == VerbForm::Ing && subject_kind == SubjectKind::Elided;

    Some(group)
}

/// Checks whether `have got` says what somebody has rather than received: `I've got two cats`.
fn is_have_got(clause: Clause<'_>, at: usize, group: &VerbGroup) -> bool {
    let has_count = matches!(
        clause.lower_at(at + 1),
        "a" | "an" | "one" | "two" | "three" | "four" | "five" | "no"
    );
    let is_received = clause.from(at).until_index(8).contains_any(&[
        "job",
        "offer",
        "position",
        "promotion",
        "role",
    ]);
    clause.lower_at(at) == "got" && group.perfect && !group.past && has_count && !is_received
}

/// Skips adverbs and negations, and notes the negations in `group`.
fn skip_adverbs_and_negations(clause: Clause<'_>, mut at: usize, group: &mut VerbGroup) -> usize {
    loop {
        match clause.lower_at(at) {
            "not" | "n't" | "never" => group.negated = true,
            "no" if clause.lower_at(at + 1) == "longer" => {
                group.negated = true;
                at += 1;
            }
            lower if is_adverb(lower) => {}
            _ => return at,
        }
        at += 1;
    }
}

/// Notes the auxiliary at `at` in `group` and returns the index after it. Returns `None` if the
/// word is not an auxiliary.
fn note_auxiliary(clause: Clause<'_>, at: usize, group: &mut VerbGroup) -> Option<usize> {
    let lower = clause.lower_at(at);
    let mut lookahead = *group;
    let next = skip_adverbs_and_negations(clause, at + 1, &mut lookahead);
    let form = parse_verb(clause.lower_at(next)).map(|(_, form)| form);
    let has_verb =
        form.is_some() || is_auxiliary(clause.lower_at(next)) || clause.lower_at(next) == "be";
    match lower {
        "will" | "'ll" | "shall" => group.future = true,
        _ if is_modal(lower) => group.modal = true,
        "'d" if form == Some(VerbForm::Past) => group.perfect = true,
        "'d" => group.modal = true,
        "have" | "has" | "had" | "'ve" | "having" if form == Some(VerbForm::Past) => {
            group.perfect = true;
            group.past |= lower == "had";
        }
        "do" | "does" | "did" if form == Some(VerbForm::Base) || has_verb && lower != "do" => {
            group.past |= lower == "did"
        }
        "used" if clause.lower_at(at + 1) == "to" => {
            group.used_to = true;
            group.past = true;
            return Some(at + 2);
        }
        "gonna" => group.future = true,
        "be" | "am" | "is" | "are" | "was" | "were" | "been" | "being" | "'s" | "'m" | "'re" => {
            let past = matches!(lower, "was" | "were");
            group.negated |= lookahead.negated;
            return note_linked_verb(clause, next, form, past, group);
        }
        _ => return None,
    }

    Some(at + 1)
}

/// Notes what follows a form of `be`: `going to`, a progressive or a passive. Returns `None` if the
/// form of `be` links.
fn note_linked_verb(
    clause: Clause<'_>,
    next: usize,
    form: Option<VerbForm>,
    past: bool,
    group: &mut VerbGroup,
) -> Option<usize> {
    group.past |= past;
    if let Some(end) = clause
        .match_any(next, &["going to", "about to"])
        .filter(|end| future_verb(clause, *end))
    {
        group.future = true;
        return Some(end);
    }

    match form {
        _ if clause.lower_at(next) == "gonna" => {
            group.future = true;
            return Some(next + 1);
        }
        Some(VerbForm::Ing) if clause.lower_at(next) != "being" => group.progressive = true,
        Some(VerbForm::Past) => group.passive = true,
        _ => return None,
    }

    Some(next)
}

fn future_verb(clause: Clause<'_>, at: usize) -> bool {
    let at = skip_adverbs(clause, at);
    clause.lower_at(at) == "be"
        || matches!(parse_verb(clause.lower_at(at)), Some((_, VerbForm::Base)))
}
