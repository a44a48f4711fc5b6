//! The options of the commands that call the API.

mod content;
mod help;
mod profiles;
mod reading;
mod target;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

pub use content::{Add, Forget, Marking, Watch};
pub(super) use help::{COMPLETION_EXAMPLES, MANUAL_EXAMPLES};
pub use profiles::{ProfileAction, Profiles};
pub use reading::{Ask, ErasureReport, List, Open, Profile, Search, SearchMode, Show, Status};
pub use target::{OutputOptions, TargetOptions};

/// The commands that call the API.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Add files, folders, web pages or text
    ///
    /// Waits until everything can be searched. A file that is added again replaces what was added
    /// of it before, so a repeated command makes no duplicates. Hidden files in folders are left
    /// out.
    #[command(after_help = help::ADD_EXAMPLES)]
    Add(Add),
    /// Search passages and memories
    #[command(after_help = help::SEARCH_EXAMPLES)]
    Search(Search),
    /// Show what answers a question, with its sources
    ///
    /// Shows the memories and the passages that answer best, grouped by document. No model is
    /// involved: the words are those of your documents, and nothing is made up.
    #[command(after_help = help::ASK_EXAMPLES)]
    Ask(Ask),
    /// Show what is known of a person or a project at a glance
    #[command(after_help = help::PROFILE_EXAMPLES)]
    Profile(Profile),
    /// List documents, memories or containers
    #[command(after_help = help::LIST_EXAMPLES)]
    List(List),
    /// Show a document with its memories and passages
    #[command(after_help = help::SHOW_EXAMPLES)]
    Show(Show),
    /// Forget memories, or delete a document
    ///
    /// Shows what it is about to forget, and asks first. A forgotten memory does not come back when
    /// its document is processed again.
    #[command(after_help = help::FORGET_EXAMPLES)]
    Forget(Forget),
    /// Show the signed report of the deletion of a container, or verify one
    ///
    /// The report says what was removed, when and from which stores. Whoever gets it can verify with
    /// the signature that nothing in it was changed.
    #[command(after_help = help::ERASURE_REPORT_EXAMPLES)]
    ErasureReport(ErasureReport),
    /// Show whether the service answers, what it holds, and what failed
    #[command(after_help = help::STATUS_EXAMPLES)]
    Status(Status),
    /// Keep a folder in step: add what is new or changed, until Ctrl-C
    #[command(after_help = help::WATCH_EXAMPLES)]
    Watch(Watch),
    /// Open the server's page in the browser
    #[command(after_help = help::OPEN_EXAMPLES)]
    Open(Open),
    /// Manage the servers and keys that --profile names
    #[command(after_help = help::PROFILES_EXAMPLES)]
    Profiles(Profiles),
}

/// `recollect completions`.
#[derive(Debug, Clone, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `recollect manual`.
#[derive(Debug, Clone, Args)]
pub struct Manual {
    /// The command, as in `add` or `keys create`; the program itself when left out
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The file of profiles.
#[derive(Debug, Clone, Args)]
pub struct ConfigOptions {
    /// The file of profiles; `$XDG_CONFIG_HOME/recollect/config.toml` or
    /// `~/.config/recollect/config.toml` when left out
    #[arg(long, env = "RECOLLECT_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder of the settings of all programs, by the environment only.
    #[arg(long, env = "XDG_CONFIG_HOME", hide = true)]
    pub config_home: Option<PathBuf>,
}
