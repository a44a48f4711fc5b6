//! Calls of functions that run elsewhere.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::PortResult;

/// The limits of one call.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// The longest wait for the answer.
    pub time: Duration,
    /// The most bytes of the answer.
    pub answer_bytes: u64,
}

/// A function that runs elsewhere. A call waits for its answer.
#[async_trait]
pub trait RemoteFunction: Debug + Send + Sync {
    /// Calls the function, and returns its answer. Request and answer may be as large as a document.
    ///
    /// # Errors
    /// [`crate::PortError::Unavailable`] if the function cannot be called now, or has not answered
    /// within the limits.
    async fn call(&self, request: Bytes, limits: CallLimits) -> PortResult<Bytes>;
}
