//! `GET /v3/analytics/errors`: counts failed requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{Hour, RequestCount, RequestDimension, RequestTally};
use edge::{ApiResult, Json, Query};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use service::read_tallies;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;
use crate::usage::sum_tallies;

/// The type of an error that has none.
const UNKNOWN_ERROR_TYPE: &str = "UnknownError";

/// The requests of a period that were refused or failed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ErrorFigures")]
pub(crate) struct ErrorsResponse {
    /// The number of errors.
    total_errors: u64,
    /// Their share of all requests, or 0 if there were none.
    #[schemars(range(min = 0, max = 1))]
    error_rate: f64,
    /// A page of the types of error, the most frequent first.
    top_errors: Vec<TopError>,
    /// By the hour, ascending; hours without any error are left out.
    timeline: Vec<ErrorHour>,
    /// The number of errors by status.
    #[schemars(with = "BTreeMap<String, u64>")]
    #[schemars(extend("propertyNames" = {"pattern": "^[45][0-9][0-9]$"}))]
    #[schemars(extend("additionalProperties" = {"type": "integer", "minimum": 1}))]
    by_status_code: BTreeMap<u16, u64>,
}

/// The errors of one type.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TopError {
    /// The `type` of the error's body.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    kind: String,
    /// The number of requests.
    #[schemars(range(min = 1))]
    count: u64,
    /// The statuses of the answers, ascending.
    #[schemars(length(min = 1), inner(range(min = 100, max = 599)))]
    status_codes: BTreeSet<u16>,
    /// The time of the last one.
    last_occurred: Timestamp,
}

/// The errors of one hour.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorHour {
    /// The start of the hour.
    time: Timestamp,
    /// The number of requests.
    #[schemars(range(min = 1))]
    count: u64,
    /// The types of the errors.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    types: BTreeSet<String>,
}

pub(crate) async fn get_errors(
    State(state): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<ErrorsResponse>> {
    let ctx = &state.app.ctx;
    let ((page, limit), span) = (
        params.page_and_limit()?,
        params.requested_span(ctx.clock.now())?,
    );
    let tallies = read_tallies(ctx, &tenant, span).await?;
    let total_tally = sum_tallies(&tallies);
    let requests = match total_tally.total_where(|_| true) {
        Some(cell) => cell.count,
        None => 0,
    };
    let mut total_errors = 0;
    let mut by_status_code = BTreeMap::new();
    for (dimension, cell) in failed_cells(&total_tally) {
        total_errors += cell.count;
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
    let mut count = 0;
    let mut types = BTreeSet::new();
    for (dimension, cell) in failed_cells(tally) {
        count += cell.count;
        types.insert(error_type(dimension).to_owned());
    }

    (count > 0).then(|| ErrorHour {
        time: hour.start_time(),
        count,
        types,
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/analytics/errors", "get_errors")
            .group("Analytics")
            .summary("Count failed requests.")
            .description("Requests with a status of 400 or above count as errors.")
            .query_fields::<AnalyticsParams>(&["from", "to", "period", "page", "limit"])
            .answer::<ErrorsResponse>(
                "The errors of the period.",
                json!({
                    "totalErrors": 3,
                    "errorRate": 0.25,
                    "topErrors": [
                        {
                            "type": "ValidationError",
                            "count": 3,
                            "statusCodes": [400],
                            "lastOccurred": "2026-01-05T10:20:00.000Z",
                        },
                    ],
                    "timeline": [
                        {
                            "time": "2026-01-05T10:00:00.000Z",
                            "count": 3,
                            "types": ["ValidationError"],
                        },
                    ],
                    "byStatusCode": {"400": 3},
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
