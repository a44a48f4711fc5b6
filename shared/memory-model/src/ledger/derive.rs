//! Inferences from a relationship, which names a person or an animal, and a fact about somebody of
//! that name.
//!
//! "Ben's sister is Anna" and "Anna lives in Bonn." give "Ben's sister lives in Bonn." Nothing else
//! is inferred: every word of an inference stands in one of the two memories it follows from.
//! Memories from external documents give no inferences.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{MemoryId, Topic, TopicId, Trust};

use super::{ForgetRecord, Ledger, Memory, MemoryEdits, MemoryRelation};

/// Attributes whose value is the name of a person or an animal: relationships to somebody. Sorted.
const RELATIONSHIP_ATTRIBUTES: &[&str] = &[
    "boss",
    "boyfriend",
    "brother",
    "cat",
    "colleague",
    "cousin",
    "daughter",
    "dog",
    "father",
    "fiancé",
    "flatmate",
    "friend",
    "girlfriend",
    "husband",
    "manager",
    "mother",
    "neighbour",
    "partner",
    "roommate",
    "sister",
    "son",
    "spouse",
    "wife",
];

/// The most inferences of a container. A thousand colleagues with one name are not one person.
pub(super) const MAX_INFERENCES: usize = 1_000;
/// The most pairs of a relationship and a fact that are examined for inferences.
const MAX_EXAMINED_PAIRS: usize = 100_000;
/// The factor by which an inference is less certain than the memories it follows from.
const INFERENCE_CONFIDENCE_FACTOR: f32 = 0.8;

/// Checks whether the answers to a topic name a person or an animal by a relationship.
pub(super) fn is_relationship(topic: &Topic) -> bool {
    RELATIONSHIP_ATTRIBUTES
        .binary_search(&topic.attribute.as_str())
        .is_ok()
}

impl Ledger {
    /// Computes all inferences anew. Stores the former state of each memory that changes in
    /// `memories_before`.
    pub(super) fn recompute_inferences(
        &mut self,
        memories_before: &mut BTreeMap<MemoryId, Arc<Memory>>,
    ) {
        for id in std::mem::take(&mut self.inferences) {
            let Some(memory) = self.memories.take(&id) else {
                continue;
            };
            for parent in memory.relations.keys() {
                self.change_memory(parent, memories_before, |parent_memory| {
                    parent_memory.reverse_relations.remove(&id);
                });
            }
            memories_before.insert(id, memory);
        }

        for memory in self.draw_inferences() {
            for parent in memory.relations.keys() {
                self.change_memory(parent, memories_before, |parent_memory| {
                    let relations = &mut parent_memory.reverse_relations;
                    relations.insert(memory.id.clone(), MemoryRelation::Derives);
                });
            }
            self.inferences.push(memory.id.clone());
            self.memories.insert(memory.id.clone(), memory);
        }
    }

    fn draw_inferences(&mut self) -> Vec<Memory> {
        let mut inferences: BTreeMap<MemoryId, Memory> = BTreeMap::new();
        let mut facts_by_name: HashMap<String, Vec<(Arc<Memory>, Topic)>> = HashMap::new();
        let mut examined_pairs = 0;
        for relationship_topic in self.relationship_topics.clone() {
            for (relationship_memory, relationship) in self.current_memories(&relationship_topic) {
                if relationship.negated || owner_name(&relationship_memory, &relationship).is_none()
                {
                    continue;
                }

                let name = &relationship.value;
                let facts = facts_by_name
                    .entry(name.clone())
                    .or_insert_with(|| self.facts_about(name));
                for (fact, topic) in facts.iter() {
                    if inferences.len() == MAX_INFERENCES || examined_pairs == MAX_EXAMINED_PAIRS {
                        return inferences.into_values().collect();
                    }
                    examined_pairs += 1;
                    if let Some(memory) =
                        self.infer_memory(&relationship_memory, &relationship, fact, topic)
                    {
                        inferences.insert(memory.id.clone(), memory);
                    }
                }
            }
        }

        inferences.into_values().collect()
    }

    /// Returns the current memories about a person or an animal of this name that begin with the name,
    /// with their answers.
    fn facts_about(&mut self, name: &str) -> Vec<(Arc<Memory>, Topic)> {
        let Some(topics) = self.subjects.fetch(&name.to_owned()) else {
            return Vec::new();
        };

        let mut facts = Vec::new();
        for topic in topics.iter() {
            let mut current = self.current_memories(topic);
            current.retain(|(fact, _)| strip_name_prefix(&fact.text, name).is_some());
            facts.extend(current);
        }
        facts
    }

