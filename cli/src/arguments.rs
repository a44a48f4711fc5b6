//! The command line.

mod client;
mod data;
mod dev;
mod keys;
mod mcp;
mod stack;
mod transfer;

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use clap::{Args, Parser, Subcommand, ValueEnum};
use domain::{ContainerTag, Error, Secret};
use edge::{AllowedOrigins, ProviderNames};
use processor::ContentReaders;
use reader::LocalReader;
use remote::{ModelClient, ModelSettings};
use telemetry::{TraceSettings, Traces};
use transformer::FolderSettings;

use crate::listen::DEFAULT_BODY_BYTES;

pub use client::{
    Add, Ask, ClientCommand, Completions, ConfigOptions, ErasureReport, Forget, List, Manual,
    Marking, Open, OutputOptions, Profile, ProfileAction, Profiles, Search, SearchMode, Show,
    Status, TargetOptions, Watch,
};
pub use data::{Data, Durability, PowerCut};
pub use dev::Dev;
pub use keys::{Access, KeyAction, KeyStore, Keys};
pub use mcp::{
    ConfigChange, Mcp, McpAction, McpClient, McpInstall, McpServe, McpTarget, McpUninstall,
};
pub use stack::{ChangeOptions, Deploy, Doctor, Recover, Rollback, StackChoice, StackOptions};
pub use transfer::{Backup, Export, FileFormat, Import, Owner, Place};

/// Reads a container tag of the command line. An empty one names none.
fn parse_tag(text: &str) -> Result<String, String> {
    match ContainerTag::parse(text) {
        Err(Error::Invalid { issues, .. }) if !text.is_empty() => {
            let rules: Vec<String> = issues.into_iter().map(|issue| issue.message).collect();
            Err(rules.join("; "))
        }
        _ => Ok(text.to_owned()),
    }
}

/// The port of the server on this machine, where commands look for it.
pub const DEFAULT_PORT: u16 = 8787;

