//! Fetches web pages and extracts the text of files, which strangers wrote.
//!
//! In a deployment, the function `reader` does this, which has no rights. [`RemoteReader`] calls it,
//! and the function answers by [`answer_request`]. On one machine, [`LocalReader`] does the same in
//! the process and its child processes.

mod answer;
mod deployed;
mod local;
mod message;
mod remote_reader;

use async_trait::async_trait;
use content::ExtractedDocument;
use remote::PageFetcher;
use sandbox::SandboxError;

pub use answer::answer_request;
pub use deployed::{deployed_fetcher, deployed_reader};
pub use local::LocalReader;
pub use remote_reader::{EXTRACT_LIMITS, FETCH_LIMITS, RemoteReader};

/// Fetches pages, and extracts the text of files.
#[async_trait]
pub trait Reader: PageFetcher {
    /// Extracts the text of a document.
    ///
    /// # Errors
    /// [`SandboxError::Content`] for a document that cannot be read, and
    /// [`SandboxError::Unavailable`] if a retry may succeed.
    async fn extract_document(
        &self,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError>;

    /// Logs how the parsers are isolated. Call it once, when a process starts.
    async fn log_isolation(&self);
}
