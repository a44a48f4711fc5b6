//! `recollect export` and `recollect import`: write a container to a file, and read it back.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use domain::ContainerTag;

use super::is_closed_pipe;
use super::place::{open_existing_place, open_place, operator_tenant, place_arguments};
use super::progress::progress_bar;
use crate::arguments::{Export, FileFormat, Import, Place};
use crate::counts::{count, count_past};
use crate::transfer::{self, ImportFormat, ImportOptions, ImportReport};

#[expect(
    clippy::print_stderr,
    reason = "standard output may be the export itself"
)]
pub(super) async fn run_export(options: Export) -> Result<ExitCode> {
    let tag = ContainerTag::parse(&options.container_tag)?;
    let tenant = operator_tenant(&options.owner.org)?;
    let ctx = open_existing_place(&options.owner.place).await?;
    let bar = progress_bar("{msg} [{bar:24}] {pos}/{len} documents", 0)?
        .with_message(format!("Exporting {tag}"));
    let export_file = ExportFile::new(&options.output)?;
    let mut writer = export_file.open()?;
    let report = transfer::export_container(&ctx, &tenant, &tag, &mut writer, &bar).await;
    drop(writer);
    bar.finish_and_clear();
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            export_file.remove_partial();
            if !is_closed_pipe(&error) {
                return Err(error);
            }
            // Standard error may be the same pipe.
            let message = "The export is incomplete: its reader has closed the pipe.";
            writeln!(std::io::stderr(), "{message}").ok();
            return Ok(ExitCode::from(EXIT_INCOMPLETE));
        }
    };

    export_file.rename_to_target()?;
    eprintln!(
        "Exported {tag}: {}, {}, {} of memories.",
        count(report.documents, "document"),
        count(report.memories, "memory"),
        count(report.edits, "edit")
    );
    if report.damaged.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }

    for id in &report.damaged {
        eprintln!("recollect: what is stored of document {id} cannot be read; it is left out");
    }

    let repairer = match &options.owner.place.stack.stack {
        Some(_) => "The functions of the stack repair what they can.",
        None => "A running server repairs what it can.",
    };
    let verb = match report.damaged.len() {
        1 => "is",
        _ => "are",
    };
    eprintln!(
        "{} {verb} damaged and not in the export. {repairer}",
        count(report.damaged.len(), "document")
    );
    Ok(ExitCode::from(EXIT_INCOMPLETE))
}

/// The exit code of an export that lacks documents, because they cannot be read, or because nobody reads the export
/// any more.
const EXIT_INCOMPLETE: u8 = 3;

/// A file that gets its name only when it is complete, so that a partial file is not taken for an
/// export.
struct ExportFile {
    paths: Option<(PathBuf, PathBuf)>,
}

impl ExportFile {
    fn new(output: &Path) -> Result<Self> {
        if output == Path::new("-") {
            return Ok(Self { paths: None });
        }

        let Some(name) = output.file_name() else {
            bail!(
                "--output {}: name a file, or - for standard output",
                output.display()
            );
        };

        let mut partial_name = name.to_owned();
        partial_name.push(".part");

        Ok(Self {
            paths: Some((output.with_file_name(partial_name), output.to_owned())),
        })
    }

    fn open(&self) -> Result<Box<dyn Write + Send>> {
        let Some((partial_path, _)) = &self.paths else {
            return Ok(Box::new(BufWriter::new(std::io::stdout())));
        };
        let file = File::create(partial_path)
            .with_context(|| format!("write {}", partial_path.display()))?;
        Ok(Box::new(BufWriter::new(file)))
    }

    fn rename_to_target(&self) -> Result<()> {
        let Some((partial_path, output)) = &self.paths else {
            return Ok(());
        };
        File::open(partial_path)
            .and_then(|file| file.sync_all())
            .with_context(|| format!("write {}", partial_path.display()))?;
        std::fs::rename(partial_path, output).with_context(|| format!("write {}", output.display()))
    }

    fn remove_partial(&self) {
        if let Some((partial_path, _)) = &self.paths {
            std::fs::remove_file(partial_path).ok();
        }
    }
}

