//! The body of a request, which has to make progress.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::BodyError;

/// The bytes by which a body has to grow within its time. With the default time, this is the speed
/// of a modem.
pub const MIN_PROGRESS_BYTES: usize = 32 * 1024;

/// The body of a request. It ends with an error if its client is too slow.
#[derive(Debug)]
pub struct RequestBody {
    /// The body, or `None` once this is dropped.
    inner: Option<Incoming>,
    max_wait: Duration,
    /// The time by which the client has to have sent [`MIN_PROGRESS_BYTES`] bytes. Set while the
    /// body waits for bytes.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The number of bytes since the deadline was set.
    received_bytes: usize,
    unread: UnreadBody,
}

/// A slot for a body that nobody read to its end.
#[derive(Debug, Default, Clone)]
pub(crate) struct UnreadBody(Arc<Mutex<Option<Incoming>>>);

impl UnreadBody {
    /// Takes the rest of the body, if there is one.
    pub(crate) fn take_rest(&self) -> Option<Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put_rest(&self, body: Incoming) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, max_wait: Duration, unread: UnreadBody) -> Self {
        Self {
            inner: Some(body),
            max_wait,
            deadline: None,
            received_bytes: 0,
            unread,
        }
    }

    /// Counts received bytes, and resets the deadline when there are enough of them.
    fn count_bytes(&mut self, bytes: usize) {
        self.received_bytes += bytes;
        if self.received_bytes >= MIN_PROGRESS_BYTES {
            self.received_bytes = 0;
            self.deadline = None;
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };

        match Pin::new(inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.count_bytes(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(other) => Poll::Ready(other.map(|frame| frame.map_err(BodyError::from))),
            Poll::Pending => {
                let max_wait = this.max_wait;
                let deadline = this
                    .deadline
                    .get_or_insert_with(|| Box::pin(sleep(max_wait)));
                deadline
                    .as_mut()
                    .poll(cx)
                    .map(|()| Some(Err("the body comes too slowly".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner
            .as_ref()
            .map(Incoming::size_hint)
            .unwrap_or_default()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(rest) = self.inner.take().filter(|body| !body.is_end_stream()) {
            self.unread.put_rest(rest);
        }
    }
}
