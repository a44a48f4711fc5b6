//! The options of commands that only read.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{OutputOptions, TargetOptions};
use crate::arguments::parse_tag;

/// `recollect search`.
#[derive(Debug, Clone, Args)]
pub struct Search {
    /// The words or the question; quotes are not needed
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// A container tag to search in; may be repeated. All containers when left out
    #[arg(
        long,
        short,
        env = "RECOLLECT_TAG",
        value_name = "TAG",
        value_delimiter = ',',
        value_parser = parse_tag
    )]
    pub tag: Vec<String>,
    /// The most results
    #[arg(
        long,
        short = 'n',
        value_name = "NUMBER",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub limit: u32,
    /// What to search
    #[arg(long, value_enum, default_value_t = SearchMode::All)]
    pub mode: SearchMode,
    /// The similarity that a result needs; the service chooses when left out
    #[arg(long, value_name = "0..1")]
    pub threshold: Option<f32>,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// What to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchMode {
    /// Memories and passages
    All,
    /// Memories only
    Memories,
    /// Passages of documents only
    Passages,
}

/// `recollect ask`.
#[derive(Debug, Clone, Args)]
pub struct Ask {
    /// The question; quotes are not needed
    #[arg(value_name = "QUESTION", required = true)]
    pub question: Vec<String>,
    /// A container tag to look in; may be repeated. All containers when left out
    #[arg(
        long,
        short,
        env = "RECOLLECT_TAG",
        value_name = "TAG",
        value_delimiter = ',',
        value_parser = parse_tag
    )]
    pub tag: Vec<String>,
    /// The most memories and passages together
    #[arg(
        long,
        short = 'n',
        value_name = "NUMBER",
        default_value_t = 6,
        value_parser = clap::value_parser!(u32).range(1..=50)
    )]
    pub limit: u32,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect profile`.
#[derive(Debug, Clone, Args)]
pub struct Profile {
    /// The container tag; not needed if there is one container only
    #[arg(long, short, env = "RECOLLECT_TAG", value_name = "TAG", value_parser = parse_tag)]
    pub tag: Option<String>,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect list`.
#[derive(Debug, Clone, Args)]
pub struct List {
    /// List memories
    #[arg(long, conflicts_with = "containers")]
    pub memories: bool,
    /// List containers
    #[arg(long)]
    pub containers: bool,
    /// A container tag; may be repeated. All containers when left out
    #[arg(
        long,
        short,
        env = "RECOLLECT_TAG",
        value_name = "TAG",
        value_delimiter = ',',
        value_parser = parse_tag
    )]
    pub tag: Vec<String>,
    /// Only documents with this status, as in `done` or `failed`; may be repeated
    #[arg(long, value_name = "STATUS", conflicts_with_all = ["memories", "containers"])]
    pub status: Vec<String>,
    /// Only documents of this type, as in `pdf` or `webpage`; may be repeated
    #[arg(long = "type", value_name = "TYPE", conflicts_with_all = ["memories", "containers"])]
    pub types: Vec<String>,
    /// Only documents with this text in the title
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["memories", "containers"])]
    pub title: Option<String>,
    /// Only the document with this path, or all documents below it if it ends with `/`
    #[arg(long, value_name = "PATH", conflicts_with_all = ["memories", "containers"])]
    pub path: Option<String>,
    /// The most entries
    #[arg(
        long,
        short = 'n',
        value_name = "NUMBER",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub limit: u32,
    /// The number of the page, from 1
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub page: u32,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect show`.
#[derive(Debug, Clone, Args)]
pub struct Show {
    /// The id of a document or of a passage, or an id of your own
    #[arg(value_name = "ID")]
    pub id: String,
    /// Show all passages in full
    #[arg(long)]
    pub full: bool,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect erasure-report`.
#[derive(Debug, Clone, Args)]
pub struct ErasureReport {
    /// The id of the deletion, which the answer to `DELETE /v3/container-tags/TAG` has
    #[arg(value_name = "ID", required_unless_present = "verify")]
    pub id: Option<String>,
    /// Verify the signature of a report that was saved with --json; needs no server
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub verify: Option<PathBuf>,
    /// The id of the key that must have signed it
    #[arg(long, requires = "verify")]
    pub key_id: Option<String>,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect status`.
#[derive(Debug, Clone, Args)]
pub struct Status {
    /// Only ask whether the server answers, which needs no key. A data folder is asked only with
    /// --data
    #[arg(long, conflicts_with = "json")]
    pub health: bool,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect open`.
#[derive(Debug, Clone, Args)]
pub struct Open {
    /// Print the address only
    #[arg(long)]
    pub print: bool,
    /// The server.
    #[command(flatten)]
    pub target: TargetOptions,
}