/// Memory and document service for AI agents.
///
/// Without a subcommand it serves. All data is in one folder; delete the folder to start over.
/// Start with `recollect add FOLDER`, then `recollect ask QUESTION`.
#[derive(Debug, Parser)]
#[command(name = "recollect", version, max_term_width = 100)]
pub struct Cli {
    /// What to do; `serve` when left out.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How `serve` runs when no subcommand is given.
    #[command(flatten)]
    pub serve: Serve,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A command that calls the API.
    #[command(flatten)]
    Client(ClientCommand),
    /// Run the server: answer the API and process documents, until Ctrl-C
    Serve(Serve),
    /// Ingest a few bundled files and answer questions about them
    ///
    /// Shows the whole job in one command: a PDF, a saved web page, a markdown file and a
    /// conversation are sent through the same routes that a client uses, processed, and searched.
    /// Nothing is left behind unless --data is given.
    Demo(Demo),
    /// Create, list, disable and enable API keys
    Keys(Keys),
    /// Export a container, with documents, chunks and memories, as JSON lines
    ///
    /// The file has everything that is stored of the container. `import` makes the same container
    /// of it again, under the same ids, on this machine or another one. It may run while a server
    /// runs on the same data folder. Documents that cannot be read are left out and named, and the
    /// exit code is 3.
    Export(Export),
    /// Read an export back, or files of the hosted service, mem0 or Zep
    ///
    /// Existing data is kept. Repeating an import changes nothing, and continues one that was
    /// interrupted. Conversations, and documents that were not done, are queued for a running
    /// server or `recollect work`.
    Import(Import),
    /// Write everything of all organizations into a new folder
    ///
    /// The folder has an export of each container, and a manifest with counts and digests. API keys
    /// and connections of drives are not in it. Documents that cannot be read are left out and
    /// counted, and the exit code is 3.
    Backup(Backup),
    /// Read a backup back, and verify it
    ///
    /// Existing documents and memories are kept; the settings of each organization become those of the
    /// backup. It can be repeated, and continues a restoration that was interrupted. Afterwards each
    /// container is compared with the backup; the exit code is 3 if one differs.
    Restore(Backup),
    /// Verify everything in the data folder, and repair what can be repaired
    ///
    /// Checks the databases, every record, the checksum of every stored blob, every index against
    /// its documents, and looks for bytes that nothing names. Prints a line for each finding. The
    /// exit code is 0 when all is well, 1 when something was found, 2 when the folder could not be
    /// checked. It may run while a server runs on the same folder.
    Check(Check),
    /// Deploy to AWS, or update what is deployed
    ///
    /// Uploads the built functions, shows what would change, asks, and changes the stack. Then it adds and
    /// searches a document, and prints the address, the cost and the first API key.
    #[command(after_help = stack::DEPLOY_EXAMPLES)]
    Deploy(Deploy),
    /// Go back to what was deployed before
    ///
    /// Takes the functions and the template of the deployment before the present one. Stored data
    /// stays as it is. A second rollback undoes the first.
    #[command(after_help = stack::ROLLBACK_EXAMPLES)]
    Rollback(Rollback),
    /// Bring the data of a deployment on AWS back to an earlier time
    ///
    /// Restores the table of records as it was at that time into a new table, brings back the objects
    /// that were deleted since, and changes the stack so that it uses the new table. The former table stays.
    /// Changes since that time are no longer found, and deleted data is there again.
    #[command(after_help = stack::RECOVER_EXAMPLES)]
    Recover(Recover),
    /// Find what is wrong with a deployment on AWS
    ///
    /// Looks at the stack, its version, its queues with their dead letters, its alarms and its API.
    #[command(after_help = stack::DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Serve the embedded DynamoDB, S3 and SQS to the AWS CLI, `sam local` or any SDK
    ///
    /// Prints the environment variables that clients need. Several processes may use one data
    /// folder at a time.
    AwsEndpoints(AwsEndpoints),
    /// Run the Lambda functions on this machine, in `sam local start-api`
    ///
    /// Serves the embedded AWS services to the functions, processes what they queue, makes a key that
    /// works for a day, and prints the address of the API. Needs the SAM CLI and a container engine.
    #[command(after_help = dev::DEV_EXAMPLES)]
    Dev(Dev),
    /// Process what is queued, without serving
    Work(Work),
    /// Answer searches of a deployment on AWS, as a task of its recall service
    ///
    /// Needs the environment of the function `search`: the names of the tables, the bucket and the
    /// queues, and credentials. The template starts it with RecallTier=service (docs/scale.md).
    Recall(Recall),
    /// Give assistants a memory: serve the Model Context Protocol on the standard streams
    ///
    /// An assistant starts this program and calls its tools, until it closes the standard input.
    /// `install` enters it into the configuration of an assistant. A server that runs already
    /// serves the same tools at /mcp.
    Mcp(Mcp),
    /// Print a script that completes commands and options in a shell
    #[command(after_help = client::COMPLETION_EXAMPLES)]
    Completions(Completions),
    /// Print the manual page of the program, or of one of its commands
    #[command(after_help = client::MANUAL_EXAMPLES)]
    Manual(Manual),
}

/// `recollect check`.
#[derive(Debug, Clone, Args)]
pub struct Check {
    /// The place of the data.
    #[command(flatten)]
    pub place: Place,
    /// Make anew what is derived from documents, mark as failed what cannot be, and delete bytes
    /// that nothing names
    #[arg(long)]
    pub repair: bool,
    /// What to log, as in `info` or `search=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "off",
        value_name = "FILTER"
    )]
    pub log: String,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text for people.
    Text,
    /// An object for each event, for programs.
    Json,
}

impl LogFormat {
    /// Returns the form for standard error as it is now.
    pub fn resolve(self) -> telemetry::LogFormat {
        match self {
            Self::Text => telemetry::LogFormat::Text,
            Self::Auto if std::io::stderr().is_terminal() => telemetry::LogFormat::Text,
            Self::Auto | Self::Json => telemetry::LogFormat::Json,
        }
    }
}

/// The options of traces.
#[derive(Debug, Clone, Default, Args)]
pub struct TraceOptions {
    /// The address of an OpenTelemetry collector that takes OTLP over HTTP, as in
    /// `http://127.0.0.1:4318`; without one nothing is traced. Further variables of OpenTelemetry
    /// are read as well (docs/operate.md)
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// The whole address for traces, by the environment only
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hide = true)]
    pub otlp_traces_endpoint: Option<String>,
}

impl TraceOptions {
    /// Returns the settings of the traces of this process.
    pub fn settings(&self) -> TraceSettings {
        TraceSettings {
            endpoint: self.otlp_endpoint.clone(),
            traces_endpoint: self.otlp_traces_endpoint.clone(),
            service_name: "recollect".into(),
        }
    }
}

