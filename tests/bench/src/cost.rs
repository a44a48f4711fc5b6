//! Request units of each operation on documents of 2 KB.

use anyhow::Result;
use embedded::Count;
use serde_json::{Value, json};

use crate::rig::Rig;
use crate::text::Writer;

/// The number of documents over which each figure is averaged.
const DOCUMENTS: usize = 200;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run() -> Result<()> {
    let mut rig = Rig::new().await?;
    let mut writer = Writer::new(1);
    rig.add("cost", &writer.text(2048)).await?;
    println!(
        "{:<22} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>9}",
        "operation", "requests", "RRU", "WRU", "S3put", "S3get", "SQS", "$/million"
    );
    let texts: Vec<String> = (0..DOCUMENTS).map(|_| writer.text(2048)).collect();
    ingest(&mut rig, "cost", &texts, ["accept", "process to done"]).await?;
    let notes: Vec<String> = (0..DOCUMENTS).map(|_| writer.note(2048)).collect();
    ingest(
        &mut rig,
        "notes",
        &notes,
        ["accept notes", "process, memories"],
    )
    .await?;

    let search = json!({"q": "lamer torsil vennomi", "containerTag": "cost", "searchMode": "hybrid", "threshold": 0});
    rig.post("/v4/search", &search).await?;
    measure(&rig, "search, warm", "POST", "/v4/search", &search).await?;
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
        measure(&rig, name, "POST", path, &body).await?;
    }

    measure(
        &rig,
        "list, page of 20",
        "POST",
        "/v3/documents/list",
        &json!({"containerTags": ["cost"], "limit": 20}),
    )
    .await
}

async fn ingest(rig: &mut Rig, tag: &str, texts: &[String], names: [&str; 2]) -> Result<()> {
    rig.meter.start();
    for text in texts {
        rig.add(tag, text).await?;
    }

    show(names[0], rig.meter.take(), texts.len());
    rig.meter.start();
    rig.work().await?;
    rig.wait_all().await?;
    let mut processed = rig.meter.take();
    rig.rest().await;
    // The benchmark itself polls for unfinished work, one read of eight small indexes each time.
    // The product does not do that.
    processed.requests = 0;
    show(names[1], processed, texts.len());

    Ok(())
}

async fn measure(rig: &Rig, name: &str, method: &str, path: &str, body: &Value) -> Result<()> {
    rig.meter.start();
    for _ in 0..DOCUMENTS {
        rig.call(method, path, body).await?;
    }
    show(name, rig.meter.take(), DOCUMENTS);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn show(name: &str, count: Count, times: usize) {
    let n = times as f64;
    println!(
        "{name:<22} {:>8.1} {:>7.2} {:>7.2} {:>6.2} {:>6.2} {:>6.2} {:>9.2}",
        count.requests as f64 / n,
        count.reads / n,
        count.writes / n,
        count.s3_puts as f64 / n,
        count.s3_gets as f64 / n,
        count.sqs as f64 / n,
        count.dollars_per_million() / n,
    );
}
