//! Resolution of answers that several ledgers behind one tag give to the same topic.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::{Timestamp, Topic, Trust};

use crate::ledger::{Ledger, Memory};
use crate::words::split_words;

/// An answer of one ledger.
struct LedgerAnswer<'a> {
    ledger_index: usize,
    topic: &'a Topic,
    trust: Trust,
    /// The time at which it was last said. Of two at the same time, that of the later ledger wins.
    said_order: (Timestamp, usize),
}

impl<'a> LedgerAnswer<'a> {
    /// Returns the subject and the attribute, which answers to the same topic share.
    fn topic_key(&self) -> (&'a str, &'a str) {
        (&self.topic.subject, &self.topic.attribute)
    }
    /// Checks whether this answer replaces the other, as it would within one ledger.
    fn replaces(&self, other: &Self) -> bool {
        let has_authority = self.trust.may_replace(other.trust);
        let denies_other =
            self.topic.negated && split_words(&self.topic.value) != split_words(&other.topic.value);
        self.ledger_index != other.ledger_index
            && self.said_order > other.said_order
            && has_authority
            && !denies_other
    }
}

/// Keeps each sentence once, and only the last of several answers to the same topic.
///
/// `found` has the index of its ledger with each memory.
pub(super) fn retain_current<'a>(
    ledgers: &[&'a Ledger],
    found: &mut Vec<(usize, &'a Arc<Memory>)>,
) {
    let mut answers: HashMap<(&str, &str), Vec<LedgerAnswer<'_>>> = HashMap::new();
    for (ledger_index, memory) in found.iter() {
        if let Some(answer) = ledger_answer(ledgers, *ledger_index, memory) {
            answers.entry(answer.topic_key()).or_default().push(answer);
        }
    }

    let mut seen = HashSet::new();
    found.retain(|(ledger_index, memory)| {
        if let Some(answer) = ledger_answer(ledgers, *ledger_index, memory)
            && let Some(others) = answers.get(&answer.topic_key())
            && others.iter().any(|other| other.replaces(&answer))
        {
            return false;
        }

        seen.insert(memory.text.as_str())
    });
}

fn ledger_answer<'a>(
    ledgers: &[&Ledger],
    ledger_index: usize,
    memory: &'a Memory,
) -> Option<LedgerAnswer<'a>> {
    let topic = memory.topic_answer.as_ref()?;
    let last_said = match ledgers.get(ledger_index) {
        Some(ledger) => ledger.last_said_at(memory),
        None => memory.said_at,
    };

    Some(LedgerAnswer {
        ledger_index,
        topic,
        trust: memory.trust,
        said_order: (last_said, ledger_index),
    })
}
