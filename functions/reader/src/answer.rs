//! Answers the calls of the function `reader`.

use bytes::Bytes;
use sandbox::SandboxError;

use crate::Reader;
use crate::message::{ReadAnswer, ReadRequest, decode, encode};

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
