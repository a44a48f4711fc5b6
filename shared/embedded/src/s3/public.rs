//! What strangers may do: read an object by a signed address, and store one with a signed form.
//!
//! This is not left to `s3s`, which measures all times by the system's clock and refuses forms that some clients send
//! (names without quotes, parts with a third header, more than 20 MB in one piece).

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::header::{self, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri};
use multer::{Constraints, Field, Multipart, SizeLimit};
use percent_encoding::percent_decode_str;
use s3s::dto::{ETag, PutObjectInput};
use s3s::post_policy::{PostPolicy, PostPolicyCondition};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::check::{self, Claims};
use super::index::timestamp;
use super::notify::Creation;
use super::{S3, broken, host_of, objects, whole};
use crate::blocking;

/// The fields of a form by their names in lower case.
type Form = BTreeMap<String, String>;

/// The largest value of a field other than the file, in bytes.
const MAX_FIELD: u64 = 64 * 1024;
/// The most fields of a form.
const MAX_FIELDS: usize = 50;
/// The longest key, in bytes.
const MAX_KEY: usize = 1024;

/// What the holder of a signed address may say besides it.
const READ_HEADERS: [header::HeaderName; 6] = [
    header::HOST,
    header::RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

impl S3 {
    /// Answers a stranger.
    pub(crate) async fn call_public(&self, request: Request<Bytes>) -> Response<Bytes> {
        let is_head = request.method() == Method::HEAD;
        let answer = match *request.method() {
            Method::GET | Method::HEAD => self.read_signed(request).await,
            Method::POST => self.post(request).await,
            _ => Err(s3_error!(AccessDenied, "Objects can be read with GET and HEAD, and stored with POST")),
        };
        let response = match answer {
            Ok(response) => self.kept(response).await,
            Err(error) => refusal(error).await,
        };
        // The answer to HEAD has no body, not even an error's.
        if is_head { response.map(|_| Bytes::new()) } else { response }
    }

    /// Checks the address, then lets `s3s` answer what is left of the request.
    async fn read_signed(&self, request: Request<Bytes>) -> S3Result<Response<Bytes>> {
        let (mut parts, _) = request.into_parts();
        let host = host_of(&parts).ok_or_else(|| s3_error!(AccessDenied, "The request names no host"))?;
        let path = parts.uri.path();
        if path.trim_start_matches('/').split_once('/').is_none_or(|(_, key)| key.is_empty()) {
            return Err(s3_error!(AccessDenied, "Only objects can be read"));
        }
        let query = parts.uri.query().unwrap_or_default();
        let rest = self.key.check_address((parts.method.as_str(), &host, path, query), self.store.now())?;
        let target = PathAndQuery::try_from(format!("{path}?{rest}")).map_err(S3Error::internal_error)?;
        parts.uri = Uri::from(target);
        let mut headers = HeaderMap::new();
        for name in READ_HEADERS {
            if let Some(value) = parts.headers.remove(&name) {
                headers.insert(name, value);
            }
        }
        parts.headers = headers;
        Ok(Self::ask(&self.trusting, Request::from_parts(parts, Bytes::new())).await)
    }

    /// Stores the file of a form.
    async fn post(&self, request: Request<Bytes>) -> S3Result<Response<Bytes>> {
        let bucket = percent_decode_str(request.uri().path().trim_matches('/'));
        let bucket = bucket.decode_utf8_lossy().into_owned();
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = content_type.and_then(|text| multer::parse_boundary(text).ok());
        let boundary =
            boundary.ok_or_else(|| s3_error!(AccessDenied, "Post a form (multipart/form-data)"))?;
        let limits = SizeLimit::new().per_field(MAX_FIELD).for_field("file", u64::MAX);
        let body = stream::iter([Ok::<_, Infallible>(request.into_body())]);
        let mut parts = Multipart::with_constraints(body, boundary, Constraints::new().size_limit(limits));
        let mut form = Form::new();
        while let Some(part) = parts.next_field().await.map_err(malformed)? {
            let name = part.name().unwrap_or_default().to_ascii_lowercase();
            if name == "file" {
                return self.post_file(&bucket, &form, part).await;
            }
            let value = part.text().await.map_err(malformed)?;
            if form.len() == MAX_FIELDS || form.insert(name, value).is_some() {
                return Err(s3_error!(
                    MalformedPOSTRequest,
                    "The form has too many fields, or one of them twice"
                ));
            }
        }
        Err(s3_error!(MalformedPOSTRequest, "The form has no field named file; it has to be the last one"))
    }

    /// The fields before the file say whether it may be stored, so they are checked before it is read.
    async fn post_file(&self, bucket: &str, form: &Form, file: Field<'_>) -> S3Result<Response<Bytes>> {
        let now = self.store.now();
        self.key.check_form(form, now)?;
        let policy = form.get("policy").map(String::as_str).unwrap_or_default();
        let policy = PostPolicy::from_base64(policy)
            .map_err(|error| s3_error!(error, InvalidPolicyDocument, "The policy cannot be read"))?;
        if timestamp(now) >= policy.expiration {
            return Err(s3_error!(AccessDenied, "Invalid according to Policy: Policy expired."));
        }
        check_fields(&policy, form, bucket)?;
        let key = form.get("key").filter(|key| (1..=MAX_KEY).contains(&key.len()));
        let key = key.ok_or_else(|| s3_error!(InvalidArgument, "The key has to have 1 to 1024 bytes"))?;
        let bytes = file.bytes().await.map_err(malformed)?;
        check_size(&policy, bytes.len() as u64)?;
        let input = PutObjectInput::builder().bucket(bucket.to_owned()).key(key.clone()).build();
        let input = input.map_err(S3Error::internal_error)?;
        let stored = blocking::run(|| {
            let body = check::verify(bytes, Claims::default(), HeaderMap::new())?;
            objects::put(&self.store, input, body, Creation::Post)
        })?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let etag = stored.e_tag.as_ref().map(ETag::value).unwrap_or_default();
        if let Ok(etag) = HeaderValue::try_from(format!("\"{etag}\"")) {
            response.headers_mut().insert(header::ETAG, etag);
        }
        Ok(response)
    }
}

async fn refusal(error: S3Error) -> Response<Bytes> {
    if *error.code() == S3ErrorCode::InternalError {
        return broken(&error);
    }
    match error.to_http_response() {
        Ok(response) => whole(response).await,
        Err(error) => broken(&error),
    }
}

fn malformed(error: multer::Error) -> S3Error {
    s3_error!(error, MalformedPOSTRequest, "The body is not a form (multipart/form-data)")
}

/// Every condition holds, and every field is subject to one, except those that cannot be.
fn check_fields(policy: &PostPolicy, form: &Form, bucket: &str) -> S3Result<()> {
    if form.get("bucket").is_some_and(|named| named != bucket) {
        return Err(s3_error!(AccessDenied, "The form names another bucket than the address"));
    }
    let field = |name: &str| if name == "bucket" { Some(bucket) } else { form.get(name).map(String::as_str) };
    for condition in &policy.conditions {
        let (name, holds) = match condition {
            PostPolicyCondition::Eq { field: name, value } => (name, field(name) == Some(value)),
            PostPolicyCondition::StartsWith { field: name, prefix } => {
                (name, field(name).unwrap_or_default().starts_with(prefix))
            }
            PostPolicyCondition::ContentLengthRange { .. } => continue,
        };
        if !holds {
            return Err(s3_error!(
                AccessDenied,
                "Invalid according to Policy: Policy Condition failed: {name}"
            ));
        }
    }
    let is_free = |name: &str| matches!(name, "policy" | "x-amz-signature") || name.starts_with("x-ignore-");
    let has_condition = |name: &str| {
        policy.conditions.iter().any(|condition| match condition {
            PostPolicyCondition::Eq { field, .. } | PostPolicyCondition::StartsWith { field, .. } => {
                field == name
            }
            PostPolicyCondition::ContentLengthRange { .. } => false,
        })
    };
    match form.keys().find(|name| !is_free(name) && !has_condition(name)) {
        Some(name) => Err(s3_error!(AccessDenied, "Invalid according to Policy: Extra input fields: {name}")),
        None => Ok(()),
    }
}

fn check_size(policy: &PostPolicy, size: u64) -> S3Result<()> {
    for condition in &policy.conditions {
        if let PostPolicyCondition::ContentLengthRange { min, max } = condition {
            if size > *max {
                return Err(s3_error!(EntityTooLarge, "The file may have at most {max} bytes"));
            }
            if size < *min {
                return Err(s3_error!(EntityTooSmall, "The file must have at least {min} bytes"));
            }
        }
    }
    Ok(())
}
