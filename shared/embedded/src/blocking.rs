//! Runs longer synchronous calls of the engines without blocking the async runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs `work`, which may take long because it touches many rows or files.
///
/// On a multi-threaded runtime, the worker thread first hands its other tasks to another worker. On
/// a current-thread runtime, mostly in tests, nothing else could use the thread, so `work` simply
/// runs.
///
/// Handing over costs up to some milliseconds on a busy machine. Measured, the median is the same
/// and the 99th percentile five times as high. Calls for single items and messages do without,
/// because they take only tens of microseconds.
pub(crate) fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
