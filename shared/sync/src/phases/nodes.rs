//! The handling of items that were seen, and of items that are gone.

use domain::connection::{Leaving, Node, NodeState, Queue, SkipReason};
use domain::ports::{Item, ItemKind};

use crate::keys::{self, Waiting};
use crate::work::{Halt, Work};

/// The most shortcuts to one item that are examined when it changes.
const SHORTCUTS: usize = 100;

impl Work<'_> {
    /// Reads everything that [`Self::upsert`] needs for these items, in few requests.
    pub(crate) async fn prepare(&mut self, items: &[Item]) -> Result<(), Halt> {
        let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
        self.load(&ids).await?;
        let mut unfiled = Vec::new();
        let mut folders = Vec::new();
        for item in items {
            let node = self.node(&item.id).await?;
            match item.kind {
                ItemKind::Folder => folders.push(keys::walk_key(&item.id)),
                _ if node.is_none_or(|node| node.filed.is_none()) => unfiled.push(item.id.clone()),
                _ => {}
            }
        }

        self.load_waits(Queue::Leave, unfiled).await?;
        self.load_waits(Queue::Walk, folders).await
    }

    /// Records an item in scope in its current state, with the path `path`.
    pub(crate) async fn upsert(
        &mut self,
        item: &Item,
        path: String,
        seen: u64,
    ) -> Result<(), Halt> {
        let old = self.node(&item.id).await?;
        let node = node_of(item, path, seen, old.as_ref());
        self.state.shortcuts |= node.target.is_some();
        let changed = old.as_ref().is_none_or(|old| old.mark != node.mark);
        let reason = match &item.kind {
            ItemKind::Unreadable(reason) => Some(*reason),
            _ => None,
        };

        self.settle(old.as_ref(), node, reason).await?;
        if changed {
            self.shortcuts_to(&item.id).await?;
        }

        Ok(())
    }

    /// Restores the document of an item that has reappeared. If its removal has already begun, the
    /// document is made again instead.
    async fn restore(&mut self, node: &mut Node) -> Result<(), Halt> {
        if node.filed.is_some() {
            return Ok(());
        }

        let Some(leaving) = self.leaving(&node.id).await? else {
            return Ok(());
        };

        self.batch.dequeue(Queue::Leave, node.id.clone());
        node.verdict = node.verdict.take().or(leaving.node.verdict);
        if self
            .state
            .releasing
            .iter()
            .any(|intent| intent.item == node.id)
        {
            self.state.documents -=
                u64::from(leaving.node.filed.is_some() && self.state.documents > 0);
        } else {
            node.filed = leaving.node.filed;
        }

        Ok(())
    }

    /// Determines the state of a node, and stores it. `reason` is the reason for which the provider
    /// excludes it.
    pub(crate) async fn settle(
        &mut self,
        old: Option<&Node>,
        mut node: Node,
        reason: Option<SkipReason>,
    ) -> Result<(), Halt> {
        if old.is_none_or(|old| old.version != node.version) {
            node.attempts = 0;
        }

        node.state = match self.left_out(old, &node, reason).await? {
            _ if node.folder => NodeState::Folder,
            Some(state) => state,
            None => {
                self.restore(&mut node).await?;
                if old.is_some_and(|old| matches!(old.state, NodeState::Failed { .. })) {
                    node.attempts = 0;
                }
                self.wanted(&node)
            }
        };

        self.leave_out(old, &mut node);
        self.put(old, node);

        Ok(())
    }

    /// Returns the state of a node that the provider, a rule or an earlier attempt excludes, or
    /// `None` if nothing does.
    async fn left_out(
        &mut self,
        old: Option<&Node>,
        node: &Node,
        reason: Option<SkipReason>,
    ) -> Result<Option<NodeState>, Halt> {
        let above = self.lineage(node).await?;
        if let Some(reason) = reason.or_else(|| self.filter.leaves_out(node, &above)) {
            return Ok(Some(NodeState::Skipped { reason }));
        }

        let same = old.filter(|old| old.version == node.version && old.target == node.target);
        // The target of a shortcut changes without the shortcut.
        let same = same.filter(|old| old.target.is_none() || self.state.scanning_since.is_none());
        // A scan retries failed items, because the cause may be gone.
        let same = same.filter(|old| {
            !matches!(old.state, NodeState::Failed { .. }) || self.state.scanning_since.is_none()
        });

        Ok(same.and_then(|old| settled(&old.state)))
    }

    /// Schedules the removal of the document of a node that is now skipped.
    fn leave_out(&mut self, old: Option<&Node>, node: &mut Node) {
        let NodeState::Skipped { reason } = node.state else {
            return;
        };

        if old.is_none_or(|old| old.state != node.state) {
            self.count(|run| run.skipped += 1);
        }

        // The document of an item that waits for the model filter is kept.
        if reason != SkipReason::PendingFilter {
            let by_rule = matches!(
                reason,
                SkipReason::Excluded | SkipReason::NotIncluded | SkipReason::FilteredOut
            );
            self.let_go(node, by_rule);
        }
    }

    /// Returns the state of a node that nothing excludes.
    fn wanted(&self, node: &Node) -> NodeState {
        let new = node.filed.is_none();
        // The target of a shortcut may have changed without a report, so a scan examines it as
        // well.
        let leads = node.target.is_some() && self.state.scanning_since.is_some();

        match self.filter.verdict(node) {
            Some(false) => NodeState::Skipped {
                reason: SkipReason::FilteredOut,
            },
            None if !self.filter.judges => NodeState::Skipped {
                reason: SkipReason::PendingFilter,
            },
            Some(true) if !node.is_behind() && !leads => NodeState::Filed,
            _ if new && self.is_full() => NodeState::Skipped {
                reason: SkipReason::Limit,
            },
            _ => NodeState::Pending,
        }
    }

    /// Checks whether the connection has reached its document limit.
    pub(crate) fn is_full(&self) -> bool {
        self.state.documents >= u64::from(self.connection.document_limit)
    }

    /// Returns the ids of the node and, if a rule names folders by id, of the folders above it.
    async fn lineage(&mut self, node: &Node) -> Result<Vec<String>, Halt> {
        let mut ids = vec![node.id.clone()];
        let mut next = node.parent.clone().filter(|_| self.filter.names_ids);
        while let Some(id) = next.filter(|id| ids.len() < 100 && !ids.contains(id)) {
            next = self.node(&id).await?.and_then(|folder| folder.parent);
            ids.push(id);
        }
        Ok(ids)
    }

    /// Stores a node, and updates its entry in the fetch queue.
    pub(crate) fn put(&mut self, old: Option<&Node>, node: Node) {
        let (before, after) = (old.and_then(keys::fetch_key), keys::fetch_key(&node));
        if before != after {
            if let Some(key) = before {
                self.batch.dequeue(Queue::Fetch, key);
            }
            if let Some(key) = after {
                let waiting = Waiting {
                    new: node.filed.is_none(),
                    ..Waiting::default()
                };
                self.batch.enqueue(Queue::Fetch, key, keys::text(&waiting));
            }
        }

        self.set(&node.id.clone(), Some(node));
    }

    /// Enqueues the removal of the document of a node that is skipped or gone.
    pub(crate) fn let_go(&mut self, node: &mut Node, deselected: bool) {
        if node.filed.is_some() {
            let leaving = Leaving {
                node: node.clone(),
                since: self.now(),
                deselected,
            };
            self.batch
                .enqueue(Queue::Leave, node.id.clone(), keys::text(&leaving));
            node.filed = None;
        }
    }

    /// Removes the record of an item that is gone or out of scope, and enqueues the removal of its
    /// document.
    pub(crate) async fn remove(&mut self, id: &str, deselected: bool) -> Result<(), Halt> {
        let Some(mut node) = self.node(id).await? else {
            return Ok(());
        };
        if let Some(key) = keys::fetch_key(&node) {
            self.batch.dequeue(Queue::Fetch, key);
        }
        if node.folder {
            self.batch.dequeue(Queue::Walk, keys::walk_key(id));
        }
        self.let_go(&mut node, deselected);
        self.set(id, None);
        self.shortcuts_to(id).await
    }

    /// Enqueues the shortcuts to an item, so that they are fetched again.
    pub(crate) async fn shortcuts_to(&mut self, target: &str) -> Result<(), Halt> {
        if !self.state.shortcuts {
            return Ok(());
        }

        let sync = self.tools.desk.sync();
        let found = sync
            .shortcuts(self.tenant, &self.connection.id, target, SHORTCUTS)
            .await?;
        self.know(&found);
        for shortcut in found {
            let Some(now) = self.node(&shortcut.id).await? else {
                continue;
            };
            if now.target.as_deref() == Some(target) && !keys::is_queued(&now) {
                let again = Node {
                    state: NodeState::Pending,
                    attempts: 0,
                    ..now.clone()
                };
                self.put(Some(&now), again);
            }
        }

        Ok(())
    }
}

