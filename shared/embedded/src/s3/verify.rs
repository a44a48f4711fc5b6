//! Verification that the bytes of a file are those that were stored.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use http::StatusCode;
use md5::{Digest, Md5};
use s3s::{S3Error, S3ErrorCode};

use super::check::checksum_of;
use super::index::StoredObject;

/// The error code of an object whose bytes differ from those that were stored. AWS has none,
/// because it repairs its own objects.
const DAMAGED_CODE: &str = "ObjectDamaged";
/// The error of Linux and macOS for a sector that cannot be read (`EIO`).
const EIO: i32 = 5;

/// Reads a range of a file. The whole file is read and verified, because a checksum of the whole
/// says nothing about a part of it.
///
/// # Errors
/// Returns an [`io::Error`] of kind [`io::ErrorKind::InvalidData`], which stands for
/// [`damaged_object_error`], if the bytes differ from those that were stored.
pub(super) fn read_range(
    path: &Path,
    stored: &StoredObject,
    range: Range<u64>,
) -> io::Result<Vec<u8>> {
    let mut bytes = match fs::read(path) {
        Err(error) if error.raw_os_error() == Some(EIO) => {
            return Err(io::ErrorKind::InvalidData.into());
        }
        result => result?,
    };

    if !is_whole(stored, &bytes) {
        return Err(io::ErrorKind::InvalidData.into());
    }

    let to_index = |at: u64| usize::try_from(at).map_err(io::Error::other);
    bytes.truncate(to_index(range.end)?);
    bytes.drain(..to_index(range.start)?.min(bytes.len()));

    Ok(bytes)
}

/// Checks whether these are the bytes of the object, by its size and a checksum: one that came with
/// the bytes, or the digest in its entity tag. An object that was stored in parts has a tag of
/// another kind, and perhaps no checksum.
fn is_whole(stored: &StoredObject, bytes: &[u8]) -> bool {
    if bytes.len() as u64 != stored.size {
        return false;
    }
    if let Some((name, expected)) = stored.attributes.checksums.iter().next() {
        return checksum_of(name, bytes).is_none_or(|actual| actual == *expected);
    }
    stored.etag.contains('-') || stored.etag == hex::encode(Md5::digest(bytes))
}

/// Returns the error for an object whose bytes differ from those that were stored. Clients do not
/// retry it, as they do a server fault.
pub(super) fn damaged_object_error(key: &str) -> S3Error {
    tracing::error!(key, "the file of the object {key} is damaged or gone");
    let code = S3ErrorCode::Custom(DAMAGED_CODE.into());
    let mut error = S3Error::with_message(code, "The stored bytes of this object cannot be read.");
    error.set_status_code(StatusCode::UNPROCESSABLE_ENTITY);
    error
}
