//! `POST /v3/documents/file`: adds a file as multipart form data.

use axum::Extension;
use axum::extract::State;
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use bytes::Bytes;
use domain::{BodyForm, Error, Result};
use edge::{
    ApiResult, App, Auth, Json, Query, WriteContent, check_field_name, note_request_body,
    parse_object_text,
};
use http::{HeaderMap, StatusCode};
use openapi::{ErrorAnswer, Operation};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use service::{Content, submit_document};

use crate::add::{
    ACCEPTED, AddResponse, CONFLICTS_OF_CONTENT, CommonFields, IDEMPOTENCY_KEY, IdempotencyKey,
    MAX_ENTITY_CONTEXT, MAX_FILEPATH_CHARS, accepted_example, read_idempotency_key,
};
use crate::wait::WaitQuery;

/// The most bytes of a file: 50 MB. Part of the API.
pub const MAX_FILE_BYTES: usize = 50 * 1024 * 1024;
/// The bytes that the other fields of a form and its boundaries may take.
pub(crate) const FORM_BYTES: usize = 1024 * 1024;

/// The most bytes of a file that this deployment accepts in a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectFileBytes(pub(crate) usize);

/// The most characters of the name and of the declared type of a file.
pub(crate) const MAX_NAME_CHARS: usize = 255;

/// The parts of the form as they were sent.
#[derive(Default)]
struct UploadForm {
    file: Option<Bytes>,
    name: Option<String>,
    part_type: Option<String>,
    file_type: Option<String>,
    mime_type: Option<String>,
    common: CommonFields,
}

/// A form with a file. An empty field counts as absent.
#[derive(JsonSchema)]
#[schemars(rename = "AddFileForm", rename_all = "camelCase", extend("required" = ["file"]))]
#[expect(dead_code, reason = "describes what `read_form` reads")]
struct FileForm {
    /// The file. Its name helps to determine its type.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    file: String,
    /// The container tag.
    #[schemars(regex(pattern = "^[a-zA-Z0-9_:.-]{0,100}$"))]
    container_tag: String,
    /// The older form of `containerTag`: one tag, or a JSON array with one tag.
    #[schemars(extend("deprecated" = true))]
    container_tags: String,
    /// The caller's own identifier, unique in the container. Content that is sent again with it
    /// replaces the content of the document.
    #[schemars(regex(pattern = "^[A-Za-z0-9_.:-]{0,255}$"))]
    custom_id: String,
    /// The caller's own keys, as JSON text.
    #[schemars(transform = hold_metadata)]
    metadata: String,
    /// The path in the caller's own tree.
    #[schemars(length(max = MAX_FILEPATH_CHARS))]
    filepath: String,
    /// The metadata that other documents need to have for their memories to be considered beside
    /// those of this one, as JSON text.
    #[schemars(transform = hold_metadata)]
    filter_by_metadata: String,
    /// The results of its processing: chunks and memories (`memory`), or chunks only (`superrag`).
    #[schemars(extend("enum" = ["memory", "superrag", ""]))]
    task_type: String,
    /// The time that the content is from, as a day or a timestamp with an offset.
    document_date: String,
    /// A description of the content of the container. It stays with the container tag.
    #[schemars(length(max = MAX_ENTITY_CONTEXT))]
    entity_context: String,
    /// The time at which memories are formed: a convenient one (`dynamic`), or at once (`instant`).
    #[schemars(extend("enum" = ["dynamic", "instant", ""]))]
    dreaming: String,
    /// The author of the content: the user, or somebody else, which is the default for a file.
    #[schemars(extend("enum" = ["user", "external", ""]))]
    provenance: String,
    /// The MIME type of the file, if it is known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    mime_type: String,
    /// The kind of the file, such as `pdf`, if its MIME type is not known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    file_type: String,
}

/// Declares that a text holds metadata as JSON.
fn hold_metadata(schema: &mut Schema) {
    schema.insert("contentMediaType".into(), "application/json".into());
    schema.insert(
        "contentSchema".into(),
        json!({"$ref": "#/components/schemas/Metadata"}),
    );
}

pub(crate) async fn add_file(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Extension(limit): Extension<DirectFileBytes>,
    // No body is parsed as JSON here, so a scope in the query string is refused by `Query`.
    Query(wait): Query<WaitQuery>,
    headers: HeaderMap,
    multipart: std::result::Result<Multipart, MultipartRejection>,
) -> ApiResult<Json<AddResponse>> {
    let Ok(multipart) = multipart else {
        let message = "send the file as multipart/form-data with a part named `file`";
        return Err(Error::UnsupportedMedia(message.to_owned()).into());
    };

    let form = read_form(multipart, limit).await?;
    note_request_body(&form.logged_fields());
    let Some(file) = form.file else {
        return Err(Error::invalid_field("file", "missing: add a part named `file`").into());
    };
    if file.is_empty() {
        return Err(Error::invalid_field("file", "the file is empty").into());
    }

    if file.len() > limit.0 {
        return Err(limit.too_large_error().into());
    }

    // compat: the TypeScript client declares every file as `application/octet-stream`, which says
    // nothing.
    let part_type = form
        .part_type
        .filter(|kind| kind != "application/octet-stream");
    let name = check_file_text("file", form.name)?;
    let declared = check_file_text("mimeType", form.mime_type.or(part_type).or(form.file_type))?;
    let content = Content::Complete {
        bytes: file,
        form: BodyForm::File { name, declared },
    };

    let new = form
        .common
        .into_document(content, read_idempotency_key(&headers)?)?;
    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(accepted.into()))
}

