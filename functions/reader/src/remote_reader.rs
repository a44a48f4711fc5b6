//! Calls the function `reader`.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use async_trait::async_trait;
use bytes::Bytes;
use content::ExtractedDocument;
use domain::ports::{CallLimits, RemoteFunction};
use remote::{FetchError, FetchErrorKind, Page, PageFetcher};
use sandbox::{SandboxError, extract_plain_text};
use tracing::info;

use crate::Reader;
use crate::message::{ReadAnswer, ReadRequest, decode, encode};

/// The limits of fetching a page. The fetcher has half a minute, and a page has 40 MB.
pub const FETCH_LIMITS: CallLimits = CallLimits {
    time: Duration::from_secs(38),
    answer_bytes: 48 * 1024 * 1024,
};
/// The limits of extracting a document. The parser has a minute, and a text 64 MB, which escapes can
/// triple.
pub const EXTRACT_LIMITS: CallLimits = CallLimits {
    time: Duration::from_secs(76),
    answer_bytes: 192 * 1024 * 1024,
};

/// A reader that calls the function `reader`. Plain text is read in this process.
#[derive(Debug, Clone)]
pub struct RemoteReader {
    function: Arc<dyn RemoteFunction>,
}

impl RemoteReader {
    /// Returns a reader that calls `function`.
    pub fn new(function: Arc<dyn RemoteFunction>) -> Self {
        Self { function }
    }

    /// Calls the function. Returns the reason if it does not answer.
    async fn call(
        &self,
        request: &ReadRequest,
        bytes: &[u8],
        limits: CallLimits,
    ) -> Result<(ReadAnswer, Bytes)> {
        let request = encode(request, bytes)?;
        let call = spans::call_span("call reader");
        let answer = spans::trace(call, self.function.call(request, limits)).await?;
        match decode(answer)? {
            (ReadAnswer::Unavailable(reason), _) => bail!(reason),
            answer => Ok(answer),
        }
    }
}

#[async_trait]
impl PageFetcher for RemoteReader {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        let request = ReadRequest::FetchPage {
            url: url.to_owned(),
        };
        match self.call(&request, &[], FETCH_LIMITS).await {
            Ok((
                ReadAnswer::Page {
                    media_type,
                    url,
                    robots_tag,
                },
                bytes,
            )) => Ok(Page {
                bytes,
                media_type,
                url,
                robots_tag,
            }),
            Ok((ReadAnswer::NotFetched(error), _)) => Err(error),
            Ok(_) => Err(fetcher_unavailable("its answer is of another kind")),
            Err(error) => Err(fetcher_unavailable(format_args!("{error:#}"))),
        }
    }
}

#[async_trait]
impl Reader for RemoteReader {
    async fn extract_document(
        &self,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError> {
        if let Some(document) = extract_plain_text(bytes, name, declared).await? {
            return Ok(document);
        }

        let request = ReadRequest::ExtractDocument {
            name: name.map(str::to_owned),
            declared: declared.map(str::to_owned),
        };
        match self.call(&request, bytes, EXTRACT_LIMITS).await {
            Ok((ReadAnswer::Document(document), _)) => Ok(document),
            Ok((ReadAnswer::NotExtracted(failure), _)) => Err(failure.into()),
            Ok(_) => Err(SandboxError::Unavailable(io::Error::other(
                "the answer of the function reader is of another kind",
            ))),
            Err(error) => Err(SandboxError::Unavailable(io::Error::other(error))),
        }
    }

    async fn log_isolation(&self) {
        info!("parsers run in another function");
    }
}

/// Returns the error of a page that could not be asked for. Its message is shown in logs only.
fn fetcher_unavailable(reason: impl Display) -> FetchError {
    FetchError {
        kind: FetchErrorKind::Unavailable,
        message: format!("the function reader did not fetch the page: {reason}"),
        status: None,
    }
}
