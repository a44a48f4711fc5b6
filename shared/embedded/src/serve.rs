//! The same services on a listening socket, for clients in other processes and for pre-signed URLs.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use crate::Services;

/// The largest request body that is read into memory. Larger objects come in parts (multipart upload).
const MAX_BODY: usize = 64 * 1024 * 1024;
/// How long requests under way may take after the shutdown was asked for.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait before accepting again when the process has run out of sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers AWS clients on `listener` (HTTP/1.1, one port for all services; for `AWS_ENDPOINT_URL`) until
/// `shutdown` resolves; requests under way then have five seconds to finish.
///
/// Nothing but S3 checks signatures: listen on an address that only trusted processes reach.
///
/// # Errors
/// The listener is broken.
pub async fn serve(
    services: Services,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new());
    let connections = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Small requests and answers: do not wait for more to send.
        let _ = stream.set_nodelay(true);
        let services = services.clone();
        let answering = service_fn(move |request| answer(services.clone(), request));
        let connection = connections.watch(http.serve_connection(TokioIo::new(stream), answering));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the embedded services broke: {error}");
            }
        });
    }
    if tokio::time::timeout(GRACE, connections.shutdown()).await.is_err() {
        tracing::warn!("requests to the embedded services were still under way at the shutdown");
    }
    Ok(())
}

/// Reads the whole request, asks the services, and sends the answer.
async fn answer(services: Services, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let response = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => services.call(Request::from_parts(parts, body.to_bytes())).await,
        Err(error) => {
            let mut refused = Response::new(Bytes::from(error.to_string()));
            *refused.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            refused
        }
    };
    Ok(response.map(Full::new))
}
