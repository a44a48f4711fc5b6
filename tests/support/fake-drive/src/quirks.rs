//! The ways in which the drive behaves worse than a client would like.

use serde::{Deserialize, Serialize};

/// The descendants of a folder that get a log entry of their own when the folder changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Descendants {
    /// None: only the folder gets an entry. The documentation promises no more than this.
    #[default]
    None,
    /// About half of them.
    Some,
    /// All of them.
    All,
}

/// Behaviour that the documentation leaves open, or that clients must not rely on. The default is
/// the worst behaviour that the documentation allows, without occasional faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Quirks {
    /// The entries for the contents of a changed folder.
    pub descendants: Descendants,
    /// Logs every change twice.
    pub duplicates: bool,
    /// Repeats the last item of a page as the first item of the next.
    pub repeats: bool,
    /// The most entries of a page, whatever the client asks for.
    pub page_cap: Option<usize>,
    /// Answers a query for several folders with no results.
    pub no_parent_groups: bool,
    /// Returns incomplete listings over all drives and marks them as incomplete.
    pub incomplete_all_drives: bool,
    /// Omits the contents of shared folders from the list of an account's items.
    pub shared_folders_only: bool,
    /// The number of polls to which an operation answers that it is not done.
    pub operation_polls: u32,
    /// The lifetime of a refresh token in seconds; `None` if it never expires.
    pub refresh_seconds: Option<i64>,
    /// Issues a new refresh token with every refresh and revokes the old one.
    pub rotation: bool,
    /// The lifetime of an access token in seconds.
    pub access_seconds: i64,
    /// The most quota units that an account may spend in a minute.
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
