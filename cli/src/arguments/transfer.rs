//! The options of export and import.

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};

use super::stack::STACK_ORGANIZATION;
use super::{Data, StackChoice};

/// Whose data it is and where it lies.
#[derive(Debug, Clone, Args)]
pub struct Owner {
    /// The place of the data.
    #[command(flatten)]
    pub place: Place,
    /// The organization: 1 to 40 of a-z, 0-9 and hyphen; `main` with --stack
    #[arg(
        long,
        default_value = "local",
        default_value_if("stack", ArgPredicate::IsPresent, STACK_ORGANIZATION)
    )]
    pub org: String,
}

/// `recollect export`.
#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Whose data it is.
    #[command(flatten)]
    pub owner: Owner,
    /// The container tag
    #[arg(long, value_name = "TAG")]
    pub container_tag: String,
    /// The file to write; `-` is standard output
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    pub output: PathBuf,
}

/// `recollect import`.
#[derive(Debug, Clone, Args)]
pub struct Import {
    /// Whose data it is.
    #[command(flatten)]
    pub owner: Owner,
    /// The file to read; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The container tag; when left out, the one that was exported, and the default one for other
    /// services' files
    #[arg(long, value_name = "TAG")]
    pub container_tag: Option<String>,
    /// Whose file it is; `auto` looks at its content
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    pub format: FileFormat,
    /// Take over the organization's settings from the export, in place of those it has
    #[arg(long)]
    pub settings: bool,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FileFormat {
    /// What its content says
    Auto,
    /// An export of recollect
    Recollect,
    /// Memories of mem0: the answer of `get_all`, as JSON or one memory a line
    Mem0,
    /// Sessions or threads with messages, and facts or edges of Zep, as JSON or one object a line
    Zep,
}

/// The place of the data.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// The stack instead of the data folder.
    #[command(flatten)]
    pub stack: StackChoice,
}

/// `recollect backup` and `recollect restore`.
#[derive(Debug, Clone, Args)]
pub struct Backup {
    /// The place of the data.
    #[command(flatten)]
    pub place: Place,
    /// The folder of the backup
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
