//! The subject and the verb of a clause.

use super::lexicon::{
    VerbForm, is_adverb, is_auxiliary, is_determiner, is_modal, is_preposition, parse_verb,
};
use super::verb_group::{VerbGroup, parse_verb_group};
use super::vocabulary::vocabulary;
use super::words::Clause;

/// The kind of subject that a clause has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    /// The speaker: `I`.
    Speaker,
    /// The speaker and others: `we`, `my wife and I`.
    Group,
    /// The person spoken to: `you`.
    Listener,
    /// Something of the speaker's: `my sister`, `our house`.
    Owned,
    /// Somebody or something with a name.
    Named,
    /// Something definite: `the server`, `this year's harvest`.
    Definite,
    /// Anything else: `copper sprays`.
    Plain,
    /// A pronoun that refers to something else: `it`.
    Pronoun,
    /// No subject: the clause begins with its verb.
    Elided,
}

/// A clause with its subject and verb identified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParsedClause<'w> {
    /// All words of the clause.
    pub(crate) clause: Clause<'w>,
    /// The kind of subject.
    pub(crate) subject_kind: SubjectKind,
    /// The index after the subject.
    pub(crate) subject_end: usize,
    /// The verb.
    pub(crate) verb: VerbGroup,
}

impl<'w> ParsedClause<'w> {
    /// Returns the words after the verb and after the negation of `be`.
    pub(crate) fn rest(self) -> Clause<'w> {
        let at = self.verb.main + 1;
        let negations: &[&str] = if self.verb.base == "be" {
            &["not", "n't", "no longer"]
        } else {
            &[]
        };
        self.clause
            .from(self.clause.match_any(at, negations).unwrap_or(at))
    }

    /// Returns the words of the subject.
    pub(crate) fn subject(self) -> Clause<'w> {
        self.clause.until_index(self.subject_end)
    }

    /// Checks whether the main verb is one of `bases`.
    pub(crate) fn is(self, bases: &[&str]) -> bool {
        bases.contains(&self.verb.base)
    }

    /// Checks whether the subject is a person, possibly one to whom a pronoun refers.
    pub(crate) fn someone(self) -> bool {
        self.person()
            || matches!(
                self.subject_kind,
                SubjectKind::Pronoun | SubjectKind::Listener
            )
    }

    /// Checks whether the subject is a person who can be identified.
    pub(crate) fn person(self) -> bool {
        matches!(
            self.subject_kind,
            SubjectKind::Speaker
                | SubjectKind::Group
                | SubjectKind::Named
                | SubjectKind::Owned
                | SubjectKind::Elided
        )
    }
}

