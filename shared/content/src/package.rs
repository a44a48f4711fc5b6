//! Zip packages (office files and e-books): their format, and the check that they are safe to
//! unpack.

use std::borrow::Cow;
use std::io::{Cursor, Read, sink};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::sniff::unsupported_failure;

/// The most entries of a package.
const MAX_ENTRIES: usize = 10_000;
/// The most bytes to which one entry may expand.
const MAX_ENTRY_BYTES: u64 = 50 * 1024 * 1024;
/// The most bytes to which all entries together may expand.
const MAX_TOTAL_BYTES: u64 = 200 * 1024 * 1024;
/// The most times its size to which an entry may expand, from a size on where it matters.
const MAX_RATIO: u64 = 100;
const SMALL_ENTRY_BYTES: u64 = 1024 * 1024;
/// The most bytes that are read of an entry that describes the package.
const MAX_DESCRIPTION_BYTES: u64 = 1024 * 1024;

const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
const DIRECTORY_HEADER: &[u8] = b"PK\x01\x02";
/// The offsets of the name and of its length in a local header.
const LOCAL_NAME_OFFSET: usize = 30;
const LOCAL_NAME_LENGTH_OFFSET: usize = 26;

/// A package whose directory could be read.
pub(crate) type ZipPackage<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Checks whether the bytes begin like a zip file.
pub(crate) fn is_package(bytes: &[u8]) -> bool {
    bytes.starts_with(LOCAL_HEADER)
}

/// Returns the format of a package by its content.
pub(crate) fn detect_format(
    bytes: &[u8],
    hints: [Option<Format>; 2],
) -> Result<Format, ContentFailure> {
    let Some(mut package) = open_package(bytes)? else {
        // The file is truncated, because the directory is at its end. The entries at the start
        // still show the format.
        let is_package_format = |hint: &Format| hint.is_binary() && *hint != Format::Pdf;
        let hinted = hints.into_iter().flatten().find(is_package_format);
        let found = format_of_names(local_header_names(bytes)).or(hinted);
        return found.ok_or_else(archive_failure);
    };

    if let Some(declared) = read_part(&mut package, "mimetype")
        && let Some(format) = Format::from_declared_type(&declared)
        && format.is_binary()
    {
        return Ok(format);
    }

    format_of_names(part_names(&package)).ok_or_else(archive_failure)
}

/// Opens a package and unpacks everything in it once, so that no parser has to process more than is
/// allowed.
///
/// The sizes in the directory are checked first, but never trusted.
pub(crate) fn check_package(bytes: &[u8]) -> Result<ZipPackage<'_>, ContentFailure> {
    let Some(mut package) = open_package(bytes)? else {
        return Err(corrupt_failure());
    };
    let mut declared_size = 0u64;
    for index in 0..package.len() {
        let Ok(entry) = package.by_index_raw(index) else {
            return Err(corrupt_failure());
        };
        if entry.encrypted() {
            return Err(encrypted_failure());
        }
        let ratio_limit = entry
            .compressed_size()
            .saturating_mul(MAX_RATIO)
            .max(SMALL_ENTRY_BYTES);
        declared_size = declared_size.saturating_add(entry.size());
        if entry.size() > MAX_ENTRY_BYTES.min(ratio_limit) || declared_size > MAX_TOTAL_BYTES {
            return Err(bomb_failure());
        }
    }

    let mut total = 0;
    for index in 0..package.len() {
        total += measure_entry(&mut package, index)?;
        if total > MAX_TOTAL_BYTES {
            return Err(bomb_failure());
        }
    }

    if is_encrypted(&mut package) {
        Err(encrypted_failure())
    } else {
        Ok(package)
    }
}

/// Unpacks an entry without storing it, and returns its true size.
fn measure_entry(package: &mut ZipPackage, index: usize) -> Result<u64, ContentFailure> {
    let entry = match package.by_index(index) {
        Ok(entry) => entry,
        Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
            return Err(encrypted_failure());
        }
        Err(_) => return Err(corrupt_failure()),
    };

    let limit = entry
        .compressed_size()
        .saturating_mul(MAX_RATIO)
        .clamp(SMALL_ENTRY_BYTES, MAX_ENTRY_BYTES);
    let Ok(size) = std::io::copy(&mut entry.take(limit + 1), &mut sink()) else {
        return Err(corrupt_failure());
    };
    if size > limit {
        Err(bomb_failure())
    } else {
        Ok(size)
    }
}

