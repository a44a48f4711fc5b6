//! Parts of sentences that state something, and the direction of their dates.

use super::grammar::{ParsedClause, SubjectKind};
use super::occasion::{arranges_occasion, has_time_verb};
use super::words::Clause;
use super::{ClauseContext, StatementDraft};
use crate::dates::{DateDirection, FoundDate, find_dates};

/// A draft of a statement with the words that make it.
pub(super) struct StatementPiece<'w> {
    pub(super) clause: Clause<'w>,
    pub(super) parsed: Option<ParsedClause<'w>>,
    pub(super) draft: StatementDraft,
    pub(super) dates: Vec<FoundDate>,
    /// True if something stands before the subject.
    pub(super) has_leading_words: bool,
}

/// Returns the word between the speaker and a verb that stood without a subject.
pub(super) fn helping_verb(parsed: ParsedClause<'_>) -> &'static str {
    if parsed.verb.progressive { "is" } else { "" }
}

/// Returns the end of a date with which the clause begins.
pub(super) fn leading_date_end(clause: Clause<'_>, context: &ClauseContext<'_>) -> Option<usize> {
    let found = find_dates(
        clause.until_index(6),
        context.said_at,
        DateDirection::Either,
    );
    found
        .first()
        .filter(|found| found.first == 0 && !found.is_lasting)
        .map(|found| found.end)
}

/// Returns the direction in which the dates of a clause lie.
pub(super) fn date_direction(parsed: ParsedClause<'_>) -> DateDirection {
    let is_coming =
        parsed.verb.future || parsed.verb.progressive || parsed.subject_kind == SubjectKind::Elided;
    if is_intended(parsed) {
        DateDirection::Either
    } else if parsed.verb.past && !parsed.verb.perfect {
        DateDirection::Past
    } else if is_coming || has_time_verb(parsed) {
        DateDirection::Future
    } else {
        DateDirection::Either
    }
}

/// Returns the direction in which the dates of a remark lie that no rule understands.
pub(super) fn remark_direction(parsed: Option<ParsedClause<'_>>) -> DateDirection {
    match parsed {
        Some(parsed) if arranges_occasion(parsed) => DateDirection::Future,
        Some(parsed) if is_intended(parsed) => DateDirection::Either,
        Some(parsed) if parsed.verb.past => DateDirection::Past,
        _ => DateDirection::Future,
    }
}

/// Checks whether a clause in the past tense says what was to be done: `I was supposed to start in
/// April`. The day may have passed or not.
pub(super) fn is_intended(parsed: ParsedClause<'_>) -> bool {
    let clause = parsed.clause;
    let phrases = ["supposed to", "meant to", "going to", "gonna", "due to"];
    parsed.verb.past
        && (parsed.verb.first..clause.len().min(parsed.verb.main + 2))
            .any(|at| clause.match_any(at, &phrases).is_some())
}
