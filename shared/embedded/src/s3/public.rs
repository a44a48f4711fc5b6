//! Requests from outside: reading an object by a signed address, and storing one with a signed
//! form.
//!
//! `s3s` does not handle these requests, because it measures all times by the system clock and
//! refuses forms that some clients send: names without quotes, parts with a third header, more than
//! 20 MB in one piece.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::Body;
use multer::{Constraints, Field, Multipart, SizeLimit};
use percent_encoding::percent_decode_str;
use s3s::dto::{ETag, PutObjectInput};
use s3s::post_policy::{PostPolicy, PostPolicyCondition};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::check::{self, BodyClaims};
use super::form_gate::{BodyError, FormGate, GateOpener};
use super::index::s3_timestamp;
use super::notify::CreationKind;
use super::{S3, collect_response, host_of, internal_error_response, objects};
use crate::blocking;

/// The fields of a form, by their names in lower case.
type FormFields = BTreeMap<String, String>;

/// The most bytes of all values except the file.
const MAX_FIELDS_BYTES: usize = 64 * 1024;
/// The most fields of a form.
const MAX_FIELDS: usize = 50;
/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 1024;
/// The most bytes of a file whose policy has no limit. A request to the services themselves may
/// have as many.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The headers that the holder of a signed address may send.
const READ_HEADERS: [header::HeaderName; 6] = [
    header::HOST,
    header::RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

impl S3 {
    /// Answers a request from outside. Only the body of a form is read, and its file only after its
    /// fields were checked.
    pub(crate) async fn call_public<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<BodyError>,
    {
        let (parts, body) = request.into_parts();
        let is_head = parts.method == Method::HEAD;
        let result = match parts.method {
            Method::GET | Method::HEAD => self.read_signed(parts).await,
            Method::POST => self.store_form(&parts, body).await,
            _ => Err(s3_error!(
                AccessDenied,
                "Objects can be read with GET and HEAD, and stored with POST"
            )),
        };

        let response = match result {
            Ok(response) => self.sync_before_answer(response).await,
            Err(error) => error_response(error).await,
        };

        // The answer to HEAD has no body, not even that of an error.
        if is_head {
            response.map(|_| Bytes::new())
        } else {
            response
        }
    }

    /// Checks the address, and lets `s3s` answer the rest of the request.
    async fn read_signed(&self, mut parts: Parts) -> S3Result<Response<Bytes>> {
        let Some(host) = host_of(&parts) else {
            return Err(s3_error!(AccessDenied, "The request names no host"));
        };
        let path = parts.uri.path();
        match path.trim_start_matches('/').split_once('/') {
            Some((_, key)) if !key.is_empty() => {}
            _ => return Err(s3_error!(AccessDenied, "Only objects can be read")),
        }

        let query = parts.uri.query().unwrap_or_default();
        let unsigned_query = self.signing_key.check_address(
            (parts.method.as_str(), &host, path, query),
            self.store.now(),
        )?;
        let target = PathAndQuery::try_from(format!("{path}?{unsigned_query}"))
            .map_err(S3Error::internal_error)?;
        parts.uri = Uri::from(target);
        let mut headers = HeaderMap::new();
        for name in READ_HEADERS {
            if let Some(value) = parts.headers.remove(&name) {
                headers.insert(name, value);
            }
        }

        parts.headers = headers;
        Ok(Self::call_service(
            &self.trusted_service,
            Request::from_parts(parts, Bytes::new()),
        )
        .await)
    }

    /// Stores the file of a form.
    async fn store_form<B>(&self, request: &Parts, body: B) -> S3Result<Response<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<BodyError>,
    {
        let bucket = percent_decode_str(request.uri.path().trim_matches('/'));
        let bucket = bucket.decode_utf8_lossy().into_owned();
        let Some(boundary) = boundary_of(&request.headers) else {
            return Err(s3_error!(AccessDenied, "Post a form (multipart/form-data)"));
        };
        let opener = GateOpener::default();
        let limits = SizeLimit::new()
            .per_field(MAX_FIELDS_BYTES as u64)
            .for_field("file", u64::MAX);
        let constraints = Constraints::new().size_limit(limits);
        let bytes = FormGate::new(body, opener.clone());
        let mut parts = Multipart::with_constraints(bytes, boundary, constraints);

        let mut form = FormFields::new();
        let mut size = 0;
        while let Some(part) = parts.next_field().await.map_err(malformed_form)? {
            let name = part.name().unwrap_or_default().to_ascii_lowercase();
            if name == "file" {
                let policy = self.check_form(&bucket, &form)?;
                opener.open_gate();
                return self.store_file(&bucket, &form, read_file(&policy, part).await?);
            }
            let value = part.text().await.map_err(malformed_form)?;
            size += name.len() + value.len();
            if size > MAX_FIELDS_BYTES
                || form.len() == MAX_FIELDS
                || form.insert(name, value).is_some()
            {
                return Err(s3_error!(
                    MalformedPOSTRequest,
                    "The form has too many fields, or one of them twice, or they are too long"
                ));
            }
        }

        Err(s3_error!(
            MalformedPOSTRequest,
            "The form has no field named file; it has to be the last one"
        ))
    }

    /// Checks whether the fields before a file permit storing it. Returns the policy in the fields.
    fn check_form(&self, bucket: &str, form: &FormFields) -> S3Result<PostPolicy> {
        let now = self.store.now();
        self.signing_key.check_form(form, now)?;
        let policy = match PostPolicy::from_base64(field_of(form, "policy")) {
            Ok(policy) => policy,
            Err(error) => {
                let message = "The policy cannot be read";
                return Err(s3_error!(error, InvalidPolicyDocument, "{message}"));
            }
        };

        if s3_timestamp(now) >= policy.expiration {
            return Err(s3_error!(
                AccessDenied,
                "Invalid according to Policy: Policy expired."
            ));
        }

        check_fields(&policy, form, bucket)?;
        if !(1..=MAX_KEY_BYTES).contains(&key_of(form).len()) {
            return Err(s3_error!(
                InvalidArgument,
                "The key has to have 1 to 1024 bytes"
            ));
        }

        Ok(policy)
    }

    fn store_file(
        &self,
        bucket: &str,
        form: &FormFields,
        bytes: Bytes,
    ) -> S3Result<Response<Bytes>> {
        let input = PutObjectInput::builder()
            .bucket(bucket.to_owned())
            .key(key_of(form).to_owned())
            .build();
        let input = input.map_err(S3Error::internal_error)?;
        let output = blocking::run_blocking(|| {
            let body = check::verify_bytes(bytes, BodyClaims::default(), HeaderMap::new())?;
            objects::put_object(&self.store, input, body, CreationKind::Post)
        })?;

        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let etag = output.e_tag.as_ref().map(ETag::value).unwrap_or_default();
        if let Ok(etag) = HeaderValue::try_from(format!("\"{etag}\"")) {
            response.headers_mut().insert(header::ETAG, etag);
        }

        Ok(response)
    }
}

/// Returns the text between the parts of a form, or `None` if the request has no form.
fn boundary_of(headers: &HeaderMap) -> Option<String> {
    let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(content_type).ok()
}

fn key_of(form: &FormFields) -> &str {
    field_of(form, "key")
}

/// Returns the value of a field, or an empty text if the form does not have it.
fn field_of<'a>(form: &'a FormFields, name: &str) -> &'a str {
    match form.get(name) {
        Some(value) => value,
        None => "",
    }
}

