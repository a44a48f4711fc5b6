//! The sort keys in the partition of a connection.
//!
//! Names of providers and of the synchronization are part of a key as they are. Such a name stands
//! at the end of the key or behind its own length, so that no two names share a key, whatever they
//! consist of. DynamoDB allows 1,024 bytes: of a longer name, the key has the beginning and the
//! digest, and the item has the whole name.

use domain::connection::{ItemRecord, SyncQueue};
use sha2::{Digest, Sha256};

/// The sort key of the state of the synchronization.
pub(crate) const STATE_KEY: &str = "STATE";
/// The sort key of the selection.
pub(crate) const SELECTION_KEY: &str = "SEL";
/// The prefix of the keys of provider items.
pub(crate) const NODE_PREFIX: &str = "N#";
/// The prefix of the keys of runs.
pub(crate) const RUN_PREFIX: &str = "R#";

/// The longest name, in bytes, that is part of a key as it is. Two such names, their lengths and
/// separators stay below the limit of DynamoDB.
const MAX_NAME_BYTES: usize = 400;

/// Returns a name as part of a key. A shortened name is longer than any that is not shortened, so
/// the two cannot collide.
pub(crate) fn key_part(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let prefix = &name[..name.floor_char_boundary(MAX_NAME_BYTES)];
    format!("{prefix}~{}", hex::encode(Sha256::digest(name)))
}

pub(crate) fn provider_item_key(id: &str) -> String {
    provider_item_key_of_part(&key_part(id))
}

/// Returns the key of the provider item with whose part a hint ends.
pub(crate) fn provider_item_key_of_part(part: &str) -> String {
    format!("{NODE_PREFIX}{part}")
}

pub(crate) fn run_key(number: u64) -> String {
    format!("{RUN_PREFIX}{number:012}")
}

/// Returns the prefix of the keys in a queue.
pub(crate) const fn queue_prefix(queue: SyncQueue) -> &'static str {
    match queue {
        SyncQueue::Walk => "W#",
        SyncQueue::Fetch => "F#",
        SyncQueue::Remove => "L#",
    }
}

pub(crate) fn queue_entry_key(queue: SyncQueue, key: &str) -> String {
    format!("{}{}", queue_prefix(queue), key_part(key))
}

/// Returns the prefix of the hints to the provider items in a folder. The rest of each hint
/// is the part of the provider item's key.
pub(crate) fn children_prefix(folder: &str) -> String {
    hints_prefix("K", folder)
}

/// Returns the prefix of the hints to the shortcuts that point to an item.
pub(crate) fn shortcuts_prefix(target: &str) -> String {
    hints_prefix("T", target)
}

fn hints_prefix(kind: &str, name: &str) -> String {
    let name = key_part(name);
    format!("{kind}#{}#{name}#", name.len())
}

/// Returns the hints that lead to a provider item.
pub(crate) fn hint_keys(provider_item: &ItemRecord) -> Vec<String> {
    let part = key_part(&provider_item.id);
    let mut hints = Vec::new();
    if let Some(folder) = &provider_item.parent {
        hints.push(format!("{}{part}", children_prefix(folder)));
    }
    if let Some(target) = &provider_item.target {
        hints.push(format!("{}{part}", shortcuts_prefix(target)));
    }

    hints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_share_a_key_and_none_is_too_long() {
        let long = "ö".repeat(2000);
        let names = [
            "",
            "#",
            "a",
            "a#",
            "#a",
            "a#b",
            "1#a",
            "ö",
            "a~",
            &"x".repeat(400),
            &long,
        ];
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.push(format!("{long}!"));
        names.push("x".repeat(401));
        let mut keys: Vec<String> = names.iter().map(|id| provider_item_key(id)).collect();
        for (folder, id) in names
            .iter()
            .flat_map(|folder| names.iter().map(move |id| (folder, id)))
        {
            keys.push(format!("{}{}", children_prefix(folder), key_part(id)));
            keys.push(format!("{}{}", shortcuts_prefix(folder), key_part(id)));
        }

        for queue in [SyncQueue::Walk, SyncQueue::Fetch, SyncQueue::Remove] {
            keys.extend(names.iter().map(|name| queue_entry_key(queue, name)));
        }

        keys.extend([
            STATE_KEY.to_owned(),
            SELECTION_KEY.to_owned(),
            run_key(0),
            run_key(u64::from(u32::MAX)),
        ]);
        assert!(keys.iter().all(|key| key.len() <= 1024));
        let (total, _) = (keys.len(), keys.sort());
        keys.dedup();
        assert_eq!(keys.len(), total);
        // The hints of a folder are exactly those with its prefix.
        for (one, other) in names
            .iter()
            .flat_map(|one| names.iter().map(move |other| (one, other)))
        {
            assert_eq!(
                children_prefix(other).starts_with(&children_prefix(one)),
                one == other,
                "{one} {other}"
            );
        }
    }
}
