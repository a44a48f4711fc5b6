//! Measures the product through its own interface, in one process over the embedded services.
//!
//! ```text
//! cargo run --release -p bench -- speed                 latency, rates, memory
//! cargo run --release -p bench -- cost                  request units and dollars per million operations
//! cargo run --release -p bench -- recall FOLDER         LoCoMo evidence recall; FOLDER holds conversations.json
//! ```

mod cost;
mod meter;
mod recall;
mod rig;
mod speed;
mod text;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

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
    /// Requests and request units of each operation, and what they cost on AWS
    Cost,
    /// Evidence recall on LoCoMo conversations
    Recall {
        /// The folder with conversations.json
        folder: PathBuf,
        /// Search with this many results
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    // Warnings of the product would explain a figure.
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(std::io::stderr)
        .init();
    match Cli::parse().what {
        What::Speed { chunks } => speed::run(&chunks).await,
        What::Cost => cost::run().await,
        What::Recall { folder, limit } => recall::run(&folder, limit).await,
    }
}
