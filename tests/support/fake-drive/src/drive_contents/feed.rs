//! The logs of changes: one for each account and one for each shared drive.

use std::collections::{BTreeMap, HashMap};

/// The owner of a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ChangeFeed {
    /// The account with this email address.
    User(String),
    /// The shared drive with this id.
    Drive(String),
}

/// The changed object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ChangedObject {
    Item(String),
    Drive(String),
}

/// A log of changes. It records which object changed and when, but not the change itself: readers
/// see the current state.
pub(crate) struct ChangeLog {
    entries: BTreeMap<u64, (ChangedObject, i64)>,
    latest: HashMap<ChangedObject, u64>,
    next: u64,
}

impl Default for ChangeLog {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            latest: HashMap::new(),
            next: 100,
        }
    }
}

impl ChangeLog {
    /// Adds an entry and removes the earlier one for the same subject. With `twice`, also adds a
    /// second entry that later entries do not remove.
    pub(crate) fn add_entry(&mut self, subject: &ChangedObject, at: i64, is_duplicated: bool) {
        if let Some(old_position) = self.latest.remove(subject) {
            self.entries.remove(&old_position);
        }
        if is_duplicated {
            self.entries.insert(self.next, (subject.clone(), at));
            self.next += 1;
        }
        self.entries.insert(self.next, (subject.clone(), at));
        self.latest.insert(subject.clone(), self.next);
        self.next += 1;
    }

    pub(crate) fn next_position(&self) -> u64 {
        self.next
    }

    /// Returns the entries from a position on.
    pub(crate) fn entries_since(
        &self,
        start: u64,
    ) -> impl Iterator<Item = (u64, &ChangedObject, i64)> {
        self.entries
            .range(start..)
            .map(|(at, (subject, time))| (*at, subject, *time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_entry_takes_the_place_of_the_older() {
        let (mut log, a, b) = (
            ChangeLog::default(),
            ChangedObject::Item("a".to_owned()),
            ChangedObject::Item("b".to_owned()),
        );
        let begin = log.next_position();
        log.add_entry(&a, 1, false);
        log.add_entry(&b, 2, false);
        log.add_entry(&a, 3, false);
        let entries: Vec<_> = log
            .entries_since(begin)
            .map(|(_, subject, at)| (subject.clone(), at))
            .collect();
        assert_eq!(entries, [(b.clone(), 2), (a.clone(), 3)]);

        log.add_entry(&b, 4, true);
        let entries: Vec<_> = log
            .entries_since(begin)
            .map(|(_, subject, _)| subject.clone())
            .collect();
        assert_eq!(entries, [a, b.clone(), b]);
    }
}
