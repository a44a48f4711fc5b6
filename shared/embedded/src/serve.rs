//! The same services on a listening socket, for clients in other processes and for pre-signed URLs.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use server::{Limits, RequestBody};
use tokio::net::TcpListener;

use crate::Services;

/// The largest request body that is read into memory. Larger objects come in parts (multipart upload).
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Answers AWS clients on `listener` (HTTP/1.1, one port for all services; for `AWS_ENDPOINT_URL`) until
/// `shutdown` resolves; requests under way then have five seconds to finish. Slow and idle clients are cut off as
/// [`Limits::default`] says.
///
/// Nothing but S3 checks signatures: listen on an address that only trusted processes reach.
pub async fn serve(services: Services, listener: TcpListener, shutdown: impl Future<Output = ()>) {
    let answering = move |_, request| answer(services.clone(), request);
    server::serve(listener, Limits::default(), answering, shutdown).await;
}

/// Reads the whole request, asks the services, and sends the answer.
async fn answer(services: Services, request: Request<RequestBody>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let response = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => {
            services
                .call(Request::from_parts(parts, body.to_bytes()))
                .await
        }
        Err(error) => {
            let mut refused = Response::new(Bytes::from(error.to_string()));
            *refused.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            refused
        }
    };

    response.map(Full::new)
}
