//! The options of the data folder.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The options of the data folder.
#[derive(Debug, Clone, Args)]
pub struct Data {
    /// The data folder; it is created if it does not exist
    #[arg(
        long,
        env = "RECOLLECT_DATA",
        default_value = "./.recollect",
        value_name = "FOLDER"
    )]
    pub data: PathBuf,
    /// The durability of answers.
    #[command(flatten)]
    pub power_cut: PowerCut,
}

/// The durability of answers.
#[derive(Debug, Clone, Copy, Args)]
pub struct PowerCut {
    /// When what is answered is on the disk
    #[arg(long, env = "RECOLLECT_DURABILITY", value_enum, default_value_t = Durability::Full)]
    pub durability: Durability,
}

/// When what is answered is on the disk.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Durability {
    /// Before the answer: a power cut takes nothing that was answered
    Full,
    /// Within a second: a power cut takes the last second at most
    Relaxed,
}

impl From<Durability> for embedded::Durability {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Full => Self::Full,
            Durability::Relaxed => Self::Relaxed,
        }
    }
}
