//! Decompresses a body within limits, so that a small body cannot fill the memory.

use std::io::Read;

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, HeaderName};

/// The content codings that the fetcher accepts.
pub(crate) const ACCEPTED_ENCODINGS: &str = "gzip, br, deflate";

const BROTLI_BUFFER: usize = 16 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    Unsupported,
    Damaged,
    TooLarge,
}

/// Returns the content of `received` under its `Content-Encoding`, at most `limit` bytes.
pub(crate) fn decode_body(
    encoding: &str,
    received: Bytes,
    limit: usize,
) -> Result<Bytes, DecodeError> {
    let encoding = encoding.trim().to_ascii_lowercase();
    if received.is_empty() || matches!(encoding.as_str(), "" | "identity") {
        return Ok(received);
    }

    let first = received[0];
    let body = &*received;

    match encoding.as_str() {
        "gzip" | "x-gzip" => read_limited(MultiGzDecoder::new(body), limit),
        // The standard means zlib, but some servers send the bare deflate stream. A zlib header
        // starts with method 8.
        "deflate" if first & 0x0f == 8 => read_limited(ZlibDecoder::new(body), limit),
        "deflate" => read_limited(DeflateDecoder::new(body), limit),
        // Only the extension for large windows starts like this. It may demand a gigabyte before
        // the first byte.
        "br" if first & 0x7f == 0x11 => Err(DecodeError::Damaged),
        "br" => read_limited(Decompressor::new(body, BROTLI_BUFFER), limit),
        _ => Err(DecodeError::Unsupported),
    }
}

/// Joins all values of a header. Several encodings become a list that [`decode_body`] refuses,
/// because nobody compresses a page twice with good intent.
pub(crate) fn join_header_values(headers: &HeaderMap, name: &HeaderName) -> String {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or("?"))
        .collect();
    values.join(",")
}

fn read_limited(decoder: impl Read, limit: usize) -> Result<Bytes, DecodeError> {
    let mut content = Vec::new();
    let max_bytes = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder
        .take(max_bytes)
        .read_to_end(&mut content)
        .map_err(|_| DecodeError::Damaged)?;
    if content.len() > limit {
        Err(DecodeError::TooLarge)
    } else {
        Ok(content.into())
    }
}
