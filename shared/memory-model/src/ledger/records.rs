//! The records of a ledger: those that were stored, and in front of them those that have changed.
//!
//! A stored record is decoded when it is asked for. A ledger that was restored therefore reads what a
//! request or a change touches, and not the whole container.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use serde::de::value::{Error as KeyError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// The stored records of a ledger, by their keys.
pub trait LedgerStore: Debug + Send + Sync {
    /// Returns the record with this key.
    fn get(&self, key: &str) -> Option<Bytes>;

    /// Checks whether there is a record with this key.
    fn contains(&self, key: &str) -> bool;

    /// Returns the keys that begin with `prefix`, in any order.
    fn keys(&self, prefix: &str) -> Vec<String>;
}

/// A value that can be stored.
///
/// Bytes that [`Record::encode`] did not write are not a record. A store verifies its bytes, and has the
/// version of the rules that wrote them, so there are none in practice.
pub(super) trait Record: Serialize + DeserializeOwned {
    /// Returns the stored form.
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("our own types have string keys")
    }

    /// Reads the stored form.
    fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Estimates the bytes that it takes in memory. Kinds with few or small records count as 0.
    fn estimated_bytes(&self) -> usize {
        0
    }
}

/// The most records of [`Records::recently_read`], more than a profile reads. Beyond it, they are cleared.
const MAX_RECENTLY_READ: usize = 2_048;

/// The records of one kind. Clones share the records.
#[derive(Debug, Clone)]
pub(super) struct Records<K, V> {
    /// The beginning of the keys in the store.
    prefix: &'static str,
    store: Option<Arc<dyn LedgerStore>>,
    /// All stored records, once all of them were asked for.
    all_stored: Arc<OnceLock<BTreeMap<K, Arc<V>>>>,
    /// Stored records that were read a moment ago, because the memories of a document ask for the same
    /// document again and again.
    recently_read: Arc<Mutex<HashMap<K, Arc<V>>>>,
    /// The records that were changed, removed or fetched.
    overlay: BTreeMap<K, Held<V>>,
    /// The estimated bytes of the overlay.
    overlay_bytes: usize,
}

/// A record of the overlay.
#[derive(Debug, Clone)]
enum Held<V> {
    /// It is as in the store.
    Stored(Arc<V>),
    Changed(Arc<V>),
    Removed,
}

impl<V: Record> Held<V> {
    fn estimated_bytes(&self) -> usize {
        self.value().map_or(0, |value| value.estimated_bytes())
    }
}

impl<V> Held<V> {
    fn value(&self) -> Option<&Arc<V>> {
        match self {
            Self::Stored(value) | Self::Changed(value) => Some(value),
            Self::Removed => None,
        }
    }
}

