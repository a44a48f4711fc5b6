//! Benchmarks of the product through its own interface, in one process over the embedded services.
//!
//! ```text
//! cargo run --release -p bench -- speed                 latency, rates, memory
//! cargo run --release -p bench -- durability            cost of surviving a power cut
//! cargo run --release -p bench -- hostile               files that are built to be slow
//! cargo run --release -p bench -- cost                  request units, dollars per million calls
//! cargo run --release -p bench -- embedding             time, tokens and price of a text with an
//!                                                       embedding model
//! cargo run --release -p bench -- recall FOLDER         LoCoMo evidence recall; FOLDER holds
//!                                                       conversations.json
//! cargo run --release -p bench -- extraction FOLDER     labelled memories that the built-in
//!                                                       extractor finds
//! cargo run --release -p bench -- chat FOLDER           facts, profiles and answers after chats
//! cargo run --release -p bench -- documents FOLDER      passage recall of questions over the
//!                                                       documents that tests/bench/documents.py
//!                                                       fetched
//! cargo run --release -p bench -- quality FOLDER…       all of quality in one table: conversations,
//!                                                       extraction, chats and documents
//! cargo run --release -p bench -- formats FOLDER        extraction of the files that
//!                                                       tests/bench/fixtures.py fetched
//! cargo run --release -p bench -- batch                 ingest rate of full batches
//! cargo run --release -p bench -- ingest                ingest rate of batches with the response
//!                                                       times of AWS
//! cargo run --release -p bench -- drive                 synchronization of a large cloud drive
//! cargo run --release -p bench -- organization          deletion, merge, analytics, request log
//! cargo run --release -p bench -- scale FOLDER          cold and warm requests to containers of any
//!                                                       size with the response times of AWS, or
//!                                                       compactions with --compaction; FOLDER keeps
//!                                                       the containers
//! cargo run --release -p bench -- many FOLDER           first searches of many small containers with
//!                                                       the response times of AWS; FOLDER keeps them
//! cargo run --release -p bench -- reuse                 cost of one changed paragraph of a long
//!                                                       document
//! ```

mod batch;
mod bm25;
mod chat;
mod cost;
mod documents;
mod drive;
mod durability;
mod embedding;
mod extraction;
mod formats;
mod hostile;
mod ingest;
#[path = "../../../shared/content/tests/make/mod.rs"]
mod make;
mod organization;
mod plot;
mod progress;
mod quality;
mod recall;
mod reuse;
mod rig;
mod scale;
mod speed;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use recall::RecallOptions;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The allocator of the program, so that figures of memory are those of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures Recollect.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Accept latency, ingest rate, time to searchable, search latency, memory
    Speed {
        /// Containers of these many chunks are searched
        #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
        chunks: Vec<usize>,
    },
    /// Documents per second and accept latency, full and relaxed, with 1 and with 16 clients
    Durability {
        /// Documents of each measurement
        #[arg(long, default_value_t = 1000)]
        documents: usize,
    },
    /// Files made to be slow: the time to read n, 2n and 4n, and how long another organization
    /// waits beside them
    Hostile,
    /// Requests and request units of each operation, and what they cost on AWS
    Cost,
    /// Time, tokens, bytes and price of a text with the built-in table, or with the embedding model
    /// that the options of the server name
    Embedding(Box<embedding::EmbeddingOptions>),
    /// Evidence recall on LoCoMo conversations
    Recall {
        /// The folder with conversations.json
        folder: PathBuf,
        /// Search with this many results
        #[arg(long, default_value_t = recall::DEFAULT_LIMIT)]
        limit: usize,
        /// Search with `rerank: true`
        #[arg(long)]
        rerank: bool,
        /// Also draw recall over tokens into this SVG file, which takes ten times as long
        #[arg(long)]
        plot: Option<PathBuf>,
    },
    /// Facts, profiles and answers after chats as people type them, beside sentences and BM25
    Chat {
        /// The folder with dev.jsonl
        folder: PathBuf,
        /// Print what is missing or wrong in each case
        #[arg(long)]
        failures: bool,
    },
    /// Passage recall of questions over documents, beside BM25 and vectors over the same chunks
    Documents {
        /// The folder that documents.py filled
        folder: PathBuf,
        /// Search with `rerank: true`
        #[arg(long)]
        rerank: bool,
        /// Print the questions whose passages are not all among the first five results
        #[arg(long)]
        failures: bool,
    },
    /// Extraction of real files: outcome, rate, memory, recall of another extractor's text
    Formats {
        /// The folder that fixtures.py filled
        folder: PathBuf,
        /// Extract in children of this executable, such as recollect, instead of in this one's;
        /// their memory and panics are then not known
        #[arg(long)]
        exe: Option<PathBuf>,
    },
    /// Memories that the built-in extractor finds: recall, precision, rate
    Extraction {
        /// The folder with dataset.jsonl and labels.jsonl
        folder: PathBuf,
        /// The folder with conversations.json, for the rate
        #[arg(long)]
        conversations: Option<PathBuf>,
        /// Print every memory
        #[arg(long)]
        show: bool,
    },
    /// All measurements of quality in one table with baselines: conversations, extraction, chats
    /// and documents
    ///
    /// Each folder is measured by what is in it: conversations.json; dataset.jsonl and
    /// labels.jsonl; dev.jsonl; or the documents that documents.py fetched.
    Quality {
        /// Folders with data sets
        #[arg(required = true)]
        folders: Vec<PathBuf>,
        /// Also print the figures of each data set by kind
        #[arg(long)]
        details: bool,
    },
    /// Deletion and merge of a large container, analytics over a long request log, what logging
    /// costs
    Organization {
        /// Documents of the large container
        #[arg(long, default_value_t = 20_000)]
        documents: usize,
        /// Requests of the log
        #[arg(long, default_value_t = 100_000)]
        requests: usize,
        /// The hours over which the requests are spread
        #[arg(long, default_value_t = organization::HOURS, value_parser = clap::value_parser!(i64).range(1..=organization::HOURS))]
        hours: i64,
    },
    /// Synchronization of a large cloud drive
    Drive {
        /// Files of the drive
        #[arg(long, default_value_t = 10_000)]
        files: usize,
    },
    /// Serves the drive of that benchmark
    #[command(hide = true)]
    DriveServer {
        /// Files of the drive
        files: usize,
    },
    /// Ingest rate of full batches
    Batch,
    /// Ingest rate of batches with the response times of AWS, and what a document costs
    Ingest(ingest::IngestOptions),
    /// Cold and warm requests to large containers as a Lambda function sees them: time, dependent
    /// calls, read units, bytes, memory
    Scale {
        /// The folder that keeps the containers
        folder: PathBuf,
        /// Containers of these many chunks
        #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
        chunks: Vec<usize>,
        /// Cold requests of each operation
        #[arg(long, default_value_t = 10)]
        requests: usize,
        /// Draw the times of cold searches over the number of chunks into this SVG file
        #[arg(long)]
        plot: Option<PathBuf>,
        /// Measure compactions instead of requests. They change the containers
        #[arg(long, conflicts_with = "plot")]
        compaction: bool,
        /// The most megabytes of files that these compactions merge, if not as many as in functions
        #[arg(long, requires = "compaction")]
        max_merged_mb: Option<u64>,
    },
    /// First searches of many small containers as a Lambda function sees them: time, dependent calls,
    /// requests, their price, memory
    Many {
        /// The folder that keeps the containers
        folder: PathBuf,
        /// Containers
        #[arg(long, default_value_t = 2_000)]
        containers: usize,
        /// Chunks of each container
        #[arg(long, default_value_t = 200)]
        chunks: usize,
    },
    /// Measures the containers of that benchmark
    #[command(hide = true)]
    ManyFunction {
        /// The folder of the containers
        folder: PathBuf,
        /// Containers
        #[arg(long)]
        containers: usize,
    },
    /// Measures one container of that benchmark
    #[command(hide = true)]
    ScaleFunction {
        /// The folder of the container
        folder: PathBuf,
        /// Cold requests of each operation
        #[arg(long)]
        requests: usize,
    },
    /// Measures compactions of one container of that benchmark
    #[command(hide = true)]
    ScaleCompaction {
        /// The folder of the container
        folder: PathBuf,
        /// The most megabytes of files that are merged
        #[arg(long)]
        max_merged_mb: Option<u64>,
    },
    /// Embeddings and time that one changed paragraph of a long document costs
    Reuse,
}

