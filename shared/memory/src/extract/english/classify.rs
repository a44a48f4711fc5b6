//! Classification of clauses, and the decision which ones are worth keeping.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::topic::KnownTopic;
use super::words::Clause;
use super::{ClauseContext, StatementDraft, decision, event, fact, lexicon, plan, preference};
use crate::extract::Role;

/// Drafts the statement of a clause. Returns `None` if it is not worth keeping.
pub(super) fn classify_clause(
    reading: ParsedClause<'_>,
    env: &ClauseContext<'_>,
    dated: bool,
    known: Option<KnownTopic>,
) -> Option<StatementDraft> {
    let ruled = decision::draft_decision(reading)
        .or_else(|| plan::draft_plan(reading, env, dated))
        .or_else(|| preference::draft_preference(reading));
    // A plan has a topic whenever it has an object. That alone does not make it worth keeping.
    let known = known.filter(|known| {
        ruled.is_some() || known.topic.attribute.split(' ').next() != Some("plans")
    });

    match (ruled, known) {
        (Some(draft), Some(known)) => Some(StatementDraft {
            known: Some(known),
            ..draft
        }),
        (Some(draft), None) => Some(draft),
        (None, Some(known)) => {
            let draft = StatementDraft::new(known.kind, 0.85).lasting(known.is_static);
            Some(draft.known(known))
        }
        (None, None) => {
            event::draft_event(reading, env, dated).or_else(|| fact::draft_fact(reading, env))
        }
    }
}

/// Keeps the promises of an assistant and what it repeats about the user. Returns `None` for
/// anything else that it says.
pub(super) fn filter_assistant_draft(
    reading: ParsedClause<'_>,
    draft: StatementDraft,
    dated: bool,
) -> Option<StatementDraft> {
    const PROMISED: &[&str] = &[
        "remind", "send", "schedule", "book", "email", "remember", "follow", "call", "deliver",
        "order",
    ];
    let promise = draft.kind == MemoryKind::Plan
        && reading.who == SubjectKind::Speaker
        && (dated || reading.is(PROMISED));
    let about_user = reading.who == SubjectKind::Listener && draft.known.is_some();
    (promise || about_user).then_some(StatementDraft {
        confidence: 0.4,
        is_static: false,
        ..draft
    })
}

/// Checks whether a clause can be understood alone: it does not address somebody, and is not mostly
/// about `it`.
pub(super) fn is_self_contained(
    clause: Clause<'_>,
    reading: ParsedClause<'_>,
    draft: &StatementDraft,
    dated: bool,
    role: Role,
) -> bool {
    let settled = draft.known.is_some() || draft.opinion;
    if role == Role::User
        && clause.contains_any(&["you", "your", "yours"])
        && !dated
        && draft.known.is_none()
    {
        return false;
    }

    let rest = reading.rest();
    let much = rest
        .words
        .iter()
        .filter(|word| lexicon::is_content_word(word.low))
        .count();
    let vague = |at: usize| {
        let alone = rest
            .words
            .get(at + 1)
            .is_none_or(|next| !lexicon::is_content_word(next.low));
        matches!(rest.lower_at(at), "it" | "them" | "him" | "there")
            || alone && matches!(rest.lower_at(at), "this" | "those" | "these")
    };

    settled || much >= 4 || !(0..rest.len()).any(vague)
}
