//! Parts of sentences that state something, and how their dates lie.

use domain::{MemoryKind, Period, Timestamp};

use super::grammar::{Reading, Who};
use super::words::Clause;
use super::{Draft, Env};
use crate::extract::dates::{Found, Lean, dates};

/// A statement in the making with the words that make it.
pub(super) struct Piece<'w> {
    pub(super) clause: Clause<'w>,
    pub(super) reading: Option<Reading<'w>>,
    pub(super) draft: Draft,
    pub(super) dates: Vec<Found>,
    /// Something stands before the subject.
    pub(super) shifted: bool,
}

/// The moment after which a plan or an event to come no longer matters.
pub(super) fn expiry(event: Period, draft: &Draft, said_at: Timestamp) -> Option<Timestamp> {
    let passes = matches!(draft.kind, MemoryKind::Plan | MemoryKind::Event);
    (passes && !draft.is_static && event.to > said_at).then_some(event.to)
}

/// The word between the speaker and a verb that stood alone.
pub(super) fn helping(reading: Reading<'_>) -> &'static str {
    if reading.verb.progressive { "is" } else { "" }
}

/// The end of a date that the clause begins with.
pub(super) fn leading_date(clause: Clause<'_>, env: &Env<'_>) -> Option<usize> {
    let found = dates(clause.to(6), env.said_at, Lean::Either);
    found
        .first()
        .filter(|found| found.first == 0 && !found.lasting)
        .map(|found| found.end)
}

/// Which way the dates of a clause lie.
pub(super) fn lean(reading: Reading<'_>) -> Lean {
    if reading.verb.past && !reading.verb.perfect {
        Lean::Past
    } else if reading.verb.future || reading.verb.progressive || reading.who == Who::Elided {
        Lean::Future
    } else {
        Lean::Either
    }
}
