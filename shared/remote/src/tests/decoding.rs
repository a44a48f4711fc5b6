//! Tests of compressed bodies, honest and malicious.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::server::{Server, build_answer, ok_answer};
use crate::{FetchError, FetchErrorKind, Page, PageFetcher};

const SENTENCE: &str = "All work and no play makes Jack a dull boy.\n";

/// [`SENTENCE`] fifty times, compressed by the reference implementation of brotli.
const BROTLI_SENTENCES: &[u8] = &[
    0x1b, 0x97, 0x08, 0xb0, 0x1c, 0x09, 0x76, 0x8c, 0xe4, 0x7f, 0x18, 0x69, 0x83, 0x04, 0xf3, 0x06,
    0xdb, 0xdb, 0x75, 0x1e, 0xec, 0xac, 0x9a, 0x4d, 0x01, 0x24, 0x6f, 0x83, 0xb8, 0xac, 0xb1, 0xed,
    0x41, 0x34, 0x11, 0xe5, 0x41, 0xf9, 0xe2, 0xf5, 0x16, 0xf0, 0x80, 0xde, 0x06, 0x6a, 0x7b, 0x13,
    0x00, 0x00, 0x2a, 0x23, 0x7d, 0xe7, 0xbd, 0x04,
];

/// Four MiB of zeros in 14 bytes.
const BROTLI_BOMB: &[u8] = &[
    0x9b, 0xff, 0xff, 0x3f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x07,
];

/// 23 bytes of text with the extension for large windows, which asks for a gigabyte.
const BROTLI_LARGE_WINDOW: &[u8] = &[
    0x11, 0x5e, 0x58, 0x00, 0xe0, 0x37, 0x52, 0xba, 0x79, 0x13, 0x55, 0x19, 0x5a, 0xb2, 0x81, 0xbc,
    0x85, 0x3c, 0x71, 0x00, 0xc7, 0x01,
];

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn bare_deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Returns noise that does not compress, the same in every run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.push((state >> 56) as u8);
    }
    bytes
}

async fn fetch(encoding: &'static str, body: Vec<u8>) -> Result<Page, FetchError> {
    let server =
        Server::start(move |_| ok_answer(&format!("Content-Encoding: {encoding}\r\n"), &body))
            .await;
    server.fetcher().fetch_page("http://example.com/").await
}

#[tokio::test]
async fn what_was_offered_is_decompressed() {
    let text = SENTENCE.repeat(50);
    let plain = text.as_bytes();
    for (encoding, body) in [
        ("gzip", gzip(plain)),
        ("GZIP", gzip(plain)),
        ("x-gzip", gzip(plain)),
        ("gzip", [gzip(&plain[..100]), gzip(&plain[100..])].concat()),
        ("deflate", zlib(plain)),
        ("deflate", bare_deflate(plain)),
        ("br", BROTLI_SENTENCES.to_vec()),
        ("identity", plain.to_vec()),
        ("", plain.to_vec()),
    ] {
        assert_eq!(
            fetch(encoding, body).await.unwrap().bytes,
            text,
            "{encoding}"
        );
    }

    for encoding in ["gzip", "deflate", "br"] {
        assert!(
            fetch(encoding, Vec::new()).await.unwrap().bytes.is_empty(),
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn a_bomb_is_too_large() {
    let zeros = vec![0; 4 << 20];
    for (encoding, body) in [
        ("gzip", gzip(&zeros)),
        ("gzip", gzip(&zeros[..1 << 20]).repeat(4)),
        ("deflate", zlib(&zeros)),
        ("deflate", bare_deflate(&zeros)),
        ("br", BROTLI_BOMB.to_vec()),
    ] {
        assert!(body.len() * 100 < zeros.len(), "{encoding}: {}", body.len());
        let error = fetch(encoding, body).await.unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::TooLarge, "{encoding}");
        assert_eq!(
            error.message,
            "The page has too many bytes once it is decompressed."
        );
    }
}

#[tokio::test]
async fn a_bomb_below_the_ratio_is_too_large_beyond_40_mib() {
    let mut content = noise(1 << 20);
    content.resize(40 << 20, 0);
    assert_eq!(
        fetch("gzip", gzip(&content)).await.unwrap().bytes.len(),
        40 << 20
    );
    content.push(0);
    assert_eq!(
        fetch("gzip", gzip(&content)).await.unwrap_err().kind,
        FetchErrorKind::TooLarge
    );
}

#[tokio::test]
async fn a_short_page_may_compress_better_than_a_bomb() {
    let blanks = vec![b' '; 1 << 20];
    assert_eq!(fetch("gzip", gzip(&blanks)).await.unwrap().bytes, blanks);
}

#[tokio::test]
async fn a_body_that_is_not_what_its_header_says_fails() {
    let text = SENTENCE.repeat(50);
    let compressed = gzip(text.as_bytes());
    let mut wrong_checksum = compressed.clone();
    let checksum = wrong_checksum.len() - 8;
    wrong_checksum[checksum] ^= 1;

    for (encoding, body) in [
        ("gzip", text.clone().into_bytes()),
        ("gzip", compressed[..compressed.len() - 9].to_vec()),
        ("gzip", wrong_checksum),
        ("deflate", vec![0xff; 100]),
        ("deflate", zlib(text.as_bytes())[..20].to_vec()),
        ("deflate", bare_deflate(text.as_bytes())[..20].to_vec()),
        ("br", text.clone().into_bytes()),
        ("br", BROTLI_SENTENCES[..40].to_vec()),
        ("br", BROTLI_LARGE_WINDOW.to_vec()),
    ] {
        let error = fetch(encoding, body).await.expect_err(encoding);
        assert_eq!(error.kind, FetchErrorKind::Failed, "{encoding}");
        assert_eq!(
            error.message, "The page's compression is damaged.",
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn what_was_not_offered_fails_at_once() {
    for headers in [
        "Content-Encoding: zstd\r\n",
        "Content-Encoding: gzip, gzip\r\n",
        "Content-Encoding: gzip\r\nContent-Encoding: br\r\n",
    ] {
        let server = Server::start(move |_| build_answer("200 OK", headers, b"body")).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(
            error.message, "The page is compressed in a way that was not offered.",
            "{headers}"
        );
        assert_eq!(server.connections(), 1);
    }
}
