//! `GET /v3/analytics/logs`, and `GET /v3/analytics/requests`, which is the same with the
//! parameters of the command-line client.

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{RequestRecord, RequestType};
use edge::{ApiResult, Json, Pagination, Query};
use serde::Serialize;
use serde_json::{Map, Value, json};
use service::find_request;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;

#[derive(Debug, Serialize)]
pub(crate) struct LogsResponse {
    logs: Vec<LogEntry>,
    pagination: Pagination,
}

/// A logged request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    id: String,
    created_at: Timestamp,
    #[serde(rename = "type")]
    kind: RequestType,
    status_code: u16,
    /// The duration in milliseconds.
    duration: u64,
    key_id: String,
    route: String,
    input: Value,
    output: Value,
}

impl From<RequestRecord> for LogEntry {
    fn from(record: RequestRecord) -> Self {
        Self {
            id: record.id,
            created_at: record.at,
            kind: record.kind,
            status_code: record.status,
            duration: record.micros.saturating_add(500) / 1000,
            key_id: record.key,
            route: record.route,
            input: as_object(record.input),
            output: as_object(record.output),
        }
    }
}

/// Returns the input or output as an object, because the API requires one.
fn as_object(content: Option<Value>) -> Value {
    match content {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::Object(fields)) => Value::Object(fields),
        Some(other) => json!({"value": other}),
    }
}

pub(crate) async fn list_logs(
    State(service): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<LogsResponse>> {
    let ctx = &service.app.ctx;
    let ((page, limit), filter) = (params.page_and_limit()?, params.log_filter()?);
    let span = params.requested_span(ctx.clock.now())?;
    let found = service::list_requests(ctx, &tenant, span, &filter, page, limit).await?;
    Ok(answer_logs(found.requests, page, limit, found.total))
}

pub(crate) async fn list_requests(
    State(service): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<LogsResponse>> {
    let ctx = &service.app.ctx;
    let ((page, limit), filter) = (params.page_and_limit()?, params.request_filter()?);
    let now = ctx.clock.now();
    if let Some(id) = &params.id {
        let record = find_request(ctx, &tenant, params.span_of_id(now)?, &filter, id).await?;
        let total = u64::from(record.is_some());
        let records = record.into_iter().skip(page - 1).collect();
        return Ok(answer_logs(records, page, limit, total));
    }

    let found = service::list_requests(
        ctx,
        &tenant,
        params.requested_span(now)?,
        &filter,
        page,
        limit,
    )
    .await?;
    Ok(answer_logs(found.requests, page, limit, found.total))
}

fn answer_logs(
    requests: Vec<RequestRecord>,
    page: usize,
    limit: usize,
    total: u64,
) -> Json<LogsResponse> {
    let pagination = Pagination::new(page, limit, usize::try_from(total).unwrap_or(usize::MAX));
    Json(LogsResponse {
        logs: requests.into_iter().map(LogEntry::from).collect(),
        pagination,
    })
}
