//! `recollect mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{ModelOptions, PowerCut};

/// `recollect mcp`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Mcp {
    /// What to do; serves on the standard streams when left out.
    #[command(subcommand)]
    pub action: Option<McpAction>,
    /// The options of serving.
    #[command(flatten)]
    pub serve: McpServe,
}

/// The subcommands of `recollect mcp`.
#[derive(Debug, Clone, Subcommand)]
pub enum McpAction {
    /// Add Recollect to the configuration of an assistant
    ///
    /// Shows the change and asks before it writes. Everything else in the file stays as it is, and
    /// the file as it was is kept beside it. A file that cannot be read is refused. The key in
    /// `RECOLLECT_KEY`, if it is set, is written into the file, because most assistants do not pass
    /// their environment on.
    Install(McpInstall),
    /// Take Recollect out of the configuration of an assistant
    Uninstall(McpUninstall),
}

/// `recollect mcp`, without a subcommand.
#[derive(Debug, Clone, Args)]
pub struct McpServe {
    /// The server or data folder with the memory.
    #[command(flatten)]
    pub target: McpTarget,
    /// What to log, as in `info` or `search=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
    /// The model endpoint.
    #[command(flatten)]
    pub models: ModelOptions,
}

/// The memory that an assistant uses.
#[derive(Debug, Clone, Args)]
pub struct McpTarget {
    /// The address of a running server, as in `https://memory.example.com`; `RECOLLECT_URL` when
    /// left out. Without both, the data folder is opened in this process
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    pub url: Option<String>,
    /// The data folder, which is opened without a server; `RECOLLECT_DATA` when left out
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// The address of the server, by the environment only. A folder on the command line comes first.
    #[arg(long, env = "RECOLLECT_URL", hide = true)]
    pub environment_url: Option<String>,
    /// The API key of the server, by the environment only: what stands on a command line, others can
    /// see. Without it, the key `local`
    #[arg(long, env = "RECOLLECT_KEY", hide = true, hide_env_values = true)]
    pub key: Option<String>,
    /// The data folder, by the environment only.
    #[arg(
        long,
        env = "RECOLLECT_DATA",
        default_value = "./.recollect",
        hide = true
    )]
    pub environment_data: PathBuf,
    /// The durability of answers.
    #[command(flatten)]
    pub power_cut: PowerCut,
}

/// `recollect mcp install`.
#[derive(Debug, Clone, Args)]
pub struct McpInstall {
    /// The assistant
    #[arg(value_enum)]
    pub client: McpClient,
    /// The server or data folder with the memory.
    #[command(flatten)]
    pub target: McpTarget,
    /// The options of the change.
    #[command(flatten)]
    pub change: ConfigChange,
    /// Print what belongs into the file, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub print: bool,
}

/// `recollect mcp uninstall`.
#[derive(Debug, Clone, Args)]
pub struct McpUninstall {
    /// The assistant
    #[arg(value_enum)]
    pub client: McpClient,
    /// The options of the change.
    #[command(flatten)]
    pub change: ConfigChange,
}

/// The options of a change to a configuration.
#[derive(Debug, Clone, Args)]
pub struct ConfigChange {
    /// The file with the configuration; the usual one of the assistant when left out
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
}

/// An assistant whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpClient {
    /// Claude Desktop
    Claude,
    /// Claude Code, for all projects of the user
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor, for all projects of the user
    Cursor,
    /// VS Code, in the user's default profile
    Vscode,
    /// Windsurf
    Windsurf,
}