/// Opens the directory; `None` if it cannot be read.
fn open_package(bytes: &[u8]) -> Result<Option<ZipPackage<'_>>, ContentFailure> {
    let entries = bytes
        .windows(DIRECTORY_HEADER.len())
        .filter(|window| *window == DIRECTORY_HEADER);
    if entries.take(MAX_ENTRIES + 1).count() > MAX_ENTRIES {
        let message = format!("The file is a package of more than {MAX_ENTRIES} parts.");
        return Err(ContentFailure::new(FailureCode::ContentLimit, message));
    }
    Ok(ZipArchive::new(Cursor::new(bytes)).ok())
}

/// Returns a short part that describes the package.
fn read_part(package: &mut ZipPackage, name: &str) -> Option<String> {
    let mut part = Vec::new();
    package
        .by_name(name)
        .ok()?
        .take(MAX_DESCRIPTION_BYTES)
        .read_to_end(&mut part)
        .ok()?;
    Some(String::from_utf8_lossy(&part).into_owned())
}

/// Returns the names of the parts.
pub(crate) fn part_names<'a>(package: &'a ZipPackage) -> impl Iterator<Item = Cow<'a, str>> {
    package.file_names().filter_map(Result::ok)
}

fn format_of_names<'a>(names: impl Iterator<Item = Cow<'a, str>>) -> Option<Format> {
    let folders = [
        ("word/", Format::Docx),
        ("ppt/", Format::Pptx),
        ("xl/", Format::Xlsx),
    ];
    for name in names {
        if name == "META-INF/container.xml" {
            return Some(Format::Epub);
        }
        for (folder, format) in folders {
            if name.starts_with(folder) {
                return Some(format);
            }
        }
    }

    None
}

/// Returns the names of entries from their local headers.
fn local_header_names(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let starts = bytes
        .windows(LOCAL_HEADER.len())
        .enumerate()
        .filter(|(_, window)| *window == LOCAL_HEADER);
    starts
        .take(MAX_ENTRIES)
        .filter_map(|(at, _)| local_header_name(&bytes[at..]))
}

fn local_header_name(header: &[u8]) -> Option<Cow<'_, str>> {
    let length = header.get(LOCAL_NAME_LENGTH_OFFSET..)?.first_chunk::<2>()?;
    let end = LOCAL_NAME_OFFSET + usize::from(u16::from_le_bytes(*length));
    let name = header.get(LOCAL_NAME_OFFSET..end)?;
    Some(String::from_utf8_lossy(name))
}

/// Checks whether the parts themselves are encrypted, as in `OpenDocument` files and e-books.
fn is_encrypted(package: &mut ZipPackage) -> bool {
    if let Some(manifest) = read_part(package, "META-INF/manifest.xml")
        && manifest.contains(":encryption-data")
    {
        return true;
    }

    let Some(parts) = read_part(package, "META-INF/encryption.xml") else {
        return false;
    };
    let mut uris = parts.split("URI=\"").skip(1);
    // E-books often obfuscate their fonts, which has no effect here.
    uris.any(|uri| {
        let uri = uri.split('"').next().unwrap_or_default();
        [".xhtml", ".html", ".htm", ".xml"]
            .iter()
            .any(|end| uri.ends_with(end))
    })
}

fn archive_failure() -> ContentFailure {
    unsupported_failure("an archive (application/zip)")
}

fn encrypted_failure() -> ContentFailure {
    ContentFailure::new(
        FailureCode::Encrypted,
        "The file is encrypted: it opens only with a password.",
    )
}

pub(crate) fn corrupt_failure() -> ContentFailure {
    ContentFailure::new(
        FailureCode::Corrupt,
        "The file is damaged or incomplete: its structure could not be read.",
    )
}

fn bomb_failure() -> ContentFailure {
    let (entry, total) = (MAX_ENTRY_BYTES / 1024 / 1024, MAX_TOTAL_BYTES / 1024 / 1024);
    let message = format!(
        "The file unfolds to too much: at most {entry} MiB in one part and {total} MiB in all are read, \
         and no part may grow more than {MAX_RATIO} times."
    );
    ContentFailure::new(FailureCode::ContentLimit, message)
}
