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

mod amounts;
mod compound;
mod derive;
mod extend;
mod filter;
mod memory;
mod recompute;
mod records;
mod retract;
mod shortlists;
mod stored;
#[cfg(test)]
mod tests;
mod topics;
mod versions;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    ContainerId, DocumentId, IndexedDocument, MemoryEdit, MemoryId, Statement, Timestamp, TopicId,
};

pub use filter::MemoryFilter;
pub use memory::{ForgetRecord, Memory, MemoryRelation, SupportingSpan};
pub use recompute::LedgerChanges;
pub use records::LedgerStore;
use serde::{Deserialize, Serialize};
pub(crate) use shortlists::{
    ProfileGroup, compare_inferences_last, compare_most_certain_first, kind_rank,
};

use extend::TopicGroup;
use records::{Record, Records};
use retract::{PlacedRetraction, Retractions};
use shortlists::Shortlist;
use topics::{Blocks, StatementKey, TopicEntry};

use crate::words::content_words;

/// The most versions in the history of a memory.
const MAX_HISTORY_VERSIONS: usize = 100;
/// The number of a version from which those before it are fetched together, if they are missing.
const MIN_PREFETCHED_VERSIONS: u32 = 4;

/// The statements of a document, with the document's metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentStatements {
    /// The document as the index shows it.
    pub document: IndexedDocument,
    /// Its statements.
    pub statements: Vec<Statement>,
}

impl Record for DocumentStatements {
    fn estimated_bytes(&self) -> usize {
        let statements = self.statements.iter();
        500 + statements
            .map(|statement| 500 + statement.text.len())
            .sum::<usize>()
    }
}

/// The memories of a container and everything that they are computed from. Clones share all records.
#[derive(Debug, Clone)]
pub struct Ledger {
    container: ContainerId,
    documents: Records<DocumentId, DocumentStatements>,
    topics: Records<TopicId, TopicEntry>,
    /// The settled statements of topics, by topic and number.
    blocks: Blocks,
    /// The edits of callers, by the memory that they apply to.
    edits: Records<MemoryId, MemoryEdits>,
    memories: Records<MemoryId, Memory>,
    /// Topics whose statements begin alike, by that beginning.
    groups: Records<String, TopicGroup>,
    /// Topics by their subject.
    subjects: Records<String, BTreeSet<TopicId>>,
    /// The memories from which profiles are chosen, by group, as they were when they were stored.
    shortlists: Records<String, Shortlist>,
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

impl Record for BTreeSet<TopicId> {}

/// The edits of callers to one memory, other than new versions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct MemoryEdits {
    /// The topic of the memory, if an edit named it. Earlier programs did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<TopicId>,
    /// The last forget. Earlier programs know no other, and hide the memory by it.
    forgotten: Option<ForgetRecord>,
    /// The forgets before it by time, for questions about the past. Earlier programs did not store them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier_forgets: Vec<ForgetRecord>,
    reviews: Vec<(Timestamp, ReviewDecision)>,
}

impl Record for MemoryEdits {}

impl MemoryEdits {
    /// Keeps the topic that an edit names. Returns the topic that is known then.
    fn keep_topic(&mut self, named: Option<&TopicId>) -> Option<TopicId> {
        if self.topic.is_none() {
            self.topic = named.cloned();
        }
        self.topic.clone()
    }

    /// Returns the latest decision, unless it was undone.
    fn review(&self) -> Option<ReviewDecision> {
        let (_, last) = self.reviews.iter().max_by_key(|(at, _)| *at)?;
        match last {
            ReviewDecision::Undo => None,
            decision => Some(*decision),
        }
    }

    /// Returns all forgets by time.
    fn forgets(&self) -> impl Iterator<Item = &ForgetRecord> {
        self.earlier_forgets.iter().chain(&self.forgotten)
    }

    /// Adds a forget. Of several at the same time, the first one stays.
    fn add_forget(&mut self, added: ForgetRecord) {
        if self.forgets().any(|forget| forget.at == added.at) {
            return;
        }

        let mut forgets: Vec<ForgetRecord> = self.forgets().cloned().collect();
        forgets.push(added);
        self.set_forgets(forgets);
    }

