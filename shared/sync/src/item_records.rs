//! The records of items: loads what the decisions of [`crate::decide::items`] need, and writes what
//! they decide.

use domain::connection::{ItemRecord, ItemState, SkipReason, SyncQueue};
use domain::ports::{ItemKind, ProviderItem};

use crate::decide::items::{self, ConnectionFacts, RemovalChange, SeenItem};
use crate::queue::{self, FileKey, FolderKey};
use crate::step_state::{StepState, TickError};

/// The most shortcuts to one item that are examined when it changes.
const MAX_SHORTCUTS: usize = 100;
/// The most folders above an item that are followed. A longer chain is a cycle.
const MAX_DEPTH: usize = 100;

impl StepState<'_> {
    /// Reads everything that [`Self::record_item`] needs for these items, in few requests.
    pub(crate) async fn load_for_items(&mut self, items: &[ProviderItem]) -> Result<(), TickError> {
        let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
        self.load_records(&ids).await?;

        let mut without_document = Vec::new();
        let mut folders = Vec::new();
        for item in items {
            if item.kind == ItemKind::Folder {
                folders.push(FolderKey::Walk(item.id.clone()).to_string());
                continue;
            }
            let record = self.current_record(&item.id).await?;
            if record.is_none_or(|record| record.filed.is_none()) {
                without_document.push(item.id.clone());
            }
        }

        self.load_queue_entries(SyncQueue::Remove, without_document)
            .await?;
        self.load_queue_entries(SyncQueue::Walk, folders).await
    }

    /// Records an item in scope in its current state, with the path `path`.
    pub(crate) async fn record_item(
        &mut self,
        item: &ProviderItem,
        path: String,
        seen: u64,
    ) -> Result<(), TickError> {
        let known = self.current_record(&item.id).await?;
        let record = items::observe_item(item, path, seen, known.as_ref());
        let has_new_content = known
            .as_ref()
            .is_none_or(|known| known.content_version != record.content_version);
        let provider_reason = match &item.kind {
            ItemKind::Unreadable(reason) => Some(*reason),
            _ => None,
        };

        self.state.shortcuts |= record.target.is_some();
        self.update_record(known.as_ref(), record, provider_reason)
            .await?;
        if has_new_content {
            self.enqueue_shortcuts_to(&item.id).await?;
        }

        Ok(())
    }

    /// Decides the state of an item, and stores its record. `provider_reason` is the reason for
    /// which the provider excludes it.
    pub(crate) async fn update_record(
        &mut self,
        known: Option<&ItemRecord>,
        record: ItemRecord,
        provider_reason: Option<SkipReason>,
    ) -> Result<(), TickError> {
        let ancestor_ids = self.ancestor_ids(&record).await?;
        let facts = self.connection_facts();
        let exclusion =
            items::find_exclusion(&facts, known, &record, provider_reason, &ancestor_ids);

        let mut pending_removal = None;
        if exclusion.is_none() && !record.folder && record.filed.is_none() {
            pending_removal = self.pending_removal(&record.id).await?;
        }
        let being_removed = &self.state.releasing;
        let is_being_removed = being_removed
            .iter()
            .any(|intent| intent.claiming_item == record.id);

        let item = SeenItem {
            known,
            record,
            exclusion,
            pending_removal,
            is_being_removed,
        };
        let decision = items::decide_item(&self.connection_facts(), item);

        let id = decision.record.id.clone();
        match decision.removal {
            RemovalChange::Unchanged => {}
            RemovalChange::Cancel => self.writes.dequeue(SyncQueue::Remove, id),
            RemovalChange::Enqueue(removal) => self.enqueue_removal(*removal)?,
        }
        self.state.documents -= u64::from(decision.loses_document);
        if decision.is_newly_skipped {
            self.update_run(|run| run.skipped += 1);
        }

        self.store_record(known, decision.record)
    }

    /// Returns the state of the connection on which decisions about its items depend.
    fn connection_facts(&self) -> ConnectionFacts<'_> {
        ConnectionFacts {
            filter: &self.filter,
            is_scanning: self.state.scanning_since.is_some(),
            documents: self.state.documents,
            document_limit: self.document_limit(),
            now: self.now(),
        }
    }

    fn document_limit(&self) -> u64 {
        u64::from(self.connection.document_limit)
    }

    /// Checks whether the connection has reached its document limit.
    pub(crate) fn is_full(&self) -> bool {
        self.state.documents >= self.document_limit()
    }

    /// Returns the ids of the item and, if a rule names folders by id, of the folders above it.
    async fn ancestor_ids(&mut self, record: &ItemRecord) -> Result<Vec<String>, TickError> {
        let mut ids = vec![record.id.clone()];
        if !self.filter.names_ids {
            return Ok(ids);
        }

        let mut next = record.parent.clone();
        while let Some(id) = next
            && ids.len() < MAX_DEPTH
            && !ids.contains(&id)
        {
            let folder = self.current_record(&id).await?;
            ids.push(id);
            next = folder.and_then(|folder| folder.parent);
        }

        Ok(ids)
    }

    /// Stores a record, and updates its entry in the queue of files.
    pub(crate) fn store_record(
        &mut self,
        known: Option<&ItemRecord>,
        record: ItemRecord,
    ) -> Result<(), TickError> {
        let change = items::change_fetch_queue(known, &record);
        if let Some(key) = change.dequeue {
            self.writes.dequeue(SyncQueue::Fetch, key.to_string());
        }
        if let Some((key, entry)) = change.enqueue {
            let value = queue::to_value(&entry)?;
            self.writes
                .enqueue(SyncQueue::Fetch, key.to_string(), value);
        }

        self.set_record(&record.id.clone(), Some(record));
        Ok(())
    }

    /// Removes the record of an item that is gone or out of scope, and enqueues the removal of its
    /// document. `deselected` says that a user no longer wants the item.
    pub(crate) async fn remove_item(
        &mut self,
        id: &str,
        deselected: bool,
    ) -> Result<(), TickError> {
        let Some(mut record) = self.current_record(id).await? else {
            return Ok(());
        };

        if let Some(key) = FileKey::of(&record) {
            self.writes.dequeue(SyncQueue::Fetch, key.to_string());
        }
        if record.folder {
            let key = FolderKey::Walk(id.to_owned());
            self.writes.dequeue(SyncQueue::Walk, key.to_string());
        }
        if let Some(removal) = items::take_document(&mut record, deselected, self.now()) {
            self.enqueue_removal(removal)?;
        }

        self.set_record(id, None);
        self.enqueue_shortcuts_to(id).await
    }

    /// Enqueues the shortcuts to an item, so that they are fetched again.
    pub(crate) async fn enqueue_shortcuts_to(&mut self, target: &str) -> Result<(), TickError> {
        if !self.state.shortcuts {
            return Ok(());
        }

        let sync = self.context.service.sync();
        let found = sync
            .list_shortcuts(self.tenant, &self.connection.id, target, MAX_SHORTCUTS)
            .await?;
        self.add_known_records(&found);

        for shortcut in found {
            let Some(known) = self.current_record(&shortcut.id).await? else {
                continue;
            };
            if known.target.as_deref() == Some(target) && !queue::is_queued(&known) {
                let again = ItemRecord {
                    state: ItemState::Pending,
                    attempts: 0,
                    ..known.clone()
                };
                self.store_record(Some(&known), again)?;
            }
        }

        Ok(())
    }
}
