//! Verification that the bytes of a file are those that were stored.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use http::StatusCode;
use md5::{Digest, Md5};
use s3s::{S3Error, S3ErrorCode};

use super::check::{checksum_hasher, checksums_to_map};
use super::index::StoredObject;
use crate::blocking::lock_mutex;

/// The error code of an object whose bytes differ from those that were stored. AWS has none,
/// because it repairs its own objects.
const DAMAGED_CODE: &str = "ObjectDamaged";
/// The error of Linux and macOS for a sector that cannot be read (`EIO`).
const EIO: i32 = 5;

/// The most files whose names are remembered. Beyond it, they are forgotten and verified again.
const MAX_VERIFIED: usize = 4_096;

/// The files that were read and verified as a whole. Files are never changed, so that a range of one of
/// them is read alone from then on.
#[derive(Debug, Default)]
pub(super) struct VerifiedFiles(Mutex<HashSet<String>>);

impl VerifiedFiles {
    fn contains(&self, name: &str) -> bool {
        lock_mutex(&self.0).contains(name)
    }

    fn insert(&self, name: &str) {
        let mut names = lock_mutex(&self.0);
        if names.len() >= MAX_VERIFIED {
            names.clear();
        }
        names.insert(name.to_owned());
    }
}

/// Reads a range of a file. The whole file is read and verified the first time, because a checksum of
/// the whole says nothing about a part of it.
///
/// # Errors
/// Returns an [`io::Error`] of kind [`io::ErrorKind::InvalidData`], which stands for
/// [`damaged_object_error`], if the bytes differ from those that were stored.
pub(super) fn read_range(
    path: &Path,
    stored: &StoredObject,
    range: Range<u64>,
    verified: &VerifiedFiles,
) -> io::Result<Vec<u8>> {
    let is_part = range != (0..stored.size);
    if is_part && verified.contains(&stored.file) {
        return read_part(path, range).map_err(as_damage);
    }

    if is_part {
        // The file may be large, so it is not held in memory.
        if !is_intact(open_buffered(path), stored).map_err(as_damage)? {
            return Err(io::ErrorKind::InvalidData.into());
        }
        verified.insert(&stored.file);
        return read_part(path, range).map_err(as_damage);
    }

    let bytes = fs::read(path).map_err(as_damage)?;
    if !is_intact(Ok(bytes.as_slice()), stored)? {
        return Err(io::ErrorKind::InvalidData.into());
    }
    verified.insert(&stored.file);
    Ok(bytes)
}

fn open_buffered(path: &Path) -> io::Result<BufReader<fs::File>> {
    const BUFFER_BYTES: usize = 256 * 1024;
    Ok(BufReader::with_capacity(
        BUFFER_BYTES,
        fs::File::open(path)?,
    ))
}

/// The file of an object, which never changes. It is gone some time after the object was deleted or replaced.
#[derive(Debug)]
pub struct ObjectFile(PathBuf);

impl ObjectFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Reads a range of the file, which is not verified.
    ///
    /// # Errors
    /// Fails if the range cannot be read, or is not in the file.
    pub fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        read_part(&self.0, range)
    }
}

/// Reads a part of a file.
fn read_part(path: &Path, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    file.seek(io::SeekFrom::Start(range.start))?;
    let mut bytes = vec![0; to_index(range.end.saturating_sub(range.start))?];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn to_index(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(io::Error::other)
}

/// Returns the error for damage in place of those of a disk that cannot read, and of a file that is cut
/// off.
fn as_damage(error: io::Error) -> io::Error {
    let is_damage =
        error.raw_os_error() == Some(EIO) || error.kind() == io::ErrorKind::UnexpectedEof;
    if is_damage {
        io::ErrorKind::InvalidData.into()
    } else {
        error
    }
}

/// Checks whether these are the bytes of the object, by its size and a checksum: one that came with
/// the bytes, or the digest in its entity tag. An object that was stored in parts has a tag of
/// another kind, and perhaps no checksum.
fn is_intact(bytes: io::Result<impl BufRead>, stored: &StoredObject) -> io::Result<bool> {
    let checksum = stored.attributes.checksums.iter().next();
    let mut hasher = checksum.map(|(name, _)| checksum_hasher(std::iter::once(name.as_str())));
    let mut digest = Md5::new();

    let (mut bytes, mut size) = (bytes?, 0);
    loop {
        let part = bytes.fill_buf()?;
        match &mut hasher {
            _ if part.is_empty() => break,
            Some(hasher) => hasher.update(part),
            None => digest.update(part),
        }
        let read = part.len();
        size += read as u64;
        bytes.consume(read);
    }

    if size != stored.size {
        return Ok(false);
    }
    let Some((hasher, (name, expected))) = hasher.zip(checksum) else {
        return Ok(stored.etag.contains('-') || stored.etag == hex::encode(digest.finalize()));
    };
    let actual = checksums_to_map(&hasher.finalize()).remove(name);
    Ok(actual.is_none_or(|actual| actual == *expected))
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
