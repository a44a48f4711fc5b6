//! Request units of each operation on documents of 2 KB.

use anyhow::Result;
use embedded::RequestCounts;
use serde_json::{Value, json};

use crate::rig::BenchSystem;
use crate::text::TextGenerator;

/// The number of documents over which each figure is averaged.
const DOCUMENTS: usize = 200;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run() -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    let mut writer = TextGenerator::new(1);
    rig.add_text("cost", &writer.generate_text(2048)).await?;
    println!(
        "{:<22} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>9}",
        "operation", "requests", "RRU", "WRU", "S3put", "S3get", "SQS", "$/million"
    );
    let texts: Vec<String> = (0..DOCUMENTS).map(|_| writer.generate_text(2048)).collect();
    ingest_documents(&mut rig, "cost", &texts, ["accept", "process to done"]).await?;
    let notes: Vec<String> = (0..DOCUMENTS).map(|_| writer.generate_note(2048)).collect();
    ingest_documents(
        &mut rig,
        "notes",
        &notes,
        ["accept notes", "process, memories"],
    )
    .await?;

    let search = json!({"q": "lamer torsil vennomi", "containerTag": "cost", "searchMode": "hybrid", "threshold": 0});
    rig.post("/v4/search", &search).await?;
    measure_operations(&rig, "search, warm", "POST", "/v4/search", &search).await?;
    for (name, path, body) in [
        (
            "search memories, warm",
            "/v4/search",
            json!({"q": "deadline of the project", "containerTag": "notes"}),
        ),
        (
            "profile, warm",
            "/v4/profile",
            json!({"containerTag": "notes"}),
        ),
    ] {
        rig.post(path, &body).await?;
        measure_operations(&rig, name, "POST", path, &body).await?;
    }

    measure_operations(
        &rig,
        "list, page of 20",
        "POST",
        "/v3/documents/list",
        &json!({"containerTags": ["cost"], "limit": 20}),
    )
    .await
}

async fn ingest_documents(
    rig: &mut BenchSystem,
    tag: &str,
    texts: &[String],
    names: [&str; 2],
) -> Result<()> {
    rig.meter.start_counting();
    for text in texts {
        rig.add_text(tag, text).await?;
    }

    print_cost(names[0], rig.meter.take_counts(), texts.len());
    rig.meter.start_counting();
    rig.start_workers().await?;
    rig.wait_until_idle().await?;
    let mut processed = rig.meter.take_counts();
    rig.stop_workers().await;
    // The benchmark itself polls for unfinished work, one read of eight small indexes each time.
    // The product does not do that.
    processed.requests = 0;
    print_cost(names[1], processed, texts.len());

    Ok(())
}

async fn measure_operations(
    rig: &BenchSystem,
    name: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<()> {
    rig.meter.start_counting();
    for _ in 0..DOCUMENTS {
        rig.call(method, path, body).await?;
    }
    print_cost(name, rig.meter.take_counts(), DOCUMENTS);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_cost(name: &str, count: RequestCounts, times: usize) {
    let n = times as f64;
    println!(
        "{name:<22} {:>8.1} {:>7.2} {:>7.2} {:>6.2} {:>6.2} {:>6.2} {:>9.2}",
        count.requests as f64 / n,
        count.read_units / n,
        count.write_units / n,
        count.s3_puts as f64 / n,
        count.s3_gets as f64 / n,
        count.sqs as f64 / n,
        count.dollars_per_million() / n,
    );
}
