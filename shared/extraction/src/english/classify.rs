//! Classification of clauses, and the decision which ones are worth keeping.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::topic::KnownTopic;
use super::vocabulary::vocabulary;
use super::words::Clause;
use super::{ClauseContext, StatementDraft, decision, event, fact, lexicon, plan, preference};
use crate::Role;

/// Drafts the statement of a clause. Returns `None` if it is not worth keeping.
pub(super) fn classify_clause(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
    has_date: bool,
    known_topic: Option<KnownTopic>,
) -> Option<StatementDraft> {
    let rule_draft = decision::draft_decision(parsed)
        .or_else(|| plan::draft_plan(parsed, context, has_date))
        .or_else(|| preference::draft_preference(parsed));
    // A plan has a topic whenever it has an object. That alone does not make it worth keeping.
    let known_topic = known_topic.filter(|known| {
        rule_draft.is_some() || known.topic.attribute.split(' ').next() != Some("plans")
    });

    match (rule_draft, known_topic) {
        (Some(draft), Some(known_topic)) => Some(StatementDraft {
            known_topic: Some(known_topic),
            ..draft
        }),
        (Some(draft), None) => Some(draft),
        (None, Some(known_topic)) => {
            let draft = StatementDraft::new(known_topic.kind, 0.85).lasting(known_topic.is_static);
            Some(draft.known(known_topic))
        }
        (None, None) => event::draft_event(parsed, context, has_date)
            .or_else(|| fact::draft_fact(parsed, context)),
    }
}

/// Keeps the promises of an assistant and what it repeats about the user. Returns `None` for
/// anything else that it says.
pub(super) fn filter_assistant_draft(
    parsed: ParsedClause<'_>,
    draft: StatementDraft,
    has_date: bool,
) -> Option<StatementDraft> {
    let is_promise = draft.kind == MemoryKind::Plan
        && parsed.subject_kind == SubjectKind::Speaker
        && (has_date || vocabulary().promised_verbs.has(parsed.verb.base));
    let is_about_user = parsed.subject_kind == SubjectKind::Listener && draft.known_topic.is_some();
    (is_promise || is_about_user).then_some(StatementDraft {
        confidence: 0.4,
        is_static: false,
        ..draft
    })
}

/// Checks whether a clause can be understood alone: it does not address somebody, and is not mostly
/// about `it`.
pub(super) fn is_self_contained(
    clause: Clause<'_>,
    parsed: ParsedClause<'_>,
    draft: &StatementDraft,
    has_date: bool,
    role: Role,
) -> bool {
    let is_settled = draft.known_topic.is_some() || draft.is_opinion;
    if role == Role::User
        && clause.contains_any(&["you", "your", "yours"])
        && !has_date
        && draft.known_topic.is_none()
    {
        return false;
    }

    let rest = parsed.rest();
    let content_word_count = rest
        .words
        .iter()
        .filter(|word| lexicon::is_content_word(word.lower))
        .count();
    let is_vague = |at: usize| {
        let is_alone = rest
            .words
            .get(at + 1)
            .is_none_or(|next| !lexicon::is_content_word(next.lower));
        matches!(rest.lower_at(at), "it" | "them" | "him" | "there")
            || is_alone && matches!(rest.lower_at(at), "this" | "those" | "these")
    };

    is_settled || content_word_count >= 4 || !(0..rest.len()).any(is_vague)
}
