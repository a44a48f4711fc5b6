//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Memory and document service for AI agents.
///
/// Without a subcommand it serves. Everything it knows lies in one data folder; delete the folder to start over.
#[derive(Debug, Parser)]
#[command(name = "recollect", version, about, long_about, max_term_width = 100)]
pub struct Cli {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How `serve` runs when no subcommand is given.
    #[command(flatten)]
    pub serve: Serve,
}

/// What the binary can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the interface and process documents, until Ctrl-C
    Serve(Serve),
    /// Ingest a few bundled files and answer questions about them
    ///
    /// Shows the whole job in one command: a PDF, a saved web page, a markdown file and a conversation are sent
    /// through the same routes that a client uses, processed, and searched. Nothing is left behind unless --data is
    /// given.
    Demo(Demo),
    /// Create, list, disable and enable API keys
    Keys(Keys),
    /// Serve the embedded DynamoDB, S3 and SQS to the AWS CLI, `sam local` or any SDK
    ///
    /// Prints the environment variables that clients need. Several processes may use one data folder at a time.
    AwsEndpoints(AwsEndpoints),
    /// Process what is queued, without serving
    Work(Work),
}

/// Where the data lies.
#[derive(Debug, Clone, Args)]
pub struct Data {
    /// The data folder; it is created if it does not exist
    #[arg(long, env = "RECOLLECT_DATA", default_value = "./.recollect", value_name = "FOLDER")]
    pub data: PathBuf,
}

/// `recollect serve`.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// Where the data lies.
    #[command(flatten)]
    pub data: Data,
    /// The port to listen on; 0 takes any free one
    #[arg(long, env = "RECOLLECT_PORT", default_value_t = 8787)]
    pub port: u16,
    /// The address to listen on. On anything but loopback the key `local` does not work: create one with `keys create`
    #[arg(long, env = "RECOLLECT_BIND", default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
    /// Megabytes of search indexes to keep in memory
    #[arg(long, env = "RECOLLECT_CACHE_MB", default_value_t = 2048, value_name = "MB")]
    pub cache_mb: usize,
    /// What to log, as in `info` or `recall=debug,warn`; to standard error
    #[arg(long, env = "RECOLLECT_LOG", default_value = "warn", value_name = "FILTER")]
    pub log: String,
}

/// `recollect demo`.
#[derive(Debug, Clone, Args)]
pub struct Demo {
    /// Keep the demo's data in this folder instead of a temporary one
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// What to log, as in `info` or `processor=debug,warn`; to standard error
    #[arg(long, env = "RECOLLECT_LOG", default_value = "warn", value_name = "FILTER")]
    pub log: String,
}

/// `recollect keys`.
#[derive(Debug, Clone, Args)]
pub struct Keys {
    /// What to do with keys.
    #[command(subcommand)]
    pub action: KeyAction,
}

/// What can be done with keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyAction {
    /// Create a key; it is shown once, on the last line
    Create {
        /// Where the keys lie.
        #[command(flatten)]
        store: KeyStore,
        /// A name to recognize the key by
        #[arg(long, default_value = "key")]
        name: String,
        /// What the key may do
        #[arg(long, value_enum, default_value_t = Access::Write)]
        access: Access,
        /// A container tag that the key is confined to; may be repeated
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// List the organization's keys, oldest first; never their secrets
    List {
        /// Where the keys lie.
        #[command(flatten)]
        store: KeyStore,
    },
    /// Disable a key; running servers refuse it within 30 seconds
    Disable {
        /// Where the keys lie.
        #[command(flatten)]
        store: KeyStore,
        /// The key's id: the part between the underscores
        id: String,
    },
    /// Enable a key that was disabled
    Enable {
        /// Where the keys lie.
        #[command(flatten)]
        store: KeyStore,
        /// The key's id: the part between the underscores
        id: String,
    },
}

/// Where the keys lie.
#[derive(Debug, Clone, Args)]
pub struct KeyStore {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// Use a deployment on AWS instead of the data folder: the standard AWS environment, and `RECOLLECT_SECRETS_TABLE`
    #[arg(long)]
    pub aws: bool,
    /// The organization: 1 to 40 of a-z, 0-9 and hyphen
    #[arg(long, default_value = "local")]
    pub org: String,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Access {
    /// Search and list
    Read,
    /// Everything
    Write,
}

/// `recollect aws-endpoints`.
#[derive(Debug, Clone, Args)]
pub struct AwsEndpoints {
    /// Where the data lies.
    #[command(flatten)]
    pub data: Data,
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 4566)]
    pub port: u16,
    /// The address to listen on. The services accept anyone who can reach it: loopback, or a docker bridge
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
}

/// `recollect work`.
#[derive(Debug, Clone, Args)]
pub struct Work {
    /// Where the data lies.
    #[command(flatten)]
    pub data: Data,
    /// Stop when nothing is left to do
    #[arg(long)]
    pub until_idle: bool,
    /// What to log, as in `info` or `processor=debug,warn`; to standard error
    #[arg(long, env = "RECOLLECT_LOG", default_value = "warn", value_name = "FILTER")]
    pub log: String,
}
