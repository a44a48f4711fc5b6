//! Extensions: two statements begin alike, and one says everything that the other says and more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::{MemoryId, TopicId};
use serde::{Deserialize, Serialize};

use super::records::Record;
use super::{Ledger, Memory, MemoryRelation};
use crate::words::{content_words, is_negated};

/// The number of words with which two statements must begin alike. They mostly say who does what to
/// whom.
const GROUP_KEY_WORDS: usize = 3;
/// The most topics of a group whose memories are compared. A larger group begins with words that are
/// common to too many statements for a comparison to mean anything.
pub(super) const MAX_GROUP_TOPICS: usize = 200;
/// The most topics of a group that are listed. A group whose size changes around the limit of the
/// comparison keeps its list.
pub(super) const MAX_LISTED_TOPICS: usize = 2 * MAX_GROUP_TOPICS;

/// Returns the key of a statement's group.
pub(super) fn group_key(text: &str) -> String {
    let mut words = content_words(text);
    words.truncate(GROUP_KEY_WORDS);
    words.join(" ")
}

/// Topics whose statements begin alike. A memory of one may extend that of another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TopicGroup {
    /// The topics, unless there are more than [`MAX_LISTED_TOPICS`].
    topics: BTreeSet<TopicId>,
    /// The number of topics that are not listed, because there are too many.
    unlisted: usize,
    /// True if memories of the group may extend others.
    has_extensions: bool,
}

impl Record for TopicGroup {}

impl TopicGroup {
    /// Adds a topic that is in no group.
    pub(super) fn add(&mut self, topic: &TopicId) {
        if self.unlisted > 0 {
            self.unlisted += 1;
        } else {
            self.topics.insert(topic.clone());
        }
    }

    fn len(&self) -> usize {
        self.topics.len() + self.unlisted
    }
}

impl Ledger {
    /// Removes a topic from its group.
    pub(super) fn leave_group(&mut self, key: &String, topic: &TopicId) {
        let group = self.groups.get_or_default(key);
        if !group.topics.remove(topic) {
            group.unlisted = group.unlisted.saturating_sub(1);
        }

        if group.len() == 0 {
            self.groups.take(key);
        } else if group.unlisted > 0 && group.len() <= MAX_GROUP_TOPICS {
            let all = self.topics.read_all();
            let members = all.filter(|(_, entry)| entry.group.as_ref() == Some(key));
            let group = TopicGroup {
                topics: members.map(|(topic, _)| topic).collect(),
                ..TopicGroup::default()
            };
            self.groups.insert(key.clone(), group);
        }
    }

    /// Finds the memories of a group that extend others. Stores the former state of each memory
    /// that changes in `memories_before`.
    pub(super) fn relate_extensions(
        &mut self,
        key: &String,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        let Some(group) = self.groups.get(key) else {
            return;
        };
        let is_small = group.len() <= MAX_GROUP_TOPICS;
        if is_small || group.has_extensions {
            self.relate_listed(&group, is_small, memories_before);
        }
        if group.has_extensions != is_small {
            self.groups.get_or_default(key).has_extensions = is_small;
        }
        if group.topics.len() > MAX_LISTED_TOPICS {
            let group = self.groups.get_or_default(key);
            group.unlisted += std::mem::take(&mut group.topics).len();
        }
    }

    /// Removes the relations of the latest memories of a group, and relates them again if `relates` is
    /// true.
    fn relate_listed(
        &mut self,
        group: &TopicGroup,
        relates: bool,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        let mut latest: Vec<MemoryId> = Vec::new();
        for topic in &group.topics {
            for id in self.topic_memory_ids(topic) {
                let memory = self.memories.fetch(&id);
                if memory.is_some_and(|memory| memory.is_latest) {
                    latest.push(id);
                }
            }
        }

        for id in &latest {
            self.remove_extensions(id, memories_before);
        }
        if !relates {
            return;
        }
        for (longer, shorter) in self.find_extension_pairs(&latest) {
            self.add_extension(&longer, &shorter, memories_before);
        }
    }

    /// Removes the relations of a memory to those that it extends, and to those that extend it.
    fn remove_extensions(
        &mut self,
        id: &MemoryId,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        let Some(memory) = self.memories.get(id) else {
            return;
        };
        let extends = |relation: &MemoryRelation| *relation == MemoryRelation::Extends;
        let mut relations = memory
            .relations
            .values()
            .chain(memory.reverse_relations.values());
        if !relations.any(extends) {
            return;
        }

        self.change_memory(id, memories_before, |memory| {
            memory.relations.retain(|_, relation| !extends(relation));
            memory
                .reverse_relations
                .retain(|_, relation| !extends(relation));
        });
    }

    /// Returns the pairs of which the first says everything that the second says, and more.
    fn find_extension_pairs(&self, latest: &[MemoryId]) -> Vec<(MemoryId, MemoryId)> {
        let mut candidates: Vec<(Arc<Memory>, BTreeSet<String>, bool)> = Vec::new();
        for id in latest {
            let Some(memory) = self.memories.get(id) else {
                continue;
            };
            let words = content_words(&memory.text).into_iter().collect();
            let is_negated = is_negated(&memory.text);
            candidates.push((memory, words, is_negated));
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
