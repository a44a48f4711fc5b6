//! What a tick is going to write, and what later parts of the same tick already see of it.

use std::collections::BTreeMap;

use domain::connection::{Node, Queue, QueueEntry, Run};
use domain::ports::SyncWrite;

/// The writes of a tick.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Nodes by id: as stored, and as they are to be.
    nodes: BTreeMap<String, (Option<Node>, Option<Node>)>,
    /// What is to wait, or no longer.
    waits: BTreeMap<(Queue, String), Option<String>>,
    /// The same for work that this tick has done a part of: written last, so that none of it is skipped after a crash.
    done: BTreeMap<(Queue, String), Option<String>>,
    run: Option<Run>,
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() + self.waits.len()
    }

    /// The node as this tick leaves it; `None` where the tick has not touched it.
    pub(crate) fn node(&self, id: &str) -> Option<Option<&Node>> {
        self.nodes.get(id).map(|(_, now)| now.as_ref())
    }

    /// What waits under a key, as this tick leaves it; `None` where the tick has not touched it.
    pub(crate) fn waits(&self, queue: Queue, key: &str) -> Option<Option<&str>> {
        self.waits
            .get(&(queue, key.to_owned()))
            .map(|value| value.as_deref())
    }

    /// Stores a node, or forgets it. `stored` is what there was before this tick.
    pub(crate) fn set(&mut self, id: &str, stored: Option<&Node>, node: Option<Node>) {
        let entry = self
            .nodes
            .entry(id.to_owned())
            .or_insert_with(|| (stored.cloned(), None));
        entry.1 = node;
    }

    pub(crate) fn enqueue(&mut self, queue: Queue, key: String, value: String) {
        self.waits.insert((queue, key), Some(value));
    }

    pub(crate) fn dequeue(&mut self, queue: Queue, key: String) {
        self.waits.insert((queue, key), None);
    }

    /// Work under this key goes on with `value`, or has ended. What asks for the same work anew in this tick wins.
    pub(crate) fn go_on(&mut self, queue: Queue, key: String, value: Option<String>) {
        self.done.insert((queue, key), value);
    }

    pub(crate) fn record(&mut self, run: Run) {
        self.run = Some(run);
    }

    /// The writes in an order that may be cut off anywhere and come again: what is to be done stands before what makes it
    /// look done, and documents are in one place before they leave the other.
    pub(crate) fn writes(&self) -> Vec<SyncWrite> {
        let mut writes = Vec::with_capacity(self.len() + self.done.len() + 1);
        let entry = |key: &str, value: &str| QueueEntry {
            key: key.to_owned(),
            value: value.to_owned(),
        };

        for ((queue, key), value) in &self.waits {
            writes.extend(
                value
                    .as_ref()
                    .map(|value| SyncWrite::Enqueue(*queue, entry(key, value))),
            );
        }

        for (stored, now) in self.nodes.values() {
            if let Some(now) = now.as_ref().filter(|_| now != stored) {
                writes.push(SyncWrite::Node(
                    Box::new(now.clone()),
                    stored.clone().map(Box::new),
                ));
            }
        }

        for (stored, _) in self.nodes.values().filter(|(_, now)| now.is_none()) {
            writes.extend(
                stored
                    .clone()
                    .map(|stored| SyncWrite::Forget(Box::new(stored))),
            );
        }

        for ((queue, key), _) in self.waits.iter().filter(|(_, value)| value.is_none()) {
            writes.push(SyncWrite::Dequeue(*queue, key.clone()));
        }

        for (place, value) in self
            .done
            .iter()
            .filter(|(place, _)| !self.waits.contains_key(place))
        {
            writes.push(match value {
                Some(value) => SyncWrite::Enqueue(place.0, entry(&place.1, value)),
                None => SyncWrite::Dequeue(place.0, place.1.clone()),
            });
        }

        writes.extend(self.run.clone().map(|run| SyncWrite::Run(Box::new(run))));
        writes
    }
}
