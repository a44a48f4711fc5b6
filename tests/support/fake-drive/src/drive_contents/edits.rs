//! Changes that people make to items.

use std::collections::BTreeSet;

use super::item::Checksums;
use super::{ChangeFeed, ChangedObject, DriveContents, FakeContent, Restrictions, SharedDrive};
use crate::quirks::Descendants;

/// The reason why a change to the drive was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRefused(pub String);

impl std::fmt::Display for EditRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EditRefused {}

pub(crate) type EditResult = Result<(), EditRefused>;

impl DriveContents {
    /// Creates an item in a folder. The owner of the folder owns the item.
    pub(crate) fn add_item(
        &mut self,
        parent: &str,
        name: &str,
        body: FakeContent,
    ) -> Result<String, EditRefused> {
        let folder = self.folder(parent)?;
        let (owner, drive) = (folder.owner.clone(), folder.drive.clone());
        let id = format!("1{}", self.random.random_name(32));
        let mut item = self.new_item(id.clone(), name, body, owner, drive);
        item.parent = Some(parent.to_owned());
        self.item_index.insert_item(&item);
        self.items.insert(id.clone(), item);
        self.log_change(&id, &self.feeds_of(&id));
        Ok(id)
    }

    fn folder(&self, id: &str) -> Result<&super::Item, EditRefused> {
        let item = self
            .items
            .get(id)
            .ok_or_else(|| EditRefused(format!("no item {id}")))?;
        if item.is_folder() {
            Ok(item)
        } else {
            Err(EditRefused(format!("{id} is no folder")))
        }
    }

    /// Changes an item and logs the change for everybody who saw the item before or sees it after.
    /// `deep` says that the change can affect everything below the item.
    fn change_item(
        &mut self,
        id: &str,
        is_deep: bool,
        edit: impl FnOnce(&mut Self) -> EditResult,
    ) -> EditResult {
        if !self.items.contains_key(id) {
            return Err(EditRefused(format!("no item {id}")));
        }

        let affected = if is_deep {
            self.touched(id)
        } else {
            vec![id.to_owned()]
        };

        let feeds_before: Vec<_> = affected.iter().map(|id| self.feeds_of(id)).collect();
        edit(self)?;
        for (id, feeds_before) in affected.iter().zip(feeds_before) {
            if let Some(item) = self.items.get_mut(id) {
                item.version += 1;
            }
            let feeds = &feeds_before | &self.feeds_of(id);
            self.log_change(id, &feeds);
        }

        Ok(())
    }

    fn touched(&mut self, id: &str) -> Vec<String> {
        match self.quirks.descendants {
            Descendants::None => vec![id.to_owned()],
            Descendants::All => self.descendants(id),
            Descendants::Some => {
                let ids = self.descendants(id);
                ids.into_iter()
                    .filter(|descendant| descendant == id || self.random.flip_coin())
                    .collect()
            }
        }
    }

    fn log_change(&mut self, id: &str, feeds: &BTreeSet<ChangeFeed>) {
        for feed in feeds {
            self.record_change(feed.clone(), &ChangedObject::Item(id.to_owned()));
        }
    }

    fn set(&mut self, id: &str, is_deep: bool, edit: impl FnOnce(&mut super::Item)) -> EditResult {
        self.change_item(id, is_deep, |contents| {
            if let Some(item) = contents.items.get_mut(id) {
                edit(item);
            }
            Ok(())
        })
    }

    pub(crate) fn rename(&mut self, id: &str, name: &str) -> EditResult {
        self.set(id, false, |item| name.clone_into(&mut item.name))
    }

    /// Replaces the content of an item.
    pub(crate) fn replace_content(&mut self, id: &str, body: FakeContent) -> EditResult {
        let now = self.clock.now();
        self.set(id, false, |item| {
            item.checksums = Checksums::of(&body);
            item.body = body;
            item.modified_at = now;
            item.revision += 1;
        })
    }

    pub(crate) fn restrict(&mut self, id: &str, restrictions: Restrictions) -> EditResult {
        self.set(id, false, |item| item.restrictions = restrictions)
    }

    /// Sets the time of the last modification, as uploads of old files do.
    pub(crate) fn set_modified_time(&mut self, id: &str, modified: i64) -> EditResult {
        self.set(id, false, |item| item.modified_at = modified)
    }

    pub(crate) fn view(&mut self, email: &str, id: &str) -> EditResult {
        let now = self.clock.now();
        self.set(id, false, |item| {
            item.viewed_at.insert(email.to_owned(), now);
        })
    }

    pub(crate) fn bin(&mut self, id: &str, is_trashed: bool) -> EditResult {
        self.set(id, true, |item| item.is_trashed = is_trashed)
    }

    pub(crate) fn share(&mut self, id: &str, email: &str) -> EditResult {
        let now = self.clock.now();
        self.item_index.share(email, id);
        self.set(id, true, |item| {
            item.shared_since.insert(email.to_owned(), now);
        })
    }

