//! `POST /v3/documents/batch`: up to 600 texts or addresses, each with its own result.

use axum::extract::State;
use domain::{Error, Result};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteContent, parse_fields};
use http::HeaderMap;
use remote::parse_page_url;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::{AcceptedDocument, Content, NewDocument, submit_documents};

use crate::add::{CommonFields, body_of_text, read_idempotency_key};

/// The most documents of a batch. Part of the API.
const MAX_DOCUMENTS: usize = 600;
/// The most bytes of the body. An HTTP API in front of the service allows less: see docs/api.md.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(crate) struct BatchRequest {
    /// Objects with the fields of one document, or texts.
    documents: Vec<Value>,
}

/// The content of one document. The other fields are in [`CommonFields`].
#[derive(Debug, Deserialize)]
struct BatchItem {
    content: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BatchResponse {
    results: Vec<BatchResult>,
    success: usize,
    failed: usize,
}

#[derive(Debug, Serialize)]
struct BatchResult {
    id: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The kind of the error, and the position in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

pub(crate) async fn add_batch(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    headers: HeaderMap,
    JsonParts(request, defaults): JsonParts<BatchRequest, CommonFields>,
) -> ApiResult<Json<BatchResponse>> {
    let count = request.documents.len();
    if !(1..=MAX_DOCUMENTS).contains(&count) {
        return Err(Error::invalid_field(
            "documents",
            format!("1 to {MAX_DOCUMENTS} documents, not {count}"),
        )
        .into());
    }

    let key = read_idempotency_key(&headers)?;
    let urls: Vec<Option<String>> = request.documents.iter().map(item_url).collect();
    let (mut documents, mut positions) = (Vec::new(), Vec::new());
    let mut refused: Vec<(usize, Error)> = Vec::new();
    for (position, item) in request.documents.into_iter().enumerate() {
        // The key of the batch yields one key for each of its documents.
        let key = key.as_ref().map(|key| format!("{key}#{position}"));
        match read_item(item, &defaults, key) {
            Ok(new) => {
                documents.push(new);
                positions.push(position);
            }
            Err(error) => refused.push((position, error)),
        }
    }

    let mut results = Vec::new();
    let submitted = submit_documents(&app.ctx, &tenant, documents).await?;
    for (position, result) in positions.into_iter().zip(submitted) {
        match result {
            Ok(accepted) => {
                let url = urls[position].clone();
                results.push(BatchResult::accepted_result(&accepted, url));
            }
            Err(error) => refused.push((position, error)),
        }
    }

    refused.sort_by_key(|(position, _)| *position);
    let (success, failed) = (results.len(), refused.len());
    for (position, error) in refused {
        let url = urls[position].clone();
        results.push(BatchResult::refused_result(position, &error, url));
    }

    Ok(Json(BatchResponse {
        results,
        success,
        failed,
    }))
}

/// Returns the address if the content of a document in a batch is one.
fn item_url(item: &Value) -> Option<String> {
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
        return Err(Error::invalid_field("content", "there is nothing in it"));
    };
    let (bytes, form) = body_of_text(content)?;

    common
        .or_defaults(defaults)
        .into_document(Content::Complete { bytes, form }, key)
}

impl BatchResult {
    fn accepted_result(accepted: &AcceptedDocument, url: Option<String>) -> Self {
        let (id, status) = (accepted.id.to_string(), accepted.status.as_str());
        Self {
            id,
            status,
            error: None,
            details: None,
            url,
        }
    }

    fn refused_result(position: usize, error: &Error, url: Option<String>) -> Self {
        let details = Some(format!("{} in documents[{position}]", error.type_name()));
        // compat: the clients' types demand an id, and the API defines it as empty here.
        Self {
            id: String::new(),
            status: "error",
            error: Some(error.to_string()),
            details,
            url,
        }
    }
}
