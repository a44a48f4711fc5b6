//! The reader in this process.

use std::path::PathBuf;

use async_trait::async_trait;
use content::ExtractedDocument;
use remote::{FetchError, Fetcher, Network, Page, PageFetcher};
use sandbox::{Sandbox, SandboxError};
use tracing::{info, warn};

use crate::Reader;

/// Fetches pages in this process, and runs the parsers in its sandbox.
#[derive(Debug, Clone)]
pub struct LocalReader {
    /// Runs the parsers.
    pub sandbox: Sandbox,
    /// Fetches pages.
    pub fetcher: Fetcher,
}

impl LocalReader {
    /// Returns a reader of pages of the public internet, whose parsers run in child processes of
    /// `executable`.
    pub fn in_child(executable: PathBuf) -> Self {
        Self {
            sandbox: Sandbox::in_child(executable),
            fetcher: Fetcher::new(Network::public_internet()),
        }
    }
}

#[async_trait]
impl PageFetcher for LocalReader {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        self.fetcher.fetch_page(url).await
    }
}

#[async_trait]
impl Reader for LocalReader {
    async fn extract_document(
        &self,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError> {
        self.sandbox.extract_document(bytes, name, declared).await
    }

    async fn log_isolation(&self) {
        match self.sandbox.probe_walls().await {
            Ok(Some(walls)) if walls.are_complete() => {
                info!(%walls, "parsers run in child processes: {walls}");
            }
            Ok(Some(walls)) => warn!(%walls, "parsers run in child processes: {walls}"),
            Ok(None) => {}
            // The first document that needs a parser will fail and report this to its sender.
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(error, "cannot start a child process for parsers");
            }
        }
    }
}
