//! In what ways the drive is worse than one would like.

use serde::{Deserialize, Serialize};

/// Which of the items in a folder get an entry of their own when something happens to the folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Descendants {
    /// None: only the folder has one. Nothing more is promised.
    #[default]
    None,
    /// About half of them.
    Some,
    /// All.
    All,
}

/// What the documentation leaves open, or forbids to rely on. The default is the worst of what is allowed, without
/// the faults that come now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Quirks {
    /// Entries of what lies in a folder.
    pub descendants: Descendants,
    /// Every change is logged twice.
    pub duplicates: bool,
    /// The last item of a page is also the first of the next.
    pub repeats: bool,
    /// No page has more entries than this, whatever is asked.
    pub page_cap: Option<usize>,
    /// A query for several folders finds nothing.
    pub no_parent_groups: bool,
    /// A listing over all drives says that it is incomplete, and is.
    pub incomplete_all_drives: bool,
    /// The list of an account's items leaves out what lies in folders that are shared with it.
    pub shared_folders_only: bool,
    /// How often an operation says that it is not done.
    pub operation_polls: u32,
    /// Seconds until a refresh token ends; forever if not given.
    pub refresh_seconds: Option<i64>,
    /// Every refresh gives a new refresh token, and the old one ends.
    pub rotation: bool,
    /// An access token lives so many seconds.
    pub access_seconds: i64,
    /// Cost units that an account may spend in a minute.
    pub units_per_minute: Option<u64>,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            descendants: Descendants::None,
            duplicates: false,
            repeats: false,
            page_cap: None,
            no_parent_groups: false,
            incomplete_all_drives: false,
            shared_folders_only: false,
            operation_polls: 1,
            refresh_seconds: None,
            rotation: false,
            access_seconds: 3599,
            units_per_minute: None,
        }
    }
}
