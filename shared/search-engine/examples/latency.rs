//! Measures latency, memory and build rate on synthetic chunks: `cargo run --release -p
//! search-engine --example latency -- [sizes…]`.
//!
//! Words are drawn from the embedder's vocabulary by Zipf's law, with a few topical words per
//! document. A question takes words of one chunk and some of its own. Times are wall time of a
//! single thread.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

#[path = "support/pages.rs"]
mod pages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use search_engine::{
    ChunkInput, ContainerIndex, Document, Embedder, RankingConfig, Replacing, SearchQuery, Segment,
    StaticEmbedder, search_containers,
};

const CHUNKS_PER_DOCUMENT: usize = 10;
const WORDS_PER_CHUNK: usize = 60;
const QUESTIONS: usize = 300;

/// A generator of reproducible numbers (xorshift).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize % bound
    }

    /// Returns a rank with a probability of about 1 / (rank + 3).
    fn zipf(&mut self, bound: usize) -> usize {
        let high = (bound as f64 + 3.0).ln();
        let low = 3f64.ln();
        ((low + self.unit() * (high - low)).exp() - 3.0) as usize % bound
    }
}

fn words() -> Vec<&'static str> {
    let all = include_str!("../model/vocab.txt").lines();
    all.filter(|word| word.len() > 1 && word.bytes().all(|b| b.is_ascii_lowercase()))
        .collect()
}

fn chunk(numbers: &mut RandomNumbers, words: &[&str], topic: &[usize]) -> String {
    let mut text = String::new();
    for _ in 0..WORDS_PER_CHUNK {
        let word = if numbers.below(4) == 0 {
            words[topic[numbers.below(topic.len())]].to_owned()
        } else if numbers.below(40) == 0 {
            format!("ORD-{}", numbers.below(1_000_000)) // The long tail of names and numbers.
        } else {
            words[numbers.zipf(words.len())].to_owned()
        };
        text.push_str(&word);
        text.push(' ');
    }

    text
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    StaticEmbedder.embed("first use");
    println!("first use of the embedder: {:?}", started.elapsed());
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .map(|size| size.parse())
        .collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() {
        vec![1_000, 10_000, 100_000, 1_000_000]
    } else {
        sizes
    };

    measure_tail_writes();
    for size in sizes {
        measure_size(size)?;
    }

    Ok(())
}

/// Measures a write while a reader holds a snapshot of a tail of a thousand chunks.
fn measure_tail_writes() {
    let (mut numbers, words) = (RandomNumbers(7), words());
    let mut index = ContainerIndex::new();
    let mut times = Vec::new();
    for number in 0..1_000 {
        let topic: Vec<usize> = (0..12).map(|_| numbers.below(words.len())).collect();
        let text = chunk(&mut numbers, &words, &topic);
        let chunk = ChunkInput {
            vector: StaticEmbedder.embed(&text),
            text,
            ..ChunkInput::default()
        };
        let document = Document {
            id: format!("tail-{number}"),
            chunks: vec![chunk],
            ..Document::default()
        };
        let snapshot = index.clone();
        let started = Instant::now();
        index.upsert_document(document);
        times.push(started.elapsed());
        drop(snapshot);
    }

    times[900..].sort();
    println!(
        "upsert beside a snapshot, tail of 900 to 1000 chunks: p50 {:?} p99 {:?}",
        times[950], times[998]
    );
}

