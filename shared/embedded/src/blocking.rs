//! Longer synchronous calls of the engines, and locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs `work` without blocking the async runtime. It may take long because it touches many rows or
/// files.
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

/// Locks a value that a panic of another holder leaves intact, so that a poisoned lock is harmless.
pub(crate) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