/// The form of a server's log, and the collector of its traces.
#[derive(Debug, Clone, Args)]
pub struct ServerOutput {
    /// How to write the log: `text` for people, `json` for programs, `auto` for text on a terminal
    /// and JSON elsewhere
    #[arg(
        long,
        env = "RECOLLECT_LOG_FORMAT",
        value_enum,
        default_value_t = LogFormat::Auto,
        value_name = "FORMAT"
    )]
    pub log_format: LogFormat,
    /// The collector of traces.
    #[command(flatten)]
    pub traces: TraceOptions,
}

impl ServerOutput {
    /// Starts the log with this filter, and the traces.
    ///
    /// # Errors
    /// Fails if the filter or the address of the collector cannot be read.
    pub fn start(&self, filter: &str) -> anyhow::Result<Traces> {
        telemetry::start(filter, self.log_format.resolve(), &self.traces.settings())
    }
}

/// `recollect serve`.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// The port to listen on; 0 takes any free one
    #[arg(long, env = "RECOLLECT_PORT", default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// The address to listen on. On anything but loopback the key `local` does not work: create one
    /// with `keys create`
    #[arg(
        long,
        env = "RECOLLECT_BIND",
        default_value = "127.0.0.1",
        value_name = "ADDRESS"
    )]
    pub bind: IpAddr,
    /// The address at which clients reach this server, for links to files and uploads; the address
    /// it listens on when left out. If it is the address of another machine, the key `local` does
    /// not work. Set it when the server is behind a proxy
    #[arg(long, env = "RECOLLECT_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// The origins of web pages that may call the API with an API key, as in
    /// `https://app.example.com,http://localhost:3000`; `*` for all, `none` for none. The key
    /// `local` works for pages of this machine only
    #[arg(
        long,
        env = "RECOLLECT_CORS_ORIGINS",
        default_value = "*",
        value_name = "ORIGINS"
    )]
    pub cors_origins: AllowedOrigins,
    /// The names that answers of /v3 and /v4 have for Google Drive: `cloud` for `cloud-drive` and
    /// `cloud_doc`, `google` for `google-drive` and `google_doc`. Requests may use either
    #[arg(
        long,
        env = "RECOLLECT_PROVIDER_NAMES",
        default_value = "cloud",
        value_name = "NAMES"
    )]
    pub provider_names: ProviderNames,
    /// Megabytes of search indexes to keep in memory
    #[arg(
        long,
        env = "RECOLLECT_CACHE_MB",
        default_value_t = 2048,
        value_name = "MB"
    )]
    pub cache_mb: usize,
    /// Megabytes of request bodies and files held in memory at once; requests beyond that get a 503
    #[arg(long, env = "RECOLLECT_BODY_MB", default_value_t = DEFAULT_BODY_BYTES / 1024 / 1024, value_name = "MB")]
    pub body_mb: usize,
    /// What to log, as in `info` or `search=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
    /// The form of the log, and the collector of traces.
    #[command(flatten)]
    pub output: ServerOutput,
    /// The token by which other machines may read `/metrics`, by the environment only
    #[arg(
        long,
        env = "RECOLLECT_METRICS_TOKEN",
        hide = true,
        hide_env_values = true
    )]
    pub metrics_token: Option<String>,
    /// The model endpoint.
    #[command(flatten)]
    pub models: ModelOptions,
    /// The cloud drive.
    #[command(flatten)]
    pub drive: DriveOptions,
}

