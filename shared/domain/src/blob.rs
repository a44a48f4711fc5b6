//! References to blobs.

use serde::{Deserialize, Serialize};

/// The location of a blob: small blobs are stored beside the records, large ones in the object
/// store. The organization is not part of the reference but comes from the tenant, so a reference
/// never leads to another organization.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlobRef {
    /// The path of a blob that is stored as a separate record in the table.
    Inline(String),
    /// The path of an object in the bucket.
    Object(String),
}

impl BlobRef {
    /// Returns the path, in either location.
    pub fn path(&self) -> &str {
        match self {
            Self::Inline(path) | Self::Object(path) => path,
        }
    }
}

impl Serialize for BlobRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(path) => serializer.collect_str(&format_args!("inline:{path}")),
            Self::Object(path) => serializer.collect_str(&format_args!("object:{path}")),
        }
    }
}

impl<'de> Deserialize<'de> for BlobRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once(':') {
            Some(("inline", path)) => Ok(Self::Inline(path.to_owned())),
            Some(("object", path)) => Ok(Self::Object(path.to_owned())),
            _ => Err(serde::de::Error::custom(
                "a blob reference starts with inline: or object:",
            )),
        }
    }
}
