//! What several ledgers behind one tag say of the same thing.

use std::collections::{HashMap, HashSet};

use domain::{Timestamp, Topic, Trust};

use crate::ledger::{Ledger, Memory};
use crate::words::words;

/// An answer of one ledger.
struct Answer<'a> {
    ledger: usize,
    topic: &'a Topic,
    trust: Trust,
    /// When it was last said; of two at the same time the one of the later ledger counts.
    said: (Timestamp, usize),
}

impl Answer<'_> {
    /// Whether this answer takes the other's place, as it would in one ledger.
    fn replaces(&self, other: &Self) -> bool {
        let may = self.trust.may_replace(other.trust);
        let denies_other =
            self.topic.negated && words(&self.topic.value) != words(&other.topic.value);
        self.ledger != other.ledger && self.said > other.said && may && !denies_other
    }
}

/// Leaves, of what several ledgers say, each sentence once, and of different answers to the same question the last one.
/// `found` names for each memory the ledger that it is from.
pub(super) fn keep_current<'a>(ledgers: &[&'a Ledger], found: &mut Vec<(usize, &'a Memory)>) {
    let mut answers: HashMap<(&str, &str), Vec<Answer<'_>>> = HashMap::new();
    for (ledger, memory) in found.iter() {
        if let Some(answer) = answer(ledgers, *ledger, memory) {
            let question = (
                answer.topic.subject.as_str(),
                answer.topic.attribute.as_str(),
            );
            answers.entry(question).or_default().push(answer);
        }
    }

    let mut seen = HashSet::new();
    found.retain(|(ledger, memory)| {
        let is_replaced = answer(ledgers, *ledger, memory).is_some_and(|own| {
            let question = (own.topic.subject.as_str(), own.topic.attribute.as_str());
            answers
                .get(&question)
                .is_some_and(|others| others.iter().any(|other| other.replaces(&own)))
        });
        !is_replaced && seen.insert(memory.text.as_str())
    });
}

fn answer<'a>(ledgers: &[&Ledger], place: usize, memory: &'a Memory) -> Option<Answer<'a>> {
    let topic = memory.answers.as_ref()?;
    let last_said = ledgers
        .get(place)
        .map_or(memory.said_at, |ledger| ledger.last_said(memory));
    Some(Answer {
        ledger: place,
        topic,
        trust: memory.trust,
        said: (last_said, place),
    })
}
