//! Compound files: the office documents until 2003, and the envelope of newer encrypted ones.

use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::sniff::unsupported_failure;

const MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
/// The size and alignment of the entry of a stream, which begins with its name in UTF-16.
const ENTRY_BYTES: usize = 128;

pub(crate) fn is_compound(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns the format of a compound file by the names of its streams.
pub(crate) fn detect_format(
    bytes: &[u8],
    hints: [Option<Format>; 2],
) -> Result<Format, ContentFailure> {
    let has_stream = |name: &str| {
        let name: Vec<u8> = name
            .encode_utf16()
            .chain([0])
            .flat_map(u16::to_le_bytes)
            .collect();
        bytes
            .chunks_exact(ENTRY_BYTES)
            .any(|entry| entry.starts_with(&name))
    };

    if has_stream("EncryptedPackage") {
        let message = "The file is encrypted: it opens only with a password.";
        return Err(ContentFailure::new(FailureCode::Encrypted, message));
    }

    let streams = [
        ("WordDocument", Format::Doc),
        ("Workbook", Format::Xls),
        ("Book", Format::Xls),
        ("PowerPoint Document", Format::Ppt),
    ];
    for (name, format) in streams {
        if has_stream(name) {
            return Ok(format);
        }
    }

    let is_legacy = |hint: &Format| matches!(hint, Format::Doc | Format::Xls | Format::Ppt);
    match hints.into_iter().flatten().find(is_legacy) {
        // The file is truncated before its directory, which its reader reports.
        Some(format) if !has_stream("Root Entry") => Ok(format),
        _ => Err(unsupported_failure(
            "an office document (application/x-ole-storage)",
        )),
    }
}