    /// Removes everything that was recorded after `system_time`.
    fn retain_until(&mut self, system_time: Timestamp) {
        let forgets = self.forgets().filter(|forget| forget.at <= system_time);
        self.set_forgets(forgets.cloned().collect());
        self.reviews.retain(|(at, _)| *at <= system_time);
    }

    fn set_forgets(&mut self, mut forgets: Vec<ForgetRecord>) {
        forgets.sort_by_key(|forget| forget.at);
        self.forgotten = forgets.pop();
        self.earlier_forgets = forgets;
    }
}

impl Ledger {
    /// The version of the rules that compute memories from statements and edits, of the words with
    /// which the memories are found, and of the stored form of memories and topics. It is raised with
    /// every change of them. Of a ledger that was stored with another version, only the statements,
    /// corrections and edits are restored, so their stored form never changes.
    pub const RULES_VERSION: u32 = 6;

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
            let key = StatementKey::new(statement, &document_statements.document);
            self.open_statements(&topic, Some(&key));
            let topic_entry = self.topics.get_or_default(&topic);
            topic_entry.open.insert((id.clone(), index), None);
            if let Some(topic_answer) = &statement.topic {
                if topic_entry.subject.is_none() {
                    topic_entry.subject = Some(topic_answer.subject.clone());
                    self.subjects
                        .get_or_default(&topic_answer.subject)
                        .insert(topic.clone());
                }
                if derive::is_relationship(topic_answer) {
                    self.relationship_topics.insert(topic.clone());
                }
            } else if topic_entry.group.is_none() {
                let group = extend::group_key(&statement.text);
                self.groups.get_or_default(&group).add(&topic);
                topic_entry.group = Some(group);
            }
            self.dirty.insert(topic);
        }

        self.documents.insert(id, document_statements);
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
            let key = StatementKey::new(statement, &document_statements.document);
            self.open_statements(&topic, Some(&key));
            if let Some(topic_entry) = self.topics.get_mut(&topic) {
                topic_entry.open.remove(&(document.clone(), index));
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
                self.open_statements(topic, None);
                let topic_entry = self.topics.get_or_default(topic);
                let edit = (memory.clone(), version.as_ref().clone());
                if !topic_entry.corrections.contains(&edit) {
                    topic_entry.corrections.push(edit);
                }
                self.dirty.insert(topic.clone());
            }
            MemoryEdit::Forget {
                memory,
                topic,
                reason,
                at,
            } => {
                let forget = ForgetRecord {
                    at: *at,
                    reason: reason.clone(),
                };
                let memory_edits = self.edits.get_or_default(memory);
                memory_edits.add_forget(forget);
                let topic = memory_edits.keep_topic(topic.as_ref());
                self.mark_dirty(memory, topic);
            }
            MemoryEdit::Review {
                memory,
                topic,
                review,
                at,
            } => {
                let memory_edits = self.edits.get_or_default(memory);
                if !memory_edits.reviews.contains(&(*at, *review)) {
                    memory_edits.reviews.push((*at, *review));
                }
                let topic = memory_edits.keep_topic(topic.as_ref());
                self.mark_dirty(memory, topic);
            }
        }
    }

    /// Marks the topic of a memory whose edits have changed. The memory itself
    /// may be yet to be fetched, or exist no longer, so it is read only if the topic is not given.
    fn mark_dirty(&mut self, memory: &MemoryId, topic: Option<TopicId>) {
        let topic = topic.or_else(|| Some(self.memories.get(memory)?.topic.clone()));
        let Some(topic) = topic else {
            // Edits of earlier programs do not name the topic. The id may be that of another occurrence of
            // a memory that exists, so every topic is recomputed.
            self.dirty = DirtyTopics::All;
            return;
        };

        self.open_statements(&topic, None);
        self.dirty.insert(topic);
    }

    /// Returns the ids of [`Ledger::memories_of_topic`].
    fn topic_memory_ids(&self, topic: &TopicId) -> BTreeSet<MemoryId> {
        match self.topics.get(topic) {
            Some(topic_entry) => topic_entry.memories.clone(),
            None => BTreeSet::new(),
        }
    }

    /// Returns the memories of a topic that its newest statements may change, among them all that no other
    /// has replaced; none for an unknown topic. They are all memories of a topic with a version that a
    /// caller wrote.
    pub fn memories_of_topic(&self, topic: &TopicId) -> impl Iterator<Item = Arc<Memory>> {
        let ids = self.topic_memory_ids(topic).into_iter();
        ids.filter_map(|id| self.memories.get(&id))
    }

    /// Returns all edits of callers by time: everything that [`Ledger::apply_edit`] needs to arrive
    /// at the same memories.
    pub fn list_edits(&self) -> Vec<MemoryEdit> {
        let topics = self.topics.read_all();
        let mut edits: Vec<MemoryEdit> = topics
            .flat_map(|(topic, entry)| entry.edits(&topic))
            .collect();
        edits.extend(self.forgets_and_reviews());
        sort_edits(&mut edits);
        edits
    }

    /// Returns the ids of the topics that begin with `beginning`, without reading the topics.
    pub fn topic_ids(&self, beginning: &str) -> BTreeSet<TopicId> {
        self.topics.keys_with(beginning).collect()
    }

    /// Returns those of the edits of callers that correct memories of these topics.
    pub fn corrections(&self, topics: &[TopicId]) -> Vec<MemoryEdit> {
        let entries = topics
            .iter()
            .filter_map(|topic| Some((topic, self.topics.get(topic)?)));
        entries
            .flat_map(|(topic, entry)| entry.edits(topic))
            .collect()
    }

    /// Returns those of the edits of callers that correct nothing.
    pub fn forgets_and_reviews(&self) -> Vec<MemoryEdit> {
        let mut edits = Vec::new();
        for (memory, memory_edits) in self.edits.read_all() {
            for forget in memory_edits.forgets() {
                edits.push(MemoryEdit::Forget {
                    memory: memory.clone(),
                    topic: memory_edits.topic.clone(),
                    reason: forget.reason.clone(),
                    at: forget.at,
                });
            }
            for (at, review) in &memory_edits.reviews {
                edits.push(MemoryEdit::Review {
                    memory: memory.clone(),
                    topic: memory_edits.topic.clone(),
                    review: *review,
                    at: *at,
                });
            }
        }
        edits
    }

    /// Returns the memory with this id.
    pub fn get(&self, id: &MemoryId) -> Option<Arc<Memory>> {
        self.memories.get(id)
    }

    /// Checks whether there is a memory with this id.
    pub fn has_memory(&self, id: &MemoryId) -> bool {
        self.memories.contains(id)
    }

    /// Returns all memories by id, including forgotten ones and old versions.
    pub fn memories(&self) -> impl Iterator<Item = &Arc<Memory>> {
        self.memories.all().map(|(_, memory)| memory)
    }

    /// Returns those ids of [`Self::memories`] that begin with `beginning`, without reading the memories.
    pub fn memory_ids(&self, beginning: &str) -> BTreeSet<MemoryId> {
        self.memories.keys_with(beginning).collect()
    }

    /// Returns the memories that were inferred from others, also those that a caller has reviewed.
    pub fn inferences(&self) -> impl Iterator<Item = Arc<Memory>> {
        self.inferences
            .iter()
            .filter_map(|id| self.memories.get(id))
    }

    /// Returns the newest versions in the memory's chain, the oldest of them first; none for an inference.
    pub fn memory_history(&self, memory: &Memory) -> Vec<Arc<Memory>> {
        if !self.topics.contains(&memory.topic) {
            return Vec::new();
        }
        let mut topic_memories = self.memories_of_topic(&memory.topic);
        let last = topic_memories
            .find(|other| other.first_version == memory.first_version && !other.is_replaced());
        let last = last.or_else(|| self.memories.get(&memory.id));
        let parent_of = |version: &Arc<Memory>| {
            let id = version.parent.as_ref()?;
            let parent = self.memories.get(id);
            if parent.is_none() && version.version > MIN_PREFETCHED_VERSIONS {
                // It is yet to be fetched, and its parents are as well.
                self.prefetch_settled_versions(&memory.topic);
            }
            parent
        };
        let versions = std::iter::successors(last, parent_of);
        let mut versions: Vec<Arc<Memory>> = versions.take(MAX_HISTORY_VERSIONS).collect();
        versions.reverse();
        versions
    }

    /// Returns the statements of the document with this id, with its metadata.
    pub fn document_statements(&self, document: &DocumentId) -> Option<Arc<DocumentStatements>> {
        self.documents.get(document)
    }

    /// Returns every document that has statements, in any order.
    pub fn all_document_statements(&self) -> impl Iterator<Item = Arc<DocumentStatements>> {
        self.documents.read_all().map(|(_, document)| document)
    }

    /// Returns the memories that a document supports, in the order of its text.
    pub fn memories_of_document(&self, document: &DocumentId) -> Vec<Arc<Memory>> {
        let stated = self.stated_memories(document).into_iter();
        let mut seen: HashSet<MemoryId> = HashSet::new();
        stated
            .map(|(_, memory)| memory)
            .filter(|memory| seen.insert(memory.id.clone()))
            .collect()
    }

    /// Returns the spans of a document that state something, each with the memory that it supports.
    pub fn stated_memories(&self, document: &DocumentId) -> Vec<(SupportingSpan, Arc<Memory>)> {
        let Some(document_statements) = self.documents.get(document) else {
            return Vec::new();
        };

        let mut stated = Vec::new();
        for (index, statement) in document_statements.statements.iter().enumerate() {
            if let Some(id) = self.memory_of_statement(&document_statements, index)
                && let Some(memory) = self.memories.get(&id)
            {
                let span = SupportingSpan {
                    document: document.clone(),
                    start: statement.start,
                    end: statement.end,
                };
                stated.push((span, memory));
            }
        }
        stated
    }

    /// Checks whether a part of a document may be forgotten, without reading the document.
    pub fn has_masked(&self, document: &DocumentId) -> bool {
        self.masked_documents.contains(document)
    }

    /// Returns the parts of a document that state what is forgotten, and those that ask for it, as
    /// positions in its canonical text.
    pub fn forgotten_spans(&self, document: &DocumentId) -> Vec<(usize, usize)> {
        if !self.has_masked(document) {
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
        for (span, memory) in self.stated_memories(document) {
            if memory.forgotten.is_some() {
                spans.push((span.start, span.end));
            }
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
            memory_edits.retain_until(system_time);
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

    /// Returns the number of stored memories that stay in memory, because all of them were asked for.
    pub fn stored_memories_in_memory(&self) -> usize {
        self.memories.stored_in_memory()
    }

    /// Estimates the memory that the ledger takes besides its store and what it has read of it, in
    /// bytes.
    pub fn estimated_bytes(&self) -> usize {
        self.documents.overlay_bytes()
            + self.topics.overlay_bytes()
            + self.blocks.overlay_bytes()
            + self.memories.overlay_bytes()
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

/// Sorts edits of callers by time. Those of one memory at the same time keep their order.
pub fn sort_edits(edits: &mut [MemoryEdit]) {
    edits.sort_by_cached_key(|edit| (edit_time(edit), edited_name(edit)));
}

/// Returns the id of what an edit changes, a topic or a memory.
fn edited_name(edit: &MemoryEdit) -> String {
    match edit {
        MemoryEdit::Update { topic, .. } => topic.to_string(),
        MemoryEdit::Forget { memory, .. } | MemoryEdit::Review { memory, .. } => memory.to_string(),
    }
}

/// Returns the time of an edit.
fn edit_time(edit: &MemoryEdit) -> Timestamp {
    match edit {
        MemoryEdit::Update { version, .. } => version.said_at,
        MemoryEdit::Forget { at, .. } | MemoryEdit::Review { at, .. } => *at,
    }
}
