//! `POST /v4/memories/list`: lists memories.

use axum::extract::State;
use container_index::IndexedMemories;
use domain::{ContainerTag, Error, Filter, Result, Tenant};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, MemoryEntry, Order, Pagination, ReadContent, SortField,
    deserialize_count, parse_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{ContainerScope, explain_empty_list, find_containers};

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};
use crate::page::{DEFAULT_LIMIT, MAX_LIMIT, MemoryQuery, PageNumber};

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
    let (found, total) = query
        .read_page(&container_memories, ctx, &tenant, &state.ledgers)
        .await?;

    let now = container_memories.now;
    let to_entry = |located: &LocatedMemory<'_>| {
        let (ledger, container) = (located.ledger, located.container);
        MemoryEntry::new(ledger, &located.memory, container, tenant.org(), now)
    };
    let read_entries = || found.iter().map(to_entry).collect();
    let memory_entries = container_memories.read(ctx, &tenant, read_entries).await?;
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

/// Opens the memories of every container in scope.
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

    Ok(ContainerMemories::new(containers, ctx.clock.now()))
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