    pub(crate) fn unshare(&mut self, id: &str, email: &str) -> EditResult {
        self.item_index.unshare(email, id);
        self.set(id, true, |item| {
            item.shared_since.remove(email);
        })
    }

    /// Shares an item with everybody who knows a key. No log records this change.
    pub(crate) fn share_by_link(&mut self, id: &str, key: &str) -> EditResult {
        let item = self
            .items
            .get_mut(id)
            .ok_or_else(|| EditRefused(format!("no item {id}")))?;
        item.link_key = Some(key.to_owned());
        Ok(())
    }

    /// Hides an item and everything in it from an account, or reveals it again.
    pub(crate) fn withhold(&mut self, id: &str, email: &str, is_withheld: bool) -> EditResult {
        self.set(id, true, |item| {
            if is_withheld {
                item.withheld_from.insert(email.to_owned());
            } else {
                item.withheld_from.remove(email);
            }
        })
    }

    /// Moves an item into another folder, which may be in another drive.
    pub(crate) fn move_to(&mut self, id: &str, parent: &str) -> EditResult {
        let folder = self.folder(parent)?;
        let (owner, drive) = (folder.owner.clone(), folder.drive.clone());
        if self.ancestors(parent).any(|ancestor| ancestor.id == id) {
            return Err(EditRefused("a folder cannot lie in itself".to_owned()));
        }
        if self.items.get(id).is_some_and(|item| item.parent.is_none()) {
            return Err(EditRefused("a root cannot be moved".to_owned()));
        }
        self.change_item(id, true, |contents| {
            contents.move_descendants(id, parent, owner, drive);
            Ok(())
        })
    }

    fn move_descendants(
        &mut self,
        id: &str,
        parent: &str,
        owner: Option<String>,
        drive: Option<String>,
    ) {
        for descendant in self.descendants(id) {
            let Some(mut item) = self.items.remove(&descendant) else {
                continue;
            };
            self.item_index.remove_item(&item);
            if descendant == id {
                item.parent = Some(parent.to_owned());
            }

            // A move between folders of accounts keeps the owners. A shared drive owns everything
            // in it.
            if item.drive != drive {
                item.drive.clone_from(&drive);
                item.owner.clone_from(&owner);
            }

            self.item_index.insert_item(&item);
            self.items.insert(descendant, item);
        }
    }

    /// Deletes an item permanently, with everything in it.
    pub(crate) fn remove(&mut self, id: &str) -> EditResult {
        if self.items.get(id).is_some_and(|item| item.parent.is_none()) {
            return Err(EditRefused("a root cannot be removed".to_owned()));
        }

        self.change_item(id, true, |contents| {
            for descendant in contents.descendants(id) {
                if let Some(item) = contents.items.remove(&descendant) {
                    contents.item_index.remove_item(&item);
                    for email in item.shared_since.keys() {
                        contents.item_index.unshare(email, &descendant);
                    }
                }
                contents.item_index.children.remove(&descendant);
            }
            Ok(())
        })
    }

    /// Creates a shared drive. Its id is also the id of its root folder.
    pub(crate) fn add_drive(&mut self, name: &str, members: &[&str]) -> String {
        let id = format!("0A{}PVA", self.random.random_name(14));
        let root = self.new_item(
            id.clone(),
            "Drive",
            FakeContent::Folder,
            None,
            Some(id.clone()),
        );
        self.items.insert(id.clone(), root);
        let created_at = self.clock.now();
        let drive = SharedDrive {
            id: id.clone(),
            name: name.to_owned(),
            is_hidden: false,
            created_at,
            members: BTreeSet::default(),
        };

        self.drives.insert(id.clone(), drive);
        for email in members {
            self.get_or_create_account(email);
            let _known = self.set_member(&id, email, true);
        }

        id
    }

    /// Makes an account a member of a shared drive, or ends the membership. Only the account's own
    /// log records this change.
    pub(crate) fn set_member(&mut self, drive: &str, email: &str, is_member: bool) -> EditResult {
        let shared_drive = self
            .drives
            .get_mut(drive)
            .ok_or_else(|| EditRefused(format!("no drive {drive}")))?;
        if is_member {
            shared_drive.members.insert(email.to_owned());
        } else {
            shared_drive.members.remove(email);
        }

        self.item_index.invalidate_shared();
        self.record_change(
            ChangeFeed::User(email.to_owned()),
            &ChangedObject::Drive(drive.to_owned()),
        );

        Ok(())
    }

    pub(crate) fn rename_drive(&mut self, drive: &str, name: &str) -> EditResult {
        let shared_drive = self
            .drives
            .get_mut(drive)
            .ok_or_else(|| EditRefused(format!("no drive {drive}")))?;
        name.clone_into(&mut shared_drive.name);
        let members: Vec<_> = shared_drive
            .members
            .iter()
            .cloned()
            .map(ChangeFeed::User)
            .collect();
        for feed in members
            .into_iter()
            .chain([ChangeFeed::Drive(drive.to_owned())])
        {
            self.record_change(feed, &ChangedObject::Drive(drive.to_owned()));
        }
        Ok(())
    }
}
