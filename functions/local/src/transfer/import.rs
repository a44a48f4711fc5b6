//! Reading a file back, or one of another service.

use std::io::BufRead;

use anyhow::{Context, Result, bail};
use domain::usecase::Imported;
use domain::{ContainerTag, Ctx, Tenant};
use indicatif::ProgressBar;

use super::foreign::import_foreign;
use super::lines::{HEADER, Kind};
use super::restore::restore;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Whatever its content says.
    #[default]
    Auto,
    /// What [`super::export`] has written.
    Recollect,
    /// Memories of mem0.
    Mem0,
    /// Threads, sessions and facts of Zep.
    Zep,
}

/// How a file is to be imported.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The container tag; else the one that was exported, or the default one.
    pub tag: Option<ContainerTag>,
    /// Whose file it is.
    pub format: Format,
    /// Whether the organization takes over the settings in the file.
    pub settings: bool,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Where to.
    pub tag: ContainerTag,
    /// The documents.
    pub documents: Imported,
    /// What callers did to memories and was not known yet.
    pub actions: usize,
    /// Whether the settings of the organization were taken over.
    pub settings: bool,
}

impl Report {
    pub(super) fn new(tag: ContainerTag) -> Self {
        Self {
            tag,
            documents: Imported::default(),
            actions: 0,
            settings: false,
        }
    }
}

/// Imports a file. What is there already is left as it is, so doing it again changes nothing, and goes on where an
/// import was broken off.
///
/// # Errors
/// For a file that is of no known format; for a line that cannot be imported, which is named: what stands before it is
/// imported then.
pub async fn import(
    ctx: &Ctx,
    tenant: &Tenant,
    input: &mut (dyn BufRead + Send),
    options: &ImportOptions,
    bar: &ProgressBar,
) -> Result<Report> {
    let mut lines = Lines {
        input,
        number: 0,
        bar,
    };

    let Some(first) = lines.next()? else {
        bail!("there is nothing in the file");
    };

    let kind = serde_json::from_str::<Kind>(&first);
    let is_ours = kind.is_ok_and(|kind| kind.r#type == HEADER);

    match options.format {
        Format::Auto if is_ours => restore(ctx, tenant, &first, lines, options).await,
        Format::Recollect => restore(ctx, tenant, &first, lines, options).await,
        Format::Auto | Format::Mem0 | Format::Zep => {
            let mut whole = first;
            while let Some(line) = lines.next()? {
                whole.push('\n');
                whole.push_str(&line);
            }
            import_foreign(ctx, tenant, &whole, options, bar).await
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
    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        loop {
            let mut line = String::new();
            self.number += 1;
            let read = self
                .input
                .read_line(&mut line)
                .with_context(|| format!("line {}", self.number))?;
            if read == 0 {
                return Ok(None);
            }
            self.bar.inc(read as u64);
            // Some editors put a mark before the first character.
            let line = line.trim_start_matches('\u{feff}').trim_end();
            if !line.is_empty() {
                return Ok(Some(line.to_owned()));
            }
        }
    }
}
