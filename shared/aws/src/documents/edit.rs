//! Edits of descriptions. Metadata, path and title change in place, and a count detects concurrent
//! edits.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Document, Timestamp};

use super::shape::sent_attribute;
use crate::item::{number_value, string_value};

/// The condition that nobody has edited the description since it was read. A record that was never
/// edited has no count.
pub(crate) const EDITS_UNCHANGED: &str = "(attribute_not_exists(ed) OR ed = :ed)";
/// The update of an edit, with the values of [`edit_values`]. The attribute `sent` includes the
/// origin, and with it a title that the provider gave.
pub(crate) const EDIT: &str = "SET sent = :sent, ed = :next, up = :now";

/// Returns the values of an edit. Its condition names `:rev` and `:ed`, the count of the edits
/// before it.
pub(crate) fn edit_values(document: &Document, now: Timestamp) -> HashMap<String, AttributeValue> {
    let values = [
        (":sent", sent_attribute(document)),
        (":next", number_value(document.edit_count)),
        (":ed", number_value(document.edit_count.saturating_sub(1))),
        (":rev", string_value(document.revision.as_str())),
        (":now", number_value(now.as_millis())),
    ];
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
