//! Lists of the latest memories by time. A list reads the times of all memories, and then only the memories of
//! its page.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use domain::Timestamp;
use memory_model::Memory;
use search_engine::{DocumentPlace, DocumentTimes, ListedTime};

use super::store::StoredLedger;
use super::{IndexedMemories, MemoryIndex};

/// A latest version of a memory, which may not have been read yet.
#[derive(Debug, Clone)]
pub struct ListedMemory {
    /// The time by which it is listed. `None` if an earlier version stored it: it has to be read for its times.
    pub time: Option<Timestamp>,
    place: MemoryPlace,
}

#[derive(Debug, Clone)]
enum MemoryPlace {
    /// It is as in the segments.
    Stored(DocumentPlace),
    /// It is in memory.
    Held(Arc<Memory>),
}

impl ListedMemory {
    /// Compares memories of one list by their places. Neighbours are read in the least time.
    #[must_use]
    pub fn compare_places(&self, other: &Self) -> Ordering {
        match (&self.place, &other.place) {
            (MemoryPlace::Stored(a), MemoryPlace::Stored(b)) => a.cmp(b),
            (MemoryPlace::Stored(_), MemoryPlace::Held(_)) => Ordering::Less,
            (MemoryPlace::Held(_), MemoryPlace::Stored(_)) => Ordering::Greater,
            (MemoryPlace::Held(a), MemoryPlace::Held(b)) => a.id.cmp(&b.id),
        }
    }
}

impl<I: MemoryIndex> IndexedMemories<I> {
    /// Returns the latest version of every memory, including forgotten ones, in any order. Of partial segments,
    /// this is read through [`read_until_fetched`](crate::read_until_fetched).
    pub fn list_latest(&self, time: ListedTime) -> impl Iterator<Item = ListedMemory> {
        let stored = self.inner.restored.as_deref();
        let (held, changed) = match stored {
            Some(stored) => self.changed_latest(stored),
            None => (self.ledger().memories().cloned().collect(), HashSet::new()),
        };
        let held = held.into_iter().filter(|memory| memory.is_latest);
        let held = held.map(move |memory| ListedMemory {
            time: Some(listed_at(&memory, time)),
            place: MemoryPlace::Held(memory),
        });

        let documents = stored.and_then(|stored| stored.index().list_documents(time).ok());
        let unchanged = documents.into_iter().flatten();
        let unchanged = unchanged.filter(move |document| !changed.contains(&document.place));
        let unchanged = unchanged.map(|document| ListedMemory {
            time: document.time.map(Timestamp::from_millis),
            place: MemoryPlace::Stored(document.place),
        });
        unchanged.chain(held)
    }

    /// Returns the memories that were changed or inserted after the segments, and the places in the segments of
    /// all that were changed or removed.
    fn changed_latest(&self, stored: &StoredLedger) -> (Vec<Arc<Memory>>, HashSet<DocumentPlace>) {
        let (mut held, mut places) = (Vec::new(), HashSet::new());
        for (id, memory) in self.ledger().changed_memories() {
            places.extend(stored.index().place_of(id.as_str()));
            held.extend(memory.cloned());
        }
        (held, places)
    }

    /// Checks whether a memory of [`Self::list_latest`] is live at `now`, without reading it.
    pub fn is_live(&self, listed: &ListedMemory, now: Timestamp) -> bool {
        match &listed.place {
            MemoryPlace::Held(memory) => memory.is_live(now),
            MemoryPlace::Stored(place) => {
                let stored = self.inner.restored.as_deref();
                let document = stored.map(|stored| stored.index().document_at(*place));
                let expires_at = document.and_then(|document| document.expires_at());
                expires_at.is_none_or(|time| time > now.as_millis())
            }
        }
    }

    /// Returns a memory of [`Self::list_latest`]. Returns `None` while it is missing in a partial segment.
    pub fn read_listed(&self, listed: &ListedMemory) -> Option<Arc<Memory>> {
        match &listed.place {
            MemoryPlace::Held(memory) => Some(memory.clone()),
            MemoryPlace::Stored(place) => {
                let stored = self.inner.restored.as_deref()?;
                let record = stored.index().document_at(*place).attributes().ok()?;
                Memory::from_record(&record).map(Arc::new)
            }
        }
    }
}

/// Returns this one of the times by which a memory is listed.
pub fn listed_at(memory: &Memory, time: ListedTime) -> Timestamp {
    match time {
        ListedTime::Created => memory.created_at,
        ListedTime::Updated => memory.updated_at,
    }
}

/// Returns the times by which a memory is listed.
pub(super) fn times_of(memory: &Memory) -> DocumentTimes {
    DocumentTimes {
        created_at: memory.created_at.as_millis(),
        updated_at: memory.updated_at.as_millis(),
    }
}
