//! `POST /v3/documents/file`: adds a file as multipart form data.

use axum::Extension;
use axum::extract::State;
use axum::extract::multipart::{Field, Multipart, MultipartError, MultipartRejection};
use bytes::Bytes;
use domain::container::MAX_ENTITY_CONTEXT;
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

use crate::add::{ACCEPTED, AddResponse, CONFLICTS_OF_CONTENT, accepted_example};
use crate::common_fields::{
    CommonFields, IDEMPOTENCY_KEY, IdempotencyKey, MAX_FILEPATH_CHARS, read_idempotency_key,
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

/// The file of a form, and what the form says about its type.
#[derive(Default)]
pub(crate) struct UploadedFile {
    file: Option<Bytes>,
    name: Option<String>,
    part_type: Option<String>,
    file_type: Option<String>,
    mime_type: Option<String>,
}

/// The fields of a form beside the file, of which each form of the API has its own.
pub(crate) trait FormFields {
    /// Sets the field with this name. A field that is not known is ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wrong value.
    fn set(&mut self, name: &str, text: &str) -> Result<()>;
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
pub(crate) fn hold_metadata(schema: &mut Schema) {
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
    let multipart = expect_form(multipart)?;
    let mut common = CommonFields::default();
    let file = read_form(multipart, limit, &mut common).await?;
    note_request_body(&logged_fields(&file, &common));
    let (bytes, form) = file.into_body(limit)?;
    let content = Content::Complete { bytes, form };
    let new = common.into_document(content, read_idempotency_key(&headers)?)?;
    let mut accepted = submit_document(&app.ctx, &tenant, new).await?;
    wait.wait_for(&app.ctx, &tenant, &mut [&mut accepted])
        .await?;
    Ok(Json(accepted.into()))
}

/// Returns the form of a request.
///
/// # Errors
/// [`Error::UnsupportedMedia`] if the body is not a form.
pub(crate) fn expect_form(
    multipart: std::result::Result<Multipart, MultipartRejection>,
) -> Result<Multipart> {
    multipart.map_err(|_| {
        let message = "send the file as multipart/form-data with a part named `file`";
        Error::UnsupportedMedia(message.to_owned())
    })
}

/// Returns the parts of the form that the request log may contain.
fn logged_fields(file: &UploadedFile, common: &CommonFields) -> Value {
    let mut fields = file.logged_fields();
    fields["containerTag"] = json!(common.container_tag);
    fields["containerTags"] = json!(common.container_tags);
    fields["customId"] = json!(common.custom_id);
    fields["filepath"] = json!(common.filepath);
    fields["metadata"] = json!(common.metadata);
    fields["documentDate"] = json!(common.document_date);
    fields
}

impl UploadedFile {
    /// Returns what the request log may contain of the file.
    pub(crate) fn logged_fields(&self) -> Value {
        json!({
            "file": {"name": self.name, "bytes": self.file.as_ref().map(Bytes::len), "mimeType": self.part_type},
            "fileType": self.file_type,
            "mimeType": self.mime_type,
        })
    }

    /// Checks whether the form has a file.
    pub(crate) fn is_present(&self) -> bool {
        self.file.is_some()
    }

    /// Checks the file and returns its bytes, and the form in which they are read.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none or it is empty, and [`Error::TooLarge`].
    pub(crate) fn into_body(self, limit: DirectFileBytes) -> Result<(Bytes, BodyForm)> {
        let Some(bytes) = self.file else {
            return Err(Error::invalid_field(
                "file",
                "missing: add a part named `file`",
            ));
        };
        if bytes.is_empty() {
            return Err(Error::invalid_field("file", "the file is empty"));
        }
        if bytes.len() > limit.0 {
            return Err(limit.too_large_error());
        }

        // compat: the TypeScript client declares every file as `application/octet-stream`, which
        // says nothing.
        let part_type = self
            .part_type
            .filter(|kind| kind != "application/octet-stream");
        let name = check_file_text("file", self.name)?;
        let declared =
            check_file_text("mimeType", self.mime_type.or(part_type).or(self.file_type))?;
        Ok((bytes, BodyForm::File { name, declared }))
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

/// Reads a form: its file, and its other fields into `fields`. Empty fields count as absent.
///
/// # Errors
/// [`Error::Invalid`] for a broken form or a wrong field, and [`Error::TooLarge`].
pub(crate) async fn read_form(
    mut multipart: Multipart,
    limit: DirectFileBytes,
    fields: &mut impl FormFields,
) -> Result<UploadedFile> {
    let mut uploaded = UploadedFile::default();
    loop {
        let field = match multipart.next_field().await {
            Ok(Some(field)) => field,
            Ok(None) => return Ok(uploaded),
            Err(error) => return Err(form_error(&error, limit)),
        };
        let Some(name) = field.name().map(str::to_owned) else {
            continue;
        };
        if name == "file" {
            uploaded.name = field.file_name().map(str::to_owned);
            uploaded.part_type = field.content_type().map(str::to_owned);
            uploaded.file = Some(read_bytes(field, limit).await?);
            continue;
        }

        let bytes = read_bytes(field, limit).await?;
        if bytes.len() > FORM_BYTES {
            let message = format!("at most {FORM_BYTES} bytes; only `file` may have more");
            return Err(Error::invalid_field(&name, message));
        }
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(Error::invalid_field(&name, "UTF-8 text"));
        };
        match name.as_str() {
            _ if text.is_empty() => {}
            "fileType" => uploaded.file_type = Some(text.to_owned()),
            "mimeType" => uploaded.mime_type = Some(text.to_owned()),
            name => fields.set(name, text)?,
        }
    }
}

async fn read_bytes(field: Field<'_>, limit: DirectFileBytes) -> Result<Bytes> {
    match field.bytes().await {
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(form_error(&error, limit)),
    }
}

impl FormFields for CommonFields {
    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let value = Some(text.to_owned());
        match name {
            "containerTag" => self.container_tag = value,
            "containerTags" => self.container_tags = Some(parse_tags(text)),
            "customId" => self.custom_id = value,
            "metadata" => self.metadata = Some(parse_object_text(name, text)?),
            "filterByMetadata" => self.filter_by_metadata = Some(parse_object_text(name, text)?),
            "filepath" => self.filepath = value,
            "entityContext" => self.entity_context = value,
            "documentDate" => self.document_date = value,
            "taskType" => self.task_type = Some(parse_variant(name, text)?),
            "dreaming" => self.dreaming = Some(parse_variant(name, text)?),
            "provenance" => self.provenance = Some(parse_variant(name, text)?),
            _ => check_field_name(name, &["containerTag", "containerTags"])?,
        }

        Ok(())
    }
}

/// Parses `containerTags` as a JSON array, or as one tag.
fn parse_tags(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![text.to_owned()])
}

/// Parses the field of a form that has one of a few values.
///
/// # Errors
/// [`Error::Invalid`] about `field`.
pub(crate) fn parse_variant<T: DeserializeOwned>(field: &str, text: &str) -> Result<T> {
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
