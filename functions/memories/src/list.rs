//! `POST /v4/memories/list`: lists memories.

use std::cmp::Reverse;

use axum::extract::State;
use container_index::IndexedMemories;
use domain::{ContainerTag, Error, Filter, MemoryId, Result, Tenant, Timestamp};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, MemoryEntry, Order, Pagination, ReadContent, SortField,
    deserialize_count, parse_scope,
};
use memory_model::Memory;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{ContainerScope, explain_empty_list, find_containers};

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};

/// The number of memories on a page if the request does not set a limit.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// The most memories on a page. Part of the API.
pub(crate) const MAX_LIMIT: usize = 1100;

/// The memories to list, their order and the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ListMemoriesRequest")]
pub(crate) struct ListRequest {
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. A key that reaches all containers has to name at least one.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/Filters"))]
    filters: Option<Value>,
    /// The number of memories on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The field by which the list is sorted.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<SortField>,
    /// The direction of the list.
    #[schemars(extend("default" = "desc"))]
    order: Option<Order>,
}

/// A page of memories.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemoryListResponse")]
pub(crate) struct ListResponse {
    /// The latest version of each memory.
    memory_entries: Vec<MemoryEntry>,
    /// The position of the page.
    pagination: Pagination,
    /// The reason why there are no memories, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn list_memories(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ListResponse>> {
    let ctx = &state.app.ctx;
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;

    if scope.tags.is_empty() && tenant.allowed_tags().is_none() {
        return Err(Error::invalid_field("containerTags", "name at least one container").into());
    }

    let query = MemoryQuery {
        filter: Filter::parse_optional(request.filters.as_ref())?,
        includes_forgotten: true,
        sort: request.sort.unwrap_or_default(),
        is_ascending: request.order == Some(Order::Asc),
        page: PageNumber::parse(request.page, request.limit)?,
    };
    let container_memories = open_scope(&state, &tenant, &scope).await?;
    let (found, total) = query.select_page(&container_memories);

    let mut memory_entries = Vec::with_capacity(found.len());
    for located in found {
        memory_entries.push(MemoryEntry::new(
            located.ledger,
            &located.memory,
            located.container,
            tenant.org(),
            container_memories.now,
        ));
    }
    let hint = match total {
        0 => explain_empty_list(ctx, &tenant, &scope).await?,
        _ => None,
    };

    Ok(Json(ListResponse {
        memory_entries,
        pagination: query.page.pagination(total),
        hint,
    }))
}

/// Opens the memories of every container in scope, and fetches all of them.
///
/// # Errors
/// Those of the ports, and of a tag that the key does not reach.
pub(crate) async fn open_scope(
    state: &MemoriesState,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<ContainerMemories> {
    let ctx = &state.app.ctx;
    let mut containers: Vec<(_, IndexedMemories<()>)> = Vec::new();
    for id in find_containers(ctx, tenant, scope)
        .await?
        .into_iter()
        .flat_map(|container| container.ids)
    {
        let memories = state.ledgers.open(ctx, tenant, &id).await?;
        containers.push((id, memories));
    }

    let mut container_memories = ContainerMemories::new(containers, ctx.clock.now());
    container_memories
        .fetch_all(ctx, tenant, &state.ledgers)
        .await?;
    Ok(container_memories)
}

/// The number and the size of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageNumber {
    number: usize,
    limit: usize,
}

