//! `GET /v3/analytics/logs`, and `GET /v3/analytics/requests`, which is the same with the
//! parameters of the command-line client.

use axum::extract::State;
use domain::Timestamp;
use domain::activity::{RequestRecord, RequestType};
use edge::{ApiResult, Json, Pagination, Query};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use service::find_request;

use crate::AnalyticsState;
use crate::params::AnalyticsParams;
use crate::rate_limited_tenant::RateLimitedTenant;

/// A page of the request log.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestLog")]
pub(crate) struct LogsResponse {
    /// The newest first.
    #[schemars(length(max = 100))]
    logs: Vec<LogEntry>,
    /// The position of the page.
    pagination: Pagination,
}

/// A logged request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LoggedRequest")]
struct LogEntry {
    /// Its id.
    #[schemars(regex(pattern = "^[A-Za-z0-9]{22}$"))]
    id: String,
    /// The time of the request.
    created_at: Timestamp,
    /// The type of the request.
    #[serde(rename = "type")]
    kind: RequestType,
    /// The status of the answer.
    #[schemars(range(min = 100, max = 599))]
    status_code: u16,
    /// The duration in milliseconds.
    duration: u64,
    /// The id of the API key, or `local` for the key of that name.
    #[schemars(length(min = 1))]
    key_id: String,
    /// The method and the route.
    #[schemars(regex(pattern = r"^[A-Z]+ /"))]
    route: String,
    /// The request body, redacted and shortened. It is empty if nothing is kept.
    #[schemars(with = "Map<String, Value>")]
    input: Value,
    /// The body of the answer, redacted and shortened. It is empty if nothing is kept.
    #[schemars(with = "Map<String, Value>")]
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
    State(state): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<LogsResponse>> {
    let ctx = &state.app.ctx;
    let ((page, limit), filter) = (params.page_and_limit()?, params.log_filter()?);
    let span = params.requested_span(ctx.clock.now())?;
    let found = service::list_requests(ctx, &tenant, span, &filter, page, limit).await?;
    Ok(answer_logs(found.requests, page, limit, found.total))
}

pub(crate) async fn list_requests(
    State(state): State<AnalyticsState>,
    RateLimitedTenant(tenant): RateLimitedTenant,
    Query(params): Query<AnalyticsParams>,
) -> ApiResult<Json<LogsResponse>> {
    let ctx = &state.app.ctx;
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

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/analytics/logs", "list_logs")
            .group("Analytics")
            .summary("List requests, the newest first.")
            .description(
                "Requests and answers are shown as far as the setting `logContent` keeps them, \
                 and not at all if a container that the request reached is deleted.",
            )
            .query_fields::<AnalyticsParams>(&[
                "from",
                "to",
                "period",
                "page",
                "limit",
                "type",
                "statusCode",
                "keyId",
            ])
            .answer::<LogsResponse>(
                "A page of the request log.",
                json!({
                    "logs": [
                        {
                            "id": "Vt3mE9xq6mVb2P8hZc1KRe",
                            "createdAt": "2026-01-05T10:20:00.000Z",
                            "type": "search",
                            "statusCode": 200,
                            "duration": 12,
                            "keyId": "9fK2mQx7Rt",
                            "route": "POST /v4/search",
                            "input": {"q": "[14 characters]", "limit": 5},
                            "output": {"total": 5},
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
        Operation::get("/v3/analytics/requests", "list_requests")
            .group("Analytics")
            .summary("List requests with the parameters of the command-line client.")
            .description(
                "The same as `GET /v3/analytics/logs`. With an `id`, the answer has that request \
                 or none. It is searched for in the last seven days unless the request gives a \
                 period; `from` reaches all requests that are kept, and takes longer.",
            )
            .query_fields::<AnalyticsParams>(&[
                "from", "to", "period", "page", "limit", "type", "status", "id",
            ])
            .answer::<LogsResponse>(
                "A page of the request log.",
                json!({
                    "logs": [
                        {
                            "id": "Vt3mE9xq6mVb2P8hZc1KRe",
                            "createdAt": "2026-01-05T10:20:00.000Z",
                            "type": "search",
                            "statusCode": 200,
                            "duration": 12,
                            "keyId": "9fK2mQx7Rt",
                            "route": "POST /v4/search",
                            "input": {"q": "[14 characters]", "limit": 5},
                            "output": {"total": 5},
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
