//! `POST /ns/{namespace}/document`: adds a text or the address of a page, or goes on with a document.

use axum::extract::State;
use domain::{ContainerTag, CustomId};
use edge::{ApiResult, App, Auth, Json, JsonParts, Path, WriteContent};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use service::{Content, submit_document};

use super::{DocumentRef, GROUP, NAMESPACE, SharedFields};
use crate::add::{ACCEPTED, accepted_example};
use crate::common_fields::{
    IDEMPOTENCY_KEY, IdempotencyKey, MAX_TEXT_BYTES, body_of_text, read_idempotency_key,
};
use crate::wait::WaitQuery;

/// The description of the conflicts of content that is added to a namespace.
pub(super) const CONFLICTS: &str = "The document with this id is a file or a page, to which no \
    text can be added. Or the `Idempotency-Key` was used for another request, or the namespace is \
    being merged.";

/// A document whose content is text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "AddNamespaceDocumentRequest")]
pub(crate) struct AddRequest {
    /// A text, markdown, HTML or the address of one page: at most 1 MiB of UTF-8.
    #[schemars(length(max = MAX_TEXT_BYTES))]
    pub(super) content: String,
    /// The caller's own id of the document, unique in the namespace. A text that is sent again with
    /// it is added to the document.
    #[schemars(with = "Option<CustomId>")]
    pub(super) id: Option<String>,
}

pub(crate) async fn add_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(namespace): Path<String>,
    wait: WaitQuery,
    headers: HeaderMap,
    JsonParts(request, fields): JsonParts<AddRequest, SharedFields>,
) -> ApiResult<Json<DocumentRef>> {
    let (bytes, form) = body_of_text(request.content)?;
    let content = Content::Complete { bytes, form };
    let key = read_idempotency_key(&headers)?;
    let new = fields.into_document(&namespace, request.id.clone(), content, key)?;

    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(DocumentRef::new(request.id, &accepted)))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/document", "add_namespace_document")
            .group(GROUP)
            .summary("Add a text or the address of a page, or go on with a document.")
            .description(
                "A text that is sent with the id of a document is added to its text as the next \
                 paragraph, or as the next turns if both are transcripts. A text that is there \
                 already is not added again.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<WaitQuery>()
            .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
            .body::<JsonParts<AddRequest, SharedFields>>(json!({
                "content": "The heron waits in the reeds of the north bank.",
                "id": "note-17",
                "metadata": {"source": "diary", "year": 2026, "tags": ["birds", "river"]},
            }))
            .answer::<DocumentRef>(ACCEPTED, accepted_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::Conflict, CONFLICTS),
    ]
}
