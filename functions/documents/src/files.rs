//! Files that are transferred outside the API: `POST /v3/documents/file/uploads` and `GET
//! /v3/documents/{id}/file-url`.

use std::collections::BTreeMap;

use axum::extract::State;
use bytes::Bytes;
use domain::{BodyForm, DocumentId, DocumentStatus, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, Path, Query, ReadContent, WriteContent};
use http::HeaderMap;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{Content, begin_upload, file_download_url, find_document};

use crate::common_fields::{
    CommonFields, IDEMPOTENCY_KEY, IdempotencyKey, add_custom_id, read_idempotency_key,
};
use crate::document::{DOCUMENT_ID, DocumentScopeQuery, SEVERAL_DOCUMENTS};
use crate::upload::{MAX_FILE_BYTES, MAX_NAME_CHARS, check_file_text};

/// A document whose file follows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "BeginUploadRequest", transform = add_custom_id)]
pub(crate) struct UploadRequest {
    /// The name of the file, which helps to determine its type. `filename` is read as well.
    #[serde(alias = "filename")]
    #[schemars(length(max = MAX_NAME_CHARS))]
    file_name: Option<String>,
    /// The MIME type of the file, if it is known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    mime_type: Option<String>,
    /// The kind of the file, such as `pdf`, if its MIME type is not known.
    #[schemars(length(max = MAX_NAME_CHARS))]
    file_type: Option<String>,
}

/// A document whose file is still to come.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadResponse {
    /// The id of the document.
    id: DocumentId,
    /// Its status.
    status: DocumentStatus,
    /// The form to send the file with.
    upload: UploadTarget,
}

/// The target of an upload: one form with these fields, followed by the part `file`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UploadTarget {
    /// Always `POST`.
    #[schemars(extend("const" = "POST"))]
    method: &'static str,
    /// The address that the form is sent to.
    url: String,
    /// The fields of the form.
    #[schemars(with = "BTreeMap<String, String>")]
    fields: Map<String, Value>,
    /// The most bytes of the file.
    #[schemars(range(min = 1))]
    max_bytes: usize,
    /// The time until which the form works.
    expires_at: Timestamp,
}

/// The address of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileUrlResponse {
    /// The address. It works for 24 hours; on AWS until the credentials that signed it expire, if
    /// that is sooner.
    url: String,
}

pub(crate) async fn begin_file_upload(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    headers: HeaderMap,
    JsonParts(request, common): JsonParts<UploadRequest, CommonFields>,
) -> ApiResult<Json<UploadResponse>> {
    let name = check_file_text("fileName", request.file_name)?;
    let declared = check_file_text("mimeType", request.mime_type.or(request.file_type))?;
    let content = Content::Complete {
        bytes: Bytes::new(),
        form: BodyForm::File { name, declared },
    };

    let new = common.into_document(content, read_idempotency_key(&headers)?)?;
    let upload = begin_upload(&app.ctx, &tenant, new, MAX_FILE_BYTES as u64).await?;
    let fields = upload
        .form
        .fields
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();

    Ok(Json(UploadResponse {
        id: upload.accepted.id,
        status: upload.accepted.status,
        upload: UploadTarget {
            method: "POST",
            url: upload.form.url,
            fields,
            max_bytes: MAX_FILE_BYTES,
            expires_at: upload.until,
        },
    }))
}

pub(crate) async fn get_file_url(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<Json<FileUrlResponse>> {
    let document = find_document(&app.ctx, &tenant, &id, &query.scope()?).await?;
    Ok(Json(FileUrlResponse {
        url: file_download_url(&app.ctx, &tenant, &document).await?,
    }))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/documents/file/uploads", "begin_upload")
            .group("Ingest")
            .summary("Begin a document whose file is then sent straight to storage.")
            .description(
                "The answer has a form that takes one file of up to 50 MB within 15 minutes. The \
                 document is `queued` until the file arrives.",
            )
            .header::<IdempotencyKey>("Idempotency-Key", IDEMPOTENCY_KEY)
            .optional_body::<JsonParts<UploadRequest, CommonFields>>(json!({
                "fileName": "survey.pdf",
                "containerTag": "user_42",
            }))
            .answer::<UploadResponse>(
                "The document, and the form that its file is sent with.",
                json!({
                    "id": "acxV5LHMEsG2hMSNb4umbn",
                    "status": "queued",
                    "upload": {
                        "method": "POST",
                        "url": "https://recollect-content.s3.eu-central-1.amazonaws.com/",
                        "fields": {
                            "key": "acme/acxV5LHMEsG2hMSNb4umbn/Vt3mE9xq6mVb2P8hZc1KRe/upload",
                            "policy": "eyJjb25kaXRpb25zIjpbXX0=",
                            "x-amz-algorithm": "AWS4-HMAC-SHA256",
                        },
                        "maxBytes": 52_428_800,
                        "expiresAt": "2026-03-01T09:45:00.000Z",
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The `Idempotency-Key` was used for another request, its file has arrived, or its \
                 document was deleted: send another key. Or other content with this \
                 customId is being processed, or the container is being merged: send the request \
                 again later.",
            ),
        Operation::get("/v3/documents/{id}/file-url", "get_file_url")
            .group("Documents")
            .summary("Get an address from which the original file can be read for up to 24 hours.")
            .description("A document that is no file, or whose file has not arrived, has none.")
            .path_parameter::<PathId>("id", DOCUMENT_ID)
            .query::<DocumentScopeQuery>()
            .answer::<FileUrlResponse>(
                "The address of the file.",
                json!({
                    "url": "https://recollect-content.s3.eu-central-1.amazonaws.com/acme/upload",
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no such document, it has no file, or its file has not arrived.",
            )
            .error(ErrorAnswer::Conflict, SEVERAL_DOCUMENTS),
    ]
}
