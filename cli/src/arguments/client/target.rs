//! The options for the service of a command and for its output.

use std::path::PathBuf;

use clap::Args;
use domain::Secret;

use super::ConfigOptions;
use crate::arguments::{DEFAULT_PORT, Durability};

/// The server or the data folder that a command works with.
///
/// Variables of the environment have options of their own, which are hidden, because the command
/// line comes first.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Server or data folder (default: the server on this machine, \
                               or else the data folder ./.recollect)"
)]
pub struct TargetOptions {
    /// The address of the server, as in `https://memory.example.com`; `RECOLLECT_URL` when left out
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "profile"])]
    pub url: Option<String>,
    /// The server of a profile; see `recollect profiles`
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    pub profile: Option<String>,
    /// A data folder, which is opened without a server
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// A file with the key of the server
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub key_file: Option<PathBuf>,
    /// The key of the server. Others on this machine can see it here: better set `RECOLLECT_KEY`,
    /// or use --key-file or a profile
    #[arg(long, value_name = "KEY", value_parser = parse_secret)]
    pub key: Option<Secret>,
    /// The file of profiles.
    #[command(flatten)]
    pub config: ConfigOptions,
    /// The address of the server, by the environment only.
    #[arg(long, env = "RECOLLECT_URL", hide = true)]
    pub environment_url: Option<String>,
    /// The key of that server, by the environment only.
    #[arg(
        long,
        env = "RECOLLECT_KEY",
        hide = true,
        hide_env_values = true,
        value_parser = parse_secret
    )]
    pub environment_key: Option<Secret>,
    /// The port of the server on this machine, by the environment only.
    #[arg(long, env = "RECOLLECT_PORT", default_value_t = DEFAULT_PORT, hide = true)]
    pub environment_port: u16,
    /// The data folder if no server answers, by the environment only.
    #[arg(
        long,
        env = "RECOLLECT_DATA",
        default_value = "./.recollect",
        hide = true
    )]
    pub environment_data: PathBuf,
    /// The durability of answers, by the environment only.
    #[arg(
        long,
        env = "RECOLLECT_DURABILITY",
        value_enum,
        default_value_t = Durability::Full,
        hide = true
    )]
    pub environment_durability: Durability,
    /// What to log while a data folder is open, by the environment only.
    #[arg(long, env = "RECOLLECT_LOG", default_value = "off", hide = true)]
    pub environment_log: String,
}

/// The form of a command's output.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputOptions {
    /// Print the answer as JSON, for programs
    #[arg(long)]
    pub json: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "clap asks for a result")]
fn parse_secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}
