//! `POST /v4/memories/list`: lists memories.

use std::cmp::Reverse;

use axum::extract::State;
use container_index::IndexedMemories;
use domain::{Error, Filter, MemoryId, Result, Timestamp};
use edge::{
    ApiResult, Auth, Json, MemoryEntry, Order, Pagination, ReadContent, SortField,
    deserialize_count, parse_scope,
};
use memory_model::Memory;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::{explain_empty_list, find_containers};

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};

/// The number of memories on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 10;
/// The most memories on a page. Part of the API.
const MAX_LIMIT: usize = 1100;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    filters: Option<Value>,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    #[serde(deserialize_with = "deserialize_count")]
    page: Option<usize>,
    sort: Option<SortField>,
    order: Option<Order>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResponse {
    memory_entries: Vec<MemoryEntry>,
    pagination: Pagination,
    /// The reason why there are no memories, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn list_memories(
    State(service): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ListResponse>> {
    let ctx = &service.app.ctx;
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;

    if scope.tags.is_empty() && tenant.allowed_tags().is_none() {
        return Err(Error::invalid_field("containerTags", "name at least one container").into());
    }

    let filter = Filter::parse_optional(request.filters.as_ref())?;
    let (page, limit) = request.page_and_limit()?;

    let mut containers: Vec<(_, IndexedMemories<()>)> = Vec::new();
    for id in find_containers(ctx, &tenant, &scope)
        .await?
        .into_iter()
        .flat_map(|container| container.ids)
    {
        let memories = service.ledgers.open(ctx, &tenant, &id).await?;
        containers.push((id, memories));
    }

    let container_memories = ContainerMemories {
        containers,
        now: ctx.clock.now(),
    };

    let admitted = |located: &LocatedMemory<'_>| {
        filter
            .as_ref()
            .is_none_or(|filter| located.ledger.matches_filter(filter, located.memory))
    };
    let mut found: Vec<LocatedMemory<'_>> = container_memories
        .all_memories()
        .filter(|located| located.memory.is_latest)
        .filter(admitted)
        .collect();

    request.sort_memories(&mut found);
    let page_entries = found
        .iter()
        .skip((page - 1).saturating_mul(limit))
        .take(limit);

    let entry = |located: &LocatedMemory<'_>| {
        MemoryEntry::new(
            located.ledger,
            located.memory,
            located.container,
            tenant.org(),
            container_memories.now,
        )
    };
    let memory_entries = page_entries.map(entry).collect();
    let hint = match found.len() {
        0 => explain_empty_list(ctx, &tenant, &scope).await?,
        _ => None,
    };

    Ok(Json(ListResponse {
        memory_entries,
        pagination: Pagination::new(page, limit, found.len()),
        hint,
    }))
}

impl ListRequest {
    /// Checks the number and the size of the page.
    fn page_and_limit(&self) -> Result<(usize, usize)> {
        let (page, limit) = (self.page.unwrap_or(1), self.limit.unwrap_or(DEFAULT_LIMIT));
        if page == 0 {
            return Err(Error::invalid_field("page", "1 or more"));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")));
        }
        Ok((page, limit))
    }

    /// Sorts by the requested field. Equal times are sorted by fields that never change.
    fn sort_memories(&self, found: &mut [LocatedMemory<'_>]) {
        let field = self.sort.unwrap_or_default();
        let key = |memory: &Memory| -> (Timestamp, Timestamp, MemoryId) {
            let time = match field {
                SortField::CreatedAt => memory.created_at,
                SortField::UpdatedAt => memory.updated_at,
            };
            (time, memory.said_at, memory.id.clone())
        };

        if self.order == Some(Order::Asc) {
            found.sort_by_cached_key(|located| key(located.memory));
        } else {
            found.sort_by_cached_key(|located| Reverse(key(located.memory)));
        }
    }
}
