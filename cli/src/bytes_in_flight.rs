//! Limits the bytes of request bodies and of large answers that this process holds at a time.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use hyper::body::{Frame, SizeHint};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::warn;

/// The smallest answer in bytes that counts. Smaller ones are frequent and sent immediately.
const LARGE_RESPONSE_BYTES: u64 = 64 * 1024;
/// The seconds after which a refused request is worth another attempt.
const RETRY_SECONDS: &str = "2";

/// The bytes that are still available.
#[derive(Debug, Clone)]
pub(crate) struct BytesInFlight(Arc<Semaphore>);

impl BytesInFlight {
    /// Returns a limit of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    fn take_bytes(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(bytes).ok()
    }
}

/// The bytes that one request has taken. Dropping this gives them back.
struct ByteLease {
    bytes_in_flight: BytesInFlight,
    leased: Mutex<LeasedBytes>,
}

#[derive(Default)]
struct LeasedBytes {
    permit: Option<OwnedSemaphorePermit>,
    is_refused: bool,
}

impl ByteLease {
    fn new(bytes_in_flight: BytesInFlight) -> Arc<Self> {
        Arc::new(Self {
            bytes_in_flight,
            leased: Mutex::default(),
        })
    }

    /// Takes more bytes, if they are available.
    fn take_more(&self, bytes: u64) -> bool {
        let mut leased = self.leased.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.bytes_in_flight.take_bytes(bytes), &mut leased.permit) {
            (None, _) => leased.is_refused = true,
            (Some(more), Some(permit)) => permit.merge(more),
            (Some(first), slot) => *slot = Some(first),
        }
        !leased.is_refused
    }

    fn is_refused(&self) -> bool {
        self.leased
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_refused
    }
}

/// A body that holds a lease, and takes bytes as they arrive.
struct LeasedBody {
    body: Body,
    lease: Arc<ByteLease>,
    is_counted: bool,
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let bytes = match &frame {
            Some(Ok(frame)) if !self.is_counted => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };

        if bytes > 0 && !self.lease.take_more(bytes as u64) {
            return Poll::Ready(Some(Err(axum::Error::new(
                "too many bytes are on their way",
            ))));
        }

        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Counts the bodies of requests while they are answered, and large answers until they are sent. A
/// request that exceeds the limit is answered with 503.
pub(crate) async fn limit_bytes_in_flight(
    State(bytes_in_flight): State<BytesInFlight>,
    request: Request,
    next: Next,
) -> Response {
    let response = if request.body().is_end_stream() {
        next.run(request).await
    } else {
        let lease = ByteLease::new(bytes_in_flight.clone());
        let request_lease = Arc::clone(&lease);
        let request = request.map(|body| {
            Body::new(LeasedBody {
                body,
                lease,
                is_counted: false,
            })
        });
        let response = next.run(request).await;
        if request_lease.is_refused() {
            return overloaded_response(&response);
        }
        response
    };

    let size = response.body().size_hint().lower();
    if size < LARGE_RESPONSE_BYTES {
        return response;
    }

    let lease = ByteLease::new(bytes_in_flight);
    if !lease.take_more(size) {
        return overloaded_response(&response);
    }

    response.map(|body| {
        Body::new(LeasedBody {
            body,
            lease,
            is_counted: true,
        })
    })
}

/// Returns the refusal that replaces `response`, in the usual shape.
fn overloaded_response(response: &Response) -> Response {
    let name = HeaderName::from_static("x-request-id");
    let id = match response.headers().get(&name) {
        Some(id) => id.clone(),
        None => HeaderValue::from_static(""),
    };
    let id_text = id.to_str().unwrap_or_default();
    warn!(request.id = %id_text, "request {id_text} found no room: too many bytes are on their way");

    let message = "too many bytes are on their way to and from this server; try again";
    let body = json!({"error": message, "type": "ServiceUnavailableError", "requestId": id_text});
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS)),
        (name, id),
    ];

    (StatusCode::SERVICE_UNAVAILABLE, headers, body.to_string()).into_response()
}
