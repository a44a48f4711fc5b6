//! Decisions.

use domain::MemoryKind;

use super::StatementDraft;
use super::grammar::{ParsedClause, SubjectKind};
use super::lexicon::{is_content_word, verb_base};

/// Drafts a statement of a decision.
pub(crate) fn draft_decision(reading: ParsedClause<'_>) -> Option<StatementDraft> {
    let rest = reading.rest();
    if matches!(reading.who, SubjectKind::Listener) || reading.verb.modal {
        return None;
    }

    let much = rest
        .words
        .iter()
        .filter(|word| is_content_word(word.low))
        .count();
    let decided = StatementDraft::new(MemoryKind::Decision, 0.85);
    let done = reading.verb.past || reading.verb.perfect;
    let under_way = reading.verb.progressive || reading.verb.future;
    let is = match reading.verb.base {
        "decide" => done && much >= 1,
        "agree" => {
            done && (matches!(rest.lower_at(0), "on" | "to" | "that" | ":")
                || rest.len() > 2 && rest.lower_at(0) == "with")
        }
        "choose" | "pick" | "select" => done && much >= 2,
        "opt" | "settle" => (done || under_way) && matches!(rest.lower_at(0), "for" | "on" | "to"),
        "switch" | "migrate" => {
            (done || under_way) && rest.contains_any(&["to", "from", "entirely"])
        }
        "go" => (done || under_way) && rest.lower_at(0) == "with" && much >= 1,
        "stick" => under_way && rest.lower_at(0) == "with",
        "adopt" | "standardize" => (done || under_way) && much >= 1,
        "approve" | "reject" | "discontinue" => done && much >= 2,
        "be" => {
            let subject = reading.subject();
            subject
                .words
                .last()
                .is_some_and(|word| matches!(word.low, "decision" | "verdict"))
                && much >= 2
        }
        "make" => done && rest.find_phrase("decision to").is_some(),
        "rule" => done && rest.lower_at(0) == "out",
        _ => false,
    };

    let person = reading.person()
        || reading.who == SubjectKind::Pronoun
        || reading.who == SubjectKind::Definite
        || verb_base(rest.lower_at(0)) == "use";

    (is && person).then_some(decided)
}
