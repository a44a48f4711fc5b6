//! The reader as a function: the calls of it, and its answers.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use content::ExtractedDocument;
use domain::ports::FunctionCaller;
use remote::{FetchError, FetchErrorKind, Page, PageFetcher};
use sandbox::{SandboxError, extract_plain_text};
use tracing::info;

use crate::Reader;
use crate::message::{ReadAnswer, ReadRequest, decode, encode};

/// The function that reads for others. What needs no parser is read in this process.
#[derive(Debug, Clone)]
pub struct ReaderFunction {
    function: Arc<dyn FunctionCaller>,
}

impl ReaderFunction {
    /// Returns a reader that calls `function`.
    pub fn new(function: Arc<dyn FunctionCaller>) -> Self {
        Self { function }
    }

    /// Calls the function. Returns the reason if it does not answer.
    async fn call(
        &self,
        request: &ReadRequest,
        bytes: &[u8],
    ) -> Result<(ReadAnswer, Bytes), Box<dyn std::error::Error + Send + Sync>> {
        let answer = self.function.call(encode(request, bytes)?).await?;
        match decode(answer)? {
            (ReadAnswer::Unavailable(reason), _) => Err(reason.into()),
            answer => Ok(answer),
        }
    }
}

#[async_trait]
impl PageFetcher for ReaderFunction {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        let request = ReadRequest::FetchPage {
            url: url.to_owned(),
        };
        match self.call(&request, &[]).await {
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
            Ok(_) => Err(fetcher_unavailable("it answered something else")),
            Err(error) => Err(fetcher_unavailable(error)),
        }
    }
}

#[async_trait]
impl Reader for ReaderFunction {
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
        match self.call(&request, bytes).await {
            Ok((ReadAnswer::Document(document), _)) => Ok(document),
            Ok((ReadAnswer::NotExtracted(failure), _)) => Err(failure.into()),
            Ok(_) => Err(SandboxError::Unavailable(io::Error::other(
                "the function answered something else",
            ))),
            Err(error) => Err(SandboxError::Unavailable(io::Error::other(error))),
        }
    }

    async fn log_isolation(&self) {
        info!("parsers run in another function");
    }
}

fn fetcher_unavailable(reason: impl Display) -> FetchError {
    FetchError {
        kind: FetchErrorKind::Unavailable,
        message: format!("the function that fetches pages did not answer: {reason}"),
        status: None,
    }
}

/// Does what a request asks for, and returns the answer. A request that cannot be parsed is answered
/// as unavailable, because it may come from another version during an update.
///
/// # Errors
/// Fails if the answer cannot be encoded.
pub async fn answer_request(reader: &impl Reader, request: Bytes) -> serde_json::Result<Bytes> {
    let (request, bytes) = match decode::<ReadRequest>(request) {
        Ok(request) => request,
        Err(error) => return encode(&ReadAnswer::Unavailable(error.to_string()), &[]),
    };

    match request {
        ReadRequest::FetchPage { url } => match reader.fetch_page(&url).await {
            Ok(page) => {
                let head = ReadAnswer::Page {
                    media_type: page.media_type,
                    url: page.url,
                    robots_tag: page.robots_tag,
                };
                encode(&head, &page.bytes)
            }
            Err(error) => encode(&ReadAnswer::NotFetched(error), &[]),
        },
        ReadRequest::ExtractDocument { name, declared } => {
            let extracted = reader
                .extract_document(&bytes, name.as_deref(), declared.as_deref())
                .await;
            let answer = match extracted {
                Ok(document) => ReadAnswer::Document(document),
                Err(SandboxError::Content(failure)) => ReadAnswer::NotExtracted(failure),
                Err(SandboxError::Unavailable(error)) => ReadAnswer::Unavailable(error.to_string()),
            };
            encode(&answer, &[])
        }
    }
}
