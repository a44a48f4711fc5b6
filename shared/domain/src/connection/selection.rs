//! What a user has selected.

use serde::{Deserialize, Serialize};

/// The most items of a selection: each is looked at in every run, and all lie in one record.
pub const MAX_SELECTED: usize = 500;

/// An item that was selected. A folder stands for everything below it, also in future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selected {
    /// The provider's name of it.
    pub id: String,
    /// Its name when it was selected.
    pub name: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// The shared drive that it lies in, or is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
}

/// What is selected now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Counts changes; 0 before the first.
    pub rev: u64,
    /// The items, each once.
    pub items: Vec<Selected>,
}
