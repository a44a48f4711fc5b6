//! Parts of sentences that state something, and the direction of their dates.

use domain::{MemoryKind, Period, Timestamp};

use super::grammar::{Reading, Who};
use super::words::Clause;
use super::{Draft, Env};
use crate::extract::dates::{Found, Lean, dates};

/// A draft of a statement with the words that make it.
pub(super) struct Piece<'w> {
    pub(super) clause: Clause<'w>,
    pub(super) reading: Option<Reading<'w>>,
    pub(super) draft: Draft,
    pub(super) dates: Vec<Found>,
    /// True if something stands before the subject.
    pub(super) shifted: bool,
}

/// Returns the time after which a plan or a coming event no longer matters.
pub(super) fn expiry(event: Period, draft: &Draft, said_at: Timestamp) -> Option<Timestamp> {
    let passes = matches!(draft.kind, MemoryKind::Plan | MemoryKind::Event);
    (passes && !draft.is_static && event.to > said_at).then_some(event.to)
}

/// Returns the word between the speaker and a verb that stood without a subject.
pub(super) fn helping(reading: Reading<'_>) -> &'static str {
    if reading.verb.progressive { "is" } else { "" }
}

/// Returns the end of a date with which the clause begins.
pub(super) fn leading_date(clause: Clause<'_>, env: &Env<'_>) -> Option<usize> {
    let found = dates(clause.to(6), env.said_at, Lean::Either);
    found
        .first()
        .filter(|found| found.first == 0 && !found.lasting)
        .map(|found| found.end)
}

/// Returns the direction in which the dates of a clause lie.
pub(super) fn lean(reading: Reading<'_>) -> Lean {
    if reading.verb.past && !reading.verb.perfect {
        Lean::Past
    } else if reading.verb.future || reading.verb.progressive || reading.who == Who::Elided {
        Lean::Future
    } else {
        Lean::Either
    }
}
