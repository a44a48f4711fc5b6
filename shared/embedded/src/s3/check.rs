//! Checks of bytes and versions against the claims of a request: digests of bodies, conditions on
//! entity tags.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::TryStreamExt;
use http::HeaderMap;
use md5::{Digest, Md5};
use s3s::checksum::ChecksumHasher;
use s3s::dto::{Checksum, ChecksumAlgorithm, ETagCondition, StreamingBlob};
use s3s::{S3Error, S3ErrorCode, S3Result, TrailingHeaders, s3_error};

use super::index::StoredObject;

/// The claims of a client about the bytes that it sends.
#[derive(Default)]
pub(super) struct BodyClaims {
    /// The MD5 digest, in base64.
    pub(super) md5: Option<String>,
    pub(super) checksum: Checksum,
    /// The algorithm of the checksum that follows the bytes.
    pub(super) algorithm: Option<ChecksumAlgorithm>,
}

/// Received bytes and their digests, which agree with the claims of the client.
pub(super) struct VerifiedBody {
    pub(super) bytes: Bytes,
    pub(super) md5: [u8; 16],
    pub(super) checksum: Checksum,
}

/// Reads a request body and verifies it.
///
/// # Errors
/// Returns `BadDigest` if the bytes differ from those that the client claims to send.
pub(super) async fn receive_body(
    body: Option<StreamingBlob>,
    claims: BodyClaims,
    trailers: Option<TrailingHeaders>,
) -> S3Result<VerifiedBody> {
    let chunks: Vec<Bytes> = match body {
        Some(body) => body
            .try_collect()
            .await
            .map_err(|error| S3Error::with_source(S3ErrorCode::IncompleteBody, error))?,
        None => Vec::new(),
    };

    let bytes = match <[Bytes; 1]>::try_from(chunks) {
        Ok([chunk]) => chunk,
        Err(chunks) => chunks.concat().into(),
    };

    // The trailers are available only now, at the end of the body.
    let trailers = match trailers {
        Some(trailers) => trailers.take().unwrap_or_default(),
        None => HeaderMap::new(),
    };
    verify_bytes(bytes, claims, trailers)
}

/// Verifies bytes against the claims before them and, in trailers, after them.
///
/// # Errors
/// Fails as [`receive_body`] does.
pub(super) fn verify_bytes(
    bytes: Bytes,
    claims: BodyClaims,
    trailers: HeaderMap,
) -> S3Result<VerifiedBody> {
    let md5: [u8; 16] = Md5::digest(&bytes).into();
    if let Some(claimed_md5) = claims.md5
        && STANDARD.encode(md5) != claimed_md5
    {
        return Err(s3_error!(
            BadDigest,
            "The Content-MD5 you specified did not match what we received."
        ));
    }

    let mut claimed_checksums = checksums_to_map(&claims.checksum);
    for name in CHECKSUM_NAMES {
        if let Some(value) = trailers.get(format!("x-amz-checksum-{name}"))
            && let Ok(value) = value.to_str()
        {
            claimed_checksums.insert(name.to_owned(), value.to_owned());
        }
    }

    let named_algorithm = claims
        .algorithm
        .as_ref()
        .map(|algorithm| algorithm.as_str().to_ascii_lowercase());
    let mut hasher = checksum_hasher(
        claimed_checksums
            .keys()
            .map(String::as_str)
            .chain(named_algorithm.as_deref()),
    );
    hasher.update(&bytes);
    let checksum = hasher.finalize();
    let actual = checksums_to_map(&checksum);
    for (name, value) in claimed_checksums {
        if actual.get(&name) != Some(&value) {
            return Err(s3_error!(
                BadDigest,
                "The {name} you specified did not match the calculated checksum."
            ));
        }
    }

    Ok(VerifiedBody {
        bytes,
        md5,
        checksum,
    })
}

/// The names of the checksums, as in headers and in the index.
const CHECKSUM_NAMES: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];

/// Returns a hasher of the checksums with these names.
pub(super) fn checksum_hasher<'a>(names: impl Iterator<Item = &'a str>) -> ChecksumHasher {
    let mut hasher = ChecksumHasher::default();
    for name in names {
        match name {
            "crc32" => hasher.crc32 = Some(Default::default()),
            "crc32c" => hasher.crc32c = Some(Default::default()),
            "crc64nvme" => hasher.crc64nvme = Some(Default::default()),
            "sha1" => hasher.sha1 = Some(Default::default()),
            "sha256" => hasher.sha256 = Some(Default::default()),
            _ => {}
        }
    }
    hasher
}

/// Returns the existing checksums, by name.
pub(super) fn checksums_to_map(checksum: &Checksum) -> BTreeMap<String, String> {
    let values = [
        &checksum.checksum_crc32,
        &checksum.checksum_crc32c,
        &checksum.checksum_crc64nvme,
        &checksum.checksum_sha1,
        &checksum.checksum_sha256,
    ];

    let mut checksums = BTreeMap::new();
    for (name, value) in CHECKSUM_NAMES.into_iter().zip(values) {
        if let Some(value) = value {
            checksums.insert(name.to_owned(), value.clone());
        }
    }

    checksums
}

/// Returns the checksums of a map. This is the reverse of [`checksums_to_map`].
pub(super) fn checksums_from_map(map: &BTreeMap<String, String>) -> Checksum {
    let checksum = |name: &str| map.get(name).cloned();
    Checksum {
        checksum_crc32: checksum("crc32"),
        checksum_crc32c: checksum("crc32c"),
        checksum_crc64nvme: checksum("crc64nvme"),
        checksum_sha1: checksum("sha1"),
        checksum_sha256: checksum("sha256"),
        ..Checksum::default()
    }
}

/// Checks the conditions of a write against the existing object. `If-None-Match: *` permits only
/// creation, `If-Match` only replacement.
pub(super) fn check_write_conditions(
    current: Option<&StoredObject>,
    if_match: Option<&ETagCondition>,
    if_none_match: Option<&ETagCondition>,
) -> S3Result<()> {
    if let Some(condition) = if_match {
        let Some(current) = current else {
            return Err(s3_error!(NoSuchKey));
        };
        if !matches_etag(condition, current) {
            return Err(precondition_failed());
        }
    }

    match (if_none_match, current) {
        (Some(condition), Some(current)) if matches_etag(condition, current) => {
            Err(precondition_failed())
        }
        _ => Ok(()),
    }
}

/// Checks whether the object has the entity tag. `*` stands for any.
pub(super) fn matches_etag(condition: &ETagCondition, stored: &StoredObject) -> bool {
    match condition.as_etag() {
        Some(etag) => etag.value() == stored.etag,
        None => true,
    }
}

/// Returns the error `412 Precondition Failed`.
pub(super) fn precondition_failed() -> S3Error {
    s3_error!(
        PreconditionFailed,
        "At least one of the pre-conditions you specified did not hold"
    )
}