/// An endpoint that speaks OpenAI's protocol. Without it pictures, audio and video are stored and
/// end as `failed`.
#[derive(Debug, Default, Clone, Args)]
#[command(
    next_help_heading = "Models for pictures, audio, video, memories and vectors (an OpenAI-compatible endpoint)"
)]
pub struct ModelOptions {
    /// The endpoint's base address, as in `http://127.0.0.1:11434/v1`
    #[arg(long, env = "RECOLLECT_MODEL_URL", value_name = "URL")]
    pub model_url: Option<String>,
    /// The endpoint's key, by the environment only: what stands on a command line, others can see
    #[arg(long, env = "RECOLLECT_MODEL_KEY", hide = true, hide_env_values = true)]
    pub model_key: Option<String>,
    /// The model that describes pictures
    #[arg(long, env = "RECOLLECT_VISION_MODEL", value_name = "NAME")]
    pub vision_model: Option<String>,
    /// The model that transcribes audio and video
    #[arg(long, env = "RECOLLECT_TRANSCRIPTION_MODEL", value_name = "NAME")]
    pub transcription_model: Option<String>,
    /// The model that proposes memories; without it the built-in rules find them
    #[arg(long, env = "RECOLLECT_MEMORY_MODEL", value_name = "NAME")]
    pub memory_model: Option<String>,
    /// The model that embeds texts, besides the built-in embedder
    #[arg(long, env = "RECOLLECT_EMBEDDING_MODEL", value_name = "NAME")]
    pub embedding_model: Option<String>,
    /// The base address of the endpoint of that model, if it is another one
    #[arg(long, env = "RECOLLECT_EMBEDDING_URL", value_name = "URL")]
    pub embedding_url: Option<String>,
    /// A folder with an embedding model that runs in this process, instead of one at an endpoint:
    /// model.safetensors, tokenizer.json and config.json of a BERT or RoBERTa encoder
    #[arg(long, env = "RECOLLECT_EMBEDDING_FOLDER", value_name = "FOLDER")]
    pub embedding_folder: Option<PathBuf>,
    /// The text before each question for the model of that folder, as in `query: `, if its own files
    /// do not say so
    #[arg(long, env = "RECOLLECT_EMBEDDING_QUERY_PREFIX", value_name = "TEXT")]
    pub embedding_query_prefix: Option<String>,
    /// The text before each passage for the model of that folder, as in `passage: `, if its own
    /// files do not say so
    #[arg(long, env = "RECOLLECT_EMBEDDING_PASSAGE_PREFIX", value_name = "TEXT")]
    pub embedding_passage_prefix: Option<String>,
    /// The key of that other endpoint, by the environment only
    #[arg(
        long,
        env = "RECOLLECT_EMBEDDING_KEY",
        hide = true,
        hide_env_values = true
    )]
    pub embedding_key: Option<String>,
    /// The model that reranks the results of searches with `rerank`; without it words and built-in
    /// vectors do
    #[arg(long, env = "RECOLLECT_RERANK_MODEL", value_name = "NAME")]
    pub rerank_model: Option<String>,
    /// The base address of the endpoint of that model, which has the operation `/rerank`, if it is
    /// another one
    #[arg(long, env = "RECOLLECT_RERANK_URL", value_name = "URL")]
    pub rerank_url: Option<String>,
    /// The key of that other endpoint, by the environment only
    #[arg(
        long,
        env = "RECOLLECT_RERANK_KEY",
        hide = true,
        hide_env_values = true
    )]
    pub rerank_key: Option<String>,
}

impl ModelOptions {
    /// Returns the readers of content on this machine: parsers in child processes of this
    /// executable, a fetcher of web pages, and the models.
    ///
    /// # Errors
    /// Returns an error if the path of the executable is unknown, or if the folder of the embedding
    /// model cannot be used.
    pub fn readers(&self) -> anyhow::Result<ContentReaders> {
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let settings = ModelSettings {
            url: non_empty(&self.model_url),
            key: non_empty(&self.model_key).map(Secret::new),
            // On this machine, Bedrock is called with a key.
            role: None,
            vision_model: non_empty(&self.vision_model),
            transcription_model: non_empty(&self.transcription_model),
            memory_model: non_empty(&self.memory_model),
            embedding_model: non_empty(&self.embedding_model),
            embedding_url: non_empty(&self.embedding_url),
            embedding_key: non_empty(&self.embedding_key).map(Secret::new),
            rerank_model: non_empty(&self.rerank_model),
            rerank_url: non_empty(&self.rerank_url),
            rerank_key: non_empty(&self.rerank_key).map(Secret::new),
        };

        let has_endpoint_model = settings.embedding_model.is_some();
        let models = ModelClient::new(settings);
        let embedder = match self.folder_settings() {
            Some(_) if has_endpoint_model => bail!(
                "both an embedding model at an endpoint and one in a folder are set; set either \
                 RECOLLECT_EMBEDDING_MODEL or RECOLLECT_EMBEDDING_FOLDER"
            ),
            Some(folder) => Some(transformer::open_folder(&folder)?),
            None => models.embedder(),
        };

        Ok(ContentReaders {
            pages_and_files: Arc::new(LocalReader::in_child(std::env::current_exe()?)),
            models,
            embedder,
        })
    }

