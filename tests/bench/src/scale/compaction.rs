//! Compactions of the containers, as the function `maintenance` sees them.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use container_index::{CompactionOutcome, CompactionSettings, compact_index, rewrite_index};
use domain::{ContainerTag, OrgId, Tenant};
use serde_json::{Value, json};

use super::TAG;
use crate::rig::{BenchSystem, peak_megabytes, reset_peak_memory};
use crate::text::TextGenerator;

/// The number of documents in a batch, and their length in characters. They are committed at once, as one
/// log record.
const BATCH: usize = 20;
const BATCH_DOCUMENT_CHARS: usize = 2_000;
/// The fewest log records that are compacted. From 4 on, workers do it.
const MIN_RECORDS: u64 = 2;

/// Adds some documents to a container and compacts them, and then writes the whole index anew. Prints one
/// line for each.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, max_merged_mb: Option<u64>) -> Result<()> {
    let mut settings = CompactionSettings::OVER_NETWORK;
    if let Some(megabytes) = max_merged_mb {
        settings.max_merged_bytes = megabytes * 1024 * 1024;
    }
    let added = add_documents(folder).await?;
    println!("compaction of {added} new documents");
    println!(
        "{:<28} {:>9} {:>5} {:>7} {:>11} {:>11} {:>5} {:>9}",
        "work", "time", "calls", "RRU", "S3 bytes", "written", "peak", "segments"
    );

    let rig = BenchSystem::as_function(folder).await?;
    for writes_anew in [false, true] {
        measure(&rig, settings, writes_anew).await?;
    }
    Ok(())
}

/// Adds documents until the log has some records. Returns the number of documents.
async fn add_documents(folder: &Path) -> Result<usize> {
    let mut rig = BenchSystem::in_folder(folder).await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(7);
    let mut added = 0;
    while rig.count_uncovered_records(TAG).await? < MIN_RECORDS {
        let texts = (0..BATCH)
            .map(|_| json!({"content": writer.generate_mixed_text(BATCH_DOCUMENT_CHARS)}));
        let batch = json!({"containerTag": TAG, "documents": texts.collect::<Vec<Value>>()});
        rig.post("/v3/documents/batch", &batch).await?;
        rig.wait_until_idle().await?;
        added += BATCH;
    }
    rig.stop_workers().await;
    Ok(added)
}

/// Compacts the container, or writes its index anew, and prints what that takes. The peak is what the
/// process has grown by at most.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure(rig: &BenchSystem, settings: CompactionSettings, writes_anew: bool) -> Result<()> {
    let ctx = &rig.system.ctx;
    let tenant = Tenant::for_operator(OrgId::parse("local")?);
    let tag = ContainerTag::parse(TAG)?;
    let container = service::find_existing_container(ctx, &tenant, &tag).await?;
    let id = container.primary_id();

    let resident = reset_peak_memory().context("the memory of a process is measured on Linux")?;
    rig.meter.start_counting();
    let begun = Instant::now();
    let name = if writes_anew {
        ensure!(rewrite_index(ctx, &tenant, id, settings).await? == CompactionOutcome::Done);
        "writing the index anew"
    } else {
        ensure!(compact_index(ctx, &tenant, id, None, settings).await? == CompactionOutcome::Done);
        "compaction of the log"
    };
    let seconds = begun.elapsed().as_secs_f64();
    let counts = rig.meter.take_counts();
    let grown = peak_megabytes().saturating_sub(resident);

    let segments = ctx.index.get_head(&tenant, id).await?.segments.len();
    println!(
        "{name:<28} {seconds:>7.1} s {:>5} {:>7.1} {:>11} {:>11} {grown:>5} {segments:>9}",
        counts.requests, counts.read_units, counts.s3_bytes, counts.s3_sent_bytes
    );
    Ok(())
}
