//! The records of a provider's items.

use serde::{Deserialize, Serialize};

use crate::document::DocumentType;
use crate::ids::DocumentId;
use crate::time::Timestamp;

/// The record of an item in the scope of a connection: a folder, a file, or a shortcut to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRecord {
    /// The provider's id of the item.
    pub id: String,
    /// The id of the folder that contains it, or `None` if no visible folder does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The name of the item.
    pub name: String,
    /// The path of the item, as in `/My Drive/Projects/plan.md`.
    pub path: String,
    /// `true` if the item is a folder.
    pub folder: bool,
    /// The id of the target, for a shortcut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The shared drive that contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Its media type.
    pub media_type: String,
    /// A value that changes whenever anything about the item changes.
    pub version: String,
    /// The content version: it changes whenever the content changes, and is equal for equal
    /// contents.
    #[serde(rename = "mark")]
    pub content_version: String,
    /// Its size in bytes, if the provider states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The time at which its content last changed, according to the provider.
    pub modified_at: Timestamp,
    /// The address at which people view it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The owner of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The document type according to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentType>,
    /// The number of the step that last found the item: in a listing, in a reported change, or by a
    /// request for the item itself. A walk or a scan requests the items with a number from before
    /// its beginning one by one, because it has not found them itself.
    pub seen: u64,
    /// The state of the item.
    pub state: ItemState,
    /// The document that was made from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filed: Option<SyncedDocument>,
    /// The number of consecutive failed attempts to fetch it.
    #[serde(default)]
    pub attempts: u32,
    /// The verdict of a model filter, together with its subject, so that the model is asked only
    /// once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// The state of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ItemState {
    /// The item is a folder.
    Folder,
    /// The item waits to be fetched.
    Pending,
    /// The item has a document, which is up to date.
    Filed,
    /// The item is skipped.
    Skipped {
        /// The reason.
        reason: SkipReason,
    },
    /// The item repeatedly could not be fetched.
    Failed {
        /// The reason, for a person. It never has any of the content.
        reason: String,
    },
}

/// The reasons for which an item is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its type is not supported.
    UnsupportedType,
    /// It exceeds the size limit.
    TooLarge,
    /// The rules exclude it.
    Excluded,
    /// The rules include only other items.
    NotIncluded,
    /// The model filter rejected it.
    FilteredOut,
    /// It is to be filtered by a model, and no model is configured.
    PendingFilter,
    /// The connection has reached its document limit.
    Limit,
    /// Its owner does not allow downloads.
    NotDownloadable,
    /// Its owner does not allow models to read it.
    GenaiRestricted,
    /// Its owner has encrypted it.
    Encrypted,
    /// The provider has flagged it as malware.
    FlaggedMalware,
    /// It is a shortcut without a target, or one to a folder.
    Shortcut,
    /// It has no content.
    Empty,
}

impl SkipReason {
    /// Returns the name on the wire.
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

/// The document of an item, and the version of the item that it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncedDocument {
    /// The document.
    pub document: DocumentId,
    /// The content version, as in [`ItemRecord::content_version`].
    #[serde(rename = "mark")]
    pub content_version: String,
    /// The name.
    pub name: String,
    /// The path.
    pub path: String,
}

impl ItemRecord {
    /// Checks whether the document is missing, or shows another name, path or content than the item
    /// has.
    pub fn is_outdated(&self) -> bool {
        self.filed.as_ref().is_none_or(|synced| {
            synced.content_version != self.content_version
                || synced.name != self.name
                || synced.path != self.path
        })
    }
}
