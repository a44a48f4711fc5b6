//! `PATCH /ns/{namespace}/document/{id}`: changes a document.

use axum::extract::State;
use bytes::Bytes;
use domain::{BodyForm, ContainerTag, Metadata, Patch, Result, Tenant};
use edge::{ApiResult, App, Auth, Json, JsonParts, Path, WriteContent, namespace_scope, public_id};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use service::{
    Ctx, DocumentDescription, DocumentUpdate, find_document, open_container, update_document,
};

use super::{DocumentRef, GROUP, NAMESPACE, SharedFields, in_these_names};
use crate::add::{ACCEPTED, accepted_example};
use crate::common_fields::{
    MAX_TEXT_BYTES, body_of_text, check_entity_context, parse_document_date,
};
use crate::document::{DOCUMENT_ID, NO_DOCUMENT};

/// The description of the conflicts of a change.
pub(super) const CONFLICTS: &str = "A merge has superseded the document, its namespace is being \
    merged, or its content has not arrived or cannot be read: the message says which.";

/// The content to change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "UpdateNamespaceDocumentRequest")]
pub(crate) struct UpdateRequest {
    /// A text, markdown, HTML or the address of one page in place of the content: at most 1 MiB of
    /// UTF-8.
    #[schemars(length(max = MAX_TEXT_BYTES))]
    content: Option<String>,
}

pub(crate) async fn patch_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path((namespace, id)): Path<(String, String)>,
    JsonParts(request, fields): JsonParts<UpdateRequest, SharedFields>,
) -> ApiResult<Json<DocumentRef>> {
    let content = match request.content {
        Some(text) => Some(body_of_text(text)?),
        None => None,
    };
    let document = DocumentName { namespace, id };
    let updated = document
        .update(&app.ctx, &tenant, fields, content, Unsent::Keep)
        .await?;
    Ok(Json(updated))
}

/// The document that a path names.
pub(super) struct DocumentName {
    pub(super) namespace: String,
    pub(super) id: String,
}

/// The effect of an update on metadata and group that are not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsent {
    Keep,
    Clear,
}

impl DocumentName {
    /// Changes the document, and the description of its namespace if one is sent.
    ///
    /// # Errors
    /// [`domain::Error::NotFound`] if the namespace has no such document, and the errors of
    /// [`update_document`].
    pub(super) async fn update(
        self,
        ctx: &Ctx,
        tenant: &Tenant,
        fields: SharedFields,
        content: Option<(Bytes, BodyForm)>,
        unsent: Unsent,
    ) -> Result<DocumentRef> {
        let scope = namespace_scope(&self.namespace)?;
        let supporting_context = fields.supporting_context.clone();
        let update = fields
            .into_update(content, unsent)
            .map_err(in_these_names)?;
        let document = find_document(ctx, tenant, &self.id, &scope).await?;
        if let Some(context) = &supporting_context {
            let namespace = scope.tags.first().cloned();
            open_container(ctx, tenant, namespace, Some(context)).await?;
        }

        let id = public_id(&document.id, document.custom_id.as_ref());
        let accepted = update_document(ctx, tenant, document, update).await?;
        Ok(DocumentRef::new(Some(id), &accepted))
    }
}

impl SharedFields {
    fn into_update(
        self,
        content: Option<(Bytes, BodyForm)>,
        unsent: Unsent,
    ) -> Result<DocumentUpdate> {
        if let Some(context) = &self.supporting_context {
            check_entity_context(context)?;
        }
        let patch = |object| match (object, unsent) {
            (Some(object), _) => Patch::Set(object),
            (None, Unsent::Clear) => Patch::Clear,
            (None, Unsent::Keep) => Patch::Keep,
        };
        let parse = |field: &'static str| move |object| Metadata::parse_field(field, object);

        Ok(DocumentUpdate {
            content,
            description: DocumentDescription {
                metadata: patch(self.metadata).try_map(parse("metadata"))?,
                filepath: Patch::Keep,
                filter_by_metadata: patch(self.group).try_map(parse("filterByMetadata"))?,
            },
            task_type: self.task_type,
            document_date: parse_document_date(self.date.as_deref())?,
            ..DocumentUpdate::default()
        })
    }
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::patch("/ns/{namespace}/document/{id}", "update_namespace_document")
            .group(GROUP)
            .summary("Change a document of a namespace.")
            .description(
                "Metadata changes in place. Other content replaces the present one and is processed \
                 again. Absent fields stay as they are.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", DOCUMENT_ID)
            .optional_body::<JsonParts<UpdateRequest, SharedFields>>(json!({
                "content": "The heron has left the north bank.",
                "metadata": {"source": "diary", "checked": true},
            }))
            .answer::<DocumentRef>(ACCEPTED, accepted_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_DOCUMENT)
            .error(ErrorAnswer::Conflict, CONFLICTS),
    ]
}
