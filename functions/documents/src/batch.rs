//! `POST /v3/documents/batch`: up to 600 texts or addresses, each with its own result.

use axum::extract::State;
use domain::{DocumentId, DocumentStatus, Error, Result, Tenant};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteContent, parse_fields};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation};
use remote::parse_page_url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{AcceptedDocument, Content, Ctx, NewDocument, submit_documents};

use crate::add::AddRequest;
use crate::common_fields::{
    CommonFields, IDEMPOTENCY_KEY, IdempotencyKey, body_of_text, read_idempotency_key,
};
use crate::wait::WaitQuery;

/// The most documents of a batch. Part of the API.
pub(crate) const MAX_DOCUMENTS: usize = 600;
/// The most bytes of the body. An HTTP API in front of the service allows less: see docs/api.md.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Documents, and the fields of those that do not have their own.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AddBatchRequest")]
pub(crate) struct BatchRequest {
    /// Objects with the fields of one document, or texts.
    #[schemars(with = "Vec<BatchDocument>", length(min = 1, max = MAX_DOCUMENTS))]
    documents: Vec<Value>,
}

/// A document of a batch.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "describes what `read_item` reads"
)]
enum BatchDocument {
    /// A document with its own fields.
    Document(JsonParts<AddRequest, CommonFields>),
    /// A content. An empty one is refused by itself.
    Content(String),
}

/// The content of one document. The other fields are in [`CommonFields`].
#[derive(Debug, Deserialize)]
struct BatchItem {
    content: Option<String>,
}

/// The results of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BatchResponse {
    /// The accepted documents in the order of the request, then those that were refused.
    results: Vec<BatchResult>,
    /// The number of documents that were accepted.
    success: usize,
    /// The number of documents that were refused.
    failed: usize,
}

/// The result of one document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum BatchResult {
    Accepted(BatchAccepted),
    Refused(BatchRefused),
}

