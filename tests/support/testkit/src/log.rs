//! Capture of the log lines of a test.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::MakeWriter;

/// A second subscriber. If there is only one, `tracing` asks only the first thread that reaches a
/// statement whether a subscriber listens. A test without a log would then disable the statement
/// for all threads.
static SECOND_SUBSCRIBER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

/// A capture of the log lines of the current thread.
pub struct LogCapture {
    lines: Lines,
    _guard: DefaultGuard,
}

impl LogCapture {
    /// Starts to capture lines of `level` and above.
    pub fn start(level: Level) -> Self {
        LazyLock::force(&SECOND_SUBSCRIBER);
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false);
        let guard =
            tracing::subscriber::set_default(subscriber.with_writer(lines.clone()).finish());
        Self {
            lines,
            _guard: guard,
        }
    }

    /// Stops the capture and returns the lines.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.lines.0.lock().unwrap_or_else(PoisonError::into_inner))
            .into_owned()
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
