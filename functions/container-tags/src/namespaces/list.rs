//! `GET /ns`: lists namespaces.

use axum::extract::State;
use domain::{Container, ContainerId, ContainerTag, Result, Tenant};
use edge::{
    ApiResult, Auth, Json, Pagination, Query, ReadUnscoped, TimesOfItem, deserialize_count,
    page_and_limit, take_page,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{GROUP, times_of};
use crate::TagsState;
use crate::list::{PARALLEL_CONTAINERS, TagCounts, list_reachable};

/// The number of namespaces on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 20;
/// The most namespaces on a page. Each of them is measured.
const MAX_LIMIT: usize = 100;

/// The namespaces to list, and the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ListQuery {
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of namespaces on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// A part of the name, in upper or lower case.
    q: Option<String>,
}

/// A page of namespaces.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceList")]
pub(crate) struct ListResponse {
    /// The namespaces, by name.
    namespaces: Vec<ListedNamespace>,
    /// The position of the page.
    pagination: Pagination,
}

/// A namespace in the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Namespace")]
struct ListedNamespace {
    /// The id of the physical container for new documents.
    #[schemars(with = "ContainerId")]
    id: String,
    /// The namespace.
    #[schemars(with = "ContainerTag")]
    namespace: String,
    /// The number of its documents.
    document_count: u64,
    /// The number of its memories.
    memory_count: u64,
    /// The description of its content. Null if there is none.
    description: Option<String>,
    /// Its times.
    system: TimesOfItem,
}

pub(crate) async fn list_namespaces(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Query(query): Query<ListQuery>,
) -> ApiResult<Json<ListResponse>> {
    let (page, limit) = page_and_limit(query.page, query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut containers = list_reachable(&state.app, &tenant).await?;
    if let Some(part) = query.q {
        let part = part.to_lowercase();
        containers.retain(|container| container.tag.as_str().to_lowercase().contains(&part));
    }

    let pagination = Pagination::new(page, limit, containers.len());
    let descriptions = stream::iter(
        take_page(containers, page, limit)
            .into_iter()
            .map(|container| describe_namespace(&state, &tenant, container)),
    );
    let namespaces = descriptions
        .buffered(PARALLEL_CONTAINERS)
        .try_collect()
        .await?;

    Ok(Json(ListResponse {
        namespaces,
        pagination,
    }))
}

async fn describe_namespace(
    state: &TagsState,
    tenant: &Tenant,
    container: Container,
) -> Result<ListedNamespace> {
    let counts = TagCounts::of(state, tenant, &container).await?;
    Ok(ListedNamespace {
        id: container.primary_id().to_string(),
        namespace: container.tag.to_string(),
        document_count: counts.document_count,
        memory_count: counts.memory_count,
        system: times_of(&container),
        description: container.entity_context,
    })
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/ns", "list_namespaces")
            .group(GROUP)
            .summary("List the namespaces that the key reaches.")
            .description(
                "Sorted by name. The memories of a namespace with more than 1000 documents are \
                 counted when it is compacted.",
            )
            .query_fields::<ListQuery>(&["page", "limit", "q"])
            .answer::<ListResponse>(
                "A page of namespaces.",
                json!({
                    "namespaces": [
                        {
                            "id": "5Hd1p8aGkT9mYwqZrLcXv2",
                            "namespace": "user_42",
                            "documentCount": 12,
                            "memoryCount": 31,
                            "description": "Notes of somebody who watches birds.",
                            "system": {
                                "createdAt": "2026-03-01T09:30:00.000Z",
                                "updatedAt": "2026-03-02T10:00:00.000Z",
                            },
                        },
                    ],
                    "pagination": {
                        "currentPage": 1,
                        "limit": 20,
                        "totalItems": 1,
                        "totalPages": 1,
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
