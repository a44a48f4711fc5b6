//! An item elsewhere as a connection knows it.

use serde::{Deserialize, Serialize};

use crate::document::DocumentType;
use crate::ids::DocumentId;
use crate::time::Timestamp;

/// What a connection knows of an item in its scope: a folder, a file, or a shortcut to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The provider's name of it.
    pub id: String,
    /// The folder that it lies in; none for what lies in no folder that the account shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its name.
    pub name: String,
    /// Where it lies, as in `/My Drive/Projects/plan.md`.
    pub path: String,
    /// Whether other items lie in it.
    pub folder: bool,
    /// What it leads to, when it is a shortcut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The shared drive that it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Its media type.
    pub media_type: String,
    /// Changes whenever anything about it does.
    pub version: String,
    /// Changes whenever its content does; equal for equal contents.
    pub mark: String,
    /// Bytes, where the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When its content last changed, as the provider says.
    pub modified_at: Timestamp,
    /// Where people look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What the provider says that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentType>,
    /// The step at which it was last seen where it lies: what a walk has not seen since it began needs proof.
    pub seen: u64,
    /// What became of it.
    pub state: NodeState,
    /// The document that was made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed: Option<Filed>,
    /// How often in a row it could not be fetched.
    #[serde(default)]
    pub attempts: u32,
    /// A filter's verdict, and what it was about, so that a model is asked once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NodeState {
    /// It is a folder.
    Folder,
    /// It waits to be fetched.
    Pending,
    /// There is a document of it, up to date.
    Filed,
    /// It is left out.
    Skipped {
        /// Why.
        reason: SkipReason,
    },
    /// It could not be fetched, again and again.
    Failed {
        /// Why, for a person; never content.
        reason: String,
    },
}

/// Why an item is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Of a kind that is not read.
    UnsupportedType,
    /// Over the limit of bytes.
    TooLarge,
    /// The rules leave it out.
    Excluded,
    /// The rules name others only.
    NotIncluded,
    /// The model that filters has left it out.
    FilteredOut,
    /// A model is to filter it, and none is configured.
    PendingFilter,
    /// The connection has as many documents as it may.
    Limit,
    /// Its owner does not let it be downloaded.
    NotDownloadable,
    /// Its owner does not let models read it.
    GenaiRestricted,
    /// Encrypted by its owner.
    Encrypted,
    /// The provider holds it for malware.
    FlaggedMalware,
    /// A shortcut that leads nowhere, or to a folder.
    Shortcut,
    /// There is nothing in it.
    Empty,
}

impl SkipReason {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedType => "unsupported_type",
            Self::TooLarge => "too_large",
            Self::Excluded => "excluded",
            Self::NotIncluded => "not_included",
            Self::FilteredOut => "filtered_out",
            Self::PendingFilter => "pending_filter",
            Self::Limit => "limit",
            Self::NotDownloadable => "not_downloadable",
            Self::GenaiRestricted => "genai_restricted",
            Self::Encrypted => "encrypted",
            Self::FlaggedMalware => "flagged_malware",
            Self::Shortcut => "shortcut",
            Self::Empty => "empty",
        }
    }
}

/// What of an item is in its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filed {
    /// The document.
    pub document: DocumentId,
    /// The content's [`Node::mark`].
    pub mark: String,
    /// The name.
    pub name: String,
    /// The path.
    pub path: String,
}

impl Node {
    /// Whether its document shows another name, place or content than it has.
    pub fn is_behind(&self) -> bool {
        self.filed.as_ref().is_none_or(|filed| {
            filed.mark != self.mark || filed.name != self.name || filed.path != self.path
        })
    }
}
