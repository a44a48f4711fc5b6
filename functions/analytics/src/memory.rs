//! `GET /v3/analytics/memory`: the amount of content, and its growth.

use axum::extract::State;
use container_index::{
    IndexedMemories, ListedTime, count_memories, partial_segments, read_until_fetched,
};
use domain::activity::{RequestType, TimeSpan};
use domain::{Container, Result, Tenant, Timestamp};
use edge::{ApiResult, Json, Query};
use futures::stream::{self, StreamExt, TryStreamExt};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use service::Ctx;
use service::{
    ContainerScope, EXACT_COUNT_LIMIT, count_documents, find_containers, read_heads, read_tallies,
};

use crate::AnalyticsState;
use crate::params::{AnalyticsParams, GrowthParams};
use crate::rate_limited_tenant::RateLimitedTenant;
use crate::totals::PARALLEL_CONTAINERS;

/// The most documents of a container whose growth is counted. They would be read one by one.
const MAX_COUNTED_BY_DATE: u64 = 10_000;

/// The amount of content, and its growth.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemoryFigures")]
pub(crate) struct MemoryResponse {
    /// The number of documents.
    total_memories: u64,
    /// The growth in percent over the period of the same length before.
    #[schemars(range(min = -100))]
    memories_growth: f64,
    /// The number of memories: latest versions that are not forgotten.
    total_memory_entries: u64,
    /// The growth in percent over the period of the same length before.
    #[schemars(range(min = -100))]
    memory_entries_growth: f64,
    /// The number of requests of the type `search` in the period, or in the 90 days that are kept
    /// for `all`.
    search_queries: u64,
    /// The growth in percent over the period of the same length before.
    #[schemars(range(min = -100))]
    search_growth: f64,
    /// The number of connections.
    total_connections: u64,
    /// The growth in percent over the period of the same length before.
    #[schemars(range(min = -100))]
    connections_growth: f64,
    /// The number of container tags.
    total_container_tags: u64,
    /// The growth in percent over the period of the same length before.
    #[schemars(range(min = -100))]
    container_tags_growth: f64,
}

/// The number of new objects in a period, and in the period of the same length before it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Growth {
    now: u64,
    before: u64,
}

impl Growth {
    fn count_event(&mut self, period: Option<TimeSpan>, at: Timestamp) {
        if let Some(period) = period {
            self.now += u64::from(period.contains(at));
            self.before += u64::from(period.preceding().contains(at));
        }
    }

    /// Returns the growth in percent, or 0 if there was nothing before.
    fn growth_percent(self) -> f64 {
        if self.before == 0 {
            return 0.0;
        }
        let percent = (self.now as f64 - self.before as f64) / self.before as f64 * 100.0;
        (percent * 10.0).round() / 10.0
    }
}

/// A total, and its recent growth.
#[derive(Debug, Clone, Copy, Default)]
struct TotalWithGrowth {
    total: u64,
    growth: Growth,
}

impl TotalWithGrowth {
    fn add_figure(&mut self, other: Self) {
        self.total += other.total;
        self.growth.now += other.growth.now;
        self.growth.before += other.growth.before;
    }
}

