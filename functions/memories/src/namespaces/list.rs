//! `POST /ns/{namespace}/list/memories`: lists memories.

use axum::extract::State;
use domain::{ContainerTag, Filter};
use edge::{
    ApiResult, Auth, ItemPage, Json, NamespaceMemory, NoItem, Order, Path, Query, ReadContent,
    SortField, deserialize_bool, deserialize_count, deserialize_optional_object, namespace_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GROUP, NAMESPACE};
use crate::MemoriesState;
use crate::list::open_scope;
use crate::page::{DEFAULT_LIMIT, MAX_LIMIT, MemoryQuery, PageNumber};

/// The page and the order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PageQuery {
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of memories on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The field by which the list is sorted.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<SortField>,
    /// The direction of the list.
    #[schemars(extend("default" = "desc"))]
    order: Option<Order>,
}

/// The memories to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ListNamespaceMemoriesRequest")]
pub(crate) struct ListRequest {
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/FilterExpression"))]
    filter: Option<Value>,
    // compat: typed clients send `null` for what is not set.
    /// The memories to list besides those that search finds.
    #[serde(deserialize_with = "deserialize_optional_object")]
    include: Option<IncludedMemories>,
}

/// The memories to list besides those that search finds.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
struct IncludedMemories {
    /// Memories that were forgotten or have expired.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    forgotten: bool,
}

pub(crate) async fn list_namespace_memories(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    Query(page_query): Query<PageQuery>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ItemPage<NoItem, NoItem, NamespaceMemory>>> {
    let scope = namespace_scope(&namespace)?;
    let query = MemoryQuery {
        filter: Filter::parse_operators(request.filter.as_ref())?,
        includes_forgotten: request.include.unwrap_or_default().forgotten,
        sort: page_query.sort.unwrap_or_default(),
        is_ascending: page_query.order == Some(Order::Asc),
        page: PageNumber::parse(page_query.page, page_query.limit)?,
    };
    let container_memories = open_scope(&state, &tenant, &scope).await?;
    let now = container_memories.now;
    let (found, total) = query
        .read_page(&container_memories, &state.app.ctx, &tenant, &state.ledgers)
        .await?;

    let mut memories = Vec::with_capacity(found.len());
    for located in found {
        memories.push(NamespaceMemory::new(&located.memory, now));
    }
    Ok(Json(ItemPage {
        documents: Vec::new(),
        chunks: Vec::new(),
        memories,
        pagination: query.page.pagination(total),
    }))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/list/memories", "list_namespace_memories")
            .group(GROUP)
            .summary("List the memories of a namespace, newest first unless asked otherwise.")
            .description(
                "The latest version of each memory. The lists of documents and chunks are empty.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<PageQuery>()
            .optional_body::<ListRequest>(json!({
                "filter": {"field": "source", "operator": "eq", "value": "diary"},
                "include": {"forgotten": true},
            }))
            .answer::<ItemPage<NoItem, NoItem, NamespaceMemory>>(
                "A page of memories.",
                json!({
                    "documents": [],
                    "chunks": [],
                    "memories": [memory_example()],
                    "pagination": {
                        "currentPage": 1,
                        "limit": 10,
                        "totalItems": 1,
                        "totalPages": 1,
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}

/// Returns an example of a memory.
pub(super) fn memory_example() -> Value {
    json!({
        "id": "5Hd1p8aGkT9mYwqZrLcXv2",
        "memory": "Mara counts the herons every spring.",
        "metadata": {"source": "diary"},
        "isStatic": false,
        "isInference": false,
        "isLatest": true,
        "isForgotten": false,
        "version": 1,
        "system": {
            "createdAt": "2026-03-01T09:30:02.120Z",
            "updatedAt": "2026-03-01T09:30:02.120Z",
        },
    })
}
