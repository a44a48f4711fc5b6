//! The memories of one container, computed from the statements of its documents and the edits of
//! callers.
//!
//! A statement belongs to a topic. The statements of a topic apply in the order in which they were
//! said, and give the versions of its memories (`versions`). A memory may extend one of another
//! topic (`extend`), and two memories may give an inference (`derive`).
//!
//! The memories follow from the statements, the documents that have them, and the edits. They depend
//! neither on the order in which documents arrive nor on how often they are processed, and a deleted
//! document leaves no trace.
//!
//! A ledger can be stored and restored (`records`). A restored ledger reads only what is asked for and
//! what a change touches.

mod derive;
mod extend;
mod memory;
mod records;
mod retract;
mod shortlists;
mod stored;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    ContainerId, DocumentId, Filter, IndexedDocument, MemoryEdit, MemoryId, Metadata, Statement,
    Timestamp, TopicId,
};

pub use memory::{ForgetRecord, Memory, MemoryRelation, SupportingSpan};
pub use records::LedgerStore;
use serde::{Deserialize, Serialize};
pub(crate) use shortlists::{
    ProfileGroup, compare_inferences_last, compare_most_certain_first, kind_rank,
};

use records::{Record, Records};
use retract::{PlacedRetraction, Retractions};
use shortlists::StoredShortlist;
use versions::VersionSources;

use crate::words::content_words;

/// The most versions in the history of a memory.
const MAX_HISTORY_VERSIONS: usize = 100;

/// The statements of a document, with the document's metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentStatements {
    /// The document as the index shows it.
    pub document: IndexedDocument,
    /// Its statements.
    pub statements: Vec<Statement>,
}

impl Record for DocumentStatements {}

/// The memories of a container and everything that they are computed from. Clones share all records.
#[derive(Debug, Clone)]
pub struct Ledger {
    container: ContainerId,
    documents: Records<DocumentId, DocumentStatements>,
    topics: Records<TopicId, TopicEntry>,
    /// The edits of callers, by the memory that they apply to.
    edits: Records<MemoryId, MemoryEdits>,
    memories: Records<MemoryId, Memory>,
    /// Topics whose statements begin alike, by that beginning. One of them may extend another.
    groups: Records<String, BTreeSet<TopicId>>,
    /// Topics by their subject.
    subjects: Records<String, BTreeSet<TopicId>>,
    /// The memories from which profiles are chosen, by group, as they were when they were stored.
    shortlists: Records<String, StoredShortlist>,
    /// Topics that name a person or an animal by the relationship to somebody.
    relationship_topics: BTreeSet<TopicId>,
    /// The memories that were inferred from others.
    inferences: Vec<MemoryId>,
    /// The statements that take back others.
    retractions: Retractions,
    /// The documents of which a part may be forgotten. Of some of them, no part is any longer.
    masked_documents: BTreeSet<DocumentId>,
    /// True if a document may have a path. It stays true when that document is removed.
    has_filepaths: bool,
    /// The retractions that were inserted or removed since the memories were computed.
    new_retractions: Vec<PlacedRetraction>,
    dirty: DirtyTopics,
}

/// The topics whose memories have to be computed anew.
#[derive(Debug, Clone)]
enum DirtyTopics {
    /// Every topic, for example because nothing was computed yet.
    All,
    Some(BTreeSet<TopicId>),
}

impl DirtyTopics {
    fn insert(&mut self, topic: TopicId) {
        if let Self::Some(topics) = self {
            topics.insert(topic);
        }
    }
}

/// The statements of one topic, and its memories.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TopicEntry {
    /// The subject, if the statements answer one topic.
    subject: Option<String>,
    /// The group, for other statements.
    group: Option<String>,
    /// The statements of documents: the document and the position among its statements.
    statements: BTreeSet<(DocumentId, usize)>,
    /// Versions that callers wrote, with the memory that each replaces.
    corrections: Vec<(MemoryId, Statement)>,
    memories: BTreeSet<MemoryId>,
}

impl Record for TopicEntry {}

impl Record for BTreeSet<TopicId> {}

/// The edits of callers to one memory, other than new versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct MemoryEdits {
    /// The first forget.
    forgotten: Option<ForgetRecord>,
    reviews: Vec<(Timestamp, ReviewDecision)>,
}

impl Record for MemoryEdits {}

impl MemoryEdits {
    /// Returns the latest decision, unless it was undone.
    fn review(&self) -> Option<ReviewDecision> {
        let (_, last) = self.reviews.iter().max_by_key(|(at, _)| *at)?;
        match last {
            ReviewDecision::Undo => None,
            decision => Some(*decision),
        }
    }
}

