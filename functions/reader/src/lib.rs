//! Reads what strangers wrote: fetches pages, and extracts the text of files.
//!
//! A deployment does this in a function of its own, which has no rights. [`ReaderFunction`] calls it,
//! and the function answers with [`answer_request`]. On one machine, [`LocalReader`] does the same in
//! the process and its child processes.

mod deployed;
mod function;
mod local;
mod message;

use async_trait::async_trait;
use content::ExtractedDocument;
use remote::PageFetcher;
use sandbox::SandboxError;

pub use deployed::{READER_FUNCTION, deployed_fetcher, deployed_reader};
pub use function::{ReaderFunction, answer_request};
pub use local::LocalReader;

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
