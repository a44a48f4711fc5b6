//! References to bytes.

use serde::{Deserialize, Serialize};

/// Where a blob lies: small ones beside the records, large ones in the object store. The organization is not part of
/// it; it comes from the tenant, so a reference can never reach into another organization.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlobRef {
    /// A record of its own in the table.
    Inline(String),
    /// An object in the bucket.
    Object(String),
}

impl BlobRef {
    /// Its path, wherever it lies.
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
