//! The computation of the memories whose statements, edits or retractions have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::{MemoryId, TopicId};

use super::retract::PlacedRetraction;
use super::topics::{StatementKey, TopicEntry, block_key};
use super::versions::{TopicVersions, VersionSources, compute_versions};
use super::{DirtyTopics, Ledger, Memory, topic_id_of};

/// The changes that one call of [`Ledger::recompute_memories`] made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerChanges {
    /// Memories that are new or different.
    pub updated: BTreeSet<MemoryId>,
    /// Memories that no longer exist.
    pub removed: BTreeSet<MemoryId>,
}

impl Ledger {
    /// Recomputes the memories of all topics that have changed, and returns what is different.
    pub fn recompute_memories(&mut self) -> LedgerChanges {
        self.mark_affected();
        let nothing = DirtyTopics::Some(BTreeSet::new());
        let dirty = match std::mem::replace(&mut self.dirty, nothing) {
            DirtyTopics::All => {
                let topics: BTreeSet<TopicId> = self.topics.keys_with("").collect();
                for topic in &topics {
                    self.open_statements(topic, None);
                }
                topics
            }
            DirtyTopics::Some(topics) => topics,
        };
        if dirty.is_empty() {
            return LedgerChanges::default();
        }

        self.fetch_topics(&dirty);
        let mut memories_before: BTreeMap<MemoryId, Arc<Memory>> = BTreeMap::new();
        let mut groups = BTreeSet::new();
        let mut computed = BTreeSet::new();
        for topic in &dirty {
            groups.extend(self.recompute_topic(topic, &mut memories_before, &mut computed));
        }

        for group in groups {
            self.relate_extensions(&group, &mut memories_before);
        }

        self.recompute_inferences(&mut memories_before);
        computed.extend(self.inferences.iter().cloned());
        self.diff_memories(computed, memories_before)
    }

    /// Recomputes the memories of a topic that its open statements change. Stores their former state in
    /// `memories_before`, and their ids in `computed`. Returns the group of the topic.
    fn recompute_topic(
        &mut self,
        topic: &TopicId,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
        computed: &mut BTreeSet<MemoryId>,
    ) -> Option<String> {
        let mut topic_entry = self.take_topic(topic, memories_before)?;
        let mut versions = compute_versions(topic, &topic_entry, self.version_sources());
        if has_newly_forgotten(&versions, memories_before) {
            // The documents of all statements have to be masked.
            self.topics.insert(topic.clone(), topic_entry);
            self.open_statements(topic, None);
            topic_entry = self.take_topic(topic, memories_before)?;
            versions = compute_versions(topic, &topic_entry, self.version_sources());
        }

        for (number, block) in topic_entry.settle(&versions) {
            self.blocks.insert(block_key(topic, number), block);
        }
        for (_, memory) in versions.memories {
            computed.insert(memory.id.clone());
            self.memories.insert(memory.id.clone(), memory);
        }
        for (_, (document, _), memory) in versions.statements {
            let memory = memory.and_then(|memory| self.memories.get(&memory));
            if memory.is_some_and(|memory| memory.forgotten.is_some()) {
                self.masked_documents.insert(document);
            }
        }

        let group = topic_entry.group.clone();
        if topic_entry.has_no_statements() {
            self.unlist_topic(topic, &mut topic_entry);
        }
        if !topic_entry.is_empty() {
            self.topics.insert(topic.clone(), topic_entry);
        }
        group
    }

    /// Takes a topic out, and moves the memories that are computed with it to `memories_before`.
    fn take_topic(
        &mut self,
        topic: &TopicId,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) -> Option<TopicEntry> {
        let mut topic_entry = Arc::unwrap_or_clone(self.topics.take(topic)?);
        for id in std::mem::take(&mut topic_entry.memories) {
            if let Some(memory) = self.memories.take(&id) {
                memories_before.insert(id, memory);
            }
        }
        Some(topic_entry)
    }

    fn version_sources(&self) -> VersionSources<'_> {
        VersionSources {
            documents: &self.documents,
            edits: &self.edits,
            memories: &self.memories,
            retractions: &self.retractions,
        }
    }

    /// Removes a topic without statements from its group and its subject. A caller's version alone
    /// gives neither extensions nor inferences.
    fn unlist_topic(&mut self, topic: &TopicId, topic_entry: &mut TopicEntry) {
        // The keys have words of the statements, so nothing of a removed document may stay.
        if let Some(group) = &topic_entry.group.take() {
            self.leave_group(group, topic);
        }

        if let Some(subject) = &topic_entry.subject.take()
            && let Some(topics) = self.subjects.get_mut(subject)
        {
            topics.remove(topic);
            if topics.is_empty() {
                self.subjects.take(subject);
            }
        }

        self.relationship_topics.remove(topic);
    }

    /// Changes a memory, if it exists. Stores its former state in `memories_before`, unless an earlier
    /// one is there. A memory that was just created and is missing there counts as changed in either
    /// case.
    pub(super) fn change_memory(
        &mut self,
        id: &MemoryId,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
        change: impl FnOnce(&mut Memory),
    ) {
        let Some(former) = self.memories.get(id) else {
            return;
        };
        memories_before.entry(id.clone()).or_insert(former);
        if let Some(memory) = self.memories.get_mut(id) {
            change(memory);
        }
    }

    /// Compares the memories that were computed, and those that could have changed with them, with their
    /// state in `memories_before`.
    fn diff_memories(
        &self,
        computed: BTreeSet<MemoryId>,
        memories_before: BTreeMap<MemoryId, Arc<Memory>>,
    ) -> LedgerChanges {
        let mut changes = LedgerChanges {
            updated: computed,
            removed: BTreeSet::new(),
        };
        for (id, old) in memories_before {
            match self.memories.get(&id) {
                None => changes.removed.insert(id),
                Some(new) if new != old => changes.updated.insert(id),
                Some(_) => changes.updated.remove(&id),
            };
        }
        changes
    }

    /// Marks the topics of the statements that the new retractions take back, or took back before they
    /// were removed.
    fn mark_affected(&mut self) {
        let retractions = std::mem::take(&mut self.new_retractions);
        if retractions.is_empty() || matches!(self.dirty, DirtyTopics::All) {
            return;
        }

        let mut affected = Vec::new();
        for (_, document) in self.documents.read_all() {
            for statement in &document.statements {
                let is_affected =
                    |retraction: &PlacedRetraction| retraction.affects(statement, &document);
                if retractions.iter().any(is_affected) {
                    let key = StatementKey::new(statement, &document.document);
                    affected.push((topic_id_of(&self.container, statement), key));
                }
            }
        }
        for (topic, key) in affected {
            self.open_statements(&topic, Some(&key));
            self.dirty.insert(topic);
        }
    }
}

/// Checks whether a version that began with a settled statement is forgotten, and was not before.
fn has_newly_forgotten(
    versions: &TopicVersions,
    memories_before: &BTreeMap<MemoryId, Arc<Memory>>,
) -> bool {
    versions.memories.iter().any(|(begun_after, memory)| {
        let before = memories_before.get(&memory.id);
        let was_remembered = before.is_some_and(|before| before.forgotten.is_none());
        begun_after.is_none() && memory.forgotten.is_some() && was_remembered
    })
}
