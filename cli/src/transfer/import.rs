//! Imports an export, or a file of another service.

use std::collections::BTreeMap;
use std::io::BufRead;

use anyhow::{Context, Result, bail};
use domain::{ContainerTag, Tenant};
use indicatif::ProgressBar;
use service::Ctx;
use service::ImportCounts;

use super::export_lines::{HEADER_TYPE, LineType};
use super::foreign_import::import_foreign;
use super::restore::restore_export;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportFormat {
    /// Determined by the content.
    #[default]
    Auto,
    /// An export by [`super::export`].
    Recollect,
    /// Memories of mem0.
    Mem0,
    /// Threads, sessions and facts of Zep.
    Zep,
}

/// The options of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The container tag. Without it, those in the file are used, or the default one.
    pub tag: Option<ContainerTag>,
    /// The format of the file.
    pub format: ImportFormat,
    /// Replaces the settings of the organization with those in the file.
    pub replaces_settings: bool,
}

/// The results of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// The container tags into which something was imported.
    pub tags: Vec<ContainerTag>,
    /// The imported documents.
    pub documents: ImportCounts,
    /// The number of new edits of memories.
    pub edits: usize,
    /// What the file has and the import left out, with its number.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Set if the settings of the organization were replaced.
    pub settings_replaced: bool,
}

impl ImportReport {
    pub(super) fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

/// Imports a file. Existing objects stay as they are, so a repetition changes nothing, and
/// continues an import that was interrupted.
///
/// # Errors
/// Fails if the file has no known format. Fails if a line cannot be imported, and names it; the
/// lines before it have been imported.
pub async fn import_file(
    ctx: &Ctx,
    tenant: &Tenant,
    input: &mut (dyn BufRead + Send),
    options: &ImportOptions,
    bar: &ProgressBar,
) -> Result<ImportReport> {
    let mut lines = Lines {
        input,
        number: 0,
        bar,
    };

    let Some(first_line) = lines.next()? else {
        bail!("there is nothing in the file");
    };

    let line_type = serde_json::from_str::<LineType>(&first_line);
    let is_own_export = line_type.is_ok_and(|line_type| line_type.r#type == HEADER_TYPE);

    match options.format {
        ImportFormat::Auto if is_own_export => {
            restore_export(ctx, tenant, &first_line, lines, options).await
        }
        ImportFormat::Recollect => restore_export(ctx, tenant, &first_line, lines, options).await,
        ImportFormat::Auto | ImportFormat::Mem0 | ImportFormat::Zep => {
            let text = lines.read_rest(&first_line)?;
            import_foreign(ctx, tenant, &text, options, bar).await
        }
    }
}

/// The lines of a file, with their numbers.
pub(super) struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    /// The number of the line that was read last, from 1.
    pub(super) number: usize,
    bar: &'a ProgressBar,
}

impl Lines<'_> {
    /// Returns the text that ends with the rest of the file and begins with the line that was read last. Blank lines
    /// stay, so that each line has its number in the file.
    fn read_rest(&mut self, last_line: &str) -> Result<String> {
        let mut text = "\n".repeat(self.number - 1) + last_line;
        let mut number = self.number;
        while let Some(line) = self.next()? {
            text.push_str(&"\n".repeat(self.number - number));
            text.push_str(&line);
            number = self.number;
        }
        Ok(text)
    }

    /// Returns the next line that is not blank.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        loop {
            let mut line = String::new();
            self.number += 1;
            let read_bytes = self
                .input
                .read_line(&mut line)
                .with_context(|| format!("line {}", self.number))?;
            if read_bytes == 0 {
                return Ok(None);
            }
            self.bar.inc(read_bytes as u64);
            // Some editors write a byte order mark before the first character.
            let line = line.trim_start_matches('\u{feff}').trim_end();
            if !line.is_empty() {
                return Ok(Some(line.to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::foreign_records::ForeignRecords;

    #[test]
    fn lines_after_blank_ones_keep_their_numbers() {
        for (text, expected) in [
            ("{\"memory\":\"a\"}\n\n\nnot json", "line 4"),
            ("\n \n{\"memory\":\"a\"}\n\nnot json\n", "line 5"),
        ] {
            let mut lines = Lines {
                input: &mut text.as_bytes(),
                number: 0,
                bar: &ProgressBar::hidden(),
            };
            let first_line = lines.next().unwrap().unwrap();
            let rest = lines.read_rest(&first_line).unwrap();
            let read = ForeignRecords::read_records(&rest, ImportFormat::Auto);
            let error = read.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
