//! The services on a listening socket, for clients in other processes and for presigned URLs.

use bytes::Bytes;
use http::header::ORIGIN;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use server::{RequestBody, ServerLimits};
use tokio::net::TcpListener;

use crate::EmbeddedServices;

/// The largest request body, in bytes, that is read into memory. Larger objects come in parts
/// (multipart upload).
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Answers AWS clients on `listener` until `shutdown` resolves. All services share one port, over
/// HTTP/1.1, for `AWS_ENDPOINT_URL`.
///
/// After `shutdown`, requests in progress have five seconds to finish. Slow and idle clients are
/// disconnected according to [`ServerLimits::default`].
///
/// Calls of web pages are refused. Only S3 checks signatures, so listen on an address that only trusted processes can reach.
pub async fn serve_aws_clients(
    services: EmbeddedServices,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) {
    let handler = move |_, request| answer_request(services.clone(), request);
    server::serve_http(listener, ServerLimits::default(), handler, shutdown).await;
}

/// Checks whether a web page calls DynamoDB, SQS or KMS. They check no signatures, and the name of a
/// site can be made to resolve to this machine. Browsers send the origin of a page with each `POST`,
/// and AWS clients never do.
fn is_call_of_web_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) && headers.contains_key("x-amz-target")
}

/// Reads the whole request, calls the services and returns the answer.
async fn answer_request(
    services: EmbeddedServices,
    request: Request<RequestBody>,
) -> Response<Full<Bytes>> {
    if is_call_of_web_page(request.headers()) {
        let refusal = Bytes::from_static(b"web pages may not call these services");
        let mut response = Response::new(Full::new(refusal));
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }

    let (parts, body) = request.into_parts();
    let response = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => {
            services
                .handle_request(Request::from_parts(parts, body.to_bytes()))
                .await
        }
        Err(error) => {
            let mut rejection = Response::new(Bytes::from(error.to_string()));
            *rejection.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            rejection
        }
    };

    response.map(Full::new)
}
