//! The memories of one container, computed from the statements of its documents and the edits of
//! callers.
//!
//! A statement belongs to a topic. The statements of a topic are folded in the order in which they
//! were said (`chain`). Nothing else has an influence, so the memories depend neither on the order
//! in which documents arrive nor on how often they are processed, and a deleted document leaves no
//! trace.

mod chain;
mod derive;
mod extend;
mod memory;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    ContainerId, DocumentId, Filter, IndexedDocument, MemoryEdit, MemoryId, Metadata, Statement,
    Timestamp, Topic, TopicId,
};

pub use memory::{ForgetRecord, Memory, MemoryRelation, SupportingSpan};

use crate::words::content_words;

/// The most versions in the history of a memory.
const MAX_HISTORY_VERSIONS: usize = 100;

/// The statements of a document, with the document's metadata.
#[derive(Debug, Clone)]
pub struct DocumentStatements {
    /// The document as the index shows it.
    pub document: IndexedDocument,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// The memories of a container and everything that they are computed from. Clones share the
/// statements.
#[derive(Debug, Clone)]
pub struct Ledger {
    container: ContainerId,
    told: HashMap<DocumentId, Arc<DocumentStatements>>,
    topics: HashMap<TopicId, TopicEntry>,
    /// The edits of callers, by the memory that they apply to.
    acts: HashMap<MemoryId, MemoryEdits>,
    memories: BTreeMap<MemoryId, Memory>,
    /// Topics whose statements begin alike, by that beginning. One of them may extend another.
    groups: HashMap<String, BTreeSet<TopicId>>,
    /// Topics by their subject.
    subjects: HashMap<String, BTreeSet<TopicId>>,
    /// Topics that name somebody's relatives and animals.
    kin: BTreeSet<TopicId>,
    /// The memories that were inferred from others.
    conclusions: Vec<MemoryId>,
    dirty: BTreeSet<TopicId>,
}

/// The statements of one topic, and its memories.
#[derive(Debug, Clone, Default)]
struct TopicEntry {
    topic: Option<Topic>,
    group: Option<String>,
    /// The statements of documents: the document and the position among its statements.
    stated: BTreeSet<(DocumentId, usize)>,
    /// Versions that callers wrote, with the memory that each replaces.
    edits: Vec<(MemoryId, Statement)>,
    memories: Vec<MemoryId>,
}

/// The edits of callers to one memory, other than new versions.
#[derive(Debug, Clone, Default)]
struct MemoryEdits {
    /// The time of the first forget, and its reason.
    forgotten: Option<(Timestamp, Option<String>)>,
    reviews: Vec<(Timestamp, ReviewDecision)>,
}

impl MemoryEdits {
    /// Returns the latest decision, unless it was undone.
    fn review(&self) -> Option<ReviewDecision> {
        let last = self
            .reviews
            .iter()
            .max_by_key(|(at, _)| *at)
            .map(|(_, review)| *review);
        last.filter(|review| *review != ReviewDecision::Undo)
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
    /// Creates the ledger of a container without memories.
    pub fn new(container: ContainerId) -> Self {
        Self {
            container,
            told: HashMap::new(),
            topics: HashMap::new(),
            acts: HashMap::new(),
            memories: BTreeMap::new(),
            groups: HashMap::new(),
            subjects: HashMap::new(),
            kin: BTreeSet::new(),
            conclusions: Vec::new(),
            dirty: BTreeSet::new(),
        }
    }

    /// Inserts the statements of a document, replacing those inserted for it before.
    pub fn insert_document(&mut self, told: DocumentStatements) {
        let id = told.document.id.clone();
        self.remove_document(&id);
        for (place, statement) in told.statements.iter().enumerate() {
            let topic = topic_id_of(&self.container, statement);
            let claims = self.topics.entry(topic.clone()).or_default();
            claims.stated.insert((id.clone(), place));
            if let Some(answers) = &statement.topic {
                claims.topic = Some(answers.clone());
                self.subjects
                    .entry(answers.subject.clone())
                    .or_default()
                    .insert(topic.clone());
                if derive::names_relative(answers) {
                    self.kin.insert(topic.clone());
                }
            } else {
                let group = extend::group_key(&statement.text);
                self.groups
                    .entry(group.clone())
                    .or_default()
                    .insert(topic.clone());
                claims.group = Some(group);
            }
            self.dirty.insert(topic);
        }

        self.told.insert(id, Arc::new(told));
    }

    /// Removes the statements of a document. Does nothing for an unknown document.
    pub fn remove_document(&mut self, document: &DocumentId) {
        let Some(told) = self.told.remove(document) else {
            return;
        };
        for (place, statement) in told.statements.iter().enumerate() {
            let topic = topic_id_of(&self.container, statement);
            if let Some(claims) = self.topics.get_mut(&topic) {
                claims.stated.remove(&(document.clone(), place));
            }
            self.dirty.insert(topic);
        }
    }

    /// Applies an edit of a caller. Applying it again changes nothing.
    pub fn apply_edit(&mut self, action: &MemoryEdit) {
        match action {
            MemoryEdit::Update {
                memory,
                topic,
                version,
            } => {
                let claims = self.topics.entry(topic.clone()).or_default();
                let edit = (memory.clone(), version.as_ref().clone());
                if !claims.edits.contains(&edit) {
                    claims.edits.push(edit);
                }
                self.dirty.insert(topic.clone());
            }
            MemoryEdit::Forget { memory, reason, at } => {
                let forgotten = &mut self.acts.entry(memory.clone()).or_default().forgotten;
                if forgotten.as_ref().is_none_or(|(first, _)| at < first) {
                    *forgotten = Some((*at, reason.clone()));
                }
                self.mark_dirty(memory);
            }
            MemoryEdit::Review { memory, review, at } => {
                let reviews = &mut self.acts.entry(memory.clone()).or_default().reviews;
                if !reviews.contains(&(*at, *review)) {
                    reviews.push((*at, *review));
                }
                self.mark_dirty(memory);
            }
        }
    }

    fn mark_dirty(&mut self, memory: &MemoryId) {
        match self.memories.get(memory) {
            Some(known) => {
                self.dirty.insert(known.topic.clone());
            }
            // The id may be that of another occurrence of a memory that exists, so every topic is
            // recomputed.
            None => self.dirty.extend(self.topics.keys().cloned()),
        }
    }

    /// Recomputes the memories of all topics that have changed, and returns what is different.
    pub fn recompute_memories(&mut self) -> LedgerChanges {
        if self.dirty.is_empty() {
            return LedgerChanges::default();
        }

        let mut before: BTreeMap<MemoryId, Memory> = BTreeMap::new();
        let dirty = std::mem::take(&mut self.dirty);
        let mut groups = BTreeSet::new();
        for topic in &dirty {
            let Some(mut claims) = self.topics.remove(topic) else {
                continue;
            };
            for id in claims.memories.drain(..) {
                before.extend(self.memories.remove(&id).map(|memory| (id, memory)));
            }
            groups.extend(claims.group.clone());
            let made = chain::fold_topic(topic, &claims, &self.told, &self.acts);
            claims.memories = made.iter().map(|memory| memory.id.clone()).collect();
            self.memories
                .extend(made.into_iter().map(|memory| (memory.id.clone(), memory)));
            if !claims.stated.is_empty() || !claims.edits.is_empty() {
                self.topics.insert(topic.clone(), claims);
            } else {
                self.remove_topic(topic, &claims);
            }
        }

        for group in groups {
            self.relate_extensions(&group, &mut before);
        }

        self.recompute_inferences(&mut before);
        self.diff_memories(&dirty, before)
    }

    /// Removes a topic without statements from the indexes.
    fn remove_topic(&mut self, topic: &TopicId, claims: &TopicEntry) {
        if let Some(group) = claims
            .group
            .as_ref()
            .and_then(|group| self.groups.get_mut(group))
        {
            group.remove(topic);
        }

        if let Some(subject) = claims
            .topic
            .as_ref()
            .and_then(|answers| self.subjects.get_mut(&answers.subject))
        {
            subject.remove(topic);
        }

        self.kin.remove(topic);
    }

    /// Compares the memories that could have changed with their state in `before`.
    fn diff_memories(
        &self,
        dirty: &BTreeSet<TopicId>,
        before: BTreeMap<MemoryId, Memory>,
    ) -> LedgerChanges {
        let mut changed = LedgerChanges::default();
        for (id, old) in &before {
            match self.memories.get(id) {
                None => changed.removed.insert(id.clone()),
                Some(new) if new != old => changed.updated.insert(id.clone()),
                Some(_) => false,
            };
        }

        let fresh = dirty
            .iter()
            .filter_map(|topic| self.topics.get(topic))
            .flat_map(|claims| &claims.memories);
        changed
            .updated
            .extend(fresh.filter(|id| !before.contains_key(id)).cloned());
        changed.updated.extend(
            self.conclusions
                .iter()
                .filter(|id| !before.contains_key(id))
                .cloned(),
        );

        changed
    }

    /// Returns all edits of callers by time: everything that [`Ledger::apply_edit`] needs to arrive
    /// at the same memories.
    pub fn list_edits(&self) -> Vec<MemoryEdit> {
        let mut actions: Vec<(Timestamp, &str, MemoryEdit)> = Vec::new();
        for (topic, claims) in &self.topics {
            actions.extend(claims.edits.iter().map(|(memory, version)| {
                let (memory, version) = (memory.clone(), Box::new(version.clone()));
                let update = MemoryEdit::Update {
                    memory,
                    topic: topic.clone(),
                    version,
                };
                (edit_time(&update), topic.as_str(), update)
            }));
        }

        for (memory, acts) in &self.acts {
            let forgotten = acts
                .forgotten
                .iter()
                .map(|(at, reason)| MemoryEdit::Forget {
                    memory: memory.clone(),
                    reason: reason.clone(),
                    at: *at,
                });
            let reviews = acts.reviews.iter().map(|(at, review)| MemoryEdit::Review {
                memory: memory.clone(),
                review: *review,
                at: *at,
            });
            actions.extend(
                forgotten
                    .chain(reviews)
                    .map(|action| (edit_time(&action), memory.as_str(), action)),
            );
        }

        // The sort is stable: edits of one memory at the same time keep their order.
        actions.sort_by(|(at, name, _), (other_at, other, _)| (at, name).cmp(&(other_at, other)));
        actions.into_iter().map(|(_, _, action)| action).collect()
    }

    /// Returns the memory with this id.
    pub fn get(&self, id: &MemoryId) -> Option<&Memory> {
        self.memories.get(id)
    }

    /// Returns all memories by id, including forgotten ones and old versions.
    pub fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.memories.values()
    }

