//! Events of the past.

use domain::MemoryKind;

use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, is_pronoun};
use super::vocabulary::vocabulary;
use super::{ClauseContext, StatementDraft};

/// Drafts a statement of something that somebody did or that happened.
pub(crate) fn draft_event(
    parsed: ParsedClause<'_>,
    context: &ClauseContext<'_>,
    has_date: bool,
) -> Option<StatementDraft> {
    let rest = parsed.rest();
    let has_happened = parsed.verb.past || parsed.verb.perfect;
    let is_progressive =
        parsed.verb.progressive && !parsed.verb.past && parsed.subject_kind != SubjectKind::Elided;
    if parsed.verb.modal || parsed.verb.future || parsed.subject_kind == SubjectKind::Listener {
        return None;
    }

    let content_word_count = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.lower))
        .count();
    let is_vague = is_pronoun(rest.lower_at(0)) || rest.lower_at(0) == "you";
    let make_draft = |confidence: f32| Some(StatementDraft::new(MemoryKind::Event, confidence));
    if is_progressive
        && parsed.person()
        && content_word_count >= 2
        && !is_vague
        && !vocabulary().mood_verbs.has(parsed.verb.base)
    {
        return if context.is_group_chat || has_date || parsed.verb.perfect {
            make_draft(0.55)
        } else {
            None
        };
    }

    if !has_happened || parsed.verb.negated && !has_date {
        return None;
    }

    let is_idle = vocabulary().mood_verbs.has(parsed.verb.base) && !has_date;
    let has_name = rest
        .words
        .iter()
        .any(|word| word.is_capitalized() && word.lower != "i");

    match parsed.subject_kind {
        SubjectKind::Pronoun => (has_date && content_word_count >= 2 && !is_idle)
            .then(|| StatementDraft::new(MemoryKind::Event, 0.55)),
        SubjectKind::Definite | SubjectKind::Plain => (has_date && content_word_count >= 1)
            .then(|| StatementDraft::new(MemoryKind::Event, 0.65)),
        SubjectKind::Elided if !context.is_group_chat => {
            (has_date && has_name && !is_idle).then(|| StatementDraft::new(MemoryKind::Event, 0.55))
        }
        _ if is_idle
            || content_word_count < 2 && !has_date
            || is_vague && content_word_count < 3 =>
        {
            None
        }
        _ => make_draft(if has_date { 0.75 } else { 0.6 }),
    }
}
