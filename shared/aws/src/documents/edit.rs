//! What a change of a description writes: metadata, path and title change in place, and a count fences them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Document, Timestamp};

use super::shape::write_sent;
use crate::item::{n, s};

/// Nobody has changed the description since it was read; a record that was never edited has no count.
pub(crate) const EDITED_AS_OFTEN: &str = "(attribute_not_exists(ed) OR ed = :ed)";
/// What an edit of a description writes, with [`edit_values`]: `sent` has the origin as well, and so a title that is a name
/// elsewhere.
pub(crate) const EDIT: &str = "SET sent = :sent, ed = :next, up = :now";

/// The values of an edit, whose condition names `:rev` and the edits before it.
pub(crate) fn edit_values(document: &Document, now: Timestamp) -> HashMap<String, AttributeValue> {
    let values = [
        (":sent", write_sent(document)),
        (":next", n(document.edits)),
        (":ed", n(document.edits.saturating_sub(1))),
        (":rev", s(document.revision.as_str())),
        (":now", n(now.as_millis())),
    ];
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
