//! The memories that are related to a found memory: its other versions, those that it extends or
//! follows from, and those that contradict it.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{Attribution, MemoryId, Metadata, Timestamp, Trust};
use memory_model::{Ledger, Memory, MemoryRelation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::v4::non_empty_metadata;

/// The relations of a memory to others.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RelatedContext {
    /// The memories that it replaces, extends or follows from. Older versions come with the nearest
    /// first.
    parents: Vec<RelatedMemory>,
    /// The memories that replace or extend it, or follow from it.
    children: Vec<RelatedMemory>,
    /// The memories that contradict it.
    related: Vec<RelatedMemory>,
}

/// A memory that is related to a result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RelatedMemory {
    /// The relation of the child to its parent. `contradicts` holds in both directions.
    #[schemars(extend("enum" = ["updates", "extends", "derives", "contradicts"]))]
    relation: &'static str,
    /// The version relative to the result: -1 is the version before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    /// The sentence.
    memory: String,
    /// The metadata of the memory.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The time of its last change.
    updated_at: Timestamp,
    /// The trust in the memory, which follows from its source.
    trust: Trust,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
}

/// The choice of the memories that are shown beside a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownMemories {
    /// The time of the search.
    pub(crate) now: Timestamp,
    /// True if the request includes memories that were forgotten or have expired.
    pub(crate) includes_forgotten: bool,
}

impl ShownMemories {
    /// Checks whether a memory is shown.
    pub(crate) fn shows(self, memory: &Memory) -> bool {
        self.includes_forgotten || !memory.is_forgotten(self.now)
    }
}

/// Returns the other versions of a memory that are shown, the newest first, each with its distance
/// from the memory: -1 is the version before it.
pub(crate) fn other_versions(
    ledger: &Ledger,
    memory: &Memory,
    shown: ShownMemories,
) -> Vec<(Arc<Memory>, i64)> {
    let mut versions = Vec::new();
    for other in ledger.memory_history(memory).into_iter().rev() {
        if other.id != memory.id && shown.shows(&other) {
            let distance = i64::from(other.version) - i64::from(memory.version);
            versions.push((other, distance));
        }
    }

    versions
}

/// Returns the memories of these relations that are no other versions and that are shown.
pub(crate) fn linked_memories(
    ledger: &Ledger,
    relations: &BTreeMap<MemoryId, MemoryRelation>,
    shown: ShownMemories,
) -> Vec<(Arc<Memory>, MemoryRelation)> {
    let mut linked = Vec::new();
    for (id, relation) in relations {
        if *relation != MemoryRelation::Updates
            && let Some(other) = ledger.get(id)
            && shown.shows(&other)
        {
            linked.push((other, *relation));
        }
    }

    linked
}

/// Returns the memories that are related to `memory` and that are shown.
pub(crate) fn related_context(
    ledger: &Ledger,
    memory: &Memory,
    shown: ShownMemories,
) -> RelatedContext {
    let related = |other: &Memory, relation, version| RelatedMemory {
        relation,
        version,
        memory: other.text.clone(),
        metadata: non_empty_metadata(other.metadata.clone()),
        updated_at: other.updated_at,
        trust: other.trust,
        origin: other.attribution.clone(),
    };

    let mut context = RelatedContext::default();
    for (other, distance) in other_versions(ledger, memory, shown) {
        let side = if distance < 0 {
            &mut context.parents
        } else {
            &mut context.children
        };
        side.push(related(
            &other,
            MemoryRelation::Updates.as_str(),
            Some(distance),
        ));
    }

    for (relations, side) in [
        (&memory.relations, &mut context.parents),
        (&memory.reverse_relations, &mut context.children),
    ] {
        for (other, relation) in linked_memories(ledger, relations, shown) {
            side.push(related(&other, relation.as_str(), None));
        }
    }

    for id in &memory.contradicts {
        if let Some(other) = ledger.get(id)
            && shown.shows(&other)
        {
            context.related.push(related(&other, "contradicts", None));
        }
    }

    context
}
