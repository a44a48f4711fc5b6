//! HTTP/1.1 on a listening socket that anybody may reach. Slow and silent clients are disconnected,
//! connections are limited, and a request that is refused before its body was read is answered all
//! the same.

mod body;
mod head;
mod socket;

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use body::UnreadBody;
pub use body::{MIN_PROGRESS_BYTES, RequestBody};
use head::MAX_HEAD_BYTES;
use socket::{ClientSocket, SharedState};

/// The pause before accepting again when the process has run out of sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The most bytes of an unread body that are read to keep a connection usable: enough for a JSON
/// request, not for a file.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// The longest time for reading these bytes. They have usually arrived with the head.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The error of a body.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The limits on clients.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// The most connections at a time. Further clients wait until one of them ends.
    pub max_connections: usize,
    /// The time from the beginning of a connection, or from its last answer, to the end of the next
    /// request's head.
    pub head_timeout: Duration,
    /// The time within which a body has to grow by [`MIN_PROGRESS_BYTES`] bytes, or to end.
    pub body_progress_timeout: Duration,
    /// The longest time for which a client may accept no byte of its answer.
    pub response_timeout: Duration,
    /// The time for which requests in progress may continue after the shutdown.
    pub shutdown_grace: Duration,
}

impl Default for ServerLimits {
    /// Returns limits that are twice to three times what a slow mobile network needs.
    fn default() -> Self {
        Self {
            max_connections: 4096,
            head_timeout: Duration::from_secs(30),
            body_progress_timeout: Duration::from_secs(20),
            response_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}

/// Answers the requests on `listener` with `handler`, which gets the address of the client, until
/// `shutdown` resolves.
///
/// Upgrades and HTTP/2 are not offered. A request for an upgrade is answered as if it had not asked
/// for one.
pub async fn serve_http<A, F, B>(
    listener: TcpListener,
    limits: ServerLimits,
    handler: A,
    shutdown: impl Future<Output = ()>,
) where
    A: Fn(SocketAddr, Request<RequestBody>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BodyError>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(MAX_HEAD_BYTES);
    let slots = Arc::new(Semaphore::new(limits.max_connections));
    let connections = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);

    loop {
        let (stream, peer, permit) = tokio::select! {
            accepted = accept_connection(&listener, &slots) => accepted,
            () = &mut shutdown => break,
        };

        // Requests and answers are small, so they are sent without waiting for more bytes.
        let _ = stream.set_nodelay(true);
        let shared = Arc::<SharedState>::default();
        let socket = ClientSocket::new(stream, limits.response_timeout, Arc::clone(&shared));
        let handler = handler.clone();

        let service = service_fn(move |request| {
            let (handler, shared) = (handler.clone(), Arc::clone(&shared));
            async move {
                let handler = move |request| handler(peer, request);
                Ok::<_, Infallible>(
                    answer_request(request, &shared, limits.body_progress_timeout, handler).await,
                )
            }
        });

        let connection = connections.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke: {error}");
            }
            drop(permit);
        });
    }

    if timeout(limits.shutdown_grace, connections.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests were still under way at the shutdown");
    }
}

/// Waits for a free place, then for a client.
async fn accept_connection(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let permit = Arc::clone(slots).acquire_owned().await.ok();
    let mut is_logged = false;

    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, permit),
            Err(error) => {
                if !std::mem::replace(&mut is_logged, true) {
                    tracing::warn!(%error, "a connection cannot be accepted: {error}; trying again");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers one request, and handles the unread rest of its body.
async fn answer_request<F, B>(
    request: Request<Incoming>,
    shared: &SharedState,
    progress_timeout: Duration,
    handler: impl FnOnce(Request<RequestBody>) -> F,
) -> Response<Either<B, Full<Bytes>>>
where
    F: Future<Output = Response<B>>,
{
    if shared.has_two_lengths() {
        return two_lengths_response();
    }

    let expects_continue = request.headers().contains_key(EXPECT);
    let unread = UnreadBody::default();
    let request = request.map(|body| RequestBody::new(body, progress_timeout, unread.clone()));
    let mut response = handler(request).await;

    if let Some(rest) = unread.take_rest()
        && (expects_continue || !drain_body(rest).await)
    {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        shared.allow_linger();
    }

    shared.expect_head();
    response.map(Either::Left)
}

/// Returns the answer to a request with two lengths. If one program used the length and another the
/// chunks, the rest of the body would be a request of its own.
fn two_lengths_response<B>() -> Response<Either<B, Full<Bytes>>> {
    let message = "send either Content-Length or Transfer-Encoding, not both";
    let mut response = Response::new(Either::Right(Full::from(message)));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Reads the rest of a small body, so that the next request can follow it. Returns whether it was
/// read to its end.
async fn drain_body(body: Incoming) -> bool {
    if body.size_hint().lower() > MAX_DRAINED_BYTES as u64 {
        return false;
    }
    let rest = Limited::new(body, MAX_DRAINED_BYTES).collect();
    matches!(timeout(DRAIN_TIMEOUT, rest).await, Ok(Ok(_)))
}