    /// Returns the newest versions in the memory's line of its topic, the oldest of them first.
    pub fn memory_history(&self, memory: &Memory) -> Vec<&Memory> {
        let claims = self.topics.get(&memory.topic);
        let ids = claims.into_iter().flat_map(|claims| &claims.memories);
        let mut line: Vec<&Memory> = ids
            .filter_map(|id| self.memories.get(id))
            .filter(|other| other.first_version == memory.first_version)
            .collect();
        line.sort_by_key(|memory| memory.version);
        line.split_off(line.len().saturating_sub(MAX_HISTORY_VERSIONS))
    }

    /// Returns the statements of the document with this id, with its metadata.
    pub fn document_statements(&self, document: &DocumentId) -> Option<&DocumentStatements> {
        self.told.get(document).map(Arc::as_ref)
    }

    /// Returns every document that has statements.
    pub fn all_document_statements(&self) -> impl Iterator<Item = &DocumentStatements> {
        self.told.values().map(Arc::as_ref)
    }

    /// Returns the memories that a document supports, in the order of its text.
    pub fn memories_of_document(&self, document: &DocumentId) -> Vec<&Memory> {
        let mut found: Vec<&Memory> = Vec::new();
        let mut seen = HashSet::new();
        for statement in self
            .told
            .get(document)
            .iter()
            .flat_map(|told| &told.statements)
        {
            let claims = self.topics.get(&topic_id_of(&self.container, statement));
            let ids = claims.into_iter().flat_map(|claims| &claims.memories);
            let supported = ids.filter_map(|id| self.memories.get(id)).find(|memory| {
                memory
                    .sources
                    .iter()
                    .any(|s| s.document == *document && s.start == statement.start)
            });
            found.extend(supported.filter(|memory| seen.insert(&memory.id)));
        }

        found
    }

