//! The ties between a document and the provider's item that it was made from.

use serde::{Deserialize, Serialize};

use super::Provider;
use crate::document::DocumentType;
use crate::ids::ConnectionId;

/// The origin of a document: the provider's item that it was made from. The origin stays on the
/// document when its connection is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentOrigin {
    /// The provider of the item.
    pub provider: Provider,
    /// The connection that last synchronized the item.
    pub connection: ConnectionId,
    /// The name of the item, which is the title of the document.
    pub title: String,
    /// The document type according to the provider, or `None` where it follows from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentType>,
    /// The content version, as in [`super::ItemRecord::content_version`]. It is equal for equal contents, so a
    /// connection that adopts the item again need not download it.
    #[serde(rename = "mark")]
    pub content_version: String,
}

impl DocumentOrigin {
    /// Returns the same origin without a content version, because a caller has replaced the content
    /// of the document.
    #[must_use]
    pub fn without_content_version(self) -> Self {
        Self {
            content_version: String::new(),
            ..self
        }
    }

    /// Checks whether a document of this origin has the content of the given item.
    pub fn has_same_content(&self, other: &Self) -> bool {
        self.provider == other.provider
            && !self.content_version.is_empty()
            && self.content_version == other.content_version
    }
}

/// The need of a connection for a document, through one of its items. A document of items is
/// deleted when its last claim is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DocumentClaim {
    /// The connection.
    pub connection: ConnectionId,
    /// The item. A shortcut and its target are two items.
    pub item: String,
}
