//! Cold and warm requests to containers of different sizes, as a Lambda function sees them: each
//! answer of a service takes as long as on AWS, and each cold request finds nothing warm.
//!
//! The containers are filled through the real pipeline once and kept in a folder. Each size is then
//! measured in a process of its own, so that its memory is its own.

pub(crate) mod compaction;
pub(crate) mod many;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use domain::key::{KeyKind, KeySpec, Permission};
use domain::{OrgId, Tenant};
use embedded::RequestCounts;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::plot::{Curve, CurvePoint, YScale, draw_plot};
use crate::rig::{BenchSystem, percentiles, resident_megabytes};
use crate::text::TextGenerator;

/// The container that is measured.
const TAG: &str = "scale";
/// The number of documents that are added at the same time while a container is filled.
const SENDERS: usize = 64;
/// The length of a document in characters. A default chunk has about 900.
const DOCUMENT_CHARS: usize = 9_000;
const CHUNK_CHARS: usize = 900;
/// The file that tells that a container is complete.
const COMPLETE: &str = "complete.json";
/// The file with the figures of the last measurement of a container.
const FIGURES: &str = "figures.json";
/// The operations that are drawn, with the names of their curves.
const DRAWN: [(&str, &str); 2] = [
    ("search hybrid", "hybrid search"),
    ("search documents", "search of documents"),
];

/// A request that is measured.
struct Operation {
    name: &'static str,
    method: &'static str,
    path: String,
    /// Returns the body of the n-th request.
    body: Box<dyn Fn(usize) -> Value>,
}

/// Fills the containers that do not exist yet, and prints a table for each size. Also draws the cold
/// searches into the file `plot`, if there is one.
pub(crate) async fn run(
    folder: &Path,
    sizes: &[usize],
    requests: usize,
    plot: Option<&Path>,
) -> Result<()> {
    let arguments = ["scale-function", "--requests", &requests.to_string()];
    for &chunks in sizes {
        measure_container(folder, chunks, &arguments).await?;
    }

    if let Some(plot) = plot {
        std::fs::write(plot, draw_searches(folder, sizes)?)?;
    }
    Ok(())
}

/// Fills the containers that do not exist yet, and prints what compactions of each size take.
pub(crate) async fn run_compactions(
    folder: &Path,
    sizes: &[usize],
    max_merged_mb: Option<u64>,
) -> Result<()> {
    let limit = max_merged_mb.map(|megabytes| format!("--max-merged-mb={megabytes}"));
    let arguments: Vec<&str> = std::iter::once("scale-compaction")
        .chain(limit.as_deref())
        .collect();
    for &chunks in sizes {
        measure_container(folder, chunks, &arguments).await?;
    }
    Ok(())
}

/// Fills a container if it does not exist yet, and runs this program with these arguments for it.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_container(folder: &Path, chunks: usize, arguments: &[&str]) -> Result<()> {
    let container = container_folder(folder, chunks);
    if !container.join(COMPLETE).exists() {
        fill_container(&container, chunks).await?;
    }
    println!("\n{chunks} chunks");
    let status = Command::new(std::env::current_exe()?)
        .args(arguments)
        .arg(&container)
        .status()?;
    ensure!(
        status.success(),
        "the measurement of {chunks} chunks failed"
    );
    Ok(())
}

fn container_folder(folder: &Path, chunks: usize) -> PathBuf {
    folder.join(format!("{chunks}-chunks"))
}

/// Draws the median times of cold searches over the number of chunks as SVG.
fn draw_searches(folder: &Path, sizes: &[usize]) -> Result<String> {
    let mut curves = DRAWN.map(|(_, name)| Curve {
        name,
        points: Vec::new(),
    });
    for &chunks in sizes {
        let file = container_folder(folder, chunks).join(FIGURES);
        let figures: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        for ((operation, _), curve) in DRAWN.iter().zip(&mut curves) {
            let millis = figures[operation].as_f64().context("no such figure")?;
            curve.points.push(CurvePoint {
                x: chunks as f64,
                y: millis,
                label: format!("{millis:.0}"),
            });
        }
    }

    let description = "Median time of a search in a process that has nothing in memory, over the \
                       number of chunks of the container, with the response times of AWS. A number \
                       at a point is the time in milliseconds.";
    let axis_names = ["chunks", "milliseconds"];
    Ok(draw_plot(
        &curves,
        YScale::Logarithmic,
        axis_names,
        description,
    ))
}

