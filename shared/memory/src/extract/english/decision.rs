//! Decisions.

use domain::MemoryKind;

use super::Draft;
use super::grammar::{Reading, Who};
use super::lexicon::{base, content};

/// Drafts a statement of a decision.
pub(crate) fn draft(reading: Reading<'_>) -> Option<Draft> {
    let rest = reading.rest();
    if matches!(reading.who, Who::Listener) || reading.verb.modal {
        return None;
    }

    let much = rest.words.iter().filter(|word| content(word.low)).count();
    let decided = Draft::new(MemoryKind::Decision, 0.85);
    let done = reading.verb.past || reading.verb.perfect;
    let under_way = reading.verb.progressive || reading.verb.future;
    let is = match reading.verb.base {
        "decide" => done && much >= 1,
        "agree" => {
            done && (matches!(rest.low(0), "on" | "to" | "that" | ":")
                || rest.len() > 2 && rest.low(0) == "with")
        }
        "choose" | "pick" | "select" => done && much >= 2,
        "opt" | "settle" => (done || under_way) && matches!(rest.low(0), "for" | "on" | "to"),
        "switch" | "migrate" => (done || under_way) && rest.has(&["to", "from", "entirely"]),
        "go" => (done || under_way) && rest.low(0) == "with" && much >= 1,
        "stick" => under_way && rest.low(0) == "with",
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
        "make" => done && rest.find("decision to").is_some(),
        "rule" => done && rest.low(0) == "out",
        _ => false,
    };

    let person = reading.person()
        || reading.who == Who::Pronoun
        || reading.who == Who::Definite
        || base(rest.low(0)) == "use";

    (is && person).then_some(decided)
}