impl UploadForm {
    /// Returns the parts of the form that the request log may contain.
    fn logged_fields(&self) -> Value {
        let common = &self.common;
        json!({
            "file": {"name": self.name, "bytes": self.file.as_ref().map(Bytes::len), "mimeType": self.part_type},
            "fileType": self.file_type,
            "mimeType": self.mime_type,
            "containerTag": common.container_tag,
            "containerTags": common.container_tags,
            "customId": common.custom_id,
            "filepath": common.filepath,
            "metadata": common.metadata,
            "documentDate": common.document_date,
        })
    }
}

/// Checks the length of a file's name or declared type.
pub(crate) fn check_file_text(field: &str, text: Option<String>) -> Result<Option<String>> {
    match text {
        Some(text) if text.chars().count() > MAX_NAME_CHARS => Err(Error::invalid_field(
            field,
            format!("a name has at most {MAX_NAME_CHARS} characters"),
        )),
        text => Ok(text),
    }
}

impl DirectFileBytes {
    fn too_large_error(self) -> Error {
        let max_bytes = self.0;
        if max_bytes == MAX_FILE_BYTES {
            return Error::TooLarge(format!("a file has at most {max_bytes} bytes"));
        }
        let hint = format!("up to {MAX_FILE_BYTES} bytes go by POST /v3/documents/file/uploads");
        Error::TooLarge(format!(
            "a file has at most {max_bytes} bytes on this route; {hint}"
        ))
    }
}

fn form_error(error: &MultipartError, limit: DirectFileBytes) -> Error {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        limit.too_large_error()
    } else {
        Error::invalid("the form is broken, ended early or came too slowly")
    }
}

async fn read_form(mut multipart: Multipart, limit: DirectFileBytes) -> Result<UploadForm> {
    let mut form = UploadForm::default();
    loop {
        let field = match multipart.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return Ok(form),
            Err(error) => return Err(form_error(&error, limit)),
        };
        let Some(name) = field.name().map(str::to_owned) else {
            continue;
        };
        if name == "file" {
            form.name = field.file_name().map(str::to_owned);
            form.part_type = field.content_type().map(str::to_owned);
            form.file = Some(read_bytes(field, limit).await?);
            continue;
        }
        read_field(&mut form, &name, field, limit).await?;
    }
}

async fn read_bytes(field: Field<'_>, limit: DirectFileBytes) -> Result<Bytes> {
    match field.bytes().await {
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(form_error(&error, limit)),
    }
}

async fn read_field(
    form: &mut UploadForm,
    name: &str,
    field: Field<'_>,
    limit: DirectFileBytes,
) -> Result<()> {
    let bytes = read_bytes(field, limit).await?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(Error::invalid_field(name, "UTF-8 text"));
    };
    if text.is_empty() {
        return Ok(());
    }

    let value = Some(text.to_owned());
    let common = &mut form.common;
    match name {
        "containerTag" => common.container_tag = value,
        "containerTags" => common.container_tags = Some(parse_tags(text)),
        "customId" => common.custom_id = value,
        "metadata" => common.metadata = Some(parse_object_text(name, text)?),
        "filterByMetadata" => common.filter_by_metadata = Some(parse_object_text(name, text)?),
        "filepath" => common.filepath = value,
        "entityContext" => common.entity_context = value,
        "documentDate" => common.document_date = value,
        "taskType" => common.task_type = Some(parse_variant(name, text)?),
        "dreaming" => common.dreaming = Some(parse_variant(name, text)?),
        "provenance" => common.provenance = Some(parse_variant(name, text)?),
        "fileType" => form.file_type = value,
        "mimeType" => form.mime_type = value,
        _ => check_field_name(name, &["containerTag", "containerTags"])?,
    }

    Ok(())
}

/// Parses `containerTags` as a JSON array, or as one tag.
fn parse_tags(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![text.to_owned()])
}

fn parse_variant<T: DeserializeOwned>(field: &str, text: &str) -> Result<T> {
    serde_json::from_value(text.into())
        .map_err(|error| Error::invalid_field(field, error.to_string()))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let add = Operation::post("/v3/documents/file", "add_file")
        .group("Ingest")
        .summary("Add a file as multipart form data.")
        .description(
            "One machine takes files of up to 50 MB here and the Lambda function 4 MiB. Larger \
             ones go by `POST /v3/documents/file/uploads`.",
        )
        .query::<WaitQuery>()
        .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
        .form::<FileForm>()
        .answer::<AddResponse>(ACCEPTED, accepted_example())
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::Conflict, CONFLICTS_OF_CONTENT)
        .error(
            ErrorAnswer::UnsupportedMedia,
            "The body is not a form. Send it as `multipart/form-data`.",
        );
    vec![add.alias("/v3/memories/file"), add]
}
