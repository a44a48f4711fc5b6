//! A gate between the bytes of a form and its reader. It passes small pieces until the fields
//! before the file have been checked. The reader takes as many bytes as there are, and clients
//! without a valid form must not make it hold a file.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::Stream;
use hyper::body::Body;

/// The most bytes that the reader gets before it is polled again.
const CHUNK_BYTES: usize = 4 * 1024;
/// The most bytes before the file. This is enough for the fields and for what the reader takes
/// ahead of each.
const MAX_BYTES_BEFORE_FILE: usize = 1024 * 1024;

/// The error of a body.
pub(super) type BodyError = Box<dyn Error + Send + Sync>;

/// The handle that opens the gate of one form.
#[derive(Clone, Default)]
pub(super) struct GateOpener(Arc<AtomicBool>);

impl GateOpener {
    /// Lets everything through from now on.
    pub(super) fn open_gate(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A body as a stream of bytes.
pub(super) struct FormGate<B> {
    body: Pin<Box<B>>,
    /// The bytes that have arrived and were not passed on yet.
    buffered: Bytes,
    passed_bytes: usize,
    /// Set if the reader has just received a piece.
    must_pause: bool,
    opener: GateOpener,
}

impl<B> FormGate<B> {
    pub(super) fn new(body: B, opener: GateOpener) -> Self {
        Self {
            body: Box::pin(body),
            buffered: Bytes::new(),
            passed_bytes: 0,
            must_pause: false,
            opener,
        }
    }
}

impl<B: Body<Data = Bytes>> FormGate<B>
where
    B::Error: Into<BodyError>,
{
    /// Polls the next bytes of the body. Trailers are ignored.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match ready!(self.body.as_mut().poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
            }
        }
    }
}

impl<B: Body<Data = Bytes>> Stream for FormGate<B>
where
    B::Error: Into<BodyError>,
{
    type Item = Result<Bytes, BodyError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let is_open = this.opener.0.load(Ordering::Relaxed);
        if !is_open && std::mem::take(&mut this.must_pause) {
            // The reader processes what it has, and polls again at once if that is not enough.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }

        if this.buffered.is_empty() {
            this.buffered = match ready!(this.poll_bytes(cx)) {
                Some(Ok(bytes)) => bytes,
                other => return Poll::Ready(other),
            };
        }

        if is_open {
            return Poll::Ready(Some(Ok(std::mem::take(&mut this.buffered))));
        }

        let chunk = this.buffered.split_to(this.buffered.len().min(CHUNK_BYTES));
        this.passed_bytes += chunk.len();
        if this.passed_bytes > MAX_BYTES_BEFORE_FILE {
            return Poll::Ready(Some(Err("too many bytes before the file".into())));
        }

        this.must_pause = true;
        Poll::Ready(Some(Ok(chunk)))
    }
}
