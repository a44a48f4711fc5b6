//! Parts of sentences that state something, and the direction of their dates.

use super::grammar::{ParsedClause, SubjectKind};
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
    if parsed.verb.past && !parsed.verb.perfect {
        DateDirection::Past
    } else if parsed.verb.future
        || parsed.verb.progressive
        || parsed.subject_kind == SubjectKind::Elided
    {
        DateDirection::Future
    } else {
        DateDirection::Either
    }
}
