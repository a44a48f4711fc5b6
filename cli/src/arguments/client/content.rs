//! The options of commands that change content.

use std::path::PathBuf;

use clap::Args;

use super::{OutputOptions, TargetOptions};
use crate::arguments::parse_tag;

/// `recollect add`.
#[derive(Debug, Clone, Args)]
pub struct Add {
    /// Files, folders and web addresses; `-` reads a text from standard input
    #[arg(value_name = "FILE|FOLDER|URL|-", required_unless_present = "text")]
    pub inputs: Vec<String>,
    /// Add this text
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// The marks of the content.
    #[command(flatten)]
    pub marking: Marking,
    /// An id of your own for a single text, page or file: adding again under it replaces the content
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Return as soon as everything is accepted; it is processed in the background
    #[arg(long)]
    pub no_wait: bool,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// The container and the properties of what is added.
#[derive(Debug, Clone, Args)]
pub struct Marking {
    /// The container tag, which names a person, a project or a topic; the default container when
    /// left out
    #[arg(long, short, env = "RECOLLECT_TAG", value_name = "TAG", value_parser = parse_tag)]
    pub tag: Option<String>,
    /// A property of the content; may be repeated. Numbers, true and false become such values
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = parse_property)]
    pub metadata: Vec<(String, String)>,
    /// The content is the user's own words, so its memories count as the user's
    #[arg(long)]
    pub own_words: bool,
}

/// `recollect watch`.
#[derive(Debug, Clone, Args)]
pub struct Watch {
    /// The folder, or a single file
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// The marks of the content.
    #[command(flatten)]
    pub marking: Marking,
    /// Delete the document of a file that vanishes
    #[arg(long)]
    pub delete: bool,
    /// The seconds between two looks at the folder. A changed file is added when it has not changed
    /// for one look
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub every: u64,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

/// `recollect forget`.
#[derive(Debug, Clone, Args)]
pub struct Forget {
    /// The ids of memories. The id of a document means its memories
    #[arg(value_name = "ID", required_unless_present = "query")]
    pub ids: Vec<String>,
    /// Forget the memories that answer this question
    #[arg(long, short, value_name = "TEXT", conflicts_with = "ids")]
    pub query: Option<String>,
    /// The ids are those of documents, which are deleted with their memories and passages
    #[arg(long, conflicts_with = "query")]
    pub document: bool,
    /// The container tag; not needed if there is one container only
    #[arg(long, short, env = "RECOLLECT_TAG", value_name = "TAG", value_parser = parse_tag)]
    pub tag: Option<String>,
    /// The similarity that a memory needs, with --query
    #[arg(long, value_name = "0..1", default_value_t = 0.5)]
    pub threshold: f32,
    /// Do not ask first
    #[arg(long, short)]
    pub yes: bool,
    /// The form of the output.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The server or data folder.
    #[command(flatten)]
    pub target: TargetOptions,
}

fn parse_property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as key=value, as in author=Ada".to_owned()),
    }
}
