//! Runs the engines' longer synchronous calls without holding up the async runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs `work`, which may take long: many rows, or files.
///
/// On a multi-threaded runtime the worker thread first hands its other tasks to another worker; on a
/// current-thread runtime (tests, mostly) nothing else could use the thread, so `work` simply runs. Handing over
/// costs up to some milliseconds on a busy machine (measured: the same median, but five times the 99th percentile),
/// which is why calls for single items and messages do without: they take tens of microseconds.
pub(crate) fn run<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