/// Returns the state if only another version of the item can end it. Such states result from an
/// attempt to fetch the item, and not from rules.
fn settled(state: &NodeState) -> Option<NodeState> {
    use SkipReason as R;
    let found_by_rule = [
        R::Excluded,
        R::NotIncluded,
        R::FilteredOut,
        R::PendingFilter,
        R::Limit,
    ];

    match state {
        NodeState::Failed { .. } => Some(state.clone()),
        NodeState::Skipped { reason } if !found_by_rule.contains(reason) => Some(state.clone()),
        _ => None,
    }
}

fn node_of(item: &Item, path: String, seen: u64, old: Option<&Node>) -> Node {
    let (kind, target) = match &item.kind {
        ItemKind::File { document } => (*document, None),
        ItemKind::Shortcut { target } => (None, Some(target.clone())),
        ItemKind::Folder | ItemKind::Unreadable(_) => (None, None),
    };

    // The content of a shortcut is that of its target, and so is its content version once that is
    // known.
    let same = old.filter(|old| target.is_some() && old.target == target);
    let mark = same.map_or_else(|| item.mark.clone(), |old| old.mark.clone());

    Node {
        id: item.id.clone(),
        parent: item.parent.clone(),
        name: item.name.clone(),
        path,
        folder: matches!(item.kind, ItemKind::Folder),
        target,
        drive: item.drive.clone(),
        media_type: item.media_type.clone(),
        version: item.version.clone(),
        mark,
        size: item.size,
        modified_at: item.modified_at,
        url: item.url.clone(),
        owner: item.owner.clone(),
        kind,
        seen,
        filed: old.and_then(|old| old.filed.clone()),
        attempts: old.map_or(0, |old| old.attempts),
        verdict: old.and_then(|old| old.verdict.clone()),
        ..keys::blank()
    }
}
