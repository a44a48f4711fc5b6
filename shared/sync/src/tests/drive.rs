//! A simulated drive with its change feeds. As in a real drive, a change of a folder does not
//! report the items in it, listings are not snapshots, changes are reported twice, and an item that
//! moves to another drive is only reported as gone from the first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use domain::ports::ConnectorError;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The name of the account's own feed.
pub(super) const USER: &str = "user";
/// A feed entry that reports a change of the list of shared drives.
pub(super) const DRIVES: &str = "@drives";

#[derive(Debug, Clone)]
pub(super) struct FakeItem {
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) folder: bool,
    pub(super) target: Option<String>,
    pub(super) version: u64,
    pub(super) content: u64,
    pub(super) trashed: bool,
    pub(super) shown: bool,
}

/// The kinds of events in a drive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DriveEvents {
    /// Shared drives come and go, and items move between drives.
    pub(super) shared: bool,
    pub(super) shortcuts: bool,
    pub(super) renames: bool,
    /// Events between two pages of a listing shift the rest, so that items are listed twice or
    /// never.
    pub(super) unstable: bool,
}

pub(super) struct SimulatedDrive {
    pub(super) things: BTreeMap<String, FakeItem>,
    pub(super) logs: BTreeMap<String, Vec<String>>,
    /// The shared drives that the user is a member of.
    pub(super) joined: BTreeSet<String>,
    count: usize,
    pub(super) rng: SmallRng,
    pub(super) life: DriveEvents,
    /// The probability of an event while a folder is listed.
    pub(super) event_rate: f64,
    /// The errors for the next requests, by the name of the request.
    pub(super) faults: HashMap<&'static str, Vec<ConnectorError>>,
    /// The number of revoked permissions.
    pub(super) revocations: usize,
    /// The items whose lookups and fetches always fail, with their errors.
    pub(super) broken: HashMap<String, fn() -> ConnectorError>,
    /// The items and requests that are never answered.
    pub(super) silent: BTreeSet<String>,
    /// The size in bytes of the files whose size is not stated.
    pub(super) unstated_size: Option<usize>,
    pub(super) fetched: usize,
    /// `true` if the provider reports no changes.
    pub(super) is_without_changes: bool,
    /// The number of requests for items and contents in progress.
    pub(super) in_progress: usize,
    /// The most such requests that were in progress at a time.
    pub(super) most_in_progress: usize,
    /// The times that the contents of these items take.
    pub(super) slow: HashMap<String, Duration>,
    /// The number of pages of the listings of feeds.
    pub(super) listed: usize,
    pub(super) watched: Vec<(String, String)>,
}

fn new_item(parent: Option<String>, name: &str, folder: bool) -> FakeItem {
    let name = name.to_owned();
    FakeItem {
        parent,
        name,
        folder,
        target: None,
        version: 1,
        content: 1,
        trashed: false,
        shown: true,
    }
}

impl SimulatedDrive {
    pub(super) fn new(seed: u64, life: DriveEvents) -> Self {
        let mut drive = Self {
            things: BTreeMap::new(),
            logs: BTreeMap::new(),
            joined: BTreeSet::new(),
            count: 0,
            rng: SmallRng::seed_from_u64(seed),
            life,
            event_rate: 0.0,
            faults: HashMap::new(),
            revocations: 0,
            broken: HashMap::new(),
            silent: BTreeSet::new(),
            unstated_size: None,
            fetched: 0,
            is_without_changes: false,
            in_progress: 0,
            most_in_progress: 0,
            slow: HashMap::new(),
            listed: 0,
            watched: Vec::new(),
        };

        drive
            .things
            .insert("root".into(), new_item(None, "My Drive", true));
        if life.shared {
            for name in ["d1", "d2"] {
                drive
                    .things
                    .insert(name.into(), new_item(None, &format!("Shared {name}"), true));
                drive.joined.insert(name.into());
            }
        }

        drive
    }

    pub(super) fn random_fraction(&mut self) -> f64 {
        self.rng.random()
    }