/// Finds the subject and the verb of a clause. Returns `None` if it is not a statement.
pub(crate) fn parse_clause(clause: Clause<'_>) -> Option<ParsedClause<'_>> {
    let (subject_kind, first) = find_subject(clause)?;
    let verb = parse_verb_group(clause, first, subject_kind)?;
    let subject_end = if subject_kind == SubjectKind::Elided {
        0
    } else {
        verb.first
    };
    let subject_end = trim_adverbs(clause, subject_end);
    Some(ParsedClause {
        clause,
        subject_kind,
        subject_end,
        verb,
    })
}

/// Returns the end of a subject without the adverbs before its verb.
fn trim_adverbs(clause: Clause<'_>, mut end: usize) -> usize {
    while let Some(adverb_at) = find_adverb_before(clause, end).filter(|before| *before > 0) {
        end = adverb_at;
    }
    end
}

/// Returns the index at which an adverb begins that ends at `end`, if there is one.
pub(super) fn find_adverb_before(clause: Clause<'_>, end: usize) -> Option<usize> {
    let adverb_at = end
        .checked_sub(1)
        .filter(|adverb_at| is_adverb(clause.lower_at(*adverb_at)));
    adverb_at.or_else(|| {
        end.checked_sub(2)
            .filter(|adverb_at| clause.match_phrase(*adverb_at, "no longer").is_some())
    })
}

/// Returns the kind of subject, and the index at which its verb begins.
fn find_subject(clause: Clause<'_>) -> Option<(SubjectKind, usize)> {
    let first = clause.lower_at(0);
    let with_subject = |subject_kind| Some((subject_kind, skip_adverbs(clause, 1)));
    match first {
        "i" | "im" => return with_subject(SubjectKind::Speaker),
        "we" => return with_subject(SubjectKind::Group),
        "you" => return with_subject(SubjectKind::Listener),
        "he" | "she" | "it" | "they" | "there" | "here" => {
            return with_subject(SubjectKind::Pronoun);
        }
        "this" | "that" | "these" | "those" | "his" | "her" | "their" | "its" | "your" | "one"
        | "some" => {
            let at = find_finite_verb(clause, 1)?;
            let has_noun = matches!(first, "this" | "these") && at > 1;
            return Some((
                if has_noun {
                    SubjectKind::Definite
                } else {
                    SubjectKind::Pronoun
                },
                at,
            ));
        }
        _ => {}
    }

    if has_elided_subject(clause) {
        return Some((SubjectKind::Elided, 0));
    }

    let at = find_finite_verb(clause, 1)?;
    if clause.lower_at(at - 1) == "i" {
        return (at > 2 && clause.lower_at(at - 2) == "and").then_some((SubjectKind::Group, at));
    }

    let subject_kind = match first {
        "my" | "our" => SubjectKind::Owned,
        "the" => SubjectKind::Definite,
        _ if clause.lower_at(1) == "'s" || is_name(clause, at) => SubjectKind::Named,
        _ => SubjectKind::Plain,
    };

    Some((subject_kind, at))
}

/// Checks whether the subject that ends at `end` is a name: all of its words are capitalized.
fn is_name(clause: Clause<'_>, end: usize) -> bool {
    let is_capital = |at: usize| clause.words[at].is_capitalized();
    let starts_name =
        is_capital(0) && !is_determiner(clause.lower_at(0)) && !is_preposition(clause.lower_at(0));
    // The first word of a sentence is capitalized in any case. A singular word before a verb is
    // taken for a name.
    let is_plural = clause.lower_at(0).ends_with('s')
        && end > 1
        && clause.words[end.min(clause.len()) - 1].raw.ends_with('s');
    let has_possessive = (1..end).any(|at| clause.lower_at(at) == "'s");
    starts_name
        && (has_possessive
            || (1..end).all(|at| {
                is_capital(at) || clause.lower_at(at) == "and" || is_adverb(clause.lower_at(at))
            }) && (end > 1 || !is_plural))
}

/// Checks whether the word at `at`, which may be a form of a verb, is the first part of a name:
/// `standing order`, `left knee`.
pub(super) fn is_compound_noun(clause: Clause<'_>, at: usize) -> bool {
    let next = clause.lower_at(at + 1);
    if clause.lower_at(at) == "left" {
        return vocabulary().nouns_after_left.has(next);
    }
    clause.lower_at(at).ends_with("ing") && vocabulary().heads_after_ing.has(next)
}

/// Checks whether the clause begins with its verb and leaves out the speaker: `Decided to …`,
/// `Will …`, `Switching to …`.
fn has_elided_subject(clause: Clause<'_>) -> bool {
    let at = skip_adverbs(clause, 0);
    let first = clause.lower_at(at);
    if matches!(first, "will" | "gonna") {
        return true;
    }

    let next_is_noun = is_auxiliary(clause.lower_at(at + 1));

    match parse_verb(first) {
        Some((base, VerbForm::Past)) => {
            !base.is_empty() && base != "be" && !next_is_noun && !is_compound_noun(clause, at)
        }
        Some((_, VerbForm::Ing)) => {
            !next_is_noun
                && !is_compound_noun(clause, at)
                && find_certain_verb(clause, at + 1).is_none_or(|verb| has_break(clause, at, verb))
        }
        Some(("want" | "need" | "prefer" | "love" | "like" | "plan", VerbForm::Base)) => {
            !next_is_noun
                && !matches!(clause.lower_at(at + 1), "and" | ",")
                && find_certain_verb(clause, at + 1).is_none_or(|verb| has_break(clause, at, verb))
        }
        _ => false,
    }
}

/// Checks whether a mark or a conjunction stands between two indexes. The verb after it then does
/// not belong to the words before it.
fn has_break(clause: Clause<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|at| {
        clause.words[at].is_punctuation
            || matches!(
                clause.lower_at(at),
                "and"
                    | "but"
                    | "because"
                    | "that"
                    | "i"
                    | "we"
                    | "they"
                    | "who"
                    | "which"
                    | "if"
                    | "so"
                    | "as"
            )
    })
}

