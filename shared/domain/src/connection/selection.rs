//! The selection of a connection.

use serde::{Deserialize, Serialize};

/// The largest number of items in a selection. Each is examined in every run, and all are stored in
/// one record.
pub const MAX_SELECTED_ITEMS: usize = 500;

/// A selected item. A folder stands for everything below it, now and in the future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedItem {
    /// The provider's id of the item.
    pub id: String,
    /// The name that it had when it was selected.
    pub name: String,
    /// `true` if it is a folder.
    pub folder: bool,
    /// The shared drive that contains it, or that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
}

/// The current selection of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selection {
    /// The number of changes, or 0 before the first one.
    pub rev: u64,
    /// The items, without duplicates.
    pub items: Vec<SelectedItem>,
    /// The items that are left out, although a folder above them is selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<ExcludedItem>,
}

/// An item that is left out of a selected folder. A folder stands for everything below it, now and
/// in the future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedItem {
    /// The provider's id of the item.
    pub id: String,
    /// The name that it had when it was excluded.
    pub name: String,
    /// `true` if it is a folder.
    pub folder: bool,
    /// The ids of the folders that were above it, the nearest first, as far as they were known. Only
    /// the picker uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<String>,
}
