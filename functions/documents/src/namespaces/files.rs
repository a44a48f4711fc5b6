//! `/ns/{namespace}/document/file`: adds a file, or puts one in the place of a document's content.

use axum::Extension;
use axum::extract::State;
use axum::extract::multipart::{Multipart, MultipartRejection};
use domain::container::MAX_ENTITY_CONTEXT;
use domain::{ContainerTag, Result};
use edge::{ApiResult, App, Auth, Json, Path, Query, WriteContent, note_request_body};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use service::{Content, submit_document};

use super::update::{CONFLICTS, DocumentName, Unsent};
use super::{DocumentRef, GROUP, NAMESPACE, SharedFields};
use crate::add::{ACCEPTED, CONFLICTS_OF_CONTENT, accepted_example};
use crate::common_fields::{IDEMPOTENCY_KEY, IdempotencyKey, read_idempotency_key};
use crate::document::{DOCUMENT_ID, NO_DOCUMENT};
use crate::upload::{
    DirectFileBytes, MAX_NAME_CHARS, UploadedFile, expect_form, hold_metadata, read_form,
};
use crate::wait::WaitQuery;

type Form = std::result::Result<Multipart, MultipartRejection>;

/// The description of the error of a body that is not a form.
const NO_FORM: &str = "The body is not a form. Send it as `multipart/form-data`.";

/// A form with a file. An empty field counts as absent.
#[derive(JsonSchema)]
#[schemars(rename = "NamespaceFileForm", rename_all = "camelCase", extend("required" = ["file"]))]
#[expect(dead_code, reason = "describes what `read_file_form` reads")]
struct FileForm {
    /// The file. Its name helps to determine its type.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: String,
    #[schemars(flatten)]
    fields: FileFields,
}

/// A form with fields to change. An empty field counts as absent.
#[derive(JsonSchema)]
#[schemars(rename = "NamespaceFileUpdateForm", rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `read_file_form` reads")]
struct FileUpdateForm {
    /// A file in place of the content. Its name helps to determine its type.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: Option<String>,
    #[schemars(flatten)]
    fields: FileFields,
}

/// The fields of a form beside the file.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", extend("required" = []))]
#[expect(dead_code, reason = "describes what `read_file_form` reads")]
struct FileFields {
    /// A description of the content of the namespace. It stays with the namespace.
    #[schemars(length(max = MAX_ENTITY_CONTEXT))]
    supporting_context: String,
    /// The caller's own keys, as JSON text.
    #[schemars(transform = hold_metadata)]
    metadata: String,
    /// The metadata that other documents need to have for their memories to be considered beside
    /// those of this one, as JSON text.
    #[schemars(transform = hold_metadata)]
    group: String,
    /// The time that the content is from, as a day or a timestamp with an offset.
    date: String,
    /// The results of its processing: chunks and memories (`memory`), or chunks only (`superrag`).
    #[schemars(extend("enum" = ["memory", "superrag", ""]))]
    task_type: String,
    /// The time at which memories are formed: a convenient one (`dynamic`), or at once (`instant`).
    #[schemars(extend("enum" = ["dynamic", "instant", ""]))]
    dreaming: String,
    /// The MIME type of the file, if it is known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    mime_type: String,
    /// The kind of the file, such as `pdf`, if its MIME type is not known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    file_type: String,
}

/// A query string that is not read. A scope in it is refused by `Query`.
#[derive(Debug, Deserialize)]
pub(crate) struct NoParameters {}

pub(crate) async fn add_file(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Extension(limit): Extension<DirectFileBytes>,
    Path(namespace): Path<String>,
    // No body is parsed as JSON here, so a scope in the query string is refused by `Query`.
    Query(wait): Query<WaitQuery>,
    headers: HeaderMap,
    form: Form,
) -> ApiResult<Json<DocumentRef>> {
    let (file, fields) = read_file_form(form, limit).await?;
    let (bytes, form) = file.into_body(limit)?;
    let content = Content::Complete { bytes, form };
    let key = read_idempotency_key(&headers)?;
    let new = fields.into_document(&namespace, None, content, key)?;

    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(DocumentRef::new(None, &accepted)))
}

/// Puts a file in the place of the content of a document, and clears the metadata and the group that
/// are not sent.
pub(crate) async fn replace_with_file(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Extension(limit): Extension<DirectFileBytes>,
    Path((namespace, id)): Path<(String, String)>,
    Query(NoParameters {}): Query<NoParameters>,
    form: Form,
) -> ApiResult<Json<DocumentRef>> {
    let (file, fields) = read_file_form(form, limit).await?;
    let content = Some(file.into_body(limit)?);
    let updated = DocumentName { namespace, id }
        .update(&app.ctx, &tenant, fields, content, Unsent::Clear)
        .await?;
    Ok(Json(updated))
}

/// Changes what is sent of a document.
pub(crate) async fn update_with_file(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Extension(limit): Extension<DirectFileBytes>,
    Path((namespace, id)): Path<(String, String)>,
    Query(NoParameters {}): Query<NoParameters>,
    form: Form,
) -> ApiResult<Json<DocumentRef>> {
    let (file, fields) = read_file_form(form, limit).await?;
    let content = match file.is_present() {
        true => Some(file.into_body(limit)?),
        false => None,
    };
    let updated = DocumentName { namespace, id }
        .update(&app.ctx, &tenant, fields, content, Unsent::Keep)
        .await?;
    Ok(Json(updated))
}

async fn read_file_form(
    form: Form,
    limit: DirectFileBytes,
) -> Result<(UploadedFile, SharedFields)> {
    let multipart = expect_form(form)?;
    let mut fields = SharedFields::default();
    let file = read_form(multipart, limit, &mut fields).await?;
    note_request_body(&logged_fields(&file, &fields));
    Ok((file, fields))
}

/// Returns the parts of the form that the request log may contain.
fn logged_fields(file: &UploadedFile, fields: &SharedFields) -> Value {
    let mut logged = file.logged_fields();
    logged["metadata"] = json!(fields.metadata);
    logged["date"] = json!(fields.date);
    logged
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/document/file", "add_namespace_file")
            .group(GROUP)
            .summary("Add a file as multipart form data.")
            .description(
                "One machine takes files of up to 50 MB here and the Lambda function 4 MiB. Larger \
                 ones go by `POST /v3/documents/file/uploads`.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<WaitQuery>()
            .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
            .form::<FileForm>()
            .answer::<DocumentRef>(ACCEPTED, accepted_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::Conflict, CONFLICTS_OF_CONTENT)
            .error(ErrorAnswer::UnsupportedMedia, NO_FORM),
        Operation::post(
            "/ns/{namespace}/document/file/{id}",
            "replace_namespace_document",
        )
        .group(GROUP)
        .summary("Put a file in the place of the content of a document.")
        .description("The metadata and the group that are not sent are cleared.")
        .path_parameter::<ContainerTag>("namespace", NAMESPACE)
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .form::<FileForm>()
        .answer::<DocumentRef>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(ErrorAnswer::Conflict, CONFLICTS)
        .error(ErrorAnswer::UnsupportedMedia, NO_FORM),
        Operation::patch(
            "/ns/{namespace}/document/file/{id}",
            "update_namespace_file",
        )
        .group(GROUP)
        .summary("Change a document, with a file in place of its content if one is sent.")
        .description("Absent fields stay as they are.")
        .path_parameter::<ContainerTag>("namespace", NAMESPACE)
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .form::<FileUpdateForm>()
        .answer::<DocumentRef>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(ErrorAnswer::Conflict, CONFLICTS)
        .error(ErrorAnswer::UnsupportedMedia, NO_FORM),
    ]
}
