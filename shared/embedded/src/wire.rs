//! Small parts of the AWS wire formats that the services share.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

/// The content type of the AWS JSON 1.0 protocol, which DynamoDB and SQS use.
const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");

/// Returns an answer in the AWS JSON 1.0 protocol.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    let id = HeaderValue::try_from(random_uuid()).expect("a UUID is a valid header value");
    response.headers_mut().insert("x-amzn-requestid", id);
    response
}

/// Returns a random UUID (version 4), as AWS uses for the ids of requests and messages.
pub(crate) fn random_uuid() -> String {
    let mut bits: u128 = rand::random();
    bits = (bits & !(0xf << 76)) | (4 << 76);
    bits = (bits & !(0b11 << 62)) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}
