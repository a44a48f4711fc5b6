//! `GET /v3/analytics/usage`: counts requests by type, key and hour.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{Hour, RequestCount, RequestDimension, RequestTally, RequestType};
use edge::{ApiResult, Json, Pagination, Query};
use serde::Serialize;
use service::read_tallies;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;
use crate::totals::count_documents;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageResponse {
    usage: Vec<TypeUsage>,
    hourly: Vec<HourUsage>,
    by_key: Vec<KeyUsage>,
    total_memories: u64,
    pagination: Pagination,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeUsage {
    #[serde(rename = "type")]
    kind: RequestType,
    count: u64,
    avg_duration: f64,
    last_used: Timestamp,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HourUsage {
    hour: Timestamp,
    count: u64,
    avg_duration: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyUsage {
    key_id: String,
    key_name: String,
    count: u64,
    avg_duration: f64,
    last_used: Timestamp,
}

pub(crate) async fn get_usage(
    State(service): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<UsageResponse>> {
    let ctx = &service.app.ctx;
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
    tallies
        .iter()
        .fold(RequestTally::default(), |mut total, (_, tally)| {
            total.add(tally);
            total
        })
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
