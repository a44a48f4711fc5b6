//! The options of deployments on AWS.

use std::path::PathBuf;

use clap::Args;
use domain::Timestamp;

/// The organization of a stack, if none is named.
pub(super) const STACK_ORGANIZATION: &str = "main";
/// The name of a stack that is not named.
const DEFAULT_STACK: &str = "recollect";

/// A deployment instead of the data folder.
#[derive(Debug, Clone, Default, Args)]
pub struct StackChoice {
    /// Use this stack on AWS instead of the data folder, with the standard AWS environment
    #[arg(long, value_name = "NAME")]
    pub stack: Option<String>,
    /// The region of the stack; by default that of the AWS environment
    #[arg(long, requires = "stack", value_name = "REGION")]
    pub region: Option<String>,
}

/// The stack of a command about stacks.
#[derive(Debug, Clone, Args)]
pub struct StackOptions {
    /// The name of the stack
    #[arg(long, default_value = DEFAULT_STACK, value_name = "NAME")]
    pub stack: String,
    /// The region; by default that of the AWS environment
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
}

/// The options of changes.
#[derive(Debug, Clone, Args)]
pub struct ChangeOptions {
    /// A parameter of the template, as in `Stage=prod`; may be repeated. The others keep their
    /// values
    #[arg(long = "parameter", short, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub parameters: Vec<(String, String)>,
    /// Change the stack without asking
    #[arg(long, short)]
    pub yes: bool,
    /// The minutes for which alarms are watched after an update; one that fires undoes it
    #[arg(long, default_value_t = 0, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(0..=180))]
    pub watch: u32,
    /// The organization of the first key: 1 to 40 of a-z, 0-9 and hyphen
    #[arg(long, default_value = STACK_ORGANIZATION)]
    pub org: String,
    /// Do not add and search a document afterwards
    #[arg(long)]
    pub no_trial: bool,
    /// Do not make the first key, which would be printed
    #[arg(long)]
    pub no_key: bool,
    /// With --yes, also change what makes CloudFormation replace or remove a table, bucket, queue or
    /// key
    #[arg(long, requires = "yes")]
    pub allow_data_loss: bool,
}

/// `recollect deploy`.
#[derive(Debug, Clone, Args)]
pub struct Deploy {
    /// The stack.
    #[command(flatten)]
    pub stack: StackOptions,
    /// The folder with the built functions: an unpacked `recollect-functions` archive of a release,
    /// or the output of `sam build`
    #[arg(long, default_value = ".aws-sam/build", value_name = "FOLDER")]
    pub functions: PathBuf,
    /// The options of the change.
    #[command(flatten)]
    pub change: ChangeOptions,
}

/// `recollect rollback`.
#[derive(Debug, Clone, Args)]
pub struct Rollback {
    /// The stack.
    #[command(flatten)]
    pub stack: StackOptions,
    /// The options of the change.
    #[command(flatten)]
    pub change: ChangeOptions,
}

/// `recollect recover`.
#[derive(Debug, Clone, Args)]
pub struct Recover {
    /// The stack.
    #[command(flatten)]
    pub stack: StackOptions,
    /// The time to go back to, such as 2026-11-20T09:30:00Z; at most 35 days ago
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Timestamp,
    /// Also bring back the API keys and the tokens of connections of that time
    #[arg(long)]
    pub with_secrets: bool,
    /// The options of the change.
    #[command(flatten)]
    pub change: ChangeOptions,
}

/// `recollect doctor`.
#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// The stack.
    #[command(flatten)]
    pub stack: StackOptions,
    /// Also add a document, search it and delete it, with a key that is made for it
    #[arg(long)]
    pub trial: bool,
    /// The organization of the trial: 1 to 40 of a-z, 0-9 and hyphen
    #[arg(long, default_value = STACK_ORGANIZATION)]
    pub org: String,
    /// The base address of the API; the stack's output when left out
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write a parameter as NAME=VALUE".to_owned()),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse("time", text).map_err(|error| error.to_string())
}

pub(super) const DEPLOY_EXAMPLES: &str = "\
Examples:
  recollect deploy --functions recollect-functions-0.1.0-arm64
  recollect deploy --stack recollect-prod --parameter Stage=prod --watch 5
  sam build && recollect deploy                 what was built from source

Exit codes: 0 deployed and tried, 1 failure, 2 wrong usage, 3 deployed, but the trial failed";

pub(super) const ROLLBACK_EXAMPLES: &str = "\
Examples:
  recollect rollback
  recollect rollback --stack recollect-prod --yes

Exit codes: 0 rolled back and tried, 1 failure, 2 wrong usage, 3 rolled back, but the trial failed";

pub(super) const RECOVER_EXAMPLES: &str = "\
Examples:
  recollect recover --time 2026-11-20T09:30:00Z
  recollect recover --stack recollect-prod --time 2026-11-20 --with-secrets

Exit codes: 0 recovered and tried, 1 failure, 2 wrong usage, 3 recovered, but the trial failed";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  recollect doctor
  recollect doctor --stack recollect-prod --trial

Exit codes: 0 all is well, 1 failure, 2 wrong usage, 3 something is wrong";
