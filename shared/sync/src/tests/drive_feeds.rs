//! The listings and change feeds of the simulated drive.

use std::collections::BTreeMap;

use domain::Timestamp;
use domain::connection::SkipReason;
use domain::ports::{ChangePage, ItemChange, ItemKind, ItemPage, ProviderItem};
use rand::RngExt;

use super::drive::{DRIVES, FakeItem, SimulatedDrive, USER};

/// The number of entries of a page.
const PAGE: usize = 3;

impl SimulatedDrive {
    pub(super) fn item(&self, id: &str) -> Option<ProviderItem> {
        let thing = self.things.get(id).filter(|_| self.is_visible(id))?;
        let feed = self.feed_of(id);
        let kind = match &thing.target {
            _ if thing.folder => ItemKind::Folder,
            Some(target) => ItemKind::Shortcut {
                target: target.clone(),
            },
            None if thing.name.ends_with(".odd") => {
                ItemKind::Unreadable(SkipReason::UnsupportedType)
            }
            None => ItemKind::File { document: None },
        };

        Some(ProviderItem {
            id: id.to_owned(),
            parent: thing.parent.clone(),
            name: thing.name.clone(),
            kind,
            drive: (feed != USER).then_some(feed),
            media_type: "text/plain".into(),
            version: thing.version.to_string(),
            content_version: thing.content.to_string(),
            size: self.unstated_size.is_none().then_some(10),
            modified_at: Timestamp::from_millis(i64::try_from(thing.content).unwrap_or_default()),
            url: None,
            owner: None,
            is_trashed: self.is_trashed(id),
        })
    }

    /// Returns a page of the items that `is_meant` selects.
    pub(super) fn list_page(
        &self,
        is_meant: impl Fn(&str, &FakeItem) -> bool,
        page: Option<&str>,
    ) -> ItemPage {
        let mut meant: Vec<&String> = self
            .things
            .iter()
            .filter(|(id, thing)| is_meant(id, thing) && self.is_present(id))
            .map(|(id, _)| id)
            .collect();
        let from = if self.life.unstable {
            page.map_or(0, |page| page.parse().unwrap_or(0))
        } else {
            meant.retain(|id| page.is_none_or(|page| id.as_str() > page));
            0
        };

        let items: Vec<ProviderItem> = meant
            .iter()
            .skip(from)
            .take(PAGE)
            .filter_map(|id| self.item(id))
            .collect();
        let place = if self.life.unstable {
            (from + PAGE).to_string()
        } else {
            meant.get(PAGE - 1).map_or("", |id| id).to_owned()
        };

        let next = (from + PAGE < meant.len()).then_some(place);
        ItemPage {
            items,
            next,
            is_incomplete: false,
        }
    }

    pub(super) fn changes_after(&mut self, feed: &str, cursor: usize) -> ChangePage {
        let log = self.logs.get(feed).cloned().unwrap_or_default();
        let mut last = BTreeMap::new();
        for (at, id) in log.iter().enumerate().skip(cursor) {
            last.insert(id.clone(), at);
        }

        let mut entries: Vec<(usize, String)> = last.into_iter().map(|(id, at)| (at, id)).collect();
        entries.sort();
        let more = entries.len() > PAGE;
        entries.truncate(PAGE);
        let end = entries
            .last()
            .filter(|_| more)
            .map_or(log.len(), |(at, _)| at + 1);
        let feeds_changed = entries.iter().any(|(_, id)| id == DRIVES);
        let here = |id: &str| feed == self.feed_of(id);
        let told = entries.iter().filter(|(_, id)| id != DRIVES);
        let mut changes: Vec<ItemChange> = told
            .map(|(_, id)| ItemChange {
                id: id.clone(),
                item: self.item(id).filter(|_| here(id)),
            })
            .collect();
        if self.rng.random_bool(0.2) {
            changes.extend(changes.first().cloned());
        }

        ChangePage {
            changes,
            cursor: end.to_string(),
            has_more: more,
            feeds_changed,
        }
    }
}
