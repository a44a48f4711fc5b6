//! `recollect backup` and `recollect restore`: everything of all organizations.

use std::process::ExitCode;

use anyhow::Result;

use super::place::{open_existing_place, open_place};
use super::progress::progress_bar;
use crate::arguments::Backup;
use crate::counts::{count, count_past};
use crate::transfer::{BackupManifest, restore_backup, write_backup};

/// The exit code if something is missing.
const EXIT_INCOMPLETE: u8 = 3;

pub(super) async fn run_backup(options: Backup) -> Result<ExitCode> {
    let ctx = open_existing_place(&options.place).await?;
    let bar = progress_bar("Saving {msg} [{bar:24}] {pos}/{len} documents", 0)?;
    let manifest = write_backup(&ctx, &options.folder, &bar).await;
    bar.finish_and_clear();
    let manifest = manifest?;
    print_line!(
        "Saved {} in {}.",
        describe(&manifest),
        options.folder.display()
    );

    let mut is_complete = true;
    for container in &manifest.containers {
        for id in &container.damaged {
            is_complete = false;
            print_line!(
                "{} {}: document {id} cannot be read; it is left out",
                container.org,
                container.container_tag
            );
        }
    }
    Ok(exit_code(is_complete))
}

pub(super) async fn run_restore(options: Backup) -> Result<ExitCode> {
    // Without a backup, no data folder is made.
    BackupManifest::read(&options.folder)?;
    let ctx = open_place(&options.place).await?;
    let bar = progress_bar("Restoring {msg} [{bar:24}] {percent}%", 0)?;
    let restored = restore_backup(&ctx, &options.folder, &bar).await;
    bar.finish_and_clear();
    let report = restored?;
    print_line!(
        "Restored {} of {}.",
        describe(&report.manifest),
        report.manifest.created_at
    );
    if report.reprocessed > 0 {
        print_line!(
            "{} not done in the backup. Those that are new here are processed again.",
            count_past(report.reprocessed)
        );
    }
    if report.without_content > 0 {
        print_line!(
            "{} left out, because the files had not arrived.",
            count_past(report.without_content)
        );
    }
    for difference in &report.differences {
        print_line!("Not as in the backup: {difference}");
    }
    if report.differences.is_empty() {
        print_line!("Verified: every container is as it was.");
    }
    Ok(exit_code(report.differences.is_empty()))
}

fn describe(manifest: &BackupManifest) -> String {
    format!(
        "{} and {} of {}",
        count(manifest.documents(), "document"),
        count(manifest.memories(), "memory"),
        count(manifest.containers.len(), "container")
    )
}

fn exit_code(is_complete: bool) -> ExitCode {
    match is_complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(EXIT_INCOMPLETE),
    }
}
