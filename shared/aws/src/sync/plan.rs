//! Plans the writes of a step: which items they put and delete, and how these fit into
//! transactions.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::Node;
use domain::ports::SyncWrite;

use super::{place, shape};
use crate::item::Item;

/// The most items of a transaction, without the one for the fence.
const MAX_ITEMS: usize = 100 - 1;
/// The most bytes of a transaction. This is well below the 4 MB that DynamoDB takes, and leaves
/// room for a state of up to 400 KB.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The number of runs that are kept.
const RUNS: u64 = 100;

/// A change of one item.
pub(super) enum Write {
    Put(Item),
    Delete(String),
}

impl Write {
    fn bytes(&self) -> usize {
        /// The bytes that JSON and types add to an attribute.
        const FRAME: usize = 16;
        let value = |value: &AttributeValue| value.as_s().map_or(0, String::len) + FRAME;
        match self {
            Self::Put(item) => item
                .iter()
                .map(|(name, held)| name.len() + value(held))
                .sum(),
            Self::Delete(sk) => sk.len() + FRAME,
        }
    }
}

/// The result of all writes of a step to one thing. The last write counts.
enum Draft<'a> {
    Node(NodeDraft<'a>),
    Other(Vec<Write>),
}

/// The result of all writes to one node.
#[derive(Default)]
struct NodeDraft<'a> {
    /// The hints that may exist.
    known: BTreeSet<String>,
    /// The number of writes.
    writes: usize,
    /// The node after the last write, or `None` if it is deleted.
    last: Option<&'a Node>,
}

impl<'a> NodeDraft<'a> {
    fn write(&mut self, known: Option<&Node>, new: Option<&'a Node>) {
        let gone = self.last.into_iter().chain(known);
        self.known.extend(gone.flat_map(place::hints_of));
        self.last = new;
        self.writes += 1;
    }

    fn finish(self, pk: &str, sk: String) -> Vec<Write> {
        let wanted: BTreeSet<String> = self
            .last
            .map(place::hints_of)
            .into_iter()
            .flatten()
            .collect();
        let mut writes = vec![match self.last {
            Some(node) => Write::Put(shape::node(pk, node)),
            None => Write::Delete(sk),
        }];

        writes.extend(
            self.known
                .difference(&wanted)
                .map(|sk| Write::Delete(sk.clone())),
        );
        // Only a single write knows for certain which hints exist.
        let there = |sk: &&String| self.writes == 1 && self.known.contains(*sk);
        let missing = wanted.iter().filter(|sk| !there(sk));
        writes.extend(missing.map(|sk| Write::Put(shape::hint(pk, sk.clone()))));

        writes
    }
}

/// Divides the writes into parts of one transaction each, in the given order. The items of one
/// write stay together, and each item is in only one part, once.
pub(super) fn parts(pk: &str, writes: &[SyncWrite]) -> Vec<Vec<Write>> {
    let mut parts = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for unit in units(pk, writes) {
        let size: usize = unit.iter().map(Write::bytes).sum();
        if !part.is_empty() && (part.len() + unit.len() > MAX_ITEMS || bytes + size > MAX_BYTES) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += size;
        part.extend(unit);
    }

    parts.push(part);
    parts
}

/// Returns the items to write, for each thing to which the writes apply.
fn units(pk: &str, writes: &[SyncWrite]) -> Vec<Vec<Write>> {
    let mut order = Vec::new();
    let mut drafts: HashMap<String, Draft<'_>> = HashMap::new();
    for write in writes {
        let sk = place_of(write);
        if !drafts.contains_key(&sk) {
            order.push(sk.clone());
        }
        let draft = drafts
            .entry(sk)
            .or_insert_with(|| Draft::Node(NodeDraft::default()));
        match (draft, write) {
            (Draft::Node(draft), SyncWrite::Node(new, known)) => {
                draft.write(known.as_deref(), Some(new))
            }
            (Draft::Node(draft), SyncWrite::Forget(known)) => draft.write(Some(known), None),
            (draft, write) => *draft = Draft::Other(other(pk, write)),
        }
    }

    let unit = |sk: String| match drafts.remove(&sk) {
        Some(Draft::Node(draft)) => draft.finish(pk, sk),
        Some(Draft::Other(writes)) => writes,
        None => Vec::new(),
    };

    order.into_iter().map(unit).collect()
}

/// Returns the key of the thing to which a write applies.
fn place_of(write: &SyncWrite) -> String {
    match write {
        SyncWrite::Node(node, _) | SyncWrite::Forget(node) => place::node(&node.id),
        SyncWrite::Enqueue(queue, entry) => place::queued(*queue, &entry.key),
        SyncWrite::Dequeue(queue, key) => place::queued(*queue, key),
        SyncWrite::Run(run) => place::run(run.number),
    }
}

/// Returns the items of a write that does not apply to a node.
fn other(pk: &str, write: &SyncWrite) -> Vec<Write> {
    match write {
        SyncWrite::Node(..) | SyncWrite::Forget(_) => Vec::new(),
        SyncWrite::Enqueue(queue, entry) => vec![Write::Put(shape::entry(pk, *queue, entry))],
        SyncWrite::Dequeue(queue, key) => vec![Write::Delete(place::queued(*queue, key))],
        SyncWrite::Run(run) => {
            let old = run.number.checked_sub(RUNS).filter(|old| *old > 0);
            let forgotten = old.map(|old| Write::Delete(place::run(old)));
            [Write::Put(shape::run(pk, run))]
                .into_iter()
                .chain(forgotten)
                .collect()
        }
    }
}
