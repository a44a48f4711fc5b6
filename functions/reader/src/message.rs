//! The messages between a caller and the function. A message is a length, a head of that length as
//! JSON, and bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use content::{ContentFailure, ExtractedDocument};
use remote::FetchError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A request to the function.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ReadRequest {
    /// Fetch a page.
    FetchPage {
        /// The address of the page.
        url: String,
    },
    /// Extract the text of the bytes behind the head.
    ExtractDocument {
        /// The name of the file.
        name: Option<String>,
        /// The media type that its sender declared.
        declared: Option<String>,
    },
}

/// The answer of the function.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ReadAnswer {
    /// A page. Its content is behind the head.
    Page {
        media_type: Option<String>,
        url: String,
        robots_tag: String,
    },
    /// The page could not be fetched.
    NotFetched(FetchError),
    /// The text of a document.
    Document(ExtractedDocument),
    /// The document cannot be read.
    NotExtracted(ContentFailure),
    /// The function could not do it now, for this reason.
    Unavailable(String),
}

/// Returns the message of a head and the bytes behind it.
///
/// # Errors
/// Fails if the head is longer than 4 GiB.
pub(crate) fn encode(head: &impl Serialize, bytes: &[u8]) -> serde_json::Result<Bytes> {
    let head = serde_json::to_vec(head)?;
    let length = u32::try_from(head.len()).map_err(serde::ser::Error::custom)?;
    let mut message = BytesMut::with_capacity(size_of_val(&length) + head.len() + bytes.len());
    message.put_u32(length);
    message.put_slice(&head);
    message.put_slice(bytes);
    Ok(message.freeze())
}

/// Returns the head of a message and the bytes behind it.
///
/// # Errors
/// Fails if the message is too short, or if its head is not of this kind.
pub(crate) fn decode<T: DeserializeOwned>(mut message: Bytes) -> serde_json::Result<(T, Bytes)> {
    let too_short = || serde::de::Error::custom("the message is too short");
    let length = message.try_get_u32().map_err(|_| too_short())?;
    let length = usize::try_from(length).map_err(serde::de::Error::custom)?;
    if message.len() < length {
        return Err(too_short());
    }
    let head = message.split_to(length);
    Ok((serde_json::from_slice(&head)?, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_head_and_its_bytes() {
        let request = ReadRequest::ExtractDocument {
            name: Some("Vertrag.pdf".into()),
            declared: None,
        };
        let message = encode(&request, b"%PDF-1.7").unwrap();
        let (head, bytes) = decode::<ReadRequest>(message.clone()).unwrap();
        assert!(
            matches!(head, ReadRequest::ExtractDocument { name: Some(name), declared: None } if name == "Vertrag.pdf")
        );
        assert_eq!(bytes, &b"%PDF-1.7"[..]);

        let head_end = message.len() - bytes.len();
        for end in 0..head_end {
            assert!(
                decode::<ReadRequest>(message.slice(..end)).is_err(),
                "{end}"
            );
        }
        assert!(decode::<ReadAnswer>(message).is_err());
    }
}