impl<K, V> Records<K, V>
where
    K: Ord + Hash + Clone + Display + DeserializeOwned,
    V: Record + Clone,
{
    /// Creates a set of records of which the `store`, if there is one, has those whose keys begin with
    /// `prefix`.
    pub(super) fn new(prefix: &'static str, store: Option<Arc<dyn LedgerStore>>) -> Self {
        Self {
            prefix,
            store,
            all_stored: Arc::default(),
            recently_read: Arc::default(),
            overlay: BTreeMap::new(),
            overlay_bytes: 0,
        }
    }

    /// Estimates the bytes of the records that were changed or fetched.
    pub(super) fn overlay_bytes(&self) -> usize {
        self.overlay_bytes
    }

    /// Returns the number of stored records that stay in memory, because all of them were asked for.
    pub(super) fn stored_in_memory(&self) -> usize {
        self.all_stored.get().map_or(0, BTreeMap::len)
    }

    /// Puts a record into the overlay.
    fn hold(&mut self, key: K, held: Held<V>) {
        self.overlay_bytes += held.estimated_bytes();
        if let Some(former) = self.overlay.insert(key, held) {
            self.overlay_bytes = self.overlay_bytes.saturating_sub(former.estimated_bytes());
        }
    }

    /// Removes a record from the overlay.
    fn release(&mut self, key: &K) -> Option<Held<V>> {
        let held = self.overlay.remove(key)?;
        self.overlay_bytes = self.overlay_bytes.saturating_sub(held.estimated_bytes());
        Some(held)
    }

    /// Returns a record.
    pub(super) fn get(&self, key: &K) -> Option<Arc<V>> {
        match self.overlay.get(key) {
            Some(held) => held.value().cloned(),
            None => self.read_stored(key),
        }
    }

    /// Returns a record and keeps it in the overlay.
    pub(super) fn fetch(&mut self, key: &K) -> Option<Arc<V>> {
        if !self.overlay.contains_key(key)
            && let Some(value) = self.read_stored(key)
        {
            self.hold(key.clone(), Held::Stored(value));
        }
        self.overlay.get(key)?.value().cloned()
    }

    /// Fetches these records, each once and in the order of their keys, because neighbours are stored
    /// together.
    pub(super) fn fetch_all(&mut self, keys: BTreeSet<&K>) {
        for key in keys {
            self.fetch(key);
        }
    }

    /// Checks whether there is a record with this key.
    pub(super) fn contains(&self, key: &K) -> bool {
        match (self.overlay.get(key), &self.store) {
            (Some(held), _) => held.value().is_some(),
            (None, Some(store)) => store.contains(&self.stored_key(key)),
            (None, None) => false,
        }
    }

    /// Checks whether there are no records, as far as that is known without reading all of them.
    pub(super) fn is_known_empty(&self) -> bool {
        self.store.is_none() && self.overlay.values().all(|held| held.value().is_none())
    }

    /// Checks whether there are stored records.
    pub(super) fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// Checks whether the record with this key was changed or removed since it was stored.
    pub(super) fn is_changed(&self, key: &K) -> bool {
        matches!(
            self.overlay.get(key),
            Some(Held::Changed(_) | Held::Removed)
        )
    }

    /// Returns the records that were changed or inserted since they were stored.
    pub(super) fn changed(&self) -> impl Iterator<Item = &Arc<V>> {
        self.overlay.values().filter_map(|held| match held {
            Held::Changed(value) => Some(value),
            Held::Stored(_) | Held::Removed => None,
        })
    }

    fn read_stored(&self, key: &K) -> Option<Arc<V>> {
        if let Some(all) = self.all_stored.get() {
            return all.get(key).cloned();
        }
        if let Some(value) = self.lock_recently_read().get(key) {
            return Some(value.clone());
        }

        let value = self.decode(&self.stored_key(key))?;
        let mut recently_read = self.lock_recently_read();
        if recently_read.len() >= MAX_RECENTLY_READ {
            recently_read.clear();
        }
        recently_read.insert(key.clone(), value.clone());
        Some(value)
    }

    /// Decodes the record that has this key in the store.
    fn decode(&self, stored_key: &str) -> Option<Arc<V>> {
        let bytes = self.store.as_ref()?.get(stored_key)?;
        V::decode(&bytes).map(Arc::new)
    }

    fn lock_recently_read(&self) -> MutexGuard<'_, HashMap<K, Arc<V>>> {
        // A panic while the lock is held cannot leave the map in an inconsistent state.
        self.recently_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key of a record in the store.
    pub(super) fn stored_key(&self, key: &K) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Returns a record to change.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let value = self.take(key)?;
        self.hold(key.clone(), Held::Changed(value));
        match self.overlay.get_mut(key) {
            Some(Held::Changed(value)) => Some(Arc::make_mut(value)),
            _ => None,
        }
    }

    /// Returns a record to change. One that does not exist begins as the default.
    pub(super) fn get_or_default(&mut self, key: &K) -> &mut V
    where
        V: Default,
    {
        let value = self.take(key).unwrap_or_default();
        self.hold(key.clone(), Held::Changed(value));
        match self.overlay.get_mut(key) {
            Some(Held::Changed(value)) => Arc::make_mut(value),
            _ => unreachable!("the record was just changed"),
        }
    }

    /// Inserts a record, replacing any with the same key.
    pub(super) fn insert(&mut self, key: K, value: impl Into<Arc<V>>) {
        self.hold(key, Held::Changed(value.into()));
    }

    /// Removes a record and returns it.
    pub(super) fn take(&mut self, key: &K) -> Option<Arc<V>> {
        let held = match self.release(key) {
            Some(held) => held,
            None => Held::Stored(self.read_stored(key)?),
        };
        if self.store.is_some() {
            self.hold(key.clone(), Held::Removed);
        }
        held.value().cloned()
    }

    /// Returns all records in the order of their keys. The stored ones stay in memory.
    pub(super) fn all(&self) -> impl Iterator<Item = (&K, &Arc<V>)> {
        let stored = self.all_stored.get_or_init(|| self.stored().collect());
        let (mut stored, mut held) = (stored.iter().peekable(), self.overlay.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let order = match (stored.peek(), held.peek()) {
                    (Some((stored_key, _)), Some((held_key, _))) => stored_key.cmp(held_key),
                    (Some(_), None) => Ordering::Less,
                    (None, _) => Ordering::Greater,
                };
                match order {
                    Ordering::Less => return stored.next(),
                    // The record that is held comes next, unless it was removed.
                    Ordering::Equal => drop(stored.next()),
                    Ordering::Greater => {
                        let (key, held) = held.next()?;
                        if let Some(value) = held.value() {
                            return Some((key, value));
                        }
                    }
                }
            }
        })
    }

    /// Returns all records in any order, of which the stored ones are decoded anew.
    pub(super) fn read_all(&self) -> impl Iterator<Item = (K, Arc<V>)> {
        let stored = self
            .stored()
            .filter(|(key, _)| !self.overlay.contains_key(key));
        let held = self.overlay.iter();
        let held = held.filter_map(|(key, held)| Some((key.clone(), held.value()?.clone())));
        stored.chain(held)
    }

    fn stored(&self) -> impl Iterator<Item = (K, Arc<V>)> {
        self.stored_keys("")
            .filter_map(|(key, stored_key)| Some((key, self.decode(&stored_key)?)))
    }

    /// Returns the keys that begin with `beginning`, in any order, without decoding the records.
    pub(super) fn keys_with(&self, beginning: &str) -> impl Iterator<Item = K> {
        let stored = self.stored_keys(beginning).map(|(key, _)| key);
        let stored = stored.filter(|key| !self.overlay.contains_key(key));
        let overlay = self.overlay.iter();
        let overlay = overlay.filter_map(|(key, held)| held.value().map(|_| key.clone()));
        let overlay = overlay.filter(move |key| key.to_string().starts_with(beginning));
        stored.chain(overlay)
    }

    /// Returns the keys of the stored records that begin with `beginning`, each with the key in the store.
    fn stored_keys(&self, beginning: &str) -> impl Iterator<Item = (K, String)> {
        let store = self.store.as_ref();
        let keys = store
            .map(|store| store.keys(&format!("{}{beginning}", self.prefix)))
            .into_iter()
            .flatten();
        keys.filter_map(|stored_key| {
            let key = stored_key.strip_prefix(self.prefix)?;
            // The keys of memories have no prefix, and those of all other records have one.
            if self.prefix.is_empty() && key.contains(PREFIX_END) {
                return None;
            }
            let key: StrDeserializer<'_, KeyError> = key.into_deserializer();
            let key = K::deserialize(key).ok()?;
            Some((key, stored_key))
        })
    }

    /// Checks whether every stored record can be decoded.
    pub(super) fn are_readable(&self) -> bool {
        self.stored_keys("").count() == self.stored().count()
    }

    /// Returns the keys of the records that were changed, inserted or removed since they were stored, with the
    /// records; `None` for those that were removed.
    pub(super) fn changed_or_removed(&self) -> impl Iterator<Item = (&K, Option<&Arc<V>>)> {
        self.overlay.iter().filter_map(|(key, held)| match held {
            Held::Stored(_) => None,
            Held::Changed(value) => Some((key, Some(value))),
            Held::Removed => Some((key, None)),
        })
    }

    /// Returns the keys and the stored form of the records that have changed, `None` for those that
    /// were removed.
    pub(super) fn changes(&self) -> impl Iterator<Item = (String, Option<Vec<u8>>)> {
        self.overlay.iter().filter_map(|(key, held)| match held {
            Held::Stored(_) => None,
            Held::Changed(value) => Some((self.stored_key(key), Some(value.encode()))),
            Held::Removed => Some((self.stored_key(key), None)),
        })
    }
}

