//! The subject and the verb of a clause.

use super::lexicon::{Form, adverb, auxiliary, determiner, modal, preposition, verb};
use super::verb_group::{Group, group};
use super::words::Clause;

/// The kind of subject that a clause has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
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
pub(crate) struct Reading<'w> {
    /// All words of the clause.
    pub(crate) clause: Clause<'w>,
    /// The kind of subject.
    pub(crate) who: Who,
    /// The index after the subject.
    pub(crate) subject_end: usize,
    /// The verb.
    pub(crate) verb: Group,
}

impl<'w> Reading<'w> {
    /// Returns the words after the verb and after the negation of `be`.
    pub(crate) fn rest(self) -> Clause<'w> {
        let at = self.verb.main + 1;
        let negations: &[&str] = if self.verb.base == "be" {
            &["not", "n't", "no longer"]
        } else {
            &[]
        };
        self.clause
            .from(self.clause.any(at, negations).unwrap_or(at))
    }

    /// Returns the words of the subject.
    pub(crate) fn subject(self) -> Clause<'w> {
        self.clause.to(self.subject_end)
    }

    /// Checks whether the main verb is one of `bases`.
    pub(crate) fn is(self, bases: &[&str]) -> bool {
        bases.contains(&self.verb.base)
    }

    /// Checks whether the subject is a person, possibly one to whom a pronoun refers.
    pub(crate) fn someone(self) -> bool {
        self.person() || matches!(self.who, Who::Pronoun | Who::Listener)
    }

    /// Checks whether the subject is a person who can be identified.
    pub(crate) fn person(self) -> bool {
        matches!(
            self.who,
            Who::Speaker | Who::Group | Who::Named | Who::Owned | Who::Elided
        )
    }
}

