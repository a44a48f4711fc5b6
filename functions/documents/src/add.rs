//! `POST /v3/documents`: text, Markdown, HTML or an address as a JSON string.

use axum::extract::State;
use domain::{DocumentId, DocumentStatus};
use edge::{ApiResult, App, Auth, Json, JsonParts, WriteContent};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{AcceptedDocument, Content, submit_document};

use crate::common_fields::{
    CommonFields, IDEMPOTENCY_KEY, IdempotencyKey, MAX_TEXT_BYTES, add_custom_id, body_of_text,
    read_idempotency_key,
};
use crate::wait::WaitQuery;

/// A document whose content is text.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AddDocumentRequest", transform = add_custom_id)]
pub(crate) struct AddRequest {
    /// A text, markdown, HTML or the address of one page: at most 1 MiB of UTF-8. It may be empty
    /// if there is a `filepath`.
    #[schemars(length(max = MAX_TEXT_BYTES))]
    content: String,
}

/// The document that was added or changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AcceptedDocument")]
pub(crate) struct AddResponse {
    /// The id of the document.
    id: DocumentId,
    /// Its status.
    status: DocumentStatus,
}

impl From<AcceptedDocument> for AddResponse {
    fn from(accepted: AcceptedDocument) -> Self {
        Self {
            id: accepted.id,
            status: accepted.status,
        }
    }
}

pub(crate) async fn add_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    wait: WaitQuery,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<AddRequest, CommonFields>,
) -> ApiResult<Json<AddResponse>> {
    let (bytes, form) = body_of_text(request.content)?;
    let new = common.into_document(
        Content::Complete { bytes, form },
        read_idempotency_key(&headers)?,
    )?;
    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(accepted.into()))
}

/// The description of the answer to accepted content.
pub(crate) const ACCEPTED: &str = "The document is accepted, or exists already.";

/// Returns an example of the answer to accepted content.
pub(crate) fn accepted_example() -> Value {
    json!({"id": "acxV5LHMEsG2hMSNb4umbn", "status": "queued"})
}

/// The description of the conflicts of content that is sent in one request.
pub(crate) const CONFLICTS_OF_CONTENT: &str = "The `Idempotency-Key` was used for another \
    request, or its document was deleted: send another key. Or the container is being \
    merged: send the request again later.";

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let add = Operation::post("/v3/documents", "add_document")
        .group("Ingest")
        .summary("Add text, markdown, HTML or the address of a page.")
        .description(
            "The same content again within two minutes, or the same customId with unchanged \
             content, answers with the document that exists.",
        )
        .query::<WaitQuery>()
        .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
        .body::<JsonParts<AddRequest, CommonFields>>(json!({
            "content": "The heron waits in the reeds of the north bank.",
            "containerTag": "user_42",
            "customId": "note-17",
            "metadata": {"source": "diary", "year": 2026, "tags": ["birds", "river"]},
        }))
        .answer::<AddResponse>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::Conflict, CONFLICTS_OF_CONTENT);
    vec![add.alias("/v3/memories"), add]
}