    /// Returns the folder of the embedding model, if there is one. An empty path counts as absent.
    pub fn folder_settings(&self) -> Option<FolderSettings> {
        let folder = self.embedding_folder.clone();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty())?;
        Some(FolderSettings {
            folder,
            query_prefix: self.embedding_query_prefix.clone(),
            passage_prefix: self.embedding_passage_prefix.clone(),
        })
    }
}

/// The OAuth app by which users permit access to their cloud drive. Organizations may set one of
/// their own.
#[derive(Debug, Default, Clone, Args)]
#[command(
    next_help_heading = "Cloud drive (an OAuth app of yours; docs/deploy.md says how to create one)"
)]
pub struct DriveOptions {
    /// The app's client id; its secret is read from `CLOUD_DRIVE_CLIENT_SECRET`
    #[arg(long, env = "CLOUD_DRIVE_CLIENT_ID", value_name = "ID")]
    pub drive_client_id: Option<String>,
    /// Its secret, by the environment only: what stands on a command line, others can see
    #[arg(
        long,
        env = "CLOUD_DRIVE_CLIENT_SECRET",
        hide = true,
        hide_env_values = true
    )]
    pub drive_client_secret: Option<String>,
    /// The address of a stand-in for the drive on this machine, such as the one that
    /// `recollect demo --drive` starts
    #[arg(long, env = "CLOUD_DRIVE_URL", value_name = "URL")]
    pub drive_url: Option<String>,
}

impl DriveOptions {
    /// Returns the settings of the drive's connector.
    pub fn settings(&self) -> connectors::DriveSettings {
        connectors::DriveSettings::from_environment(|name| match name {
            "CLOUD_DRIVE_CLIENT_ID" => self.drive_client_id.clone(),
            "CLOUD_DRIVE_CLIENT_SECRET" => self.drive_client_secret.clone(),
            "CLOUD_DRIVE_URL" => self.drive_url.clone(),
            _ => None,
        })
    }
}

/// `recollect demo`.
#[derive(Debug, Clone, Args)]
pub struct Demo {
    /// Keep the demo's data in this folder instead of a temporary one
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// The durability of answers.
    #[command(flatten)]
    pub power_cut: PowerCut,
    /// Connect a made-up company's cloud drive, and stay in step with it until Ctrl-C
    #[arg(long)]
    pub drive: bool,
    /// The port for browsers, with `--drive`
    #[arg(long, default_value_t = 8787, requires = "drive")]
    pub port: u16,
    /// What to log, as in `info` or `processor=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
}

/// `recollect recall`.
#[derive(Debug, Clone, Args)]
pub struct Recall {
    /// The port to listen on; 0 takes any free one
    #[arg(long, env = "RECOLLECT_PORT", default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// The address to listen on. Whoever can reach it needs an API key, as everywhere
    #[arg(
        long,
        env = "RECOLLECT_BIND",
        default_value = "127.0.0.1",
        value_name = "ADDRESS"
    )]
    pub bind: IpAddr,
    /// Megabytes of search indexes to keep in memory
    #[arg(
        long,
        env = "RECOLLECT_CACHE_MB",
        default_value_t = 2048,
        value_name = "MB"
    )]
    pub cache_mb: usize,
    /// What to log, as in `info` or `search=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub log: String,
    /// The form of the log, and the collector of traces.
    #[command(flatten)]
    pub output: ServerOutput,
}

/// `recollect aws-endpoints`.
#[derive(Debug, Clone, Args)]
pub struct AwsEndpoints {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 4566)]
    pub port: u16,
    /// The address to listen on. The services accept anyone who can reach it: loopback, or a docker
    /// bridge
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: IpAddr,
}

/// `recollect work`.
#[derive(Debug, Clone, Args)]
pub struct Work {
    /// The data folder.
    #[command(flatten)]
    pub data: Data,
    /// Stop when nothing is left to do
    #[arg(long)]
    pub until_idle: bool,
    /// What to log, as in `info` or `processor=debug,warn`; to standard error
    #[arg(
        long,
        env = "RECOLLECT_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub log: String,
    /// The collector of traces.
    #[command(flatten)]
    pub traces: TraceOptions,
    /// The model endpoint.
    #[command(flatten)]
    pub models: ModelOptions,
    /// The cloud drive.
    #[command(flatten)]
    pub drive: DriveOptions,
}
