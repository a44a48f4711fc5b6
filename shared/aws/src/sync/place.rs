//! The sort keys in a connection's partition. What providers and the engine name is part of them as it is, at the end or
//! behind its own length, so that no two names share a key whatever they are made of. DynamoDB allows 1,024 bytes: a
//! longer name gives its beginning and its digest, and whatever it names says the whole name itself.

use domain::connection::{Node, Queue};
use sha2::{Digest, Sha256};

use crate::connections::hex;

/// How far synchronization is.
pub(super) const STATE: &str = "STATE";
/// What is selected.
pub(super) const SELECTION: &str = "SEL";
/// What the keys of nodes begin with.
pub(super) const NODES: &str = "N#";
/// What the keys of runs begin with.
pub(super) const RUNS: &str = "R#";

/// The longest name that is a key's part as it is: two of them, their lengths and marks stay below the limit.
const LONGEST: usize = 400;

/// A name as part of a key. A shortened one is longer than any that was not, so the two cannot meet.
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

/// The key of the node that a hint ends with.
pub(super) fn node_of_part(part: &str) -> String {
    format!("{NODES}{part}")
}

pub(super) fn run(number: u64) -> String {
    format!("{RUNS}{number:012}")
}

/// What the keys in a queue begin with.
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

/// What the hints at the nodes in a folder begin with; the rest of each is the part of the node's key.
pub(super) fn children(folder: &str) -> String {
    hints("K", folder)
}

/// The same for the shortcuts that lead to an item.
pub(super) fn shortcuts(target: &str) -> String {
    hints("T", target)
}

fn hints(kind: &str, name: &str) -> String {
    let name = part(name);
    format!("{kind}#{}#{name}#", name.len())
}

/// The hints that lead to a node.
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
        // A folder's hints are exactly those that begin as they should.
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
