//! The options of `recollect keys`.

use clap::builder::ArgPredicate;
use clap::{Args, Subcommand, ValueEnum};

use super::stack::STACK_ORGANIZATION;
use super::{Place, parse_tag};

/// `recollect keys`.
#[derive(Debug, Clone, Args)]
pub struct Keys {
    /// The subcommand.
    #[command(subcommand)]
    pub action: KeyAction,
}

/// The subcommands of `recollect keys`.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyAction {
    /// Create a key; it is shown once, on the last line
    Create {
        /// The place of the keys.
        #[command(flatten)]
        store: KeyStore,
        /// A name to recognize the key by
        #[arg(long, default_value = "key")]
        name: String,
        /// What the key may do
        #[arg(long, value_enum, default_value_t = Access::Write)]
        access: Access,
        /// The same as `--access read`
        #[arg(long, conflicts_with = "access")]
        read_only: bool,
        /// A container tag that the key is confined to; may be repeated, or several with commas
        /// between them
        #[arg(
            long = "tag",
            visible_alias = "tags",
            value_name = "TAG",
            value_delimiter = ',',
            value_parser = parse_tag
        )]
        tags: Vec<String>,
        /// After how many days the key stops working, 1 to 365; never when left out
        #[arg(long, value_name = "DAYS")]
        expires_days: Option<i64>,
    },
    /// List the organization's keys, oldest first; never their secrets
    List {
        /// The place of the keys.
        #[command(flatten)]
        store: KeyStore,
    },
    /// Disable a key; running servers refuse it within 30 seconds
    Disable {
        /// The place of the keys.
        #[command(flatten)]
        store: KeyStore,
        /// The key's id: the part between the underscores
        id: String,
    },
    /// Enable a key that was disabled
    Enable {
        /// The place of the keys.
        #[command(flatten)]
        store: KeyStore,
        /// The key's id: the part between the underscores
        id: String,
    },
}

/// The place of the keys.
#[derive(Debug, Clone, Args)]
pub struct KeyStore {
    /// The data folder or the stack.
    #[command(flatten)]
    pub place: Place,
    /// Use the table `RECOLLECT_SECRETS_TABLE` on AWS instead of the data folder
    #[arg(long, conflicts_with = "stack")]
    pub aws: bool,
    /// The organization: 1 to 40 of a-z, 0-9 and hyphen; `main` with --stack
    #[arg(
        long,
        default_value = "local",
        default_value_if("stack", ArgPredicate::IsPresent, STACK_ORGANIZATION)
    )]
    pub org: String,
}

/// The access of a key.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Access {
    /// Search and list
    Read,
    /// Everything
    Write,
}
