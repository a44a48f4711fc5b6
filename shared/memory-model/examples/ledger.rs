//! Measures how long it takes to compute the memories of a container from its statements, by the
//! number of statements and the share of those that take back others: `cargo run --release -p
//! memory-model --example ledger -- [sizes…]`.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

mod support;

use std::time::{Duration, Instant};

use domain::{ContainerId, Retraction, RetractionEffect, Statement, Topic};
use memory_model::{DocumentStatements, Ledger};
use support::{NOUNS, document, fact};

const STATEMENTS_PER_DOCUMENT: usize = 15;
/// One statement of so many takes back others; 0 for none.
const RETRACTION_INTERVALS: [usize; 3] = [0, 50, 10];

/// Returns a statement. A fourth of them have one of 1,000 topics.
fn statement(number: usize, retraction_interval: usize) -> Statement {
    let noun = NOUNS[number % NOUNS.len()];
    let text = format!("User planned the {noun} of town {number} and told a friend.");
    let topic = number.is_multiple_of(4).then(|| Topic {
        subject: "user".into(),
        attribute: format!("attribute {}", number % 1_000),
        value: format!("value {number}"),
        negated: false,
    });
    let retracts = retraction_interval > 0 && number.is_multiple_of(retraction_interval);
    let retraction = retracts.then(|| Retraction {
        effect: RetractionEffect::Ends,
        words: vec![noun.into(), number.saturating_sub(10).to_string()],
        aspects: Vec::new(),
        kept_words: Vec::new(),
        spans: Vec::new(),
    });

    Statement {
        topic,
        retraction,
        ..fact(text, number)
    }
}

fn documents(size: usize, retraction_interval: usize) -> Vec<DocumentStatements> {
    let mut documents = Vec::new();
    for first in (0..size).step_by(STATEMENTS_PER_DOCUMENT) {
        let last = size.min(first + STATEMENTS_PER_DOCUMENT);
        let statements = (first..last).map(|number| statement(number, retraction_interval));
        documents.push(document(statements.collect()));
    }
    documents
}

fn main() {
    let sizes = std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok());
    let mut sizes: Vec<usize> = sizes.collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000, 30_000];
    }

    println!("statements | retractions | inserted | computed | one more retraction");
    for size in sizes {
        for interval in RETRACTION_INTERVALS {
            let mut documents = documents(size, interval);
            let last = documents.pop();
            let mut ledger = Ledger::new(ContainerId::random());

            let begun = Instant::now();
            documents
                .into_iter()
                .for_each(|document| ledger.insert_document(document));
            let inserted = begun.elapsed();

            let begun = Instant::now();
            ledger.recompute_memories();
            let computed = begun.elapsed();

            let begun = Instant::now();
            last.into_iter()
                .for_each(|document| ledger.insert_document(document));
            ledger.recompute_memories();
            let one_more = begun.elapsed();

            let per_statement = |time: Duration| time.as_secs_f64() * 1e6 / size as f64;
            println!(
                "{size:>10} | {:>11} | {:>5.1} µs | {:>5.1} µs | {one_more:.1?}",
                size.checked_div(interval).unwrap_or(0),
                per_statement(inserted),
                per_statement(computed),
            );
        }
    }
}