/// Fills a container with documents that have three memories in two chunks.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn fill_container(folder: &Path, chunks: usize) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let begun = Instant::now();
    let mut rig = BenchSystem::in_folder(folder).await?;
    rig.start_workers().await?;

    let documents = (chunks * CHUNK_CHARS).div_ceil(DOCUMENT_CHARS);
    let style = ProgressStyle::with_template("  filling [{bar:30}] {pos}/{len} documents {eta}")?;
    let bar = ProgressBar::new(documents as u64).with_style(style);
    let mut writer = TextGenerator::new(6);
    let mut sent = 0;
    // The documents a second of each tenth of the filling, or of each batch if those are fewer.
    let mut rates: Vec<u64> = Vec::new();
    let mut tenth_begun = (Instant::now(), 0);
    while sent < documents {
        let texts: Vec<String> = (sent..documents.min(sent + SENDERS))
            .map(|_| writer.generate_mixed_text(DOCUMENT_CHARS))
            .collect();
        let ids = try_join_all(texts.iter().map(|text| rig.add_text(TAG, text))).await?;
        sent += ids.len();
        bar.inc(ids.len() as u64);
        if let Some(id) = ids.last() {
            rig.wait_until_done(id).await?;
        }
        if sent * 10 >= documents * (rates.len() + 1) {
            let (begun, sent_before) = tenth_begun;
            let rate = (sent - sent_before) as f64 / begun.elapsed().as_secs_f64();
            rates.push(rate.round() as u64);
            tenth_begun = (Instant::now(), sent);
        }
    }
    bar.finish_and_clear();
    rig.wait_until_idle().await?;
    read_first(&mut rig, &[TAG.to_owned()]).await?;
    rig.stop_workers().await;

    let list = json!({"containerTags": [TAG], "limit": 1});
    let memories = rig.post("/v4/memories/list", &list).await?;
    let filled = json!({
        "chunks": chunks,
        "documents": documents,
        "memories": memories["pagination"]["totalItems"],
        "seconds": begun.elapsed().as_secs(),
        "documentsPerSecond": rates,
        "uncompactedRecords": rig.count_uncovered_records(TAG).await?,
        "residentMb": resident_megabytes(),
    });
    std::fs::write(folder.join(COMPLETE), filled.to_string())?;
    println!("filled: {filled}");
    Ok(())
}

/// Searches containers as their first readers do, and waits for the compactions that these request.
async fn read_first(rig: &mut BenchSystem, tags: &[String]) -> Result<()> {
    rig.become_cold()?;
    for tag in tags {
        let question = json!({"q": "harbour", "containerTag": tag});
        rig.post("/v4/search", &question).await?;
    }
    for tag in tags {
        wait_until_compacted(rig, tag).await?;
    }
    Ok(())
}

/// Waits until compaction has caught up with the log of a container, or has done nothing for a while.
async fn wait_until_compacted(rig: &BenchSystem, tag: &str) -> Result<()> {
    /// A reader of so many records or more requests a compaction.
    const LONG_LOG: u64 = 16;
    /// Longer than a minute, for which the compaction of a read log waits.
    const PATIENCE: Duration = Duration::from_secs(90);
    let (mut left, mut changed) = (rig.count_uncovered_records(tag).await?, Instant::now());
    while left >= LONG_LOG && changed.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let left_now = rig.count_uncovered_records(tag).await?;
        if left_now != left {
            (left, changed) = (left_now, Instant::now());
        }
    }
    Ok(())
}

/// Measures the requests to a filled container in this process, and prints one line for each. The
/// median times of the cold requests are also written into the folder.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run_as_function(folder: &Path, requests: usize) -> Result<()> {
    let mut rig = BenchSystem::as_function(folder).await?;
    let key = create_key(&rig).await?;
    let resident = resident_megabytes();

    let list = json!({"containerTags": [TAG], "limit": 10});
    let listed = rig
        .call_as(&key, "POST", "/v3/documents/list", &list)
        .await?;
    let document = listed["memories"][0]["id"]
        .as_str()
        .context("no document")?;
    let operations = operations(document);

    println!(
        "{:<28} {:>9} {:>9} {:>9} {:>5} {:>5} {:>7} {:>9} {:>7}",
        "request", "cold p50", "cold p99", "warm p50", "chain", "calls", "RRU", "S3 bytes", "MB"
    );
    let mut figures = serde_json::Map::new();
    for operation in &operations {
        let mut cold = Vec::new();
        for number in 0..requests {
            rig.become_cold()?;
            cold.push(measure(&rig, &key, operation, number).await?);
        }
        let mut warm = Vec::new();
        for number in 0..requests * 5 {
            warm.push(measure(&rig, &key, operation, number).await?);
        }
        let grown = resident_megabytes().saturating_sub(resident);

        rig.become_cold()?;
        rig.meter.start_counting();
        measure(&rig, &key, operation, 0).await?;
        let counts = rig.meter.take_counts();
        let (cold, warm) = (percentiles(&mut cold), percentiles(&mut warm));
        figures.insert(operation.name.to_owned(), json!(cold.0));
        print_figures(operation, cold, warm, counts, grown);
    }

    std::fs::write(folder.join(FIGURES), Value::Object(figures).to_string())?;
    Ok(())
}

