//! The socket of a client. It disconnects a client that accepts no bytes, and lets a client that
//! still sends read its answer.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::head::HeadInspector;

/// The time for which a client may continue to send after it was answered. Closing at once would
/// discard the answer on its side.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// The state that the socket of a connection shares with the answers on it.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    head: Mutex<HeadInspector>,
    may_linger: AtomicBool,
}

impl SharedState {
    /// Returns whether the current request gave the length of its body in two ways, and resets the
    /// flag.
    pub(crate) fn has_two_lengths(&self) -> bool {
        self.lock_head().take_two_lengths()
    }

    /// Expects the head of a request in the next bytes.
    pub(crate) fn expect_head(&self) {
        self.lock_head().expect_head();
    }

    /// Records that the client may still be sending when the connection ends.
    pub(crate) fn allow_linger(&self) {
        self.may_linger.store(true, Ordering::Relaxed);
    }

    fn lock_head(&self) -> MutexGuard<'_, HeadInspector> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The socket of one connection.
pub(crate) struct ClientSocket {
    stream: TcpStream,
    write_timeout: Duration,
    /// The time by which the client has to have accepted something. Set while a write waits for it.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The time until which the last bytes of the client are awaited. Set once nothing more is
    /// sent.
    linger_deadline: Option<Pin<Box<Sleep>>>,
    shared: Arc<SharedState>,
}

impl ClientSocket {
    pub(crate) fn new(
        stream: TcpStream,
        write_timeout: Duration,
        shared: Arc<SharedState>,
    ) -> Self {
        Self {
            stream,
            write_timeout,
            deadline: None,
            linger_deadline: None,
            shared,
        }
    }

    /// Turns a write that waits for too long into an error.
    fn check_write_timeout(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if result.is_ready() {
            self.deadline = None;
            return result;
        }

        let write_timeout = self.write_timeout;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(write_timeout)));

        deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads and discards what the client still sends, until it stops or its time is over.
    fn poll_last_bytes(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let linger_deadline = self
            .linger_deadline
            .get_or_insert_with(|| Box::pin(sleep(LINGER_TIMEOUT)));
        let mut scratch = [0; 8 * 1024];
        while linger_deadline.as_mut().poll(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut scratch);
            let result = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            if result.is_err() || buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.shared
            .lock_head()
            .inspect_bytes(&buffer.filled()[filled_before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_write_timeout(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.check_write_timeout(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger_deadline.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if !self.shared.may_linger.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.poll_last_bytes(cx)
    }
}
