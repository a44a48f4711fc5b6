//! The attributes that several kinds of items have.

use domain::Timestamp;

use crate::table_keys;

record! {
    /// The key of an item.
    struct KeyRecord, KeyAttributes {
        #[serde(rename = "pk")]
        partition: String,
        #[serde(rename = "sk")]
        sort: String,
    }
}

record! {
    /// The version of the form of an item.
    struct VersionRecord, VersionAttributes {
        #[serde(rename = "v")]
        version: u8,
    }
}

record! {
    /// The place of an item in the index `due`. Only items with work to do have one.
    struct DueRecord, DueAttributes {
        #[serde(rename = "qs")]
        shard: String,
        #[serde(rename = "qd")]
        due_at: String,
    }
}

record! {
    /// The time from which DynamoDB may delete an item, in seconds since 1970.
    struct ExpiryRecord, ExpiryAttributes {
        #[serde(rename = "ttl")]
        expires_at_seconds: i64,
    }
}

impl VersionRecord {
    /// The version of all forms.
    pub(crate) const CURRENT: Self = Self { version: 1 };
}

impl DueRecord {
    /// Returns the place of an item that is due at `due_at`.
    pub(crate) fn new(shard: String, due_at: Timestamp) -> Self {
        Self {
            shard,
            due_at: table_keys::due_sort_key(due_at),
        }
    }
}

/// Returns the condition that no item with the key is stored.
pub(crate) fn item_absent() -> String {
    format!("attribute_not_exists({})", KeyRecord::ATTRIBUTES.partition)
}

/// Returns the condition that an item with the key is stored.
pub(crate) fn item_present() -> String {
    format!("attribute_exists({})", KeyRecord::ATTRIBUTES.partition)
}
