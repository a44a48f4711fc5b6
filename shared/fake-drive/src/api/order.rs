//! The parameter `orderBy` of listings.

use std::cmp::Ordering;

use super::failure::Failure;
use crate::world::{Item, Viewer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Created,
    Folder,
    Modified,
    Name,
    Size,
    Shared,
    Viewed,
    Nothing,
}

/// The sort keys, each with a flag for descending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order(Vec<(Key, bool)>);

impl Order {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let keys = text.split(',').map(|part| {
            let mut words = part.split_whitespace();
            let key = key(words.next()?)?;
            match (words.next(), words.next()) {
                (None, _) => Some((key, false)),
                (Some("desc"), None) => Some((key, true)),
                _ => None,
            }
        });
        keys.collect::<Option<_>>()
            .map(Self)
            .ok_or_else(|| Failure::invalid_value("orderBy"))
    }

    pub(crate) fn compare(&self, viewer: &Viewer, one: &Item, other: &Item) -> Ordering {
        for (key, turned) in &self.0 {
            let order = by(*key, viewer, one, other);
            let order = if *turned { order.reverse() } else { order };
            if order.is_ne() {
                return order;
            }
        }
        one.seq.cmp(&other.seq)
    }
}

fn key(name: &str) -> Option<Key> {
    Some(match name {
        "createdTime" => Key::Created,
        "folder" => Key::Folder,
        "modifiedTime" | "recency" => Key::Modified,
        "name" | "name_natural" => Key::Name,
        "quotaBytesUsed" => Key::Size,
        "sharedWithMeTime" => Key::Shared,
        "viewedByMeTime" => Key::Viewed,
        "modifiedByMeTime" | "starred" => Key::Nothing,
        _ => return None,
    })
}

fn by(key: Key, viewer: &Viewer, one: &Item, other: &Item) -> Ordering {
    let email = &viewer.email;
    match key {
        Key::Created => one.created.cmp(&other.created),
        // Folders come first.
        Key::Folder => other.is_folder().cmp(&one.is_folder()),
        Key::Modified => one.modified.cmp(&other.modified),
        Key::Name => one.name.to_lowercase().cmp(&other.name.to_lowercase()),
        Key::Size => one.body.size().cmp(&other.body.size()),
        Key::Shared => one.shared.get(email).cmp(&other.shared.get(email)),
        Key::Viewed => one.viewed.get(email).cmp(&other.viewed.get(email)),
        Key::Nothing => Ordering::Equal,
    }
}
