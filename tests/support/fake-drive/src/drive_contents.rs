//! Accounts, shared drives and items, and the rules of access to them.

mod edits;
mod feed;
mod item;
mod item_index;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use edits::EditRefused;
pub(crate) use feed::{ChangeFeed, ChangeLog, ChangedObject};
pub(crate) use item::{DOC, Item, SHEET, SLIDES};
pub use item::{FakeContent, Restrictions, SheetTable, Slide};
pub(crate) use item_index::{ItemIndex, ItemSet};

use crate::clock::Clock;
use crate::quirks::Quirks;
use crate::random::Random;

/// A person with an account.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) email: String,
    pub(crate) name: String,
    /// The account number, which stays the same when the address changes.
    pub(crate) sub: String,
    pub(crate) permission_id: String,
    pub(crate) root: String,
}

/// A drive that belongs to its members jointly.
#[derive(Debug, Clone)]
pub(crate) struct SharedDrive {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) is_hidden: bool,
    pub(crate) created_at: i64,
    pub(crate) members: BTreeSet<String>,
}

/// The viewer of a request: an account, and the resource keys that it knows.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) email: String,
    pub(crate) keys: HashMap<String, String>,
}

pub(crate) struct DriveContents {
    pub(crate) clock: Clock,
    pub(crate) quirks: Quirks,
    pub(crate) random: Random,
    pub(crate) accounts: BTreeMap<String, Account>,
    pub(crate) drives: BTreeMap<String, SharedDrive>,
    pub(crate) items: HashMap<String, Item>,
    pub(crate) item_index: ItemIndex,
    logs: HashMap<ChangeFeed, ChangeLog>,
    /// The feeds with changes that have not been announced to channels.
    pub(crate) changed_feeds: BTreeSet<ChangeFeed>,
    next_seq: u64,
}

impl DriveContents {
    pub(crate) fn new(clock: Clock, quirks: Quirks, seed: u64) -> Self {
        Self {
            clock,
            quirks,
            random: Random::new(seed),
            accounts: BTreeMap::new(),
            drives: BTreeMap::new(),
            items: HashMap::new(),
            item_index: ItemIndex::default(),
            logs: HashMap::new(),
            changed_feeds: BTreeSet::new(),
            next_seq: 1,
        }
    }

    /// Returns the account with this address and creates it if there is none.
    pub(crate) fn get_or_create_account(&mut self, email: &str) -> Account {
        if let Some(account) = self.accounts.get(email) {
            return account.clone();
        }

        let root = format!("0A{}", self.random.random_name(17));
        let account = Account {
            email: email.to_owned(),
            name: display_name(email),
            sub: self.random.random_digits(21),
            permission_id: self.random.random_digits(20),
            root: root.clone(),
        };

        let item = self.new_item(
            root,
            "My Drive",
            FakeContent::Folder,
            Some(email.to_owned()),
            None,
        );
        self.items.insert(item.id.clone(), item);
        self.accounts.insert(email.to_owned(), account.clone());

        account
    }

    /// Creates an item without a parent.
    fn new_item(
        &mut self,
        id: String,
        name: &str,
        body: FakeContent,
        owner: Option<String>,
        drive: Option<String>,
    ) -> Item {
        let now = self.clock.now();
        self.next_seq += 1;

        Item {
            id,
            seq: self.next_seq,
            name: name.to_owned(),
            checksums: item::Checksums::of(&body),
            body,
            parent: None,
            owner,
            drive,
            created_at: now,
            modified_at: now,
            version: 1,
            revision: 1,
            is_trashed: false,
            shared_since: BTreeMap::new(),
            link_key: None,
            withheld_from: BTreeSet::new(),
            viewed_at: BTreeMap::new(),
            restrictions: Restrictions::default(),
        }
    }

    /// Iterates over the item and all folders above it, from the item upward.
    pub(crate) fn ancestors<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a Item> {
        std::iter::successors(self.items.get(id), |item| {
            self.items.get(item.parent.as_deref()?)
        })
    }

    /// Returns the item and everything in it, from the item downward.
    pub(crate) fn descendants(&self, id: &str) -> Vec<String> {
        let mut ids = vec![id.to_owned()];
        let mut at = 0;
        while at < ids.len() {
            if let Some(item_set) = self.item_index.children.get(&ids[at]) {
                ids.extend(item_set.values().cloned());
            }
            at += 1;
        }
        ids
    }

    pub(crate) fn is_member(&self, email: &str, drive: &str) -> bool {
        self.drives
            .get(drive)
            .is_some_and(|drive| drive.members.contains(email))
    }

    /// Checks whether the viewer may read the item. The item or a folder above it must belong to
    /// the viewer or be shared with them, and nothing on the way may be withheld.
    pub(crate) fn can_see(&self, viewer: &Viewer, id: &str) -> bool {
        let mut is_granted = false;
        for item in self.ancestors(id) {
            if item.withheld_from.contains(&viewer.email) {
                return false;
            }
            is_granted = is_granted || self.grants_access(viewer, item);
        }
        is_granted
    }

    fn grants_access(&self, viewer: &Viewer, item: &Item) -> bool {
        item.owner.as_ref() == Some(&viewer.email)
            || item.shared_since.contains_key(&viewer.email)
            || item
                .drive
                .as_ref()
                .is_some_and(|drive| self.is_member(&viewer.email, drive))
            || item
                .link_key
                .as_ref()
                .is_some_and(|key| viewer.keys.get(&item.id) == Some(key))
    }

    pub(crate) fn is_trashed(&self, id: &str) -> bool {
        self.ancestors(id).any(|item| item.is_trashed)
    }

    /// Returns the log of a feed.
    pub(crate) fn change_log(&mut self, feed: &ChangeFeed) -> &mut ChangeLog {
        self.logs.entry(feed.clone()).or_default()
    }

    fn record_change(&mut self, feed: ChangeFeed, subject: &ChangedObject) {
        let (now, logs_twice) = (self.clock.now(), self.quirks.duplicates);
        self.change_log(&feed).add_entry(subject, now, logs_twice);
        self.changed_feeds.insert(feed);
    }

    /// Returns the feeds in which changes of an item now appear. Members of a shared drive see them
    /// in the drive's feed only. Clients must not rely on seeing them in the member's own feed as
    /// well.
    fn feeds_of(&self, id: &str) -> BTreeSet<ChangeFeed> {
        let drive = self.items.get(id).and_then(|item| item.drive.clone());
        let viewers = self.accounts.keys().filter(|email| {
            let is_member = drive
                .as_ref()
                .is_some_and(|drive| self.is_member(email, drive));
            !is_member
                && self.can_see(
                    &Viewer {
                        email: (*email).clone(),
                        keys: HashMap::new(),
                    },
                    id,
                )
        });

        viewers
            .cloned()
            .map(ChangeFeed::User)
            .chain(drive.clone().map(ChangeFeed::Drive))
            .collect()
    }
}

fn display_name(email: &str) -> String {
    let words = email
        .split('@')
        .next()
        .unwrap_or_default()
        .split(['.', '-', '_']);
    let capitalize = |word: &str| {
        let mut characters = word.chars();
        characters
            .next()
            .map(|first| first.to_uppercase().chain(characters).collect::<String>())
    };
    words.filter_map(capitalize).collect::<Vec<_>>().join(" ")
}