impl PageNumber {
    /// Checks the number and the size of the page.
    pub(crate) fn parse(number: Option<usize>, limit: Option<usize>) -> Result<Self> {
        let (number, limit) = (number.unwrap_or(1), limit.unwrap_or(DEFAULT_LIMIT));
        if number == 0 {
            return Err(Error::invalid_field("page", "1 or more"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")));
        }
        Ok(Self { number, limit })
    }

    /// Returns the position of the page in a list of `total` items.
    pub(crate) fn pagination(self, total: usize) -> Pagination {
        Pagination::new(self.number, self.limit, total)
    }
}

/// The latest memories to list, their order and the page.
pub(crate) struct MemoryQuery {
    pub(crate) filter: Option<Filter>,
    /// Lists memories that were forgotten or have expired as well.
    pub(crate) includes_forgotten: bool,
    pub(crate) sort: SortField,
    pub(crate) is_ascending: bool,
    pub(crate) page: PageNumber,
}

impl MemoryQuery {
    /// Returns the memories of the page, and the number of memories on all pages.
    pub(crate) fn select_page<'a>(
        &self,
        container_memories: &'a ContainerMemories,
    ) -> (Vec<LocatedMemory<'a>>, usize) {
        let mut found: Vec<LocatedMemory<'a>> = container_memories
            .all_memories()
            .filter(|located| self.admits(located, container_memories.now))
            .collect();

        self.sort_memories(&mut found);
        let total = found.len();
        let first = (self.page.number - 1).saturating_mul(self.page.limit);
        let page = found.into_iter().skip(first).take(self.page.limit);
        (page.collect(), total)
    }

    fn admits(&self, located: &LocatedMemory<'_>, now: Timestamp) -> bool {
        let memory = &located.memory;
        if !memory.is_latest || (!self.includes_forgotten && memory.is_forgotten(now)) {
            return false;
        }
        match &self.filter {
            Some(filter) => located.ledger.matches_filter(filter, memory),
            None => true,
        }
    }

    /// Sorts by the requested field. Equal times are sorted by fields that never change.
    fn sort_memories(&self, found: &mut [LocatedMemory<'_>]) {
        let key = |memory: &Memory| -> (Timestamp, Timestamp, MemoryId) {
            let time = match self.sort {
                SortField::CreatedAt => memory.created_at,
                SortField::UpdatedAt => memory.updated_at,
            };
            (time, memory.said_at, memory.id.clone())
        };

        if self.is_ascending {
            found.sort_by_cached_key(|located| key(&located.memory));
        } else {
            found.sort_by_cached_key(|located| Reverse(key(&located.memory)));
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v4/memories/list", "list_memories")
            .group("Knowledge Graph")
            .summary("List memories, newest first unless asked otherwise.")
            .description("The latest version of each memory, forgotten ones as well.")
            .body::<ListRequest>(json!({
                "containerTags": ["user_42"],
                "limit": 50,
                "sort": "updatedAt",
            }))
            .answer::<ListResponse>("A page of memories.", list_example())
            .error(ErrorAnswer::Invalid, ""),
    ]
}

/// Returns an example of a page of memories.
fn list_example() -> Value {
    json!({
        "memoryEntries": [
            {
                "id": "5Hd1p8aGkT9mYwqZrLcXv2",
                "memory": "Mara counts the herons every spring.",
                "version": 1,
                "isLatest": true,
                "isForgotten": false,
                "isStatic": false,
                "isInference": false,
                "createdAt": "2026-03-01T09:30:02.120Z",
                "updatedAt": "2026-03-01T09:30:02.120Z",
                "sourceCount": 1,
                "parentMemoryId": null,
                "rootMemoryId": "5Hd1p8aGkT9mYwqZrLcXv2",
                "metadata": {"source": "diary"},
                "trust": "document",
                "spaceId": "Vt3mE9xq6mVb2P8hZc1KRe",
                "orgId": "acme",
                "forgetAfter": null,
                "forgetReason": null,
                "temporalContext": {"documentDate": "2026-03-01T00:00:00.000Z", "eventDate": []},
                "memoryRelations": {},
                "history": [],
                "documentIds": ["acxV5LHMEsG2hMSNb4umbn"],
                "kind": "fact",
                "confidence": 0.9,
                "speaker": null,
                "eventDate": null,
                "sources": [{"documentId": "acxV5LHMEsG2hMSNb4umbn", "start": 0, "end": 36}],
                "contradicts": [],
                "reviewStatus": null,
            },
        ],
        "pagination": {"currentPage": 1, "limit": 10, "totalItems": 1, "totalPages": 1},
    })
}
