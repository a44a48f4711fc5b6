//! Request units of each operation on 2 KB documents.

use anyhow::Result;
use serde_json::{Value, json};

use crate::meter::Count;
use crate::rig::Rig;
use crate::text::Writer;

/// Documents that each figure is the mean of.
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
    rig.meter.start();
    for _ in 0..DOCUMENTS {
        rig.add("cost", &writer.text(2048)).await?;
    }
    show("accept", rig.meter.take(), DOCUMENTS);

    rig.meter.start();
    rig.work().await?;
    rig.wait_all().await?;
    let mut processed = rig.meter.take();
    rig.rest().await;
    // The bench itself asked whether work is left, one read of eight small indexes each time; that is not the product.
    processed.requests = 0;
    show("process to done", processed, DOCUMENTS);

    let search =
        json!({"q": "lamer torsil vennomi", "containerTag": "cost", "searchMode": "hybrid", "threshold": 0});
    rig.post("/v4/search", &search).await?;
    measure(&rig, "search, warm", "POST", "/v4/search", &search).await?;
    measure(
        &rig,
        "list, page of 20",
        "POST",
        "/v3/documents/list",
        &json!({"containerTags": ["cost"], "limit": 20}),
    )
    .await
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