/// A document of a batch that was accepted.
#[derive(Debug, Serialize, JsonSchema)]
struct BatchAccepted {
    /// The id of the document.
    id: DocumentId,
    /// Its status.
    status: DocumentStatus,
    /// The address that it is fetched from, if it is a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// A document of a batch that was refused.
#[derive(Debug, Serialize, JsonSchema)]
struct BatchRefused {
    // compat: the clients' types demand an id, and the API defines it as empty here.
    /// Always empty.
    #[schemars(extend("const" = ""))]
    id: &'static str,
    /// Always `error`.
    #[schemars(extend("const" = "error"))]
    status: &'static str,
    /// A sentence that says what is wrong.
    error: String,
    /// The kind of the error, and the position in the request.
    details: String,
    /// The address that was sent, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

pub(crate) async fn add_batch(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    wait: WaitQuery,
    headers: HeaderMap,
    JsonParts(request, defaults): JsonParts<BatchRequest, CommonFields>,
) -> ApiResult<Json<BatchResponse>> {
    check_document_count(request.documents.len())?;
    let key = read_idempotency_key(&headers)?;
    let urls: Vec<Option<String>> = request.documents.iter().map(item_url).collect();
    let mut documents = Vec::with_capacity(request.documents.len());
    for (position, item) in request.documents.into_iter().enumerate() {
        let key = key_of_document(key.as_deref(), position);
        documents.push(read_item(item, &defaults, key));
    }

    let submitted = submit_batch(&app.ctx, &tenant, wait, documents).await?;
    let mut results = Vec::new();
    for (position, accepted) in submitted.accepted {
        results.push(BatchResult::Accepted(BatchAccepted {
            id: accepted.id,
            status: accepted.status,
            url: urls[position].clone(),
        }));
    }

    let (success, failed) = (results.len(), submitted.refused.len());
    for (position, error) in submitted.refused {
        results.push(BatchResult::Refused(BatchRefused {
            id: "",
            status: "error",
            error: error.to_string(),
            details: format!("{} in documents[{position}]", error.type_name()),
            url: urls[position].clone(),
        }));
    }

    Ok(Json(BatchResponse {
        results,
        success,
        failed,
    }))
}

/// The documents of a batch after their submission, by their positions in the request.
pub(crate) struct SubmittedBatch {
    pub(crate) accepted: Vec<(usize, AcceptedDocument)>,
    pub(crate) refused: Vec<(usize, Error)>,
}

/// Submits the documents of a batch that could be read, and waits for their processing if `wait` asks
/// for that. A document that is wrong is refused by itself.
///
/// # Errors
/// Those of [`submit_documents`] and of [`WaitQuery::wait_for`].
pub(crate) async fn submit_batch(
    ctx: &Ctx,
    tenant: &Tenant,
    wait: WaitQuery,
    documents: Vec<Result<NewDocument>>,
) -> Result<SubmittedBatch> {
    let (mut readable, mut positions) = (Vec::new(), Vec::new());
    let mut refused: Vec<(usize, Error)> = Vec::new();
    for (position, document) in documents.into_iter().enumerate() {
        match document {
            Ok(new) => {
                readable.push(new);
                positions.push(position);
            }
            Err(error) => refused.push((position, error)),
        }
    }

    let mut submitted = submit_documents(ctx, tenant, readable).await?;
    let mut awaited: Vec<&mut AcceptedDocument> = submitted.iter_mut().flatten().collect();
    wait.wait_for(ctx, tenant, &mut awaited).await?;

    let mut accepted: Vec<(usize, AcceptedDocument)> = Vec::new();
    for (position, result) in positions.into_iter().zip(submitted) {
        match result {
            Ok(document) => accepted.push((position, document)),
            Err(error) => refused.push((position, error)),
        }
    }

    refused.sort_by_key(|(position, _)| *position);
    Ok(SubmittedBatch { accepted, refused })
}

/// Returns the key that identifies a document of a batch when the request is repeated. The key of the
/// batch yields one for each of its documents.
pub(crate) fn key_of_document(batch_key: Option<&str>, position: usize) -> Option<String> {
    batch_key.map(|key| format!("{key}#{position}"))
}

/// Checks the number of documents in a batch.
///
/// # Errors
/// [`Error::Invalid`] for none, or for more than [`MAX_DOCUMENTS`].
pub(crate) fn check_document_count(count: usize) -> Result<()> {
    if (1..=MAX_DOCUMENTS).contains(&count) {
        return Ok(());
    }
    Err(Error::invalid_field(
        "documents",
        format!("1 to {MAX_DOCUMENTS} documents, not {count}"),
    ))
}

/// Returns the address if the content of a document in a batch is one.
pub(crate) fn item_url(item: &Value) -> Option<String> {
    let content = item.as_str().or(item["content"].as_str())?;
    parse_page_url(content)?;
    Some(content.trim().to_owned())
}

fn read_item(item: Value, defaults: &CommonFields, key: Option<String>) -> Result<NewDocument> {
    let (content, common) = match item {
        Value::String(text) => (Some(text), CommonFields::default()),
        Value::Object(_) => (
            parse_fields::<BatchItem>(&item)?.content,
            parse_fields(&item)?,
        ),
        _ => {
            return Err(Error::invalid(
                "a document is an object with `content`, or a text",
            ));
        }
    };

    let Some(content) = content else {
        return Err(Error::invalid_field("content", "missing"));
    };
    let (bytes, form) = body_of_text(content)?;

    common
        .or_defaults(defaults)
        .into_document(Content::Complete { bytes, form }, key)
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let add = Operation::post("/v3/documents/batch", "add_batch")
        .group("Ingest")
        .summary("Add up to 600 texts or addresses, each with its own result.")
        .description(
            "A document that is wrong is refused by itself and listed after those that were \
             accepted.",
        )
        .query::<WaitQuery>()
        .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
        .body::<JsonParts<BatchRequest, CommonFields>>(json!({
            "containerTag": "user_42",
            "documents": [
                "A ferry crosses the strait twice a day.",
                {"content": "https://example.com/timetable", "documentDate": "2026-03-01"},
            ],
        }))
        .answer::<BatchResponse>(
            "Every document of the batch with its own result.",
            json!({
                "results": [
                    {"id": "acxV5LHMEsG2hMSNb4umbn", "status": "queued"},
                    {
                        "id": "",
                        "status": "error",
                        "error": "content: there is nothing in it",
                        "details": "ValidationError in documents[0]",
                    },
                ],
                "success": 1,
                "failed": 1,
            }),
        )
        .error(ErrorAnswer::Invalid, "");
    vec![add.alias("/v3/memories/batch"), add]
}
