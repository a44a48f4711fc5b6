//! `recollect check`: checks a data folder, and repairs it on request.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::log_to_stderr;
use super::place::{open_place, place_arguments};
use super::progress::progress_bar;
use crate::arguments::{Check, Place};
use crate::check::{CheckReport, check_stored_data};
use crate::counts::count;

/// The exit code if something stored is defective.
const EXIT_FINDINGS: u8 = 1;
/// The exit code if the folder could not be checked.
const EXIT_NOT_CHECKED: u8 = 2;

#[expect(clippy::print_stderr, reason = "why there is no answer")]
pub(super) async fn run_check(options: Check) -> ExitCode {
    match check_and_print(&options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FINDINGS),
        Err(error) => {
            eprintln!(
                "recollect: could not check {}: {error:#}",
                name_of(&options.place)
            );
            ExitCode::from(EXIT_NOT_CHECKED)
        }
    }
}

/// Checks the folder and prints the findings. Returns whether there were none.
async fn check_and_print(options: &Check) -> Result<bool> {
    log_to_stderr(&options.log)?;
    if options.place.stack.stack.is_none() && !check_folder(&options.place.data.data)? {
        return Ok(false);
    }

    let ctx = open_place(&options.place).await?;
    let bar = progress_bar("{msg} [{bar:24}] {pos}/{len} documents", 0)?;
    bar.set_message("Checking");

    let report = check_stored_data(&ctx, options.repair, &bar).await;
    bar.finish_and_clear();
    let report = report.context("read what is stored")?;

    for finding in &report.findings {
        print_line!("{finding}");
    }
    print_summary(&report, options);

    Ok(report.findings.is_empty())
}

/// Checks the databases of a data folder. Returns whether they are intact.
fn check_folder(folder: &Path) -> Result<bool> {
    if !folder.is_dir() {
        bail!("there is no such folder; name one with --data");
    }
    if let Err(error) = try_access(folder) {
        bail!("cannot write to it ({})", error.kind());
    }

    let faults = embedded::check_databases(folder)?;
    for (file, fault) in &faults {
        print_line!("{file}: {fault}; restore it from a backup");
    }
    if !faults.is_empty() {
        print_line!(
            "The databases are damaged, so nothing else was checked and nothing was changed."
        );
    }
    Ok(faults.is_empty())
}

/// Checks that this process may change the folder and its databases. Without that, SQLite takes sound databases for
/// damaged ones.
fn try_access(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "sqlite") {
            OpenOptions::new().read(true).write(true).open(path)?;
        }
    }

    let probe = folder.join(format!(".check-{}", std::process::id()));
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)?;
    fs::remove_file(probe)
}

/// Returns the stack or the data folder, as messages name it.
fn name_of(place: &Place) -> String {
    match &place.stack.stack {
        Some(stack) => format!("the stack {stack}"),
        None => place.data.data.display().to_string(),
    }
}

fn print_summary(report: &CheckReport, options: &Check) {
    let CheckReport {
        organizations,
        containers,
        documents,
        blobs,
        findings,
    } = report;

    print_line!(
        "Checked {} and {} in {} of {}: {}.",
        count(*documents, "document"),
        count(*blobs, "blob"),
        count(*containers, "container"),
        count(*organizations, "organization"),
        count(findings.len(), "finding")
    );

    if findings.is_empty() {
        return;
    }

    if !options.repair {
        print_line!(
            "Repair what can be:  recollect check --repair{}",
            place_arguments(&options.place)
        );
        return;
    }

    let repaired = findings
        .iter()
        .filter(|finding| finding.repair.is_some())
        .count();
    let worker = match &options.place.stack.stack {
        Some(_) => "the functions of the stack do the rest",
        None => "a running server or `recollect work` does the rest",
    };
    print_line!("{repaired} of them were repaired or are queued; {worker}.");
}