/// Reads a file, up to the size that its policy permits.
async fn read_file(policy: &PostPolicy, mut file: Field<'_>) -> S3Result<Bytes> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = file.chunk().await.map_err(malformed_form)? {
        bytes.extend_from_slice(&chunk);
        check_max_size(policy, bytes.len() as u64)?;
    }
    check_min_size(policy, bytes.len() as u64)?;
    Ok(bytes.freeze())
}

async fn error_response(error: S3Error) -> Response<Bytes> {
    if *error.code() == S3ErrorCode::InternalError {
        return internal_error_response(&error);
    }
    match error.to_http_response() {
        Ok(response) => collect_response(response).await,
        Err(error) => internal_error_response(&error),
    }
}

fn malformed_form(error: multer::Error) -> S3Error {
    s3_error!(
        error,
        MalformedPOSTRequest,
        "The body is not a form (multipart/form-data)"
    )
}

/// Checks that every condition holds, and that every field is subject to one, except those that
/// cannot be.
fn check_fields(policy: &PostPolicy, form: &FormFields, bucket: &str) -> S3Result<()> {
    if let Some(name) = form.get("bucket")
        && name != bucket
    {
        return Err(s3_error!(
            AccessDenied,
            "The form names another bucket than the address"
        ));
    }

    let field = |name: &str| {
        if name == "bucket" {
            Some(bucket)
        } else {
            form.get(name).map(String::as_str)
        }
    };

    for condition in &policy.conditions {
        let (name, is_met) = match condition {
            PostPolicyCondition::Eq { field: name, value } => (name, field(name) == Some(value)),
            PostPolicyCondition::StartsWith {
                field: name,
                prefix,
            } => (name, field(name).unwrap_or_default().starts_with(prefix)),
            PostPolicyCondition::ContentLengthRange { .. } => continue,
        };
        if !is_met {
            return Err(s3_error!(
                AccessDenied,
                "Invalid according to Policy: Policy Condition failed: {name}"
            ));
        }
    }

    let is_exempt =
        |name: &str| matches!(name, "policy" | "x-amz-signature") || name.starts_with("x-ignore-");
    let has_condition = |name: &str| {
        policy.conditions.iter().any(|condition| match condition {
            PostPolicyCondition::Eq { field, .. }
            | PostPolicyCondition::StartsWith { field, .. } => field == name,
            PostPolicyCondition::ContentLengthRange { .. } => false,
        })
    };

    for name in form.keys() {
        if !is_exempt(name) && !has_condition(name) {
            return Err(s3_error!(
                AccessDenied,
                "Invalid according to Policy: Extra input fields: {name}"
            ));
        }
    }

    Ok(())
}

/// Returns the sizes that a policy permits.
fn size_ranges(policy: &PostPolicy) -> impl Iterator<Item = (u64, u64)> {
    policy
        .conditions
        .iter()
        .filter_map(|condition| match condition {
            PostPolicyCondition::ContentLengthRange { min, max } => Some((*min, *max)),
            PostPolicyCondition::Eq { .. } | PostPolicyCondition::StartsWith { .. } => None,
        })
}

fn check_max_size(policy: &PostPolicy, size: u64) -> S3Result<()> {
    let max_size = size_ranges(policy)
        .map(|(_, max)| max)
        .min()
        .unwrap_or(MAX_FILE_BYTES);
    if size > max_size {
        return Err(s3_error!(
            EntityTooLarge,
            "The file may have at most {max_size} bytes"
        ));
    }
    Ok(())
}

fn check_min_size(policy: &PostPolicy, size: u64) -> S3Result<()> {
    let min_size = size_ranges(policy)
        .map(|(min, _)| min)
        .max()
        .unwrap_or_default();
    if size < min_size {
        return Err(s3_error!(
            EntityTooSmall,
            "The file must have at least {min_size} bytes"
        ));
    }
    Ok(())
}
