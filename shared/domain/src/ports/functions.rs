//! Calls of a function by another.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;

use super::PortResult;

/// A function that others call, and wait for. It has no ports of its own.
#[async_trait]
pub trait FunctionCaller: Debug + Send + Sync {
    /// Calls the function, and returns its answer. Request and answer may be as large as a document.
    ///
    /// # Errors
    /// [`crate::PortError::Unavailable`] if the function cannot be called now, or ended without an
    /// answer.
    async fn call(&self, request: Bytes) -> PortResult<Bytes>;
}
