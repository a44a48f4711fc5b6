//! Measures how long a profile takes, by the number of memories: `cargo run --release -p
//! memory-model --example profile -- [sizes…]`.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

mod support;

use std::time::{Duration, Instant};

use domain::{ContainerId, MemoryKind, ProfileBucket, Statement, Timestamp};
use memory_model::{BucketSorter, Ledger, ProfileOptions, build_profile};
use support::{NOUNS, document, fact};

const RUNS: usize = 101;
const STATEMENTS_PER_DOCUMENT: usize = 10;
const VERBS: [&str; 7] = [
    "painted",
    "missed",
    "described",
    "remembered",
    "planned",
    "found",
    "lost",
];

fn statement(number: usize) -> Statement {
    let (verb, noun) = (VERBS[number % VERBS.len()], NOUNS[number / 7 % NOUNS.len()]);
    let text = format!("User {verb} the {noun} of town number {number} and told a friend.");
    let kind = match number % 50 {
        0 => MemoryKind::Instruction,
        1..=5 => MemoryKind::Preference,
        _ => MemoryKind::Fact,
    };

    Statement {
        kind,
        is_static: number.is_multiple_of(5),
        ..fact(text, number)
    }
}

fn ledger(size: usize) -> Ledger {
    let container = ContainerId::random();
    let mut ledger = Ledger::new(container);
    for first in (0..size).step_by(STATEMENTS_PER_DOCUMENT) {
        let last = size.min(first + STATEMENTS_PER_DOCUMENT);
        let statements = (first..last).map(statement).collect();
        ledger.insert_document(document(statements));
    }

    ledger.recompute_memories();
    ledger
}

fn sorter() -> BucketSorter {
    let bucket = |(key, description): (&str, &str)| ProfileBucket {
        key: key.into(),
        description: description.into(),
    };

    BucketSorter::new(
        [
            ("health", "Illnesses, allergies, medication and doctors."),
            ("work", "Job, employer, projects and colleagues."),
            ("travel", "Trips, flights and hotels."),
            ("food", "Meals, diets and drinks."),
            ("family", "Parents, siblings and children."),
        ]
        .map(bucket)
        .into(),
    )
}

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![100, 1_000, 10_000, 100_000]
    } else {
        sizes
    };

    println!("memories | p50 | p99 | with 5 buckets, first | p50");
    for size in sizes {
        let ledger = ledger(size);
        let plain = ProfileOptions::new(Timestamp::from_millis(i64::MAX / 2));
        let sorter = sorter();
        let sorted = ProfileOptions {
            sorter: Some(&sorter),
            ..plain
        };
        let time = |options: &ProfileOptions<'_>| {
            let started = Instant::now();
            std::hint::black_box(build_profile(&[&ledger], options));
            started.elapsed()
        };
        let first = time(&sorted);
        let runs = |options: &ProfileOptions<'_>| {
            let mut times: Vec<Duration> = (0..RUNS).map(|_| time(options)).collect();
            times.sort();
            times
        };
        let (without, with) = (runs(&plain), runs(&sorted));
        println!(
            "{size} | {:.1?} | {:.1?} | {first:.1?} | {:.1?}",
            without[RUNS / 2],
            without[RUNS - 2],
            with[RUNS / 2]
        );
    }
}
