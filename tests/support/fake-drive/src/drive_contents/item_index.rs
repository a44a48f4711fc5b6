//! Indexes of the items by location, in order of creation, so that the cost of a page of a listing
//! depends on its size alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::{DriveContents, Item};

/// A set of items in order of creation.
pub(crate) type ItemSet = BTreeMap<u64, String>;

#[derive(Default)]
pub(crate) struct ItemIndex {
    /// The contents of each folder.
    pub(crate) children: HashMap<String, ItemSet>,
    /// The items that each account owns, without its root folder.
    pub(crate) owned: HashMap<String, ItemSet>,
    /// The items of each shared drive, without its root folder.
    pub(crate) drives: HashMap<String, ItemSet>,
    /// The items that are themselves shared with each account.
    shared_roots: HashMap<String, BTreeSet<String>>,
    /// The items that each account sees because somebody shared them, as of a revision.
    shared: HashMap<String, (u64, Arc<ItemSet>)>,
    /// A counter that increases with every change that may affect `shared`.
    revision: u64,
}

impl ItemIndex {
    pub(crate) fn insert_item(&mut self, item: &Item) {
        self.revision += 1;
        if let Some(parent) = &item.parent {
            self.children
                .entry(parent.clone())
                .or_default()
                .insert(item.seq, item.id.clone());
        }
        if let Some(item_set) = self.owner_set(item) {
            item_set.insert(item.seq, item.id.clone());
        }
    }

    pub(crate) fn remove_item(&mut self, item: &Item) {
        self.revision += 1;
        if let Some(item_set) = item
            .parent
            .as_ref()
            .and_then(|parent| self.children.get_mut(parent))
        {
            item_set.remove(&item.seq);
        }
        if let Some(item_set) = self.owner_set(item) {
            item_set.remove(&item.seq);
        }
    }

    /// Invalidates the shared items after a change of a drive's members.
    pub(crate) fn invalidate_shared(&mut self) {
        self.revision += 1;
    }

    fn owner_set(&mut self, item: &Item) -> Option<&mut ItemSet> {
        if let Some(drive) = &item.drive {
            return Some(self.drives.entry(drive.clone()).or_default());
        }
        item.owner
            .as_ref()
            .map(|owner| self.owned.entry(owner.clone()).or_default())
    }

    pub(crate) fn share(&mut self, email: &str, id: &str) {
        self.revision += 1;
        self.shared_roots
            .entry(email.to_owned())
            .or_default()
            .insert(id.to_owned());
    }

    pub(crate) fn unshare(&mut self, email: &str, id: &str) {
        self.revision += 1;
        if let Some(roots) = self.shared_roots.get_mut(email) {
            roots.remove(id);
        }
    }
}

impl DriveContents {
    /// Returns the items that an account sees because somebody shared them or a folder above them.
    pub(crate) fn shared_items(&mut self, email: &str) -> Arc<ItemSet> {
        let revision = self.item_index.revision;
        if let Some((cached_revision, item_set)) = self.item_index.shared.get(email)
            && *cached_revision == revision
        {
            return item_set.clone();
        }

        let mut all_ids = HashSet::new();
        for root in self
            .item_index
            .shared_roots
            .get(email)
            .into_iter()
            .flatten()
        {
            let shared_ids = if self.quirks.shared_folders_only {
                vec![root.clone()]
            } else {
                self.descendants(root)
            };
            all_ids.extend(shared_ids);
        }

        let shared = all_ids.into_iter().filter_map(|id| self.items.get(&id));
        // Members find the items of a shared drive in that drive.
        let is_member_drive = |drive: &String| self.is_member(email, drive);
        let foreign_items = shared.filter(|item| {
            item.owner.as_deref() != Some(email)
                && !item.drive.as_ref().is_some_and(is_member_drive)
        });

        let item_set: ItemSet = foreign_items
            .map(|item| (item.seq, item.id.clone()))
            .collect();
        let item_set = Arc::new(item_set);
        self.item_index
            .shared
            .insert(email.to_owned(), (revision, item_set.clone()));

        item_set
    }
}