/// The changes that a [`Ledger::recompute_memories`] made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerChanges {
    /// Memories that are new or different.
    pub updated: BTreeSet<MemoryId>,
    /// Memories that no longer exist.
    pub removed: BTreeSet<MemoryId>,
}

impl Ledger {
    /// The version of the rules that compute memories from statements and edits, of the words with
    /// which the memories are found, and of the stored form of memories and topics. It is raised with
    /// every change of them. Of a ledger that was stored with another version, only the statements,
    /// corrections and edits are restored, so their stored form never changes.
    pub const RULES_VERSION: u32 = 3;

    /// Creates the ledger of a container without memories.
    pub fn new(container: ContainerId) -> Self {
        Self::with_store(container, None)
    }

    /// Inserts the statements of a document, replacing those inserted for it before.
    pub fn insert_document(&mut self, document_statements: DocumentStatements) {
        let id = document_statements.document.id.clone();
        self.remove_document(&id);
        self.has_filepaths |= document_statements.document.filepath.is_some();
        let document_statements = Arc::new(document_statements);
        let retractions = self.retractions.insert_document(&document_statements);
        self.new_retractions.extend(retractions);

        for (index, statement) in document_statements.statements.iter().enumerate() {
            if statement.only_retracts() {
                self.masked_documents.insert(id.clone());
                continue;
            }

            let topic = topic_id_of(&self.container, statement);
            let topic_entry = self.topics.get_or_default(&topic);
            topic_entry.statements.insert((id.clone(), index));
            if let Some(topic_answer) = &statement.topic {
                topic_entry.subject = Some(topic_answer.subject.clone());
                self.subjects
                    .get_or_default(&topic_answer.subject)
                    .insert(topic.clone());
                if derive::is_relationship(topic_answer) {
                    self.relationship_topics.insert(topic.clone());
                }
            } else {
                let group = extend::group_key(&statement.text);
                self.groups.get_or_default(&group).insert(topic.clone());
                topic_entry.group = Some(group);
            }
            self.dirty.insert(topic);
        }

        self.documents.insert(id, document_statements);
    }

    /// Marks the topics of the statements that the new retractions take back, or took back before they
    /// were removed.
    fn mark_affected(&mut self) {
        let retractions = std::mem::take(&mut self.new_retractions);
        let DirtyTopics::Some(dirty) = &mut self.dirty else {
            return;
        };
        if retractions.is_empty() {
            return;
        }
        for (_, document) in self.documents.read_all() {
            for statement in &document.statements {
                let is_affected =
                    |retraction: &PlacedRetraction| retraction.affects(statement, &document);
                if retractions.iter().any(is_affected) {
                    dirty.insert(topic_id_of(&self.container, statement));
                }
            }
        }
    }

    /// Removes the statements of a document. Does nothing for an unknown document.
    pub fn remove_document(&mut self, document: &DocumentId) {
        let Some(document_statements) = self.documents.take(document) else {
            return;
        };
        let retractions = self.retractions.remove_document(&document_statements);
        self.new_retractions.extend(retractions);
        self.masked_documents.remove(document);

        for (index, statement) in document_statements.statements.iter().enumerate() {
            let topic = topic_id_of(&self.container, statement);
            if let Some(topic_entry) = self.topics.get_mut(&topic) {
                topic_entry.statements.remove(&(document.clone(), index));
            }
            self.dirty.insert(topic);
        }
    }

    /// Applies an edit of a caller. Applying it again changes nothing.
    pub fn apply_edit(&mut self, memory_edit: &MemoryEdit) {
        match memory_edit {
            MemoryEdit::Update {
                memory,
                topic,
                version,
            } => {
                let topic_entry = self.topics.get_or_default(topic);
                let edit = (memory.clone(), version.as_ref().clone());
                if !topic_entry.corrections.contains(&edit) {
                    topic_entry.corrections.push(edit);
                }
                self.dirty.insert(topic.clone());
            }
            MemoryEdit::Forget { memory, reason, at } => {
                let forgotten = &mut self.edits.get_or_default(memory).forgotten;
                if forgotten.as_ref().is_none_or(|first| *at < first.at) {
                    *forgotten = Some(ForgetRecord {
                        at: *at,
                        reason: reason.clone(),
                    });
                }
                self.mark_dirty(memory);
            }
            MemoryEdit::Review { memory, review, at } => {
                let reviews = &mut self.edits.get_or_default(memory).reviews;
                if !reviews.contains(&(*at, *review)) {
                    reviews.push((*at, *review));
                }
                self.mark_dirty(memory);
            }
        }
    }

