//! Classification of clauses, and the decision which ones are worth keeping.

use domain::MemoryKind;

use super::grammar::{Reading, Who};
use super::topic::Known;
use super::words::Clause;
use super::{Draft, Env, decision, event, fact, lexicon, plan, preference};
use crate::extract::Role;

/// Drafts the statement of a clause. Returns `None` if it is not worth keeping.
pub(super) fn classify(
    reading: Reading<'_>,
    env: &Env<'_>,
    dated: bool,
    known: Option<Known>,
) -> Option<Draft> {
    let ruled = decision::draft(reading)
        .or_else(|| plan::draft(reading, env, dated))
        .or_else(|| preference::draft(reading));
    // A plan has a topic whenever it has an object. That alone does not make it worth keeping.
    let known = known.filter(|known| {
        ruled.is_some() || known.topic.attribute.split(' ').next() != Some("plans")
    });

    match (ruled, known) {
        (Some(draft), Some(known)) => Some(Draft {
            known: Some(known),
            ..draft
        }),
        (Some(draft), None) => Some(draft),
        (None, Some(known)) => {
            let draft = Draft::new(known.kind, 0.85).lasting(known.is_static);
            Some(draft.known(known))
        }
        (None, None) => event::draft(reading, env, dated).or_else(|| fact::draft(reading, env)),
    }
}

/// Keeps the promises of an assistant and what it repeats about the user. Returns `None` for
/// anything else that it says.
pub(super) fn of_assistant(reading: Reading<'_>, draft: Draft, dated: bool) -> Option<Draft> {
    const PROMISED: &[&str] = &[
        "remind", "send", "schedule", "book", "email", "remember", "follow", "call", "deliver",
        "order",
    ];
    let promise = draft.kind == MemoryKind::Plan
        && reading.who == Who::Speaker
        && (dated || reading.is(PROMISED));
    let about_user = reading.who == Who::Listener && draft.known.is_some();
    (promise || about_user).then_some(Draft {
        confidence: 0.4,
        is_static: false,
        ..draft
    })
}

/// Checks whether a clause can be understood alone: it does not address somebody, and is not mostly
/// about `it`.
pub(super) fn self_contained(
    clause: Clause<'_>,
    reading: Reading<'_>,
    draft: &Draft,
    dated: bool,
    role: Role,
) -> bool {
    let settled = draft.known.is_some() || draft.opinion;
    if role == Role::User
        && clause.has(&["you", "your", "yours"])
        && !dated
        && draft.known.is_none()
    {
        return false;
    }

    let rest = reading.rest();
    let much = rest
        .words
        .iter()
        .filter(|word| lexicon::content(word.low))
        .count();
    let vague = |at: usize| {
        let alone = rest
            .words
            .get(at + 1)
            .is_none_or(|next| !lexicon::content(next.low));
        matches!(rest.low(at), "it" | "them" | "him" | "there")
            || alone && matches!(rest.low(at), "this" | "those" | "these")
    };

    settled || much >= 4 || !(0..rest.len()).any(vague)
}
