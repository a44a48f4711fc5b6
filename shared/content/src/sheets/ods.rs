//! Changes to `OpenDocument` sheets that let their reader find values that it would otherwise miss.

use std::borrow::Cow;
use std::io::{Cursor, Read, Write};

use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use super::format_number;
use crate::failure::ContentFailure;
use crate::package::{self, ZipPackage};

const CONTENT: &str = "content.xml";
/// The start of a cell with a percentage, as office programs write it.
const PERCENTAGE_CELL: &str = r#"office:value-type="percentage" office:value=""#;
const UNKNOWN_TYPE_CELL: &str = r#"office:value-type="unknown""#;

/// Returns a workbook in which percentages, and cells of an unknown type, are texts.
pub(super) fn make_readable<'a>(
    bytes: &'a [u8],
    package: &mut ZipPackage,
) -> Result<Cow<'a, [u8]>, ContentFailure> {
    let mut content = String::new();
    let Ok(mut part) = package.by_name(CONTENT) else {
        return Err(package::corrupt_failure());
    };
    // Content in another encoding is left to the reader.
    let is_text = part.read_to_string(&mut content).is_ok();
    drop(part);
    if !is_text || !(content.contains(PERCENTAGE_CELL) || content.contains(UNKNOWN_TYPE_CELL)) {
        return Ok(Cow::Borrowed(bytes));
    }

    let content =
        percentages_as_text(&content).replace(UNKNOWN_TYPE_CELL, r#"office:value-type="string""#);
    match rebuild_package(package, &content) {
        Ok(rebuilt) => Ok(Cow::Owned(rebuilt)),
        Err(_) => Err(package::corrupt_failure()),
    }
}

/// Writes percentages as text: a cell that shows 6.2% has the value 0.062 in the file.
fn percentages_as_text(content: &str) -> String {
    let mut parts = content.split(PERCENTAGE_CELL);
    let mut out = parts.next().unwrap_or_default().to_owned();

    for part in parts {
        if let Some((value, rest)) = part.split_once('"')
            && let Ok(share) = value.parse::<f64>()
        {
            let percent = format_number(share * 100.0);
            out.push_str(&format!(
                r#"office:value-type="string" office:string-value="{percent}%"{rest}"#
            ));
        } else {
            out.extend([PERCENTAGE_CELL, part]);
        }
    }

    out
}

/// Returns a package of the new content and the other parts that the reader requires.
fn rebuild_package(package: &mut ZipPackage, content: &str) -> Result<Vec<u8>, ZipError> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["mimetype", "META-INF/manifest.xml"] {
        writer.raw_copy_file(package.by_name(name)?)?;
    }
    writer.start_file(CONTENT, SimpleFileOptions::default())?;
    writer.write_all(content.as_bytes())?;
    Ok(writer.finish()?.into_inner())
}
