//! `POST /ns/{namespace}/document/batch`: up to 600 texts or addresses, each with its own result.

use axum::extract::State;
use domain::{ContainerTag, DocumentStatus, Dreaming, Error, Result, TaskType};
use edge::{
    ApiResult, App, Auth, Json, JsonParts, Path, WriteContent, parse_fields, parse_namespace,
};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{AcceptedDocument, Content, NewDocument};

use super::add::AddRequest;
use super::{GROUP, NAMESPACE, SharedFields};
use crate::batch::{MAX_DOCUMENTS, check_document_count, item_url, key_of_document, submit_batch};
use crate::common_fields::{IDEMPOTENCY_KEY, IdempotencyKey, body_of_text, read_idempotency_key};
use crate::wait::WaitQuery;

/// Documents, and the processing of those that do not say it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AddNamespaceBatchRequest")]
pub(crate) struct BatchRequest {
    /// The documents.
    #[schemars(
        with = "Vec<JsonParts<AddRequest, SharedFields>>",
        length(min = 1, max = MAX_DOCUMENTS)
    )]
    documents: Vec<Value>,
    /// The results of their processing. The default for new documents is `memory`.
    #[serde(default)]
    task_type: Option<TaskType>,
    /// The time at which memories are formed.
    #[serde(default)]
    #[schemars(extend("default" = "dynamic"))]
    dreaming: Option<Dreaming>,
}

/// The results of a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceBatchResponse")]
pub(crate) struct BatchResponse {
    /// The accepted documents in the order of the request, then those that were refused.
    results: Vec<BatchResult>,
    /// The number of documents that were accepted.
    count: usize,
    /// The number of documents that were refused.
    failed: usize,
}

/// The result of one document.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct BatchResult {
    /// The caller's own id, or else that of the document. Empty for a document without an id that
    /// was refused.
    id: String,
    /// Its status, or `error` if it was refused.
    status: BatchStatus,
    /// A sentence that says what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The kind of the error, and the position in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    /// The address that was sent, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// The status of a document in a batch.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum BatchStatus {
    Accepted(DocumentStatus),
    Refused(#[schemars(extend("const" = "error"))] &'static str),
}

/// The parts of a sent document that the answer repeats.
struct SentItem {
    id: Option<String>,
    url: Option<String>,
}

pub(crate) async fn add_batch(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(namespace): Path<String>,
    wait: WaitQuery,
    headers: HeaderMap,
    Json(request): Json<BatchRequest>,
) -> ApiResult<Json<BatchResponse>> {
    tenant.check_access(&parse_namespace(&namespace)?)?;
    check_document_count(request.documents.len())?;
    let key = read_idempotency_key(&headers)?;
    let defaults = SharedFields {
        task_type: request.task_type,
        dreaming: request.dreaming,
        ..SharedFields::default()
    };

    let mut sent_items = Vec::with_capacity(request.documents.len());
    let mut documents = Vec::with_capacity(request.documents.len());
    for (position, item) in request.documents.into_iter().enumerate() {
        sent_items.push(SentItem {
            id: item["id"].as_str().map(str::to_owned),
            url: item_url(&item),
        });
        let key = key_of_document(key.as_deref(), position);
        documents.push(read_item(&item, &namespace, &defaults, key));
    }

    let submitted = submit_batch(&app.ctx, &tenant, wait, documents).await?;
    let mut results = Vec::new();
    for (position, accepted) in submitted.accepted {
        results.push(BatchResult::accepted(&sent_items[position], &accepted));
    }

    let (count, failed) = (results.len(), submitted.refused.len());
    for (position, error) in submitted.refused {
        results.push(BatchResult::refused(
            &sent_items[position],
            position,
            &error,
        ));
    }
    Ok(Json(BatchResponse {
        results,
        count,
        failed,
    }))
}

fn read_item(
    item: &Value,
    namespace: &str,
    defaults: &SharedFields,
    key: Option<String>,
) -> Result<NewDocument> {
    if !item.is_object() {
        return Err(Error::invalid("a document is an object with `content`"));
    }
    let request: AddRequest = parse_fields(item)?;
    let mut fields: SharedFields = parse_fields(item)?;
    fields.task_type = fields.task_type.or(defaults.task_type);
    fields.dreaming = fields.dreaming.or(defaults.dreaming);

    let (bytes, form) = body_of_text(request.content)?;
    let content = Content::Complete { bytes, form };
    fields.into_document(namespace, request.id, content, key)
}

impl BatchResult {
    fn accepted(sent: &SentItem, accepted: &AcceptedDocument) -> Self {
        Self {
            id: match &sent.id {
                Some(id) => id.clone(),
                None => accepted.id.to_string(),
            },
            status: BatchStatus::Accepted(accepted.status),
            error: None,
            details: None,
            url: sent.url.clone(),
        }
    }

    fn refused(sent: &SentItem, position: usize, error: &Error) -> Self {
        Self {
            id: sent.id.clone().unwrap_or_default(),
            status: BatchStatus::Refused("error"),
            error: Some(error.to_string()),
            details: Some(format!("{} in documents[{position}]", error.type_name())),
            url: sent.url.clone(),
        }
    }
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/document/batch", "add_namespace_batch")
            .group(GROUP)
            .summary("Add up to 600 texts or addresses, each with its own result.")
            .description(
                "A document that is wrong is refused by itself and listed after those that were \
                 accepted.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<WaitQuery>()
            .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
            .body::<BatchRequest>(json!({
                "documents": [
                    {"content": "A ferry crosses the strait twice a day.", "id": "note-18"},
                    {"content": "https://example.com/timetable", "date": "2026-03-01"},
                ],
            }))
            .answer::<BatchResponse>(
                "Every document of the batch with its own result.",
                json!({
                    "results": [
                        {"id": "note-18", "status": "queued"},
                        {
                            "id": "",
                            "status": "error",
                            "error": "content: there is nothing in it",
                            "details": "ValidationError in documents[1]",
                        },
                    ],
                    "count": 1,
                    "failed": 1,
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