/// Finds the subject and the verb of a clause. Returns `None` if it is not a statement.
pub(crate) fn read(clause: Clause<'_>) -> Option<Reading<'_>> {
    let (who, first) = subject(clause)?;
    let verb = group(clause, first, who)?;
    let subject_end = if who == Who::Elided { 0 } else { verb.first };
    let subject_end = trimmed(clause, subject_end);
    Some(Reading {
        clause,
        who,
        subject_end,
        verb,
    })
}

/// Returns the end of a subject without the adverbs before its verb.
fn trimmed(clause: Clause<'_>, mut end: usize) -> usize {
    while let Some(before) = adverb_before(clause, end).filter(|before| *before > 0) {
        end = before;
    }
    end
}

/// Returns the index at which an adverb begins that ends at `end`, if there is one.
pub(super) fn adverb_before(clause: Clause<'_>, end: usize) -> Option<usize> {
    let before = end
        .checked_sub(1)
        .filter(|before| adverb(clause.low(*before)));
    before.or_else(|| {
        end.checked_sub(2)
            .filter(|before| clause.phrase(*before, "no longer").is_some())
    })
}

/// Returns the kind of subject, and the index at which its verb begins.
fn subject(clause: Clause<'_>) -> Option<(Who, usize)> {
    let first = clause.low(0);
    let simple = |who| Some((who, skip_adverbs(clause, 1)));
    match first {
        "i" | "im" => return simple(Who::Speaker),
        "we" => return simple(Who::Group),
        "you" => return simple(Who::Listener),
        "he" | "she" | "it" | "they" | "there" | "here" => return simple(Who::Pronoun),
        "this" | "that" | "these" | "those" | "his" | "her" | "their" | "its" | "your" | "one"
        | "some" => {
            let at = finite(clause, 1)?;
            let own = matches!(first, "this" | "these") && at > 1;
            return Some((if own { Who::Definite } else { Who::Pronoun }, at));
        }
        _ => {}
    }

    if elided(clause) {
        return Some((Who::Elided, 0));
    }

    let at = finite(clause, 1)?;
    if clause.low(at - 1) == "i" {
        return (at > 2 && clause.low(at - 2) == "and").then_some((Who::Group, at));
    }

    let who = match first {
        "my" | "our" => Who::Owned,
        "the" => Who::Definite,
        _ if clause.low(1) == "'s" || named(clause, at) => Who::Named,
        _ => Who::Plain,
    };

    Some((who, at))
}

/// Checks whether the subject that ends at `end` is a name: all of its words are capitalized.
fn named(clause: Clause<'_>, end: usize) -> bool {
    let capital = |at: usize| clause.words[at].capital();
    let name = capital(0) && !determiner(clause.low(0)) && !preposition(clause.low(0));
    // The first word of a sentence is capitalized in any case. A singular word before a verb is
    // taken for a name.
    let plural = clause.low(0).ends_with('s')
        && end > 1
        && clause.words[end.min(clause.len()) - 1].raw.ends_with('s');
    let owned = (1..end).any(|at| clause.low(at) == "'s");
    name && (owned
        || (1..end).all(|at| capital(at) || clause.low(at) == "and" || adverb(clause.low(at)))
            && (end > 1 || !plural))
}

/// Checks whether the clause begins with its verb and leaves out the speaker: `Decided to …`,
/// `Will …`, `Switching to …`.
fn elided(clause: Clause<'_>) -> bool {
    let at = skip_adverbs(clause, 0);
    let first = clause.low(at);
    if matches!(first, "will" | "gonna") {
        return true;
    }

    let next_is_noun = auxiliary(clause.low(at + 1));

    match verb(first) {
        Some((base, Form::Past)) => !base.is_empty() && base != "be" && !next_is_noun,
        Some((_, Form::Ing)) => {
            !next_is_noun && sure(clause, at + 1).is_none_or(|verb| breaks_before(clause, at, verb))
        }
        Some(("want" | "need" | "prefer" | "love" | "like" | "plan", Form::Base)) => {
            !next_is_noun
                && clause.low(at + 1) != "and"
                && sure(clause, at + 1).is_none_or(|verb| breaks_before(clause, at, verb))
        }
        _ => false,
    }
}

/// Checks whether a mark or a conjunction stands between two indexes. The verb after it then does
/// not belong to the words before it.
fn breaks_before(clause: Clause<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|at| {
        clause.words[at].mark
            || matches!(
                clause.low(at),
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
        at = match clause.phrase(at, "no longer") {
            Some(end) => end,
            None if adverb(clause.low(at)) => at + 1,
            None => return at,
        };
    }
}

/// Returns the index of the finite verb in a clause whose subject begins before `from`. If there is
/// no other candidate, an ending `'s` is read as `is`.
fn finite(clause: Clause<'_>, from: usize) -> Option<usize> {
    sure(clause, from)
        .or_else(|| (from..clause.len().min(from + 5)).find(|&at| clause.low(at) == "'s"))
}

/// Returns the index of the finite verb if it is certain.
fn sure(clause: Clause<'_>, from: usize) -> Option<usize> {
    let mut relative = false;
    for at in from..clause.len().min(from + 16) {
        let low = clause.low(at);
        let before = clause.low(at - 1);
        if clause.words[at].mark {
            if matches!(low, "," | "—" | ":" | ";" | "." | "!" | "?") {
                break;
            }
            continue;
        }

        let inner = matches!(low, "i" | "we" | "they" | "you" | "he" | "she") && before != "and";
        if inner || matches!(low, "who" | "which" | "that" | "when" | "where") && at > from {
            relative = true;
            continue;
        }

        let is_verb = if low == "'s" {
            matches!(
                before,
                "he" | "she" | "it" | "that" | "there" | "who" | "what" | "here" | "this"
            )
        } else {
            auxiliary(low) && before != "to" || lexical(clause, at)
        };
        if is_verb {
            if !relative {
                return Some(at);
            }
            relative = auxiliary(low);
        }
    }

    None
}

/// Checks whether the word at `at` is a finite verb, not a noun or a participle.
fn lexical(clause: Clause<'_>, at: usize) -> bool {
    let before = clause.low(at - 1);
    let after = clause.low(at + 1);
    let Some((_, form)) = verb(clause.low(at)) else {
        return false;
    };

    let noun = determiner(before)
        || preposition(before)
        || before == "'s"
        || auxiliary(after) && !modal(clause.low(at));
    if noun || clause.words[at].capital() || clause.low(at) == "like" {
        return false;
    }

    match form {
        Form::Past => !matches!(before, "and" | ","),
        Form::Present => !matches!(verb(after), Some((_, Form::Present))),
        Form::Base => {
            before.ends_with('s') && !before.ends_with("ss") && before != "'s"
                || matches!(before, "people" | "i")
        }
        Form::Ing => false,
    }
}