pub(super) async fn run_import(options: Import) -> Result<()> {
    let tag = match &options.container_tag {
        Some(tag) => Some(ContainerTag::parse(tag)?),
        None => None,
    };
    let format = match options.format {
        FileFormat::Auto => ImportFormat::Auto,
        FileFormat::Recollect => ImportFormat::Recollect,
        FileFormat::Mem0 => ImportFormat::Mem0,
        FileFormat::Zep => ImportFormat::Zep,
    };

    let name = options.file.display().to_string();
    let mut length = None;
    let mut input: Box<dyn BufRead + Send> = if name == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(&options.file).with_context(|| format!("read {name}"))?;
        length = file.metadata().ok().map(|metadata| metadata.len());
        Box::new(BufReader::new(file))
    };

    let tenant = operator_tenant(&options.owner.org)?;
    let ctx = open_place(&options.owner.place).await?;
    let bar =
        progress_bar("{msg} [{bar:24}] {percent}%", 0)?.with_message(format!("Importing {name}"));
    if let Some(length) = length {
        bar.set_length(length);
    }

    let import_options = ImportOptions {
        tag,
        format,
        replaces_settings: options.settings,
    };

    let report = transfer::import_file(&ctx, &tenant, &mut input, &import_options, &bar).await;
    bar.finish_and_clear();
    let report = report.with_context(|| format!("import {name}"))?;
    print_report(&report, &options.owner.place);

    Ok(())
}

fn print_report(report: &ImportReport, place: &Place) {
    let documents = report.documents;
    let tags: Vec<&str> = report.tags.iter().map(ContainerTag::as_str).collect();
    print_line!(
        "Imported into {}: {} done, {} to be processed, {} of memories.",
        tags.join(", "),
        count(documents.written, "document"),
        documents.queued,
        count(report.edits, "edit")
    );
    if documents.already_present > 0 {
        let stay = match documents.already_present {
            1 => "stays as it is",
            _ => "stay as they are",
        };
        print_line!(
            "{} there already and {stay}.",
            count_past(documents.already_present)
        );
    }

    if documents.without_content > 0 {
        print_line!(
            "{} left out, without content.",
            count_past(documents.without_content)
        );
    }

    for (what, number) in &report.left_out {
        print_line!("Left out: {number} {what}.");
    }

    if report.settings_replaced {
        print_line!("The settings of the organization are those of the export.");
    }

    if documents.queued > 0 {
        print_line!("{}", processing_hint(place));
    }
}

/// Returns what processes the documents that are queued in a place.
fn processing_hint(place: &Place) -> String {
    match &place.stack.stack {
        Some(_) => "The functions of the stack process what is queued.".to_owned(),
        None => format!(
            "A running server processes what is queued; or:  recollect work --until-idle{}",
            place_arguments(place)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use clap::Parser;
    use domain::{ContainerId, OrgId, Tenant};
    use embedded::Durability;
    use indicatif::ProgressBar;

    use super::*;
    use crate::arguments::{Cli, Command};
    use crate::system::LocalSystem;

    /// A pipe whose reader goes away.
    struct ClosingPipe {
        /// The number of bytes that are read before.
        bytes: usize,
    }

    impl Write for ClosingPipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.bytes == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let written = bytes.len().min(self.bytes);
            self.bytes -= written;
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_export_says_that_its_pipe_was_closed() {
        let folder = tempfile::tempdir().unwrap();
        let system = LocalSystem::open(folder.path(), Durability::Process, None);
        let ctx = system.await.unwrap().ctx;
        let tenant = Tenant::for_operator(OrgId::parse("local").unwrap());
        let tag = ContainerTag::default_tag();
        let (id, now) = (ContainerId::random(), ctx.clock.now());
        let created = service::create_container(&ctx, &tenant, &tag, id, now);
        created.await.unwrap();

        let bar = ProgressBar::hidden();
        let mut whole = Vec::new();
        let exported = transfer::export_container(&ctx, &tenant, &tag, &mut whole, &bar);
        exported.await.unwrap();
        // Within a line, at its end, and at the end of the export.
        let first_line = whole.iter().position(|&byte| byte == b'\n').unwrap();
        for bytes in [0, 1, first_line, first_line + 1, whole.len() - 1] {
            let mut pipe = ClosingPipe { bytes };
            let exported = transfer::export_container(&ctx, &tenant, &tag, &mut pipe, &bar);
            let error = exported.await.unwrap_err();
            assert!(is_closed_pipe(&error), "{bytes}: {error:#}");
        }
    }

    #[test]
    fn the_hint_after_an_import_is_about_its_place() {
        for (arguments, expected) in [
            (
                ["--data", "my data"],
                "recollect work --until-idle --data 'my data'",
            ),
            (["--stack", "prod"], "functions of the stack"),
        ] {
            let line = ["recollect", "import", "file"].into_iter().chain(arguments);
            let Some(Command::Import(import)) = Cli::try_parse_from(line).unwrap().command else {
                panic!("an import");
            };
            let hint = processing_hint(&import.owner.place);
            assert!(hint.contains(expected), "{hint}");
        }
    }
}
