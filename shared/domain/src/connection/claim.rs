//! What ties a document to the item elsewhere that it was made of.

use serde::{Deserialize, Serialize};

use super::Provider;
use crate::document::DocumentType;
use crate::ids::ConnectionId;

/// Where a document comes from, and what is known of it there. It stays on the document when its connection is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Who the item comes from.
    pub provider: Provider,
    /// The connection that filed it last.
    pub connection: ConnectionId,
    /// The item's name there: the document's title.
    pub title: String,
    /// What the provider says that it is; none where the content tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentType>,
    /// Equal for equal contents there, as [`super::Node::mark`]: whoever files the item again needs no download.
    pub mark: String,
}

impl Origin {
    /// The same item, whose content is no longer the document's: a caller has sent another.
    #[must_use]
    pub fn out_of_step(self) -> Self {
        Self {
            mark: String::new(),
            ..self
        }
    }

    /// Whether a document of this origin has the content of an item with this mark.
    pub fn is_in_step(&self, with: &Self) -> bool {
        self.provider == with.provider && !self.mark.is_empty() && self.mark == with.mark
    }
}

/// A connection's item needs a document. A document of items goes when nothing claims it any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The connection.
    pub connection: ConnectionId,
    /// The item; a shortcut and what it leads to are two.
    pub item: String,
}