pub(super) fn skip_adverbs(clause: Clause<'_>, mut at: usize) -> usize {
    loop {
        at = match clause.match_phrase(at, "no longer") {
            Some(end) => end,
            None if is_adverb(clause.lower_at(at)) => at + 1,
            None => return at,
        };
    }
}

/// Returns the index of the finite verb in a clause whose subject begins before `from`. If there is
/// no other candidate, an ending `'s` is read as `is`.
fn find_finite_verb(clause: Clause<'_>, from: usize) -> Option<usize> {
    find_certain_verb(clause, from)
        .or_else(|| (from..clause.len().min(from + 5)).find(|&at| clause.lower_at(at) == "'s"))
}

/// Returns the index of the finite verb if it is certain.
fn find_certain_verb(clause: Clause<'_>, from: usize) -> Option<usize> {
    let mut in_relative_clause = false;
    for at in from..clause.len().min(from + 16) {
        let lower = clause.lower_at(at);
        let previous = clause.lower_at(at - 1);
        if clause.words[at].is_punctuation {
            if matches!(lower, "," | "—" | ":" | ";" | "." | "!" | "?") {
                break;
            }
            continue;
        }

        let starts_inner_clause =
            matches!(lower, "i" | "we" | "they" | "you" | "he" | "she") && previous != "and";
        if starts_inner_clause
            || matches!(lower, "who" | "which" | "that" | "when" | "where") && at > from
        {
            in_relative_clause = true;
            continue;
        }

        let is_verb = if lower == "'s" {
            matches!(
                previous,
                "he" | "she" | "it" | "that" | "there" | "who" | "what" | "here" | "this"
            )
        } else {
            is_auxiliary(lower) && previous != "to" || is_lexical_verb(clause, at)
        };
        if is_verb {
            if !in_relative_clause {
                return Some(at);
            }
            in_relative_clause = is_auxiliary(lower);
        }
    }

    None
}

/// Checks whether the word at `at` is a finite verb, not a noun or a participle.
fn is_lexical_verb(clause: Clause<'_>, at: usize) -> bool {
    let previous = clause.lower_at(at - 1);
    let following = clause.lower_at(at + 1);
    let Some((_, form)) = parse_verb(clause.lower_at(at)) else {
        return false;
    };

    let is_noun = is_determiner(previous)
        || is_preposition(previous)
        || previous == "'s"
        || is_auxiliary(following) && !is_modal(clause.lower_at(at));
    if is_noun || clause.words[at].is_capitalized() || clause.lower_at(at) == "like" {
        return false;
    }

    match form {
        VerbForm::Past => !matches!(previous, "and" | ","),
        VerbForm::Present => !matches!(parse_verb(following), Some((_, VerbForm::Present))),
        VerbForm::Base => {
            // "The bus route": a singular noun may end in `us`.
            let is_plural = previous.ends_with('s') && !previous.ends_with("ss");
            is_plural && !previous.ends_with("us") && previous != "'s"
                || matches!(previous, "people" | "i")
        }
        VerbForm::Ing => false,
    }
}