/// The last character of a prefix. No id contains it.
pub(super) const PREFIX_END: char = '/';

/// A store for tests.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
pub(super) struct MapStore(pub(super) BTreeMap<String, Vec<u8>>);

#[cfg(test)]
impl LedgerStore for MapStore {
    fn get(&self, key: &str) -> Option<Bytes> {
        self.0.get(key).cloned().map(Bytes::from)
    }

    fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        let keys = self.0.keys().filter(|key| key.starts_with(prefix));
        keys.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Record for u32 {}

    /// Returns records of which a to d are stored with the numbers 1 to 4, beside records of another
    /// kind.
    fn stored() -> Records<String, u32> {
        let numbers = [("a", 1), ("b", 2), ("c", 3), ("d", 4)];
        let mut stored: BTreeMap<String, Vec<u8>> = numbers
            .into_iter()
            .map(|(key, number)| (format!("n/{key}"), u32::encode(&number)))
            .collect();
        stored.insert("a".to_owned(), b"another kind".to_vec());
        Records::new("n/", Some(Arc::new(MapStore(stored))))
    }

    fn numbers(records: &Records<String, u32>) -> Vec<(String, u32)> {
        let all = records.all();
        all.map(|(key, number)| (key.clone(), **number)).collect()
    }

    #[test]
    fn changes_stand_in_front_of_what_is_stored() {
        let mut records = stored();
        *records.get_or_default(&"bb".to_owned()) = 22;
        *records.get_mut(&"c".to_owned()).unwrap() += 30;
        assert_eq!(records.take(&"d".to_owned()).as_deref(), Some(&4));
        assert_eq!(records.fetch(&"a".to_owned()).as_deref(), Some(&1));
        assert_eq!(records.get(&"d".to_owned()), None);
        assert!(!records.contains(&"d".to_owned()) && records.contains(&"b".to_owned()));

        let expected = [("a", 1), ("b", 2), ("bb", 22), ("c", 33)];
        let expected = expected.map(|(key, number)| (key.to_owned(), number));
        let mut read: Vec<(String, u32)> = records.read_all().map(|(k, v)| (k, *v)).collect();
        read.sort();
        assert_eq!(read, expected);
        let keys = |beginning| -> BTreeSet<String> { records.keys_with(beginning).collect() };
        assert!(keys("").iter().eq(expected.iter().map(|(key, _)| key)));
        assert!(keys("b").iter().eq(["b", "bb"]));
        assert!(keys("c").iter().eq(["c"]) && keys("d").is_empty());
        assert!(records.all_stored.get().is_none());
        assert_eq!(numbers(&records), expected);

        let changes: Vec<(String, Option<Vec<u8>>)> = records.changes().collect();
        let expected = [("n/bb", Some(22)), ("n/c", Some(33)), ("n/d", None)];
        let expected =
            expected.map(|(key, number)| (key.to_owned(), number.as_ref().map(u32::encode)));
        assert_eq!(changes, expected);
    }

    #[test]
    fn what_was_removed_can_be_inserted_again() {
        let mut records = stored();
        records.take(&"a".to_owned());
        records.insert("a".to_owned(), 10);
        assert_eq!(records.get(&"a".to_owned()).as_deref(), Some(&10));
        assert_eq!(numbers(&records).len(), 4);
    }

    #[test]
    fn records_without_a_store_leave_no_trace_of_what_was_removed() {
        let mut records: Records<String, u32> = Records::new("n/", None);
        records.insert("a".to_owned(), 1);
        records.take(&"a".to_owned());
        assert!(records.is_known_empty());
        assert_eq!(records.changes().count(), 0);
    }
}
