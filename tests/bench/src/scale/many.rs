//! Searches of many small containers, each of which is searched once, so that the function has not
//! read it before.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use embedded::RequestCounts;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde_json::json;

use super::{CHUNK_CHARS, COMPLETE, SENDERS, create_key, read_first};
use crate::rig::{BenchSystem, percentiles, resident_megabytes};
use crate::text::TextGenerator;

/// The length of a document in characters: two chunks.
const DOCUMENT_CHARS: usize = 2 * CHUNK_CHARS;
/// The number of searches of which the requests are counted, which takes time.
const COUNTED: usize = 100;

/// Fills the containers if they do not exist yet, and measures their searches in a process of their
/// own.
pub(crate) async fn run(folder: &Path, containers: usize, chunks: usize) -> Result<()> {
    let folder = folder.join(format!("{containers}-containers-of-{chunks}-chunks"));
    if !folder.join(COMPLETE).exists() {
        fill_containers(&folder, containers, chunks).await?;
    }
    let status = Command::new(std::env::current_exe()?)
        .args(["many-function", "--containers", &containers.to_string()])
        .arg(&folder)
        .status()?;
    ensure!(status.success(), "the measurement failed");
    Ok(())
}

fn tag(container: usize) -> String {
    format!("user-{container}")
}

/// Adds one document after another to each container.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn fill_containers(folder: &Path, containers: usize, chunks: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let begun = Instant::now();
    let mut rig = BenchSystem::in_folder(folder).await?;
    rig.start_workers().await?;

    let documents = (chunks * CHUNK_CHARS).div_ceil(DOCUMENT_CHARS);
    let style = ProgressStyle::with_template("  filling [{bar:30}] {pos}/{len} documents {eta}")?;
    let bar = ProgressBar::new((containers * documents) as u64).with_style(style);
    let mut writer = TextGenerator::new(7);
    for _ in 0..documents {
        for first in (0..containers).step_by(SENDERS) {
            let added: Vec<(String, String)> = (first..containers.min(first + SENDERS))
                .map(|container| (tag(container), writer.generate_mixed_text(DOCUMENT_CHARS)))
                .collect();
            let ids = try_join_all(added.iter().map(|(tag, text)| rig.add_text(tag, text))).await?;
            bar.inc(ids.len() as u64);
            if let Some(id) = ids.last() {
                rig.wait_until_done(id).await?;
            }
        }
    }
    bar.finish_and_clear();
    rig.wait_until_idle().await?;
    let tags: Vec<String> = (0..containers).map(tag).collect();
    read_first(&mut rig, &tags).await?;
    rig.stop_workers().await;

    let filled = json!({
        "containers": containers,
        "chunks": chunks,
        "documents": containers * documents,
        "seconds": begun.elapsed().as_secs(),
        "uncompactedRecords": rig.count_uncovered_records(&tag(0)).await?,
    });
    std::fs::write(folder.join(COMPLETE), filled.to_string())?;
    println!("filled: {filled}");
    Ok(())
}

/// Searches each container once, in random order, in this process, and prints a line for each mode of
/// search.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run_as_function(folder: &Path, containers: usize) -> Result<()> {
    println!(
        "{:<20} {:>9} {:>9} {:>6} {:>6} {:>8} {:>9} {:>10} {:>6}",
        "search", "p50", "p99", "chain", "calls", "RRU", "S3 gets", "$/million", "MB"
    );
    for mode in ["hybrid", "documents"] {
        let mut rig = BenchSystem::as_function(folder).await?;
        let key = create_key(&rig).await?;
        let resident = resident_megabytes();
        let mut random = StdRng::seed_from_u64(8);
        let mut order: Vec<usize> = (0..containers).collect();
        order.shuffle(&mut random);

        let mut times = Vec::with_capacity(containers);
        for &container in &order {
            times.push(search(&rig, &key, mode, container).await?);
        }
        let grown = resident_megabytes().saturating_sub(resident);
        let counted = count_requests(&mut rig, &key, mode, &order).await?;

        let (p50, p99, _) = percentiles(&mut times);
        let chain = counted.iter().map(|counts| counts.longest_chain).max();
        let mean = |value: fn(&RequestCounts) -> f64| {
            counted.iter().map(value).sum::<f64>() / counted.len() as f64
        };
        println!(
            "{mode:<20} {p50:>6.0} ms {p99:>6.0} ms {:>6} {:>6.1} {:>8.1} {:>9.1} {:>10.2} {grown:>6}",
            chain.unwrap_or_default(),
            mean(|counts| counts.requests as f64),
            mean(|counts| counts.read_units),
            mean(|counts| counts.s3_gets as f64),
            mean(RequestCounts::dollars_per_million),
        );
    }
    Ok(())
}

async fn search(rig: &BenchSystem, key: &str, mode: &str, container: usize) -> Result<Duration> {
    let question = TextGenerator::new(1_000 + container as u64).generate_question();
    let body = json!({
        "q": question, "containerTag": tag(container), "searchMode": mode, "threshold": 0,
    });
    let begun = Instant::now();
    rig.call_as(key, "POST", "/v4/search", &body).await?;
    Ok(begun.elapsed())
}

/// Returns the requests of each of some first searches.
async fn count_requests(
    rig: &mut BenchSystem,
    key: &str,
    mode: &str,
    order: &[usize],
) -> Result<Vec<RequestCounts>> {
    rig.become_cold()?;
    let mut counted = Vec::new();
    for &container in order.iter().take(COUNTED) {
        rig.meter.start_counting();
        search(rig, key, mode, container).await?;
        counted.push(rig.meter.take_counts());
    }
    Ok(counted)
}