    fn mark_dirty(&mut self, memory: &MemoryId) {
        match self.memories.get(memory) {
            Some(existing) => {
                self.dirty.insert(existing.topic.clone());
            }
            // The id may be that of another occurrence of a memory that exists, so every topic is
            // recomputed.
            None => self.dirty = DirtyTopics::All,
        }
    }

    /// Recomputes the memories of all topics that have changed, and returns what is different.
    pub fn recompute_memories(&mut self) -> LedgerChanges {
        self.mark_affected();
        let nothing = DirtyTopics::Some(BTreeSet::new());
        let dirty = match std::mem::replace(&mut self.dirty, nothing) {
            DirtyTopics::All => self.topics.keys().collect(),
            DirtyTopics::Some(topics) => topics,
        };
        if dirty.is_empty() {
            return LedgerChanges::default();
        }

        self.fetch_topics(&dirty);
        let mut memories_before: BTreeMap<MemoryId, Arc<Memory>> = BTreeMap::new();
        let mut groups = BTreeSet::new();
        for topic in &dirty {
            let Some(topic_entry) = self.topics.take(topic) else {
                continue;
            };

            let mut topic_entry = Arc::unwrap_or_clone(topic_entry);
            for id in std::mem::take(&mut topic_entry.memories) {
                if let Some(memory) = self.memories.take(&id) {
                    memories_before.insert(id, memory);
                }
            }
            if let Some(group) = &topic_entry.group {
                groups.insert(group.clone());
            }

            let sources = VersionSources {
                documents: &self.documents,
                edits: &self.edits,
                retractions: &self.retractions,
            };
            for memory in versions::compute_versions(topic, &topic_entry, sources) {
                if memory.forgotten.is_some() {
                    let sources = memory.sources.iter();
                    self.masked_documents
                        .extend(sources.map(|source| source.document.clone()));
                }
                topic_entry.memories.insert(memory.id.clone());
                self.memories.insert(memory.id.clone(), memory);
            }

            if topic_entry.statements.is_empty() {
                self.unlist_topic(topic, &mut topic_entry);
            }
            if !topic_entry.statements.is_empty() || !topic_entry.corrections.is_empty() {
                self.topics.insert(topic.clone(), topic_entry);
            }
        }

        for group in groups {
            self.relate_extensions(&group, &mut memories_before);
        }

        self.recompute_inferences(&mut memories_before);
        self.diff_memories(&dirty, memories_before)
    }

