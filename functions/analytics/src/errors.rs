//! `GET /v3/analytics/errors`: counts failed requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{Hour, RequestCount, RequestDimension, RequestTally};
use edge::{ApiResult, Json, Query};
use serde::Serialize;
use service::read_tallies;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;
use crate::usage::sum_tallies;

/// The type of an error that has none.
const UNKNOWN_ERROR_TYPE: &str = "UnknownError";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorsResponse {
    total_errors: u64,
    error_rate: f64,
    top_errors: Vec<TopError>,
    timeline: Vec<ErrorHour>,
    by_status_code: BTreeMap<u16, u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TopError {
    #[serde(rename = "type")]
    kind: String,
    count: u64,
    status_codes: BTreeSet<u16>,
    last_occurred: Timestamp,
}

#[derive(Debug, Serialize)]
struct ErrorHour {
    time: Timestamp,
    count: u64,
    types: BTreeSet<String>,
}

pub(crate) async fn get_errors(
    State(service): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<ErrorsResponse>> {
    let ctx = &service.app.ctx;
    let ((page, limit), span) = (
        params.page_and_limit()?,
        params.requested_span(ctx.clock.now())?,
    );
    let tallies = read_tallies(ctx, &tenant, span).await?;
    let total_tally = sum_tallies(&tallies);
    let requests = total_tally
        .total_where(|_| true)
        .map_or(0, |cell| cell.count);
    let total_errors = failed_cells(&total_tally)
        .map(|(_, cell)| cell.count)
        .sum::<u64>();
    let mut by_status_code = BTreeMap::new();
    for (dimension, cell) in failed_cells(&total_tally) {
        *by_status_code.entry(dimension.status).or_default() += cell.count;
    }

    let top = top_errors(&total_tally);
    Ok(Json(ErrorsResponse {
        total_errors,
        error_rate: if requests == 0 {
            0.0
        } else {
            total_errors as f64 / requests as f64
        },
        top_errors: top
            .into_iter()
            .skip((page - 1).saturating_mul(limit))
            .take(limit)
            .collect(),
        timeline: tallies.iter().filter_map(error_hour).collect(),
        by_status_code,
    }))
}

fn failed_cells(tally: &RequestTally) -> impl Iterator<Item = (&RequestDimension, &RequestCount)> {
    tally
        .cells
        .iter()
        .filter(|(dimension, _)| dimension.status >= 400)
}

fn error_type(dimension: &RequestDimension) -> &str {
    if dimension.error.is_empty() {
        UNKNOWN_ERROR_TYPE
    } else {
        &dimension.error
    }
}

/// Returns errors by type, the most frequent first. Types with equal counts are sorted by name.
fn top_errors(tally: &RequestTally) -> Vec<TopError> {
    let mut types: BTreeMap<&str, TopError> = BTreeMap::new();
    for (dimension, cell) in failed_cells(tally) {
        let kind = error_type(dimension);
        let top = types.entry(kind).or_insert_with(|| TopError {
            kind: kind.to_owned(),
            count: 0,
            status_codes: BTreeSet::new(),
            last_occurred: cell.last,
        });
        top.count += cell.count;
        top.status_codes.insert(dimension.status);
        top.last_occurred = top.last_occurred.max(cell.last);
    }

    let mut types: Vec<TopError> = types.into_values().collect();
    types.sort_by_key(|top| Reverse(top.count));

    types
}

fn error_hour((hour, tally): &(Hour, RequestTally)) -> Option<ErrorHour> {
    let count = failed_cells(tally).map(|(_, cell)| cell.count).sum();
    let types = failed_cells(tally)
        .map(|(dimension, _)| error_type(dimension).to_owned())
        .collect();
    (count > 0).then(|| ErrorHour {
        time: hour.start_time(),
        count,
        types,
    })
}
