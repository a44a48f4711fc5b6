//! The rate at which full batches are processed, each with as many documents as the interface
//! allows.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::rig::BenchSystem;
use crate::text::TextGenerator;

const DOCUMENTS: usize = 600;
const TIMES: usize = 5;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run() -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(6);
    println!(
        "{:>5} {:>12} {:>9} {:>12}",
        "batch", "accepted ms", "done ms", "documents/s"
    );
    let mut rates = Vec::new();
    for number in 1..=TIMES {
        let documents: Vec<Value> = (0..DOCUMENTS)
            .map(|_| writer.generate_text(2048).into())
            .collect();
        let body = json!({"documents": documents, "containerTag": format!("batch{number}")});
        let begun = Instant::now();
        let answer = rig.post("/v3/documents/batch", &body).await?;
        let accepted = begun.elapsed();
        ensure!(
            answer["success"] == DOCUMENTS,
            "only {} were accepted",
            answer["success"]
        );
        for result in answer["results"].as_array().into_iter().flatten() {
            rig.wait_until_done(result["id"].as_str().unwrap_or_default())
                .await?;
        }
        let done = begun.elapsed();
        let rate = DOCUMENTS as f64 / done.as_secs_f64();
        rates.push(rate);
        let (accepted, done) = (accepted.as_secs_f64() * 1000.0, done.as_secs_f64() * 1000.0);
        println!("{number:>5} {accepted:>12.0} {done:>9.0} {rate:>12.0}");
    }

    rates.sort_by(f64::total_cmp);
    println!(
        "a batch of {DOCUMENTS} x 2 KB to done: {:.0} documents/s (median of {TIMES})",
        rates[TIMES / 2]
    );
    rig.stop_workers().await;

    Ok(())
}