    /// Removes a topic without statements from its group and its subject. A caller's version alone
    /// gives neither extensions nor inferences.
    fn unlist_topic(&mut self, topic: &TopicId, topic_entry: &mut TopicEntry) {
        // The keys have words of the statements, so nothing of a removed document may stay.
        if let Some(group) = &topic_entry.group.take()
            && let Some(topics) = self.groups.get_mut(group)
        {
            topics.remove(topic);
            if topics.is_empty() {
                self.groups.take(group);
            }
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
    fn change_memory(
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

    /// Compares the memories that could have changed with their state in `memories_before`.
    fn diff_memories(
        &self,
        dirty: &BTreeSet<TopicId>,
        memories_before: BTreeMap<MemoryId, Arc<Memory>>,
    ) -> LedgerChanges {
        let mut changes = LedgerChanges::default();
        for (id, old) in &memories_before {
            match self.memories.get(id) {
                None => changes.removed.insert(id.clone()),
                Some(new) if new != *old => changes.updated.insert(id.clone()),
                Some(_) => false,
            };
        }

        let topic_ids = dirty.iter().flat_map(|topic| self.topic_memory_ids(topic));
        for id in topic_ids.chain(self.inferences.iter().cloned()) {
            if !memories_before.contains_key(&id) {
                changes.updated.insert(id);
            }
        }

        changes
    }

    /// Returns the ids of the memories of a topic; none for an unknown topic.
    fn topic_memory_ids(&self, topic: &TopicId) -> BTreeSet<MemoryId> {
        match self.topics.get(topic) {
            Some(topic_entry) => topic_entry.memories.clone(),
            None => BTreeSet::new(),
        }
    }

    /// Returns the memories of a topic; none for an unknown topic.
    pub fn memories_of_topic(&self, topic: &TopicId) -> impl Iterator<Item = Arc<Memory>> {
        let ids = self.topic_memory_ids(topic).into_iter();
        ids.filter_map(|id| self.memories.get(&id))
    }

    /// Returns all edits of callers by time: everything that [`Ledger::apply_edit`] needs to arrive
    /// at the same memories.
    pub fn list_edits(&self) -> Vec<MemoryEdit> {
        let mut edits: Vec<(Timestamp, String, MemoryEdit)> = Vec::new();
        for (topic, topic_entry) in self.topics.read_all() {
            for (memory, version) in &topic_entry.corrections {
                let update = MemoryEdit::Update {
                    memory: memory.clone(),
                    topic: topic.clone(),
                    version: Box::new(version.clone()),
                };
                edits.push((edit_time(&update), topic.to_string(), update));
            }
        }

        for (memory, memory_edits) in self.edits.read_all() {
            if let Some(forgotten) = &memory_edits.forgotten {
                let forget = MemoryEdit::Forget {
                    memory: memory.clone(),
                    reason: forgotten.reason.clone(),
                    at: forgotten.at,
                };
                edits.push((edit_time(&forget), memory.to_string(), forget));
            }

            for (at, review) in &memory_edits.reviews {
                let review = MemoryEdit::Review {
                    memory: memory.clone(),
                    review: *review,
                    at: *at,
                };
                edits.push((edit_time(&review), memory.to_string(), review));
            }
        }

        // The sort is stable: edits of one memory at the same time keep their order.
        edits.sort_by(|(at, name, _), (other_at, other, _)| (at, name).cmp(&(other_at, other)));
        edits.into_iter().map(|(_, _, edit)| edit).collect()
    }

    /// Returns the memory with this id.
    pub fn get(&self, id: &MemoryId) -> Option<Arc<Memory>> {
        self.memories.get(id)
    }

    /// Checks whether there is any memory.
    pub fn has_memories(&self) -> bool {
        !self.memories.is_empty()
    }

    /// Checks whether there is a memory with this id.
    pub fn has_memory(&self, id: &MemoryId) -> bool {
        self.memories.contains(id)
    }

    /// Returns all memories by id, including forgotten ones and old versions.
    pub fn memories(&self) -> impl Iterator<Item = &Arc<Memory>> {
        self.memories.all().map(|(_, memory)| memory)
    }

    /// Returns the newest versions in the memory's chain, the oldest of them first.
    pub fn memory_history(&self, memory: &Memory) -> Vec<Arc<Memory>> {
        let mut versions: Vec<Arc<Memory>> = self
            .memories_of_topic(&memory.topic)
            .filter(|other| other.first_version == memory.first_version)
            .collect();
        versions.sort_by_key(|memory| memory.version);
        versions.split_off(versions.len().saturating_sub(MAX_HISTORY_VERSIONS))
    }

    /// Returns the statements of the document with this id, with its metadata.
    pub fn document_statements(&self, document: &DocumentId) -> Option<Arc<DocumentStatements>> {
        self.documents.get(document)
    }

    /// Returns the documents that have a statement of the same topic as this one.
    pub fn documents_on_topic_of(&self, statement: &Statement) -> Vec<Arc<DocumentStatements>> {
        let topic = topic_id_of(&self.container, statement);
        let Some(topic_entry) = self.topics.get(&topic) else {
            return Vec::new();
        };
        let ids: BTreeSet<&DocumentId> = topic_entry.statements.iter().map(|(id, _)| id).collect();
        ids.into_iter()
            .filter_map(|id| self.documents.get(id))
            .collect()
    }

    /// Returns every document that has statements, in any order.
    pub fn all_document_statements(&self) -> impl Iterator<Item = Arc<DocumentStatements>> {
        self.documents.read_all().map(|(_, document)| document)
    }

    /// Returns the memories that a document supports, in the order of its text.
    pub fn memories_of_document(&self, document: &DocumentId) -> Vec<Arc<Memory>> {
        let Some(document_statements) = self.documents.get(document) else {
            return Vec::new();
        };

        let mut found: Vec<Arc<Memory>> = Vec::new();
        let mut seen: HashSet<MemoryId> = HashSet::new();
        for statement in &document_statements.statements {
            let is_source = |source: &SupportingSpan| {
                source.document == *document && source.start == statement.start
            };
            let topic = topic_id_of(&self.container, statement);
            let supported = self
                .memories_of_topic(&topic)
                .find(|memory| memory.sources.iter().any(is_source));
            if let Some(memory) = supported
                && seen.insert(memory.id.clone())
            {
                found.push(memory);
            }
        }

        found
    }

    /// Returns the parts of a document that state what is forgotten, and those that ask for it, as
    /// positions in its canonical text.
    pub fn forgotten_spans(&self, document: &DocumentId) -> Vec<(usize, usize)> {
        if !self.masked_documents.contains(document) {
            return Vec::new();
        }
        let Some(document_statements) = self.documents.get(document) else {
            return Vec::new();
        };

        let mut spans = Vec::new();
        for statement in &document_statements.statements {
            if statement.only_retracts() {
                spans.push((statement.start, statement.end));
            }
        }
        for memory in self.memories_of_document(document) {
            if memory.forgotten.is_none() {
                continue;
            }
            let own_sources = memory.sources.iter();
            let own_sources = own_sources.filter(|source| source.document == *document);
            spans.extend(own_sources.map(|source| (source.start, source.end)));
        }

        spans
    }

    /// Computes the ledger as it was at a point of system time and valid time: without anything
    /// recorded after `system_time` and anything said after `valid_time`.
    pub fn snapshot_as_of(&self, system_time: Timestamp, valid_time: Timestamp) -> Self {
        let mut snapshot = Self::new(self.container.clone());
        for document_statements in self.all_document_statements() {
            if document_statements.document.created_at > system_time.as_millis() {
                continue;
            }

            let mut document_statements = Arc::unwrap_or_clone(document_statements);
            document_statements
                .statements
                .retain(|statement| statement.said_at <= valid_time);
            snapshot.insert_document(document_statements);
        }

        for (topic, topic_entry) in self.topics.read_all() {
            for (memory, version) in &topic_entry.corrections {
                if version.said_at > system_time.min(valid_time) {
                    continue;
                }

                snapshot.apply_edit(&MemoryEdit::Update {
                    memory: memory.clone(),
                    topic: topic.clone(),
                    version: Box::new(version.clone()),
                });
            }
        }

        for (memory, memory_edits) in self.edits.read_all() {
            let mut memory_edits = Arc::unwrap_or_clone(memory_edits);
            memory_edits.forgotten = memory_edits
                .forgotten
                .filter(|forgotten| forgotten.at <= system_time);
            memory_edits.reviews.retain(|(at, _)| *at <= system_time);
            snapshot.edits.insert(memory, memory_edits);
        }

        snapshot.recompute_memories();
        snapshot
    }

    /// Returns the documents that support a memory, each once, in the order of its sources.
    pub fn documents_of(&self, memory: &Memory) -> Vec<IndexedDocument> {
        let mut documents = Vec::new();
        let mut seen = HashSet::new();
        for source in &memory.sources {
            if seen.insert(&source.document)
                && let Some(document_statements) = self.documents.get(&source.document)
            {
                documents.push(document_statements.document.clone());
            }
        }

        documents
    }

    /// Returns the path of the first document of a memory that has one. Reads no document if none of the
    /// container has one.
    pub fn filepath_of(&self, memory: &Memory) -> Option<String> {
        if !self.has_filepaths {
            return None;
        }
        let mut documents = self.documents_of(memory).into_iter();
        documents.find_map(|document| document.filepath)
    }

    /// Checks whether the metadata of the memory, or of one of its documents, satisfies a filter.
    pub fn matches_filter(&self, filter: &Filter, memory: &Memory) -> bool {
        let matches = |metadata: &serde_json::Map<String, serde_json::Value>| {
            filter.matches(&Metadata::from_stored(metadata.clone()))
        };
        matches(&memory.metadata)
            || self
                .documents_of(memory)
                .iter()
                .any(|document| matches(&document.metadata))
    }

    /// Estimates the memory that the ledger takes besides its store and what it has read of it, in
    /// bytes.
    pub fn estimated_bytes(&self) -> usize {
        let mut bytes = 0;
        for document_statements in self.documents.overlay() {
            bytes += 500;
            for statement in &document_statements.statements {
                bytes += 500 + statement.text.len();
            }
        }

        for memory in self.memories.overlay() {
            bytes += 800 + memory.text.len();
        }

        bytes
    }
}

/// Returns the topic of a statement: its subject and attribute, or, without those, the content words
/// of the statement itself.
pub fn topic_id_of(container: &ContainerId, statement: &Statement) -> TopicId {
    match &statement.topic {
        Some(topic) => TopicId::derived(container, &["answer", &topic.subject, &topic.attribute]),
        None => TopicId::derived(
            container,
            &["statement", &content_words(&statement.text).join(" ")],
        ),
    }
}

/// Returns the time of an edit.
fn edit_time(edit: &MemoryEdit) -> Timestamp {
    match edit {
        MemoryEdit::Update { version, .. } => version.said_at,
        MemoryEdit::Forget { at, .. } | MemoryEdit::Review { at, .. } => *at,
    }
}