    /// Returns the current memories of a topic, with their answers, without those from external
    /// documents. They stay in memory, because all inferences are drawn again with each change.
    fn current_memories(&mut self, topic: &TopicId) -> Vec<(Arc<Memory>, Topic)> {
        let Some(topic_entry) = self.topics.fetch(topic) else {
            return Vec::new();
        };

        let mut current = Vec::new();
        for id in &topic_entry.memories {
            if let Some(memory) = self.memories.fetch(id)
                && memory.is_latest
                && memory.trust != Trust::External
                && memory.forgotten.is_none()
                && let Some(answer) = memory.topic_answer.clone()
            {
                current.push((memory, answer));
            }
        }
        current
    }

    /// Returns the inference from `relationship_memory`, which names a person or an animal, and
    /// `fact`, which is about somebody of that name.
    fn infer_memory(
        &self,
        relationship_memory: &Memory,
        relationship: &Topic,
        fact: &Memory,
        topic: &Topic,
    ) -> Option<Memory> {
        if relationship.subject == topic.subject {
            return None;
        }

        let rest = strip_name_prefix(&fact.text, &relationship.value)?;
        let owner = owner_name(relationship_memory, relationship)?;
        let text = format!("{owner}'s {}{rest}", relationship.attribute);
        let key = TopicId::derived(
            &self.container,
            &[
                "derived",
                relationship_memory.topic.as_str(),
                fact.topic.as_str(),
            ],
        );
        let id = MemoryId::derived(&key, &topic.value, 0);
        let edits = self.edits.get(&id);
        let review = edits.as_deref().and_then(MemoryEdits::review);

        Some(Memory {
            topic: key,
            topic_answer: None,
            changed_aspects: Vec::new(),
            text,
            is_inference: review != Some(ReviewDecision::Approve),
            review,
            confidence: relationship_memory.confidence
                * fact.confidence
                * INFERENCE_CONFIDENCE_FACTOR,
            trust: relationship_memory.trust.weaker(fact.trust),
            attribution: relationship_memory
                .attribution
                .clone()
                .or_else(|| fact.attribution.clone()),
            version: 1,
            parent: None,
            first_version: id.clone(),
            relations: BTreeMap::from([
                (relationship_memory.id.clone(), MemoryRelation::Derives),
                (fact.id.clone(), MemoryRelation::Derives),
            ]),
            reverse_relations: BTreeMap::new(),
            contradicts: Vec::new(),
            sources: [relationship_memory.sources.as_slice(), &fact.sources].concat(),
            unlisted_sources: relationship_memory.unlisted_sources + fact.unlisted_sources,
            forgotten: inference_forgotten(edits.as_deref(), review),
            forget_after: relationship_memory
                .forget_after
                .into_iter()
                .chain(fact.forget_after)
                .min(),
            said_at: relationship_memory.said_at.max(fact.said_at),
            created_at: relationship_memory.created_at.max(fact.created_at),
            updated_at: relationship_memory.updated_at.max(fact.updated_at),
            id,
            ..fact.clone()
        })
    }
}

fn inference_forgotten(
    edits: Option<&MemoryEdits>,
    review: Option<ReviewDecision>,
) -> Option<ForgetRecord> {
    let edits = edits?;
    if edits.forgotten.is_some() {
        return edits.forgotten.clone();
    }
    if review != Some(ReviewDecision::Decline) {
        return None;
    }

    let (at, _) = edits.reviews.iter().max_by_key(|(at, _)| *at)?;
    Some(ForgetRecord {
        at: *at,
        reason: Some("declined".into()),
    })
}

/// Returns the name of the one whose relationship it is, if the memory begins with it.
fn owner_name<'a>(relationship_memory: &'a Memory, relationship: &Topic) -> Option<&'a str> {
    let owner = relationship_memory.text.get(..relationship.subject.len())?;
    (owner.to_lowercase() == relationship.subject).then_some(owner)
}

/// Returns the rest of a text after `name` at its beginning, if `name` ends there as a whole word.
fn strip_name_prefix<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(name.len())?;
    let is_word_end = rest.starts_with(|next: char| !next.is_alphanumeric());
    (start.to_lowercase() == name && is_word_end).then_some(rest)
}
