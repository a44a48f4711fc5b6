//! The cost of a small change to a long document: the embeddings that are computed again, and the
//! time.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::rig::{BenchSystem, percentiles};
use crate::text::TextGenerator;

const PARAGRAPHS: usize = 100;
/// The length of a paragraph, about one chunk.
const PARAGRAPH_CHARS: usize = 880;
const CHANGED: usize = 50;
const TIMES: usize = 10;

static CHUNKS: AtomicU64 = AtomicU64::new(0);
static EMBEDDED: AtomicU64 = AtomicU64::new(0);

/// A counter of the chunks of the last document, and of those that the processor embedded, taken
/// from its log.
pub(crate) struct EmbeddingCounter;

impl<S: Subscriber> Layer<S> for EmbeddingCounter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Fields);
    }
}

struct Fields;

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "chunks" => CHUNKS.store(value, SeqCst),
            "embedded" => EMBEDDED.store(value, SeqCst),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run() -> Result<()> {
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let mut writer = TextGenerator::new(7);
    ingest_document(&rig, "warm", &[writer.generate_text(PARAGRAPH_CHARS)]).await?;
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for number in 0..TIMES {
        let name = format!("long{number}");
        let mut paragraphs: Vec<String> = (0..PARAGRAPHS)
            .map(|_| writer.generate_text(PARAGRAPH_CHARS))
            .collect();
        firsts.push(ingest_document(&rig, &name, &paragraphs).await?);
        let (chunks, all) = (CHUNKS.load(SeqCst), EMBEDDED.load(SeqCst));
        paragraphs[CHANGED] = writer.generate_text(PARAGRAPH_CHARS);
        seconds.push(ingest_document(&rig, &name, &paragraphs).await?);
        let (after, new) = (CHUNKS.load(SeqCst), EMBEDDED.load(SeqCst));
        println!(
            "{name}: {chunks} chunks, {all} embedded; one paragraph changed: {after} chunks, {new} embedded"
        );
    }

    let (first, _, _) = percentiles(&mut firsts);
    let (second, _, _) = percentiles(&mut seconds);
    println!(
        "to done, median of {TIMES}: {first:.1} ms first, {second:.1} ms again with one changed paragraph of {PARAGRAPHS}"
    );
    rig.stop_workers().await;

    Ok(())
}

/// Adds a document under its own name, or replaces it, and returns the time until it is done.
async fn ingest_document(rig: &BenchSystem, name: &str, paragraphs: &[String]) -> Result<Duration> {
    let content = paragraphs.join("\n\n");
    let begun = Instant::now();
    let body = json!({"content": content, "customId": name, "containerTag": "reuse"});
    let answer: Value = rig.post("/v3/documents", &body).await?;
    rig.wait_until_done(answer["id"].as_str().unwrap_or_default())
        .await?;
    Ok(begun.elapsed())
}
