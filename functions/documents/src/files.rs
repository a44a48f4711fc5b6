//! Files that are transferred outside the API: `POST /v3/documents/file/uploads` and `GET
//! /v3/documents/{id}/file-url`.

use axum::extract::State;
use bytes::Bytes;
use domain::{BodyForm, DocumentStatus, Timestamp};
use edge::{ApiResult, App, Auth, Json, JsonParts, Path, Query, ReadContent, WriteContent};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{Content, begin_upload, file_download_url, find_document};

use crate::add::{CommonFields, read_idempotency_key};
use crate::one::DocumentScopeQuery;
use crate::upload::{MAX_FILE_BYTES, check_file_text};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UploadRequest {
    /// The name of the file, which determines its type.
    #[serde(alias = "filename")]
    file_name: Option<String>,
    mime_type: Option<String>,
    file_type: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UploadResponse {
    id: String,
    status: DocumentStatus,
    upload: UploadTarget,
}

/// The target of an upload: one form with these fields, followed by the part `file`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UploadTarget {
    method: &'static str,
    url: String,
    fields: Map<String, Value>,
    max_bytes: usize,
    expires_at: Timestamp,
}

#[derive(Debug, Serialize)]
pub(crate) struct FileUrlResponse {
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
        id: upload.accepted.id.to_string(),
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