/// Returns an index with `size` chunks, questions about some of them, and the time that embedding
/// took.
fn build_documents(size: usize) -> (ContainerIndex, Vec<String>, Duration) {
    let (mut numbers, words) = (RandomNumbers(42), words());
    let mut index = ContainerIndex::new();
    let mut questions = Vec::new();
    let mut embedding = Duration::ZERO;
    for number in 0..size / CHUNKS_PER_DOCUMENT {
        let topic: Vec<usize> = (0..12).map(|_| numbers.below(words.len())).collect();
        let mut document = Document {
            id: format!("document-{number}"),
            ..Document::default()
        };
        for position in 0..CHUNKS_PER_DOCUMENT as u32 {
            let text = chunk(&mut numbers, &words, &topic);
            let started = Instant::now();
            let vector = StaticEmbedder.embed(&text);
            embedding += started.elapsed();
            if questions.len() < QUESTIONS && numbers.below(size / QUESTIONS + 1) == 0 {
                let own_words: Vec<&str> =
                    text.split(' ').skip(numbers.below(50)).take(5).collect();
                questions.push(format!(
                    "what {} {}",
                    own_words.join(" "),
                    words[numbers.zipf(words.len())]
                ));
            }
            document.chunks.push(ChunkInput {
                text,
                vector,
                position,
                ..ChunkInput::default()
            });
        }
        index.upsert_document(document);
    }

    (index, questions, embedding)
}

fn measure_size(size: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (documents, questions, embedding) = build_documents(size);
    let started = Instant::now();
    let file = Bytes::from(documents.build_compacted(Replacing::ById)?);
    drop(documents);
    let (build, bytes) = (started.elapsed(), file.len());
    let started = Instant::now();
    let segment = Arc::new(Segment::open(file.clone())?);
    let open = started.elapsed();
    let mut index = ContainerIndex::new();
    index.push_segment(segment)?;
    println!(
        "{size} chunks: embed {:.0} texts/s, build {:.0} chunks/s, file {:.1} MB, resident {:.1} MB, open {open:?}, push {:?}",
        size as f64 / embedding.as_secs_f64(),
        size as f64 / build.as_secs_f64(),
        bytes as f64 / 1e6,
        index.estimated_bytes() as f64 / 1e6,
        started.elapsed() - open,
    );
    report("search", &index, &questions, RankingConfig::default());
    let exact = RankingConfig {
        prefilter_from: usize::MAX,
        ..RankingConfig::default()
    };

    if size >= RankingConfig::default().prefilter_from {
        report("search, every vector scanned", &index, &questions, exact);
        println!(
            "  hits shared with the exact scan: {:.4}",
            shared_hits(&index, &questions, exact)
        );
    }

    report(
        "words only",
        &index,
        &questions,
        RankingConfig {
            lexical_weight: 1.0,
            vector_candidates: 0,
            ..exact
        },
    );
    let questions: Vec<&str> = questions.iter().map(String::as_str).collect();
    pages::compare_pages(&file, &questions)
}

fn report(name: &str, index: &ContainerIndex, questions: &[String], config: RankingConfig) {
    let words_only = config.vector_candidates == 0;
    let mut times: Vec<Duration> = Vec::new();
    for round in 0..2 {
        for text in questions {
            let started = Instant::now();
            let vector = if words_only {
                search_engine::QuantizedVector::ZERO
            } else {
                StaticEmbedder.embed(text)
            };
            let found = search_containers(
                &[index],
                &SearchQuery {
                    config,
                    ..SearchQuery::new(text, vector)
                },
            );
            let elapsed = started.elapsed();
            if round == 1 && found.is_ok() {
                times.push(elapsed);
            }
        }
    }

    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "  {name}: p50 {:?} p90 {:?} p99 {:?}",
        at(0.5),
        at(0.9),
        at(0.99)
    );
}

fn shared_hits(index: &ContainerIndex, questions: &[String], exact: RankingConfig) -> f64 {
    let mut sum = 0.0;
    for text in questions {
        let keys = |config: RankingConfig| -> Vec<(String, u32)> {
            let query = SearchQuery {
                config,
                ..SearchQuery::new(text, StaticEmbedder.embed(text))
            };
            let hits = search_containers(&[index], &query)
                .map(|response| response.hits)
                .unwrap_or_default();
            hits.into_iter()
                .map(|hit| (hit.document, hit.position))
                .collect()
        };
        let (fast, slow) = (keys(RankingConfig::default()), keys(exact));
        sum +=
            slow.iter().filter(|key| fast.contains(key)).count() as f64 / slow.len().max(1) as f64;
    }

    sum / questions.len() as f64
}