fn main() -> Result<ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(formats::child_main());
    }
    let processed = Targets::new().with_target("processor", LevelFilter::INFO);
    // Warnings of the product may explain an unusual figure.
    let warnings = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(LevelFilter::WARN);
    tracing_subscriber::registry()
        .with(warnings)
        .with(reuse::EmbeddingCounter.with_filter(processed))
        .init();
    run(Cli::parse().what)?;
    Ok(ExitCode::SUCCESS)
}

#[tokio::main]
async fn run(what: What) -> Result<()> {
    match what {
        What::Speed { chunks } => speed::run(&chunks).await,
        What::Durability { documents } => durability::run(documents).await,
        What::Hostile => hostile::run().await,
        What::Cost => cost::run().await,
        What::Embedding(options) => embedding::run(*options).await,
        What::Recall {
            folder,
            limit,
            rerank,
            plot,
        } => recall::run(&folder, RecallOptions { limit, rerank }, plot.as_deref()).await,
        What::Chat { folder, failures } => chat::run(&folder, failures).await,
        What::Documents {
            folder,
            rerank,
            failures,
        } => documents::run(&folder, rerank, failures).await,
        What::Formats { folder, exe } => formats::run(&folder, exe).await,
        What::Extraction {
            folder,
            conversations,
            show,
        } => extraction::run(&folder, conversations.as_deref(), show),
        What::Quality { folders, details } => quality::run(&folders, details).await,
        What::Organization {
            documents,
            requests,
            hours,
        } => organization::run(documents, requests, hours).await,
        What::Drive { files } => drive::run(files).await,
        What::DriveServer { files } => drive::serve_drive(files).await,
        What::Batch => batch::run().await,
        What::Ingest(options) => ingest::run(&options).await,
        What::Scale {
            folder,
            chunks,
            requests,
            plot,
            compaction,
            max_merged_mb,
        } => match compaction {
            true => scale::run_compactions(&folder, &chunks, max_merged_mb).await,
            false => scale::run(&folder, &chunks, requests, plot.as_deref()).await,
        },
        What::Many {
            folder,
            containers,
            chunks,
        } => scale::many::run(&folder, containers, chunks).await,
        What::ManyFunction { folder, containers } => {
            scale::many::run_as_function(&folder, containers).await
        }
        What::ScaleFunction { folder, requests } => scale::run_as_function(&folder, requests).await,
        What::ScaleCompaction {
            folder,
            max_merged_mb,
        } => scale::compaction::run(&folder, max_merged_mb).await,
        What::Reuse => reuse::run().await,
    }
}