pub(crate) async fn get_memory(
    State(state): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<MemoryResponse>> {
    let ctx = &state.app.ctx;
    let (now, seconds) = (ctx.clock.now(), params.seconds_or_all()?);
    let period = seconds.map(|seconds| TimeSpan::last_seconds(seconds, now));
    let containers = find_containers(ctx, &tenant, &ContainerScope::default()).await?;
    let mut tags = TotalWithGrowth {
        total: containers.len() as u64,
        ..TotalWithGrowth::default()
    };

    for container in &containers {
        tags.growth.count_event(period, container.created_at);
    }

    let content = containers
        .into_iter()
        .map(|container| count_content(&state, &tenant, container, period));
    let (mut documents, mut memories) = (TotalWithGrowth::default(), TotalWithGrowth::default());
    let mut content = stream::iter(content).buffer_unordered(PARALLEL_CONTAINERS);
    while let Some((document_totals, memory_totals)) = content.try_next().await? {
        documents.add_figure(document_totals);
        memories.add_figure(memory_totals);
    }

    let mut connections = TotalWithGrowth::default();
    for connection in ctx.connections.list(&tenant).await? {
        if connection.status.is_visible() {
            connections.total += 1;
            connections
                .growth
                .count_event(period, connection.created_at);
        }
    }

    let searches = count_searches(ctx, &tenant, period, now).await?;
    Ok(Json(MemoryResponse {
        total_memories: documents.total,
        memories_growth: documents.growth.growth_percent(),
        total_memory_entries: memories.total,
        memory_entries_growth: memories.growth.growth_percent(),
        search_queries: searches.now,
        search_growth: searches.growth_percent(),
        total_connections: connections.total,
        connections_growth: connections.growth.growth_percent(),
        total_container_tags: tags.total,
        container_tags_growth: tags.growth.growth_percent(),
    }))
}

/// Counts the requests of type `search`. Without a period, all that are kept are counted.
async fn count_searches(
    ctx: &Ctx,
    tenant: &Tenant,
    period: Option<TimeSpan>,
    now: Timestamp,
) -> Result<Growth> {
    let Some(period) = period else {
        let now = count_searches_within(ctx, tenant, TimeSpan::retained(now)).await?;
        return Ok(Growth { now, before: 0 });
    };

    Ok(Growth {
        now: count_searches_within(ctx, tenant, period).await?,
        before: count_searches_within(ctx, tenant, period.preceding()).await?,
    })
}

async fn count_searches_within(ctx: &Ctx, tenant: &Tenant, span: TimeSpan) -> Result<u64> {
    let mut count = 0;
    for (_, tally) in read_tallies(ctx, tenant, span).await? {
        if let Some(cell) = tally.total_where(|by| by.kind == RequestType::Search) {
            count += cell.count;
        }
    }

    Ok(count)
}

/// Counts the documents and the memories of a container.
async fn count_content(
    state: &AnalyticsState,
    tenant: &Tenant,
    container: Container,
    period: Option<TimeSpan>,
) -> Result<(TotalWithGrowth, TotalWithGrowth)> {
    let (ctx, cache) = (&state.app.ctx, &state.ledgers);
    let total = count_documents(ctx, tenant, &container, EXACT_COUNT_LIMIT).await?;
    let (mut documents, mut memories) = (
        TotalWithGrowth {
            total,
            ..TotalWithGrowth::default()
        },
        TotalWithGrowth::default(),
    );
    if total > MAX_COUNTED_BY_DATE {
        let (heads, limit) = (
            read_heads(ctx, tenant, &container).await?,
            MAX_COUNTED_BY_DATE,
        );
        memories.total = count_memories(ctx, tenant, cache, &container, &heads, limit).await?;
        return Ok((documents, memories));
    }

    let now = ctx.clock.now();
    for id in &container.ids {
        if period.is_some() {
            for document in ctx.documents.list(tenant, id).await? {
                if document.superseded_by.is_none() {
                    documents.growth.count_event(period, document.created_at);
                }
            }
        }

        let view = cache.open(ctx, tenant, id).await?;
        let partial = partial_segments([&view]);
        let count = || count_live_memories(&view, period, now);
        memories.add_figure(read_until_fetched(ctx, tenant, &partial, count).await?);
    }

    Ok((documents, memories))
}

/// Counts the memories of a container that are live at `now`.
fn count_live_memories(
    view: &IndexedMemories<()>,
    period: Option<TimeSpan>,
    now: Timestamp,
) -> TotalWithGrowth {
    let mut counted = TotalWithGrowth::default();
    for listed in view.list_latest(ListedTime::Created) {
        if view.is_live(&listed, now) {
            counted.total += 1;
            let read = || Some(view.read_listed(&listed)?.created_at);
            if let Some(created_at) = listed.time.or_else(read) {
                counted.growth.count_event(period, created_at);
            }
        }
    }
    counted
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/analytics/memory", "get_memory_figures")
            .group("Analytics")
            .summary("Count content and its growth.")
            .description(
                "A growth compares the period with the period of the same length before it, in \
                 percent. It is 0 if there was nothing before, and for `all`. The growth of \
                 containers with more than 10,000 documents is not counted. `to` and `from` have \
                 no effect.",
            )
            .query_fields::<GrowthParams>(&["period"])
            .answer::<MemoryResponse>(
                "The amount of content, and its growth.",
                json!({
                    "totalMemories": 31,
                    "memoriesGrowth": 24.0,
                    "totalMemoryEntries": 88,
                    "memoryEntriesGrowth": 10.0,
                    "searchQueries": 120,
                    "searchGrowth": -5.5,
                    "totalConnections": 1,
                    "connectionsGrowth": 0.0,
                    "totalContainerTags": 4,
                    "containerTagsGrowth": 0.0,
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_with_the_same_length_before() {
        let at = Timestamp::from_millis;
        let period = TimeSpan::last_seconds(10, at(100_000));
        let mut growth = Growth::default();
        for (ms, expected) in [
            (79_999, (0, 0)),
            (80_000, (0, 1)),
            (89_999, (0, 2)),
            (90_000, (1, 2)),
            (99_999, (2, 2)),
            (100_000, (2, 2)),
        ] {
            growth.count_event(Some(period), at(ms));
            assert_eq!((growth.now, growth.before), expected, "{ms}");
        }

        let percent = |now, before| Growth { now, before }.growth_percent();
        assert_eq!(
            [percent(3, 2), percent(1, 3), percent(0, 4), percent(5, 0)],
            [50.0, -66.7, -100.0, 0.0]
        );
    }
}
