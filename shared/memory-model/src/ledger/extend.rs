//! Extensions: two statements begin alike, and one says everything that the other says and more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::MemoryId;

use super::{Ledger, Memory, MemoryRelation};
use crate::words::{content_words, is_negated};

/// The number of words with which two statements must begin alike. They mostly say who does what to
/// whom.
const GROUP_KEY_WORDS: usize = 3;
/// The largest group whose pairs are compared. A larger group begins with words that are common to
/// too many statements for a comparison to mean anything.
const MAX_GROUP_SIZE: usize = 200;

/// Returns the key of a statement's group.
pub(super) fn group_key(text: &str) -> String {
    let mut words = content_words(text);
    words.truncate(GROUP_KEY_WORDS);
    words.join(" ")
}

impl Ledger {
    /// Finds the memories of a group that extend others. Stores the former state of each memory
    /// that changes in `memories_before`.
    pub(super) fn relate_extensions(
        &mut self,
        group: &String,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        let Some(topics) = self.groups.get(group) else {
            return;
        };

        let mut members: Vec<MemoryId> = Vec::new();
        for topic in topics.iter() {
            members.extend(self.topic_memory_ids(topic));
        }

        for id in &members {
            let Some(memory) = self.memories.fetch(id) else {
                continue;
            };
            let extends = |relation: &MemoryRelation| *relation == MemoryRelation::Extends;
            if !memory.relations.values().any(extends)
                && !memory.reverse_relations.values().any(extends)
            {
                continue;
            }

            self.change_memory(id, memories_before, |memory| {
                memory
                    .relations
                    .retain(|_, relation| *relation != MemoryRelation::Extends);
                memory
                    .reverse_relations
                    .retain(|_, relation| *relation != MemoryRelation::Extends);
            });
        }

        if members.len() > MAX_GROUP_SIZE {
            return;
        }

        for (longer, shorter) in self.find_extension_pairs(&members) {
            self.add_extension(&longer, &shorter, memories_before);
        }
    }

    /// Returns the pairs of which the first says everything that the second says, and more.
    fn find_extension_pairs(&self, members: &[MemoryId]) -> Vec<(MemoryId, MemoryId)> {
        let mut candidates: Vec<(Arc<Memory>, BTreeSet<String>, bool)> = Vec::new();
        for id in members {
            let Some(memory) = self.memories.get(id) else {
                continue;
            };
            if memory.is_latest {
                let words = content_words(&memory.text).into_iter().collect();
                let is_negated = is_negated(&memory.text);
                candidates.push((memory, words, is_negated));
            }
        }

        let mut pairs = Vec::new();
        for (longer, longer_words, longer_negated) in &candidates {
            for (shorter, shorter_words, shorter_negated) in &candidates {
                if longer_negated == shorter_negated
                    && longer_words.len() > shorter_words.len()
                    && longer_words.is_superset(shorter_words)
                {
                    pairs.push((longer.id.clone(), shorter.id.clone()));
                }
            }
        }

        pairs
    }

    fn add_extension(
        &mut self,
        from: &MemoryId,
        to: &MemoryId,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        for (id, other, is_outgoing) in [(from, to, true), (to, from, false)] {
            self.change_memory(id, memories_before, |memory| {
                let relations = if is_outgoing {
                    &mut memory.relations
                } else {
                    &mut memory.reverse_relations
                };
                relations.insert(other.clone(), MemoryRelation::Extends);
            });
        }
    }
}
