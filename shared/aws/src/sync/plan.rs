//! Plans the writes of a step: which items they put and delete, and how these fit into
//! transactions.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::connection::ItemRecord;
use domain::ports::{PortResult, SyncWrite};

use crate::records::Item;
use crate::records::connection_items::{
    encode_provider_item, hint_item, queue_entry_item, run_item,
};
use crate::table_keys::connection_items as item_keys;

/// The most items of a transaction, without the one for the fence.
const MAX_ITEMS: usize = 100 - 1;
/// The most bytes of a transaction. This is well below the 4 MB that DynamoDB takes, and leaves
/// room for a state of up to 400 KB.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The number of runs that are kept.
const KEPT_RUNS: u64 = 100;

/// A change of one item.
pub(super) enum ItemWrite {
    Put(Item),
    Delete(String),
}

impl ItemWrite {
    fn size_bytes(&self) -> usize {
        /// The bytes that JSON and types add to an attribute.
        const ATTRIBUTE_OVERHEAD: usize = 16;
        match self {
            Self::Put(item) => {
                let mut bytes = 0;
                for (name, value) in item {
                    bytes += name.len() + ATTRIBUTE_OVERHEAD;
                    if let AttributeValue::S(text) = value {
                        bytes += text.len();
                    }
                }
                bytes
            }
            Self::Delete(sk) => sk.len() + ATTRIBUTE_OVERHEAD,
        }
    }
}

/// The result of all writes of a step to one thing. The last write counts.
enum DraftWrite<'a> {
    Node(NodeDraft<'a>),
    Other(Vec<ItemWrite>),
}

/// The result of all writes to one provider item.
#[derive(Default)]
struct NodeDraft<'a> {
    /// The hints that may exist.
    stored_hints: BTreeSet<String>,
    /// The number of writes.
    writes: usize,
    /// The provider item after the last write, or `None` if it is deleted.
    last: Option<&'a ItemRecord>,
}

impl<'a> NodeDraft<'a> {
    fn add_write(&mut self, stored: Option<&ItemRecord>, new: Option<&'a ItemRecord>) {
        for previous in self.last.into_iter().chain(stored) {
            self.stored_hints.extend(item_keys::hint_keys(previous));
        }
        self.last = new;
        self.writes += 1;
    }

    fn into_writes(self, pk: &str, sk: String) -> PortResult<Vec<ItemWrite>> {
        let mut hints: BTreeSet<String> = BTreeSet::new();
        let mut writes = Vec::new();
        match self.last {
            Some(provider_item) => {
                hints.extend(item_keys::hint_keys(provider_item));
                writes.push(ItemWrite::Put(encode_provider_item(pk, provider_item)?));
            }
            None => writes.push(ItemWrite::Delete(sk)),
        }

        for sk in self.stored_hints.difference(&hints) {
            writes.push(ItemWrite::Delete(sk.clone()));
        }
        for sk in hints {
            // Only a single write knows for certain which hints exist.
            let is_stored = self.writes == 1 && self.stored_hints.contains(&sk);
            if !is_stored {
                writes.push(ItemWrite::Put(hint_item(pk, sk)));
            }
        }

        Ok(writes)
    }
}

/// Divides the writes into parts of one transaction each, in the given order. The items of one
/// write stay together, and each item is in only one part, once.
pub(super) fn split_into_transactions(
    pk: &str,
    writes: &[SyncWrite],
) -> PortResult<Vec<Vec<ItemWrite>>> {
    let mut parts = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for group in group_writes(pk, writes)? {
        let size: usize = group.iter().map(ItemWrite::size_bytes).sum();
        if !part.is_empty() && (part.len() + group.len() > MAX_ITEMS || bytes + size > MAX_BYTES) {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += size;
        part.extend(group);
    }

    parts.push(part);
    Ok(parts)
}

/// Returns the items to write, for each thing to which the writes apply.
fn group_writes(pk: &str, writes: &[SyncWrite]) -> PortResult<Vec<Vec<ItemWrite>>> {
    let mut order = Vec::new();
    let mut drafts: HashMap<String, DraftWrite<'_>> = HashMap::new();
    for write in writes {
        let sk = sort_key_of(write);
        if !drafts.contains_key(&sk) {
            order.push(sk.clone());
        }
        let draft = drafts
            .entry(sk)
            .or_insert_with(|| DraftWrite::Node(NodeDraft::default()));
        match (draft, write) {
            (DraftWrite::Node(draft), SyncWrite::PutItem(new, stored)) => {
                draft.add_write(stored.as_deref(), Some(new))
            }
            (DraftWrite::Node(draft), SyncWrite::DeleteItem(stored)) => {
                draft.add_write(Some(stored), None)
            }
            (draft, write) => *draft = DraftWrite::Other(plan_other_write(pk, write)?),
        }
    }

    let mut groups = Vec::with_capacity(order.len());
    for sk in order {
        groups.push(match drafts.remove(&sk) {
            Some(DraftWrite::Node(draft)) => draft.into_writes(pk, sk)?,
            Some(DraftWrite::Other(writes)) => writes,
            None => Vec::new(),
        });
    }

    Ok(groups)
}

/// Returns the key of the thing to which a write applies.
fn sort_key_of(write: &SyncWrite) -> String {
    match write {
        SyncWrite::PutItem(provider_item, _) | SyncWrite::DeleteItem(provider_item) => {
            item_keys::provider_item_key(&provider_item.id)
        }
        SyncWrite::Enqueue(queue, entry) => item_keys::queue_entry_key(*queue, &entry.key),
        SyncWrite::Dequeue(queue, key) => item_keys::queue_entry_key(*queue, key),
        SyncWrite::PutRun(run) => item_keys::run_key(run.number),
    }
}

/// Returns the items of a write that does not apply to a provider item.
fn plan_other_write(pk: &str, write: &SyncWrite) -> PortResult<Vec<ItemWrite>> {
    match write {
        SyncWrite::PutItem(..) | SyncWrite::DeleteItem(_) => Ok(Vec::new()),
        SyncWrite::Enqueue(queue, entry) => {
            let item = queue_entry_item(pk, *queue, entry)?;
            Ok(vec![ItemWrite::Put(item)])
        }
        SyncWrite::Dequeue(queue, key) => {
            let sk = item_keys::queue_entry_key(*queue, key);
            Ok(vec![ItemWrite::Delete(sk)])
        }
        SyncWrite::PutRun(run) => {
            let mut writes = vec![ItemWrite::Put(run_item(pk, run)?)];
            if run.number > KEPT_RUNS {
                let old_key = item_keys::run_key(run.number - KEPT_RUNS);
                writes.push(ItemWrite::Delete(old_key));
            }
            Ok(writes)
        }
    }
}
