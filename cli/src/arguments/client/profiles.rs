//! The options of `recollect profiles`.

use clap::{Args, Subcommand};

use super::ConfigOptions;

/// `recollect profiles`.
#[derive(Debug, Clone, Args)]
pub struct Profiles {
    /// The subcommand.
    #[command(subcommand)]
    pub action: ProfileAction,
}

/// The subcommands of `recollect profiles`.
#[derive(Debug, Clone, Subcommand)]
pub enum ProfileAction {
    /// List the profiles, never their keys
    List {
        /// The file of profiles.
        #[command(flatten)]
        config: ConfigOptions,
    },
    /// Add a profile, or change the one with this name
    ///
    /// The key is asked for on a terminal, and otherwise read from standard input. The file can be
    /// read by you only.
    Add {
        /// The name
        name: String,
        /// The address of the server
        #[arg(long, value_name = "URL")]
        url: String,
        /// The file of profiles.
        #[command(flatten)]
        config: ConfigOptions,
    },
    /// Remove a profile with its key
    Remove {
        /// The name
        name: String,
        /// The file of profiles.
        #[command(flatten)]
        config: ConfigOptions,
    },
    /// Use a profile when a command names no server
    Use {
        /// The name
        name: String,
        /// The file of profiles.
        #[command(flatten)]
        config: ConfigOptions,
    },
}
