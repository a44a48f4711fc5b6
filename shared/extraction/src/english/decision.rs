//! Decisions.

use domain::MemoryKind;

use super::StatementDraft;
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, verb_base};

/// Drafts a statement of a decision.
pub(crate) fn draft_decision(parsed: ParsedClause<'_>) -> Option<StatementDraft> {
    let rest = parsed.rest();
    if matches!(parsed.subject_kind, SubjectKind::Listener) || parsed.verb.modal {
        return None;
    }

    let content_word_count = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.lower))
        .count();
    let draft = StatementDraft::new(MemoryKind::Decision, 0.85);
    let is_done = parsed.verb.past || parsed.verb.perfect;
    let is_under_way = parsed.verb.progressive || parsed.verb.future;
    let is_decision = match parsed.verb.base {
        "decide" => is_done && content_word_count >= 1,
        "agree" => {
            is_done
                && (matches!(rest.lower_at(0), "on" | "to" | "that" | ":")
                    || rest.len() > 2 && rest.lower_at(0) == "with")
        }
        "choose" | "pick" | "select" => is_done && content_word_count >= 2,
        "opt" | "settle" => {
            (is_done || is_under_way) && matches!(rest.lower_at(0), "for" | "on" | "to")
        }
        "switch" | "migrate" => {
            (is_done || is_under_way) && rest.contains_any(&["to", "from", "entirely"])
        }
        "go" => (is_done || is_under_way) && rest.lower_at(0) == "with" && content_word_count >= 1,
        "stick" => is_under_way && rest.lower_at(0) == "with",
        "adopt" | "standardize" => (is_done || is_under_way) && content_word_count >= 1,
        "approve" | "reject" | "discontinue" => is_done && content_word_count >= 2,
        "be" => {
            let subject = parsed.subject();
            subject
                .words
                .last()
                .is_some_and(|word| matches!(word.lower, "decision" | "verdict"))
                && content_word_count >= 2
        }
        "make" => is_done && rest.find_phrase("decision to").is_some(),
        "rule" => is_done && rest.lower_at(0) == "out",
        _ => false,
    };

    let has_person = parsed.person()
        || parsed.subject_kind == SubjectKind::Pronoun
        || parsed.subject_kind == SubjectKind::Definite
        || verb_base(rest.lower_at(0)) == "use";

    (is_decision && has_person).then_some(draft)
}
