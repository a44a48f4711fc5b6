//! Resolution of answers that several ledgers behind one tag give to the same topic.

use std::collections::{HashMap, HashSet};

use domain::{Timestamp, Topic, Trust};

use crate::ledger::{Ledger, Memory};
use crate::words::split_words;

/// An answer of one ledger.
struct LedgerAnswer<'a> {
    ledger: usize,
    topic: &'a Topic,
    trust: Trust,
    /// The time at which it was last said. Of two at the same time, that of the later ledger wins.
    said: (Timestamp, usize),
}

impl LedgerAnswer<'_> {
    /// Checks whether this answer replaces the other, as it would within one ledger.
    fn replaces(&self, other: &Self) -> bool {
        let may = self.trust.may_replace(other.trust);
        let denies_other =
            self.topic.negated && split_words(&self.topic.value) != split_words(&other.topic.value);
        self.ledger != other.ledger && self.said > other.said && may && !denies_other
    }
}

/// Keeps each sentence once, and only the last of several answers to the same topic.
///
/// `found` has the index of its ledger with each memory.
pub(super) fn retain_current<'a>(ledgers: &[&'a Ledger], found: &mut Vec<(usize, &'a Memory)>) {
    let mut answers: HashMap<(&str, &str), Vec<LedgerAnswer<'_>>> = HashMap::new();
    for (ledger, memory) in found.iter() {
        if let Some(answer) = ledger_answer(ledgers, *ledger, memory) {
            let question = (
                answer.topic.subject.as_str(),
                answer.topic.attribute.as_str(),
            );
            answers.entry(question).or_default().push(answer);
        }
    }

    let mut seen = HashSet::new();
    found.retain(|(ledger, memory)| {
        let is_replaced = ledger_answer(ledgers, *ledger, memory).is_some_and(|own| {
            let question = (own.topic.subject.as_str(), own.topic.attribute.as_str());
            answers
                .get(&question)
                .is_some_and(|others| others.iter().any(|other| other.replaces(&own)))
        });
        !is_replaced && seen.insert(memory.text.as_str())
    });
}

fn ledger_answer<'a>(
    ledgers: &[&Ledger],
    place: usize,
    memory: &'a Memory,
) -> Option<LedgerAnswer<'a>> {
    let topic = memory.topic_answer.as_ref()?;
    let last_said = ledgers
        .get(place)
        .map_or(memory.said_at, |ledger| ledger.last_said_at(memory));
    Some(LedgerAnswer {
        ledger: place,
        topic,
        trust: memory.trust,
        said: (last_said, place),
    })
}