    pub(super) fn pick_one<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.rng.random_range(0..from.len())].clone()
    }

    /// Returns the ids of an item and of everything above it.
    pub(super) fn ancestors_of(&self, id: &str) -> Vec<String> {
        let mut line = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            next = self.things.get(&id).and_then(|thing| thing.parent.clone());
            line.push(id);
        }
        line
    }

    pub(super) fn feed_of(&self, id: &str) -> String {
        match self.ancestors_of(id).pop() {
            Some(top) if top != "root" && self.things.contains_key(&top) => top,
            _ => USER.to_owned(),
        }
    }

    pub(super) fn path_of(&self, id: &str) -> String {
        let names = self
            .ancestors_of(id)
            .into_iter()
            .rev()
            .filter_map(|id| Some(self.things.get(&id)?.name.clone()));
        names.map(|name| format!("/{name}")).collect()
    }

    pub(super) fn is_trashed(&self, id: &str) -> bool {
        self.ancestors_of(id)
            .iter()
            .any(|id| self.things.get(id).is_some_and(|thing| thing.trashed))
    }

    pub(super) fn is_visible(&self, id: &str) -> bool {
        let feed = self.feed_of(id);
        (feed == USER || self.joined.contains(&feed))
            && self
                .ancestors_of(id)
                .iter()
                .all(|id| self.things.get(id).is_some_and(|thing| thing.shown))
    }

    pub(super) fn is_present(&self, id: &str) -> bool {
        self.things.contains_key(id) && self.is_visible(id) && !self.is_trashed(id)
    }

    fn log_change(&mut self, feed: &str, id: &str) {
        self.logs
            .entry(feed.to_owned())
            .or_default()
            .push(id.to_owned());
    }

    fn touch_item(&mut self, id: &str) {
        let feed = self.feed_of(id);
        self.log_change(&feed, id);
        if let Some(thing) = self.things.get_mut(id) {
            thing.version += 1;
        }
    }

    pub(super) fn add_item(&mut self, parent: &str, folder: bool) -> String {
        self.count += 1;
        let id = format!("n{}", self.count);
        self.things
            .insert(id.clone(), new_item(Some(parent.to_owned()), &id, folder));
        self.touch_item(&id);
        id
    }

    pub(super) fn add_shortcut(&mut self, parent: &str, target: &str) -> String {
        let id = self.add_item(parent, false);
        self.change_item(&id, |thing| thing.target = Some(target.to_owned()));
        id
    }

    pub(super) fn change_item(&mut self, id: &str, change: impl FnOnce(&mut FakeItem)) {
        if let Some(thing) = self.things.get_mut(id) {
            change(thing);
        }
        self.touch_item(id);
    }

    pub(super) fn edit_content(&mut self, id: &str) {
        self.change_item(id, |thing| thing.content += 1);
    }

    pub(super) fn rename_item(&mut self, id: &str, name: &str) {
        self.change_item(id, |thing| thing.name = name.to_owned());
    }

    pub(super) fn move_item(&mut self, id: &str, to: &str) {
        let before = self.feed_of(id);
        self.change_item(id, |thing| thing.parent = Some(to.to_owned()));
        if before != self.feed_of(id) {
            self.log_change(&before, id);
        }
    }

    pub(super) fn delete_item(&mut self, id: &str) {
        let feed = self.feed_of(id);
        let below: Vec<String> = self
            .things
            .keys()
            .filter(|other| self.ancestors_of(other).iter().any(|up| up == id))
            .cloned()
            .collect();
        for id in below {
            self.things.remove(&id);
        }
        self.log_change(&feed, id);
    }

    pub(super) fn toggle_membership(&mut self, drive: &str) {
        if !self.joined.remove(drive) {
            self.joined.insert(drive.to_owned());
        }
        self.log_change(USER, DRIVES);
    }

    pub(super) fn folders(&self) -> Vec<String> {
        self.things
            .iter()
            .filter(|(_, thing)| thing.folder)
            .map(|(id, _)| id.clone())
            .collect()
    }

    fn child_items(&self) -> Vec<String> {
        self.things
            .iter()
            .filter(|(_, thing)| thing.parent.is_some())
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Simulates one random event.
    pub(super) fn simulate_event(&mut self) {
        let (folders, all) = (self.folders(), self.child_items());
        let chance = self.random_fraction();
        if self.life.shared && chance < 0.02 {
            let drive = self.pick_one(&["d1", "d2"]);
            return self.toggle_membership(drive);
        }

        if self.life.renames && (0.02..0.06).contains(&chance) && !all.is_empty() {
            let (id, number) = (self.pick_one(&all), self.rng.random_range(0..20));
            return self.rename_item(&id, &format!("name {number}"));
        }

        if self.life.shortcuts && (0.06..0.1).contains(&chance) && !all.is_empty() {
            let (parent, target) = (self.pick_one(&folders), self.pick_one(&all));
            self.add_shortcut(&parent, &target);
            return;
        }

        if chance < 0.3 || all.len() < 3 {
            let parent = self.pick_one(&folders);
            let folder = self.random_fraction() < 0.35;
            self.add_item(&parent, folder);
            return;
        }

        let id = self.pick_one(&all);
        match chance {
            c if c < 0.5 => self.edit_content(&id),
            c if c < 0.7 => {
                let to = self.pick_one(&folders);
                if !self.ancestors_of(&to).contains(&id) {
                    self.move_item(&id, &to);
                }
            }
            c if c < 0.8 => self.change_item(&id, |thing| thing.trashed = !thing.trashed),
            c if c < 0.9 => self.change_item(&id, |thing| thing.shown = !thing.shown),
            _ => self.delete_item(&id),
        }
    }
}
