//! Latency, rates and memory.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::rig::{BenchSystem, percentiles, resident_megabytes};
use crate::text::TextGenerator;

const ACCEPTS: usize = 1000;
const RATE_DOCUMENTS: usize = 2000;
const SINGLES: usize = 100;
const SEARCHES: usize = 500;
/// The number of concurrent senders when the rate is measured.
const SENDERS: usize = 8;
/// The length of a synthetic document in characters. It yields one default chunk for about every
/// 900 characters.
const BULK_CHARS: usize = 45_000;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(sizes: &[usize]) -> Result<()> {
    println!("resident before anything: {} MB", resident_megabytes());
    measure_accept().await?;
    measure_time_to_searchable().await?;
    measure_rate(TextGenerator::generate_text, "2 KB").await?;
    measure_rate(TextGenerator::generate_note, "2 KB of statements").await?;
    measure_memories().await?;
    for &size in sizes {
        measure_search(size).await?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_accept() -> Result<()> {
    let rig = BenchSystem::new().await?;
    let mut writer = TextGenerator::new(1);
    rig.add_text("warm", "warm up").await?;
    let mut times = Vec::new();
    for _ in 0..ACCEPTS {
        let text = writer.generate_text(2048);
        let begun = Instant::now();
        rig.add_text("accept", &text).await?;
        times.push(begun.elapsed());
    }

    let (p50, p99, max) = percentiles(&mut times);
    println!(
        "accept 2 KB ({ACCEPTS} times): p50 {p50:.2} ms, p99 {p99:.2} ms, max {max:.1} ms   (goal 5 / 25)"
    );

    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_time_to_searchable() -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(2);
    let mut times = Vec::new();
    for number in 0..SINGLES {
        let text = format!("{} needle{number}x", writer.generate_text(2048));
        let begun = Instant::now();
        let id = rig.add_text("single", &text).await?;
        rig.wait_until_done(&id).await?;
        let body = json!({"q": format!("needle{number}x"), "containerTag": "single", "searchMode": "documents"});
        let found = rig.post("/v4/search", &body).await?;
        anyhow::ensure!(
            found["results"][0]["id"]
                .as_str()
                .is_some_and(|hit| hit.starts_with(&id)),
            "{found}"
        );
        times.push(begun.elapsed());
    }

    let (p50, p99, max) = percentiles(&mut times);
    println!(
        "accept to found by search ({SINGLES} times): p50 {p50:.1} ms, p99 {p99:.1} ms, max {max:.1} ms   (goal p50 250)"
    );
    rig.stop_workers().await;

    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_rate(write: fn(&mut TextGenerator, usize) -> String, what: &str) -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(3);
    let texts: Vec<String> = (0..RATE_DOCUMENTS)
        .map(|_| write(&mut writer, 2048))
        .collect();
    let begun = Instant::now();
    for batch in texts.chunks(SENDERS) {
        try_join_all(batch.iter().map(|text| rig.add_text("rate", text))).await?;
    }

    let accepted = begun.elapsed();
    rig.wait_until_idle().await?;
    let rate = RATE_DOCUMENTS as f64 / begun.elapsed().as_secs_f64();
    let accepts = RATE_DOCUMENTS as f64 / accepted.as_secs_f64();
    println!(
        "ingest to done, {RATE_DOCUMENTS} x {what} in one container: {rate:.0} documents/s   (goal 150; accepted at {accepts:.0}/s meanwhile)"
    );
    rig.stop_workers().await;

    Ok(())
}

/// Measures the profile, search and list of containers with few and with many memories.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_memories() -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(5);
    for (tag, documents) in [("some", 40), ("many", 400)] {
        let texts: Vec<String> = (0..documents).map(|_| writer.generate_note(2048)).collect();
        for batch in texts.chunks(SENDERS) {
            try_join_all(batch.iter().map(|text| rig.add_text(tag, text))).await?;
        }
        rig.wait_until_idle().await?;
        let list = json!({"containerTags": [tag], "limit": 10});
        let listed = rig.post("/v4/memories/list", &list).await?;
        let question = json!({"q": "deadline of the project", "containerTag": tag});
        for (name, path, body) in [
            ("profile", "/v4/profile", json!({"containerTag": tag})),
            ("search memories", "/v4/search", question),
            ("list memories", "/v4/memories/list", list),
        ] {
            let mut times = Vec::new();
            for _ in 0..=SEARCHES {
                let begun = Instant::now();
                rig.post(path, &body).await?;
                times.push(begun.elapsed());
            }
            let first = times.remove(0).as_secs_f64() * 1000.0;
            let (p50, p99, _) = percentiles(&mut times);
            let total = &listed["pagination"]["totalItems"];
            println!(
                "{name}, {total} memories: p50 {p50:.2} ms, p99 {p99:.2} ms; first {first:.0} ms"
            );
        }
    }

    rig.stop_workers().await;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
async fn measure_search(chunks: usize) -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(4);
    let style = ProgressStyle::with_template("  filling [{bar:30}] {pos}/{len} documents {eta}")?;
    let begun = Instant::now();
    let mut have = 0;
    let bar = ProgressBar::new((chunks / 50).max(1) as u64).with_style(style);
    while have < chunks {
        let texts: Vec<String> = (0..SENDERS)
            .map(|_| writer.generate_text(BULK_CHARS.min((chunks - have) * 900)))
            .collect();
        let ids = try_join_all(texts.iter().map(|text| rig.add_text("big", text))).await?;
        for id in &ids {
            rig.wait_until_done(id).await?;
            let found = rig
                .call(
                    "GET",
                    &format!("/v3/documents/{id}/chunks"),
                    &serde_json::Value::Null,
                )
                .await?;
            have += usize::try_from(found["total"].as_u64().unwrap_or_default())?;
        }
        bar.inc(SENDERS as u64);
    }

    bar.finish_and_clear();
    rig.wait_until_idle().await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let filled = begun.elapsed();
    let ask =
        |q: String| json!({"q": q, "containerTag": "big", "searchMode": "hybrid", "threshold": 0});
    let cold = Instant::now();
    rig.post("/v4/search", &ask(writer.generate_question()))
        .await?;
    let cold = cold.elapsed();
    let mut times = Vec::new();
    for _ in 0..SEARCHES {
        let body = ask(writer.generate_question());
        let begun = Instant::now();
        rig.post("/v4/search", &body).await?;
        times.push(begun.elapsed());
    }

    let (p50, p99, max) = percentiles(&mut times);
    println!(
        "search {have} chunks: p50 {p50:.2} ms, p99 {p99:.2} ms, max {max:.1} ms; first {:.0} ms; filled in {:.0} s; resident {} MB",
        cold.as_secs_f64() * 1000.0,
        filled.as_secs_f64(),
        resident_megabytes()
    );
    rig.stop_workers().await;

    Ok(())
}
