//! `GET /ns/{namespace}/memories/{id}`: reads a memory.

use axum::extract::State;
use domain::{ContainerTag, Error, IndexedDocument, Result, Timestamp};
use edge::{
    ApiResult, Auth, IncludeQuery, Json, NamespaceMemory, Path, ProviderNames, Query, ReadContent,
    RelatedMemories, RelatedMemory, SourceDocument, deserialize_count, parse_namespace,
};
use memory_model::{Ledger, Memory, MemoryRelation};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::list::memory_example;
use super::{GROUP, NAMESPACE};
use crate::MemoriesState;
use crate::container_memories::ContainerMemories;

/// The number of related memories in each list if the request does not set a limit.
const DEFAULT_RELATED: usize = 10;
/// The most related memories in each list. Part of the API.
const MAX_RELATED: usize = 100;
/// The most versions between a memory and a related version of it.
const MAX_DISTANCE: i64 = 3;

/// The parts that are included in the answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `IncludeQuery` reads")]
pub(crate) struct IncludedParts {
    /// `related`, `documents`, or both with a comma between them.
    include: Option<String>,
}

/// The size of the included parts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RelatedQuery {
    /// The most memories in each list of related memories.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_RELATED>")]
    #[schemars(extend("default" = DEFAULT_RELATED))]
    related_limit: Option<usize>,
}

/// A memory with the parts that the request includes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceMemoryDetails")]
pub(crate) struct MemoryDetails {
    #[serde(flatten)]
    memory: NamespaceMemory,
    /// The additional parts, if the request asks for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<IncludedDetails>,
}

/// The additional parts of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct IncludedDetails {
    /// The memories that are related to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<RelatedMemories>,
    /// The first document that states it. Absent for a version that a caller has written.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<SourceDocument>,
}

pub(crate) async fn get_namespace_memory(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path((namespace, id)): Path<(String, String)>,
    include: IncludeQuery,
    Query(query): Query<RelatedQuery>,
) -> ApiResult<Json<MemoryDetails>> {
    let tag = parse_namespace(&namespace)?;
    let related_limit = query.related_limit()?;
    let container_memories = ContainerMemories::open_container(&state, &tenant, &tag).await?;
    let read = || {
        let located = container_memories.get_memory(&id)?;
        let reader = DetailReader {
            ledger: located.ledger,
            memory: &located.memory,
            names: state.app.provider_names,
            now: container_memories.now,
            with_documents: include.contains("documents"),
        };
        Some(MemoryDetails {
            memory: NamespaceMemory::new(&located.memory, container_memories.now),
            included: reader.read_included(include.contains("related"), related_limit),
        })
    };
    let ctx = &state.app.ctx;
    let details = container_memories.read(ctx, &tenant, read).await?;
    Ok(Json(details.ok_or(Error::NotFound("Memory"))?))
}

impl RelatedQuery {
    /// Checks the number of related memories.
    fn related_limit(&self) -> Result<usize> {
        let limit = self.related_limit.unwrap_or(DEFAULT_RELATED);
        if !(1..=MAX_RELATED).contains(&limit) {
            return Err(Error::invalid_field(
                "relatedLimit",
                format!("1 to {MAX_RELATED}"),
            ));
        }
        Ok(limit)
    }
}

/// Reads the parts of an answer about a memory.
struct DetailReader<'a> {
    ledger: &'a Ledger,
    memory: &'a Memory,
    names: ProviderNames,
    /// The present time.
    now: Timestamp,
    with_documents: bool,
}

impl DetailReader<'_> {
    /// Returns the requested parts, or `None` if there are none.
    fn read_included(&self, with_related: bool, related_limit: usize) -> Option<IncludedDetails> {
        if !with_related && !self.with_documents {
            return None;
        }
        Some(IncludedDetails {
            related: with_related.then(|| self.read_related(related_limit)),
            document: self.read_document(self.memory),
        })
    }

    /// Returns at most `limit` related memories of each kind, without those that are forgotten.
    fn read_related(&self, limit: usize) -> RelatedMemories {
        let mut related = RelatedMemories::default();
        let distance = |other: &Memory| i64::from(other.version) - i64::from(self.memory.version);
        let mut versions = self.ledger.memory_history(self.memory);
        versions.sort_by_key(|other| distance(other).abs());
        for other in versions {
            let distance = distance(&other);
            if distance == 0 || distance.abs() > MAX_DISTANCE || other.is_forgotten(self.now) {
                continue;
            }
            let side = if distance < 0 {
                &mut related.parents
            } else {
                &mut related.children
            };
            if side.len() < limit {
                side.push(self.read_entry(&other, MemoryRelation::Updates, Some(distance)));
            }
        }

        let outgoing = self.memory.relations.iter();
        for (id, relation) in outgoing.chain(&self.memory.reverse_relations) {
            if *relation != MemoryRelation::Updates
                && related.siblings.len() < limit
                && let Some(other) = self.ledger.get(id)
                && !other.is_forgotten(self.now)
            {
                let entry = self.read_entry(&other, *relation, None);
                related.siblings.push(entry);
            }
        }

        related
    }

    fn read_entry(
        &self,
        memory: &Memory,
        relation: MemoryRelation,
        version: Option<i64>,
    ) -> RelatedMemory {
        let document = self.read_document(memory);
        RelatedMemory::new(memory, relation, version, document)
    }

    /// Returns the first document that states a memory, if documents are requested.
    fn read_document(&self, memory: &Memory) -> Option<SourceDocument> {
        if !self.with_documents {
            return None;
        }
        let documents = self.ledger.documents_of(memory);
        let document: &IndexedDocument = documents.first()?;
        Some(SourceDocument::new(document, self.names))
    }
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    let mut example = memory_example();
    example["included"] = json!({
        "document": {
            "id": "note-17",
            "title": null,
            "type": "text",
            "metadata": {"source": "diary"},
            "system": {
                "createdAt": "2026-03-01T09:30:00.000Z",
                "updatedAt": "2026-03-01T09:30:02.120Z",
            },
        },
    });

    vec![
        Operation::get("/ns/{namespace}/memories/{id}", "get_namespace_memory")
            .group(GROUP)
            .summary("Get a memory of a namespace.")
            .description("Any version, whether or not it is forgotten.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", "The id of a memory.")
            .query::<IncludedParts>()
            .query::<RelatedQuery>()
            .answer::<MemoryDetails>("The memory.", example)
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no such namespace or memory.",
            ),
    ]
}
