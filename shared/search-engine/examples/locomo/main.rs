//! Measures evidence recall on LoCoMo: `cargo run --release -p search-engine --example locomo --
//! <folder> [report|windows|tune|fit|pages]`.
//!
//! The folder contains `conversations.json`. A session is a document, and a chunk is a window of
//! turns. A turn counts as found if one of the first ten chunks contains it.

#![expect(clippy::print_stdout, reason = "a report is this program's purpose")]

mod data;
mod demo;
mod fit;
mod measure;
#[path = "../support/pages.rs"]
mod pages;
mod tune;

use std::path::PathBuf;

use bytes::Bytes;
use search_engine::{ContainerIndex, RankingConfig, Replacing};

use data::{ChunkingOptions, read_conversations};
use measure::{Corpus, measure};

/// The chunk parameters of the figures in the documentation of `RankingConfig`.
const CHUNKING: ChunkingOptions = ChunkingOptions {
    window: 5,
    overlap: 0,
    headings: true,
    embed_headings: false,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(
        arguments
            .next()
            .ok_or("usage: locomo <folder> [report|windows|tune|fit|pages]")?,
    );
    let task = arguments.next().unwrap_or_else(|| "report".to_owned());
    let conversations = read_conversations(&folder)?;
    let turns: usize = conversations
        .iter()
        .flat_map(|c| &c.sessions)
        .map(|s| s.turns.len())
        .sum();
    let questions: usize = conversations.iter().map(|c| c.questions.len()).sum();
    println!(
        "{} conversations, {turns} turns, {questions} questions",
        conversations.len()
    );
    match task.as_str() {
        "report" => report(&conversations),
        "windows" => windows(&conversations),
        "tune" => tune::tune(&conversations, CHUNKING),
        "fit" => fit::fit(&Corpus::new(&conversations, CHUNKING)),
        "pages" => compare_pages(&conversations)?,
        other => return Err(format!("unknown task {other}").into()),
    }

    Ok(())
}

fn report(conversations: &[data::Conversation]) {
    let config = RankingConfig::default();
    println!("{CHUNKING:?}\n{config:#?}");
    let corpus = Corpus::new(conversations, CHUNKING);
    for (name, change) in SETTINGS {
        let mut config = config;
        change(&mut config);
        println!("{name:>28}: {}", measure(&corpus, config, |_| true).line());
    }
}

/// Puts the turns of all conversations into one segment, a chunk for each, and asks every question of
/// its pages.
fn compare_pages(conversations: &[data::Conversation]) -> Result<(), Box<dyn std::error::Error>> {
    let chunking = ChunkingOptions {
        window: 1,
        ..CHUNKING
    };
    let mut all = ContainerIndex::new();
    for (number, conversation) in conversations.iter().enumerate() {
        let (part, _) = data::index(conversation, chunking);
        for view in part.documents() {
            if let Some(mut document) = part.load_document(&view.id()?)? {
                document.id = format!("{number}-{}", document.id);
                all.upsert_document(document);
            }
        }
    }

    let questions = conversations.iter().flat_map(|c| &c.questions);
    let questions: Vec<&str> = questions.map(|question| question.text.as_str()).collect();
    pages::compare_pages(
        &Bytes::from(all.build_compacted(Replacing::ById)?),
        &questions,
    )
}

type Change = fn(&mut RankingConfig);

/// Settings to compare with the defaults, each as a change of them.
const SETTINGS: [(&str, Change); 10] = [
    ("defaults", |_| {}),
    ("k1 1.2 b .75", |c| (c.k1, c.b) = (1.2, 0.75)),
    ("k1 .9 b .4", |c| (c.k1, c.b) = (0.9, 0.4)),
    ("no context", alone),
    ("no context, k1 1.2 b .75", |c| {
        alone(c);
        (c.k1, c.b) = (1.2, 0.75);
    }),
    ("no context, words only", |c| {
        alone(c);
        c.lexical_weight = 1.0;
    }),
    ("no context, vectors only", |c| {
        alone(c);
        c.lexical_weight = 0.0;
    }),
    ("words only, with context", |c| c.lexical_weight = 1.0),
    ("floor .35", |c| c.calibration.floor_share = 0.35),
    ("floor .65", |c| c.calibration.floor_share = 0.65),
];

fn alone(config: &mut RankingConfig) {
    config.neighbour_weight = 0.0;
    config.document_weight = 0.0;
    config.coverage_weight = 0.0;
}

fn windows(conversations: &[data::Conversation]) {
    for headings in [(false, false), (true, false), (true, true)] {
        for window in 1..=8 {
            for overlap in 0..=(window / 2).min(3) {
                let chunking = ChunkingOptions {
                    window,
                    overlap,
                    headings: headings.0,
                    embed_headings: headings.1,
                };
                let corpus = Corpus::new(conversations, chunking);
                let line = measure(&corpus, RankingConfig::default(), |_| true).line();
                println!("window {window} overlap {overlap} headings {headings:?}: {line}");
            }
        }
    }
}
