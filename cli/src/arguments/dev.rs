//! The options of `recollect dev`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::{Data, DriveOptions, ModelOptions};

/// `recollect dev`.
#[derive(Debug, Clone, Args)]
pub struct Dev {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// The folder that `sam build` has made
    #[arg(long, default_value = ".aws-sam/build", value_name = "FOLDER")]
    pub functions: PathBuf,
    /// The port of the API
    #[arg(long, default_value_t = 3000)]
    pub port: u16,
    /// The port of the embedded AWS services; 0 takes any free one
    #[arg(long, default_value_t = 0)]
    pub aws_port: u16,
    /// The address at which containers reach this machine; that of docker's bridge when left out
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// Leave what is queued to another process, such as a worker function that you call
    #[arg(long)]
    pub no_workers: bool,
    /// The models of the workers.
    #[command(flatten)]
    pub models: ModelOptions,
    /// The drive of the workers.
    #[command(flatten)]
    pub drive: DriveOptions,
    /// An argument for `sam local start-api`; may be repeated
    #[arg(last = true, value_name = "ARGUMENT")]
    pub sam_arguments: Vec<String>,
}

pub(super) const DEV_EXAMPLES: &str = "\
Examples:
  sam build && recollect dev
  recollect dev --port 8000 -- --debug          more arguments for `sam local start-api`";