    /// Computes the ledger as it was at a point of system time and valid time: without anything
    /// recorded after `recorded` and anything said after `said`.
    pub fn snapshot_as_of(&self, recorded: Timestamp, said: Timestamp) -> Self {
        let mut past = Self::new(self.container.clone());
        for told in self
            .told
            .values()
            .filter(|told| told.document.created_at <= recorded.as_millis())
        {
            let mut told = told.as_ref().clone();
            told.statements
                .retain(|statement| statement.said_at <= said);
            past.insert_document(told);
        }

        for (topic, claims) in &self.topics {
            for (memory, version) in claims
                .edits
                .iter()
                .filter(|(_, edit)| edit.said_at <= recorded.min(said))
            {
                let version = Box::new(version.clone());
                past.apply_edit(&MemoryEdit::Update {
                    memory: memory.clone(),
                    topic: topic.clone(),
                    version,
                });
            }
        }

        for (memory, acts) in &self.acts {
            let mut acts = acts.clone();
            acts.forgotten = acts.forgotten.filter(|(at, _)| *at <= recorded);
            acts.reviews.retain(|(at, _)| *at <= recorded);
            past.acts.insert(memory.clone(), acts);
        }

        past.recompute_memories();
        past
    }

    /// Returns the documents that support a memory, each once, in the order of its sources.
    pub fn documents_of<'a>(&'a self, memory: &'a Memory) -> Vec<&'a IndexedDocument> {
        let mut seen = HashSet::new();
        let told = memory
            .sources
            .iter()
            .filter_map(|source| self.told.get(&source.document));
        told.map(|told| &told.document)
            .filter(|document| seen.insert(&document.id))
            .collect()
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

    /// Estimates the memory that the ledger takes, in bytes.
    pub fn estimated_bytes(&self) -> usize {
        let text = |statement: &Statement| 500 + statement.text.len();
        let told = self
            .told
            .values()
            .map(|told| 500 + told.statements.iter().map(text).sum::<usize>());
        told.sum::<usize>()
            + self
                .memories
                .values()
                .map(|memory| 800 + memory.text.len())
                .sum::<usize>()
    }
}

/// Returns the topic of a statement: its subject and attribute, or, without those, the essence of
/// the statement itself.
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
fn edit_time(action: &MemoryEdit) -> Timestamp {
    match action {
        MemoryEdit::Update { version, .. } => version.said_at,
        MemoryEdit::Forget { at, .. } | MemoryEdit::Review { at, .. } => *at,
    }
}
