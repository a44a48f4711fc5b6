//! The parameter `orderBy` of listings.

use std::cmp::Ordering;

use super::failure::DriveApiError;
use crate::drive_contents::{Item, Viewer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortKey {
    Created,
    Folder,
    Modified,
    Name,
    Size,
    Shared,
    Viewed,
    Ignored,
}

/// The sort keys, each with a flag for descending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SortOrder(Vec<(SortKey, bool)>);

impl SortOrder {
    pub(crate) fn parse(text: &str) -> Result<Self, DriveApiError> {
        let keys = text.split(',').map(|part| {
            let mut words = part.split_whitespace();
            let key = parse_key(words.next()?)?;
            match (words.next(), words.next()) {
                (None, _) => Some((key, false)),
                (Some("desc"), None) => Some((key, true)),
                _ => None,
            }
        });
        keys.collect::<Option<_>>()
            .map(Self)
            .ok_or_else(|| DriveApiError::invalid_value("orderBy"))
    }

    pub(crate) fn compare_items(&self, viewer: &Viewer, one: &Item, other: &Item) -> Ordering {
        for (key, is_descending) in &self.0 {
            let order = compare_by_key(*key, viewer, one, other);
            let order = if *is_descending {
                order.reverse()
            } else {
                order
            };
            if order.is_ne() {
                return order;
            }
        }
        one.seq.cmp(&other.seq)
    }
}

fn parse_key(name: &str) -> Option<SortKey> {
    Some(match name {
        "createdTime" => SortKey::Created,
        "folder" => SortKey::Folder,
        "modifiedTime" | "recency" => SortKey::Modified,
        "name" | "name_natural" => SortKey::Name,
        "quotaBytesUsed" => SortKey::Size,
        "sharedWithMeTime" => SortKey::Shared,
        "viewedByMeTime" => SortKey::Viewed,
        "modifiedByMeTime" | "starred" => SortKey::Ignored,
        _ => return None,
    })
}

fn compare_by_key(key: SortKey, viewer: &Viewer, one: &Item, other: &Item) -> Ordering {
    let email = &viewer.email;
    match key {
        SortKey::Created => one.created_at.cmp(&other.created_at),
        // Folders come first.
        SortKey::Folder => other.is_folder().cmp(&one.is_folder()),
        SortKey::Modified => one.modified_at.cmp(&other.modified_at),
        SortKey::Name => one.name.to_lowercase().cmp(&other.name.to_lowercase()),
        SortKey::Size => one.body.size().cmp(&other.body.size()),
        SortKey::Shared => one
            .shared_since
            .get(email)
            .cmp(&other.shared_since.get(email)),
        SortKey::Viewed => one.viewed_at.get(email).cmp(&other.viewed_at.get(email)),
        SortKey::Ignored => Ordering::Equal,
    }
}
