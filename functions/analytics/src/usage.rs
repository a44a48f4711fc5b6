//! `GET /v3/analytics/usage`: counts requests by type, key and hour.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{Hour, RequestCount, RequestDimension, RequestTally, RequestType};
use edge::{ApiResult, Json, Pagination, Query};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use service::read_tallies;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;
use crate::totals::count_documents;

/// The requests of a period, and the number of documents now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageFigures")]
pub(crate) struct UsageResponse {
    /// By type, the most frequent first.
    usage: Vec<TypeUsage>,
    /// By the hour, ascending; hours without any request are left out.
    hourly: Vec<HourUsage>,
    /// A page of the keys, the most used first.
    by_key: Vec<KeyUsage>,
    /// The number of documents now.
    total_memories: u64,
    /// The position of the page.
    pagination: Pagination,
}

/// The requests of one type.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TypeUsage {
    /// The type of the request.
    #[serde(rename = "type")]
    kind: RequestType,
    /// The number of requests.
    #[schemars(range(min = 1))]
    count: u64,
    /// The mean duration of an answer in milliseconds.
    #[schemars(range(min = 0))]
    avg_duration: f64,
    /// The time of the last request.
    last_used: Timestamp,
}

/// The requests of one hour.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HourUsage {
    /// The start of the hour.
    hour: Timestamp,
    /// The number of requests.
    #[schemars(range(min = 1))]
    count: u64,
    /// The mean duration of an answer in milliseconds.
    #[schemars(range(min = 0))]
    avg_duration: f64,
}

/// The requests of one API key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct KeyUsage {
    /// The id of the API key, or `local` for the key of that name.
    #[schemars(length(min = 1))]
    key_id: String,
    /// The name of the key when it was last used.
    key_name: String,
    /// The number of requests.
    #[schemars(range(min = 1))]
    count: u64,
    /// The mean duration of an answer in milliseconds.
    #[schemars(range(min = 0))]
    avg_duration: f64,
    /// The time of the last request.
    last_used: Timestamp,
}

pub(crate) async fn get_usage(
    State(state): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<UsageResponse>> {
    let ctx = &state.app.ctx;
    let ((page, limit), span) = (
        params.page_and_limit()?,
        params.requested_span(ctx.clock.now())?,
    );
    let tallies = read_tallies(ctx, &tenant, span).await?;
    let total_tally = sum_tallies(&tallies);
    let keys = usage_by_key(&total_tally);
    let pagination = Pagination::new(page, limit, keys.len());
    let by_key = keys
        .into_iter()
        .skip((page - 1).saturating_mul(limit))
        .take(limit)
        .collect();

    Ok(Json(UsageResponse {
        usage: usage_by_type(&total_tally),
        hourly: tallies.iter().filter_map(hour_usage).collect(),
        by_key,
        total_memories: count_documents(ctx, &tenant).await?,
        pagination,
    }))
}

/// Adds up the tallies of all hours.
pub(crate) fn sum_tallies(tallies: &[(Hour, RequestTally)]) -> RequestTally {
    let mut total = RequestTally::default();
    for (_, tally) in tallies {
        total.add(tally);
    }

    total
}

/// Groups the counts by one part of their dimensions, the largest first.
fn group_cells<K: Ord>(
    tally: &RequestTally,
    key_of: impl Fn(&RequestDimension) -> K,
) -> Vec<(K, RequestCount)> {
    let mut groups: BTreeMap<K, RequestCount> = BTreeMap::new();
    for (dimension, cell) in &tally.cells {
        groups
            .entry(key_of(dimension))
            .and_modify(|existing| existing.add(cell))
            .or_insert(*cell);
    }
    let mut groups: Vec<(K, RequestCount)> = groups.into_iter().collect();
    // The sort is stable, so equal counts stay in the order of their names.
    groups.sort_by_key(|(_, cell)| Reverse(cell.count));
    groups
}

fn usage_by_type(tally: &RequestTally) -> Vec<TypeUsage> {
    let usage = |(kind, cell): (RequestType, RequestCount)| TypeUsage {
        kind,
        count: cell.count,
        avg_duration: cell.mean_ms(),
        last_used: cell.last,
    };
    group_cells(tally, |dimension| dimension.kind)
        .into_iter()
        .map(usage)
        .collect()
}

fn usage_by_key(tally: &RequestTally) -> Vec<KeyUsage> {
    let usage = |(key, cell): (String, RequestCount)| KeyUsage {
        key_name: tally.key_names.get(&key).cloned().unwrap_or_default(),
        key_id: key,
        count: cell.count,
        avg_duration: cell.mean_ms(),
        last_used: cell.last,
    };
    group_cells(tally, |dimension| dimension.key.clone())
        .into_iter()
        .map(usage)
        .collect()
}

fn hour_usage((hour, tally): &(Hour, RequestTally)) -> Option<HourUsage> {
    let cell = tally.total_where(|_| true)?;
    Some(HourUsage {
        hour: hour.start_time(),
        count: cell.count,
        avg_duration: cell.mean_ms(),
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/analytics/usage", "get_usage")
            .group("Analytics")
            .summary("Count requests by type, by hour and by key.")
            .description(
                "The page is one of `byKey`; everything else covers the whole period. An hour \
                 that `from` or `to` divides counts with the part that lies inside.",
            )
            .query_fields::<AnalyticsParams>(&["from", "to", "period", "page", "limit"])
            .answer::<UsageResponse>(
                "The requests of the period.",
                json!({
                    "usage": [
                        {
                            "type": "search",
                            "count": 12,
                            "avgDuration": 8.25,
                            "lastUsed": "2026-01-05T10:20:00.000Z",
                        },
                    ],
                    "hourly": [
                        {"hour": "2026-01-05T10:00:00.000Z", "count": 12, "avgDuration": 8.25},
                    ],
                    "byKey": [
                        {
                            "keyId": "9fK2mQx7Rt",
                            "keyName": "agent",
                            "count": 12,
                            "avgDuration": 8.25,
                            "lastUsed": "2026-01-05T10:20:00.000Z",
                        },
                    ],
                    "totalMemories": 340,
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
