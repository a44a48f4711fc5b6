//! The sort keys in the partition of a connection.
//!
//! Names of providers and of the synchronization are part of a key as they are. Such a name stands
//! at the end of the key or behind its own length, so that no two names share a key, whatever they
//! consist of. DynamoDB allows 1,024 bytes: of a longer name, the key has the beginning and the
//! digest, and the item has the whole name.

use domain::connection::{Node, Queue};
use sha2::{Digest, Sha256};

use crate::connections::hex;

/// The sort key of the state of the synchronization.
pub(super) const STATE: &str = "STATE";
/// The sort key of the selection.
pub(super) const SELECTION: &str = "SEL";
/// The prefix of the keys of nodes.
pub(super) const NODES: &str = "N#";
/// The prefix of the keys of runs.
pub(super) const RUNS: &str = "R#";

/// The longest name, in bytes, that is part of a key as it is. Two such names, their lengths and
/// separators stay below the limit of DynamoDB.
const LONGEST: usize = 400;

/// Returns a name as part of a key. A shortened name is longer than any that is not shortened, so
/// the two cannot collide.
pub(super) fn part(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let beginning = &name[..name.floor_char_boundary(LONGEST)];
    format!("{beginning}~{}", hex(&Sha256::digest(name)))
}

pub(super) fn node(id: &str) -> String {
    node_of_part(&part(id))
}

/// Returns the key of the node with whose part a hint ends.
pub(super) fn node_of_part(part: &str) -> String {
    format!("{NODES}{part}")
}

pub(super) fn run(number: u64) -> String {
    format!("{RUNS}{number:012}")
}

/// Returns the prefix of the keys in a queue.
pub(super) const fn queue(queue: Queue) -> &'static str {
    match queue {
        Queue::Walk => "W#",
        Queue::Fetch => "F#",
        Queue::Leave => "L#",
    }
}

pub(super) fn queued(of: Queue, key: &str) -> String {
    format!("{}{}", queue(of), part(key))
}

/// Returns the prefix of the hints to the nodes in a folder. The rest of each hint is the part of
/// the node's key.
pub(super) fn children(folder: &str) -> String {
    hints("K", folder)
}

/// Returns the prefix of the hints to the shortcuts that point to an item.
pub(super) fn shortcuts(target: &str) -> String {
    hints("T", target)
}

fn hints(kind: &str, name: &str) -> String {
    let name = part(name);
    format!("{kind}#{}#{name}#", name.len())
}

/// Returns the hints that lead to a node.
pub(super) fn hints_of(node: &Node) -> Vec<String> {
    let below = node.parent.as_deref().map(children);
    let leads = node.target.as_deref().map(shortcuts);
    let hint = |prefix: String| format!("{prefix}{}", part(&node.id));
    [below, leads].into_iter().flatten().map(hint).collect()
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
        let mut keys: Vec<String> = names.iter().map(|id| node(id)).collect();
        for (folder, id) in names
            .iter()
            .flat_map(|folder| names.iter().map(move |id| (folder, id)))
        {
            keys.push(format!("{}{}", children(folder), part(id)));
            keys.push(format!("{}{}", shortcuts(folder), part(id)));
        }

        for of in [Queue::Walk, Queue::Fetch, Queue::Leave] {
            keys.extend(names.iter().map(|name| queued(of, name)));
        }

        keys.extend([
            STATE.to_owned(),
            SELECTION.to_owned(),
            run(0),
            run(u64::from(u32::MAX)),
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
                children(other).starts_with(&children(one)),
                one == other,
                "{one} {other}"
            );
        }
    }
}
