//! The first entries of an order, chosen among entries that come in any order.

use std::collections::BTreeMap;

/// The first entries in the order of their keys, at most a fixed number.
#[derive(Debug)]
pub(super) struct FirstEntries<K, T> {
    capacity: usize,
    ascending: bool,
    entries: BTreeMap<K, T>,
}

impl<K: Ord, T> FirstEntries<K, T> {
    /// Creates an empty list of at most `capacity` entries. The first entry has the least key if the
    /// order is ascending, and otherwise the greatest.
    pub(super) fn new(capacity: usize, ascending: bool) -> Self {
        Self {
            capacity,
            ascending,
            entries: BTreeMap::new(),
        }
    }

    /// Adds an entry, unless enough others come before it.
    pub(super) fn offer(&mut self, key: K, entry: T) {
        self.entries.insert(key, entry);
        if self.entries.len() <= self.capacity {
            return;
        }

        if self.ascending {
            self.entries.pop_last();
        } else {
            self.entries.pop_first();
        }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the key that comes last in the order.
    pub(super) fn into_last_key(mut self) -> Option<K> {
        let last = if self.ascending {
            self.entries.pop_last()
        } else {
            self.entries.pop_first()
        };
        last.map(|(key, _)| key)
    }

    /// Returns the entries in their order.
    pub(super) fn into_entries(self) -> Vec<T> {
        let mut entries: Vec<T> = self.entries.into_values().collect();
        if !self.ascending {
            entries.reverse();
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_entries_are_those_of_the_sorted_list(
            keys in prop::collection::hash_set(0_u32..1_000, 0..50),
            capacity in 0_usize..60,
            ascending: bool,
        ) {
            let mut sorted: Vec<u32> = keys.iter().copied().collect();
            sorted.sort_unstable();
            if !ascending {
                sorted.reverse();
            }
            sorted.truncate(capacity);

            let select = || {
                let mut first = FirstEntries::new(capacity, ascending);
                for key in &keys {
                    first.offer(*key, *key);
                }
                first
            };
            prop_assert_eq!(select().len(), sorted.len());
            prop_assert_eq!(select().into_last_key(), sorted.last().copied());
            prop_assert_eq!(select().into_entries(), sorted);
        }
    }
}
