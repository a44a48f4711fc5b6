//! Changes to `OpenDocument` sheets that let their reader find values that it would otherwise miss.

use std::borrow::Cow;
use std::io::{Cursor, Read, Write};

use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use super::shown_number;
use crate::failure::Failure;
use crate::package::{self, Package};

const CONTENT: &str = "content.xml";
/// The start of a cell with a percentage, as office programs write it.
const SHARE: &str = r#"office:value-type="percentage" office:value=""#;
const UNKNOWN: &str = r#"office:value-type="unknown""#;

/// Returns a workbook in which percentages, and cells of an unknown type, are texts.
pub(super) fn readable<'a>(
    bytes: &'a [u8],
    package: &mut Package,
) -> Result<Cow<'a, [u8]>, Failure> {
    let mut content = String::new();
    let Ok(mut part) = package.by_name(CONTENT) else {
        return Err(package::corrupt());
    };
    // Content in another encoding is left to the reader.
    let is_text = part.read_to_string(&mut content).is_ok();
    drop(part);
    if !is_text || !(content.contains(SHARE) || content.contains(UNKNOWN)) {
        return Ok(Cow::Borrowed(bytes));
    }

    let content = percentages(&content).replace(UNKNOWN, r#"office:value-type="string""#);
    rebuilt(package, &content)
        .map(Cow::Owned)
        .map_err(|_| package::corrupt())
}

/// Writes percentages as text: a cell that shows 6.2% has the value 0.062 in the file.
fn percentages(content: &str) -> String {
    let mut parts = content.split(SHARE);
    let mut out = parts.next().unwrap_or_default().to_owned();

    for part in parts {
        let value = part
            .split_once('"')
            .and_then(|(value, rest)| Some((value.parse::<f64>().ok()?, rest)));
        match value {
            Some((share, rest)) => {
                let percent = shown_number(share * 100.0);
                out.push_str(&format!(
                    r#"office:value-type="string" office:string-value="{percent}%"{rest}"#
                ));
            }
            None => out.extend([SHARE, part]),
        }
    }

    out
}

/// Returns a package of the new content and the other parts that the reader requires.
fn rebuilt(package: &mut Package, content: &str) -> Result<Vec<u8>, ZipError> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["mimetype", "META-INF/manifest.xml"] {
        writer.raw_copy_file(package.by_name(name)?)?;
    }
    writer.start_file(CONTENT, SimpleFileOptions::default())?;
    writer.write_all(content.as_bytes())?;
    Ok(writer.finish()?.into_inner())
}