/// Returns the operations whose cost must not grow with the container.
fn operations(document: &str) -> Vec<Operation> {
    let question = |number: usize| TextGenerator::new(1_000 + number as u64).generate_question();
    let search = move |mode: &'static str| move |number| json!({"q": question(number), "containerTag": TAG, "searchMode": mode, "threshold": 0});
    let fixed = |body: Value| move |_| body.clone();

    let list = json!({"containerTags": [TAG], "limit": 10});
    let last_page = json!({"containerTags": [TAG], "limit": 10, "page": 1_000});
    let below = json!({"containerTags": [TAG], "limit": 10, "filepath": "/nowhere/"});
    let profile = json!({"containerTag": TAG});
    let operation = |name, method, path: &str, body: Box<dyn Fn(usize) -> Value>| Operation {
        name,
        method,
        path: path.to_owned(),
        body,
    };
    vec![
        operation(
            "search documents",
            "POST",
            "/v4/search",
            Box::new(search("documents")),
        ),
        operation(
            "search memories",
            "POST",
            "/v4/search",
            Box::new(search("memories")),
        ),
        operation(
            "search hybrid",
            "POST",
            "/v4/search",
            Box::new(search("hybrid")),
        ),
        operation("profile", "POST", "/v4/profile", Box::new(fixed(profile))),
        operation(
            "get document",
            "GET",
            &format!("/v3/documents/{document}"),
            Box::new(fixed(Value::Null)),
        ),
        operation(
            "list, page 1",
            "POST",
            "/v3/documents/list",
            Box::new(fixed(list.clone())),
        ),
        operation(
            "list, page 1000",
            "POST",
            "/v3/documents/list",
            Box::new(fixed(last_page.clone())),
        ),
        operation(
            "list below a path",
            "POST",
            "/v3/documents/list",
            Box::new(fixed(below)),
        ),
        operation(
            "list memories, page 1",
            "POST",
            "/v4/memories/list",
            Box::new(fixed(list)),
        ),
        operation(
            "list memories, page 1000",
            "POST",
            "/v4/memories/list",
            Box::new(fixed(last_page)),
        ),
        operation(
            "processing",
            "GET",
            "/v3/documents/processing",
            Box::new(fixed(Value::Null)),
        ),
        operation(
            "container tags",
            "GET",
            "/v3/container-tags/list",
            Box::new(fixed(Value::Null)),
        ),
    ]
}

async fn measure(
    rig: &BenchSystem,
    key: &str,
    operation: &Operation,
    number: usize,
) -> Result<Duration> {
    let body = (operation.body)(number);
    let begun = Instant::now();
    rig.call_as(key, operation.method, &operation.path, &body)
        .await?;
    Ok(begun.elapsed())
}

/// Creates a key as clients have it, which is looked up in the table.
async fn create_key(rig: &BenchSystem) -> Result<String> {
    let tenant = Tenant::for_operator(OrgId::parse("local")?);
    let spec = KeySpec {
        name: "bench".to_owned(),
        kind: KeyKind::Full,
        permission: Permission::Write,
        tags: None,
        expires_at: None,
        rate_limit: None,
    };
    let key = service::create_key(&rig.system.ctx, &tenant, spec).await?;
    Ok(key.key_text)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_figures(
    operation: &Operation,
    (cold_p50, cold_p99, _): (f64, f64, f64),
    (warm_p50, ..): (f64, f64, f64),
    counts: RequestCounts,
    grown: u64,
) {
    println!(
        "{:<28} {cold_p50:>6.0} ms {cold_p99:>6.0} ms {warm_p50:>6.1} ms {:>5} {:>5} {:>7.1} {:>9} {grown:>7}",
        operation.name, counts.longest_chain, counts.requests, counts.read_units, counts.s3_bytes,
    );
}
