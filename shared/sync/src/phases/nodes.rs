//! The handling of items that were seen, and of items that are gone.

use domain::connection::{ItemRecord, ItemState, PendingRemoval, SkipReason, SyncQueue};
use domain::ports::{ItemKind, ProviderItem};

use crate::queue::{self, FetchEntry, FileKey, FolderKey};
use crate::work::{StepState, TickError};

/// The most shortcuts to one item that are examined when it changes.
const MAX_SHORTCUTS: usize = 100;

impl StepState<'_> {
    /// Reads everything that [`Self::record_item`] needs for these items, in few requests.
    pub(crate) async fn load_for_items(&mut self, items: &[ProviderItem]) -> Result<(), TickError> {
        let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
        self.load_nodes(&ids).await?;
        let mut unfiled = Vec::new();
        let mut folders = Vec::new();
        for item in items {
            let node = self.current_node(&item.id).await?;
            match item.kind {
                ItemKind::Folder => folders.push(FolderKey::Walk(item.id.clone()).to_string()),
                _ if node.is_none_or(|node| node.filed.is_none()) => unfiled.push(item.id.clone()),
                _ => {}
            }
        }

        self.load_queue_entries(SyncQueue::Leave, unfiled).await?;
        self.load_queue_entries(SyncQueue::Walk, folders).await
    }

    /// Records an item in scope in its current state, with the path `path`.
    pub(crate) async fn record_item(
        &mut self,
        item: &ProviderItem,
        path: String,
        seen: u64,
    ) -> Result<(), TickError> {
        let old = self.current_node(&item.id).await?;
        let node = new_node(item, path, seen, old.as_ref());
        self.state.shortcuts |= node.target.is_some();
        let changed = old.as_ref().is_none_or(|old| old.mark != node.mark);
        let reason = match &item.kind {
            ItemKind::Unreadable(reason) => Some(*reason),
            _ => None,
        };

        self.update_node(old.as_ref(), node, reason).await?;
        if changed {
            self.enqueue_shortcuts_to(&item.id).await?;
        }

        Ok(())
    }

    /// Restores the document of an item that has reappeared. If its removal has already begun, the
    /// document is made again instead.
    async fn restore_document(&mut self, node: &mut ItemRecord) -> Result<(), TickError> {
        if node.filed.is_some() {
            return Ok(());
        }

        let Some(leaving) = self.leaving_entry(&node.id).await? else {
            return Ok(());
        };

        self.batch.dequeue(SyncQueue::Leave, node.id.clone());
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
    pub(crate) async fn update_node(
        &mut self,
        old: Option<&ItemRecord>,
        mut node: ItemRecord,
        reason: Option<SkipReason>,
    ) -> Result<(), TickError> {
        if old.is_none_or(|old| old.version != node.version) {
            node.attempts = 0;
        }

        node.state = match self.excluded_state(old, &node, reason).await? {
            _ if node.folder => ItemState::Folder,
            Some(state) => state,
            None => {
                self.restore_document(&mut node).await?;
                if old.is_some_and(|old| matches!(old.state, ItemState::Failed { .. })) {
                    node.attempts = 0;
                }
                self.included_state(&node)
            }
        };

        self.release_skipped(old, &mut node)?;
        self.store_node(old, node)?;

        Ok(())
    }

    /// Returns the state of a node that the provider, a rule or an earlier attempt excludes, or
    /// `None` if nothing does.
    async fn excluded_state(
        &mut self,
        old: Option<&ItemRecord>,
        node: &ItemRecord,
        reason: Option<SkipReason>,
    ) -> Result<Option<ItemState>, TickError> {
        let above = self.ancestor_ids(node).await?;
        if let Some(reason) = reason.or_else(|| self.filter.skip_reason(node, &above)) {
            return Ok(Some(ItemState::Skipped { reason }));
        }

        let same = old.filter(|old| old.version == node.version && old.target == node.target);
        // The target of a shortcut changes without the shortcut.
        let same = same.filter(|old| old.target.is_none() || self.state.scanning_since.is_none());
        // A scan retries failed items, because the cause may be gone.
        let same = same.filter(|old| {
            !matches!(old.state, ItemState::Failed { .. }) || self.state.scanning_since.is_none()
        });

        Ok(same.and_then(|old| final_state(&old.state)))
    }

    /// Schedules the removal of the document of a node that is now skipped.
    fn release_skipped(
        &mut self,
        old: Option<&ItemRecord>,
        node: &mut ItemRecord,
    ) -> Result<(), TickError> {
        let ItemState::Skipped { reason } = node.state else {
            return Ok(());
        };

        if old.is_none_or(|old| old.state != node.state) {
            self.update_run(|run| run.skipped += 1);
        }

        // The document of an item that waits for the model filter is kept.
        if reason != SkipReason::PendingFilter {
            let by_rule = matches!(
                reason,
                SkipReason::Excluded | SkipReason::NotIncluded | SkipReason::FilteredOut
            );
            self.enqueue_removal(node, by_rule)?;
        }

        Ok(())
    }

    /// Returns the state of a node that nothing excludes.
    fn included_state(&self, node: &ItemRecord) -> ItemState {
        let new = node.filed.is_none();
        // The target of a shortcut may have changed without a report, so a scan examines it as
        // well.
        let leads = node.target.is_some() && self.state.scanning_since.is_some();

        match self.filter.model_verdict(node) {
            Some(false) => ItemState::Skipped {
                reason: SkipReason::FilteredOut,
            },
            None if !self.filter.has_model => ItemState::Skipped {
                reason: SkipReason::PendingFilter,
            },
            Some(true) if !node.is_outdated() && !leads => ItemState::Filed,
            _ if new && self.is_full() => ItemState::Skipped {
                reason: SkipReason::Limit,
            },
            _ => ItemState::Pending,
        }
    }

    /// Checks whether the connection has reached its document limit.
    pub(crate) fn is_full(&self) -> bool {
        self.state.documents >= u64::from(self.connection.document_limit)
    }

    /// Returns the ids of the node and, if a rule names folders by id, of the folders above it.
    async fn ancestor_ids(&mut self, node: &ItemRecord) -> Result<Vec<String>, TickError> {
        let mut ids = vec![node.id.clone()];
        let mut next = node.parent.clone().filter(|_| self.filter.names_ids);
        while let Some(id) = next.filter(|id| ids.len() < 100 && !ids.contains(id)) {
            next = self
                .current_node(&id)
                .await?
                .and_then(|folder| folder.parent);
            ids.push(id);
        }
        Ok(ids)
    }

    /// Stores a node, and updates its entry in the fetch queue.
    pub(crate) fn store_node(
        &mut self,
        old: Option<&ItemRecord>,
        node: ItemRecord,
    ) -> Result<(), TickError> {
        let (before, after) = (old.and_then(FileKey::of), FileKey::of(&node));
        if before != after {
            if let Some(key) = before {
                self.batch.dequeue(SyncQueue::Fetch, key.to_string());
            }
            if let Some(key) = after {
                let waiting = FetchEntry {
                    new: node.filed.is_none(),
                    ..FetchEntry::default()
                };
                let value = queue::to_value(&waiting)?;
                self.batch.enqueue(SyncQueue::Fetch, key.to_string(), value);
            }
        }

        self.set_node(&node.id.clone(), Some(node));
        Ok(())
    }

    /// Enqueues the removal of the document of a node that is skipped or gone.
    pub(crate) fn enqueue_removal(
        &mut self,
        node: &mut ItemRecord,
        deselected: bool,
    ) -> Result<(), TickError> {
        if node.filed.is_some() {
            let leaving = PendingRemoval {
                node: node.clone(),
                since: self.now(),
                deselected,
            };
            self.batch.enqueue(
                SyncQueue::Leave,
                node.id.clone(),
                queue::to_value(&leaving)?,
            );
            node.filed = None;
        }

        Ok(())
    }

    /// Removes the record of an item that is gone or out of scope, and enqueues the removal of its
    /// document.
    pub(crate) async fn remove_item(
        &mut self,
        id: &str,
        deselected: bool,
    ) -> Result<(), TickError> {
        let Some(mut node) = self.current_node(id).await? else {
            return Ok(());
        };
        if let Some(key) = FileKey::of(&node) {
            self.batch.dequeue(SyncQueue::Fetch, key.to_string());
        }
        if node.folder {
            let key = FolderKey::Walk(id.to_owned());
            self.batch.dequeue(SyncQueue::Walk, key.to_string());
        }
        self.enqueue_removal(&mut node, deselected)?;
        self.set_node(id, None);
        self.enqueue_shortcuts_to(id).await
    }

    /// Enqueues the shortcuts to an item, so that they are fetched again.
    pub(crate) async fn enqueue_shortcuts_to(&mut self, target: &str) -> Result<(), TickError> {
        if !self.state.shortcuts {
            return Ok(());
        }

        let sync = self.tools.desk.sync();
        let found = sync
            .list_shortcuts(self.tenant, &self.connection.id, target, MAX_SHORTCUTS)
            .await?;
        self.add_known_nodes(&found);
        for shortcut in found {
            let Some(now) = self.current_node(&shortcut.id).await? else {
                continue;
            };
            if now.target.as_deref() == Some(target) && !queue::is_queued(&now) {
                let again = ItemRecord {
                    state: ItemState::Pending,
                    attempts: 0,
                    ..now.clone()
                };
                self.store_node(Some(&now), again)?;
            }
        }

        Ok(())
    }
}

/// Returns the state if only another version of the item can end it. Such states result from an
/// attempt to fetch the item, and not from rules.
fn final_state(state: &ItemState) -> Option<ItemState> {
    use SkipReason as R;
    let found_by_rule = [
        R::Excluded,
        R::NotIncluded,
        R::FilteredOut,
        R::PendingFilter,
        R::Limit,
    ];

    match state {
        ItemState::Failed { .. } => Some(state.clone()),
        ItemState::Skipped { reason } if !found_by_rule.contains(reason) => Some(state.clone()),
        _ => None,
    }
}

fn new_node(item: &ProviderItem, path: String, seen: u64, old: Option<&ItemRecord>) -> ItemRecord {
    let (kind, target) = match &item.kind {
        ItemKind::File { document } => (*document, None),
        ItemKind::Shortcut { target } => (None, Some(target.clone())),
        ItemKind::Folder | ItemKind::Unreadable(_) => (None, None),
    };

    // The content of a shortcut is that of its target, and so is its content version once that is
    // known.
    let same = old.filter(|old| target.is_some() && old.target == target);
    let mark = same.map_or_else(|| item.content_version.clone(), |old| old.mark.clone());

    ItemRecord {
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
        ..queue::empty_node()
    }
}
