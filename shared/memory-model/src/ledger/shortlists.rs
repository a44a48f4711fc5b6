//! Shortlists: the memories from which a profile is chosen, in the order in which it offers them.
//!
//! They are stored with the ledger. A profile of a restored ledger therefore reads some hundred memories,
//! however many there are.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use domain::{MemoryId, MemoryKind, Timestamp};
use serde::{Deserialize, Serialize};

use super::records::Record;
use super::{Ledger, Memory};

/// The most memories of each group that are stored as a shortlist.
pub(super) const SHORTLIST_LEN: usize = 1_000;

/// Memories that a profile offers one after another. The groups and their orders are among the rules of
/// [`Ledger::RULES_VERSION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileGroup {
    /// Lasting instructions and preferences, the newest first.
    StaticRules,
    /// Other lasting traits, the most certain first.
    StaticFacts,
    /// Instructions and preferences that need not last, the newest first.
    Rules,
    /// Everything else, the newest first, with all inferences after what was said.
    Others,
}

impl ProfileGroup {
    pub(crate) const ALL: [Self; 4] = [
        Self::StaticRules,
        Self::StaticFacts,
        Self::Rules,
        Self::Others,
    ];

    /// Returns the group of a memory.
    pub(crate) fn of(memory: &Memory) -> Self {
        let are_own_words = !memory.is_inference && memory.trust.is_own_words();
        let is_rule = kind_rank(memory) < 2 && are_own_words;
        let is_static = memory.is_static && are_own_words;
        match (is_static, is_rule) {
            (true, true) => Self::StaticRules,
            (true, false) => Self::StaticFacts,
            (false, true) => Self::Rules,
            (false, false) => Self::Others,
        }
    }

    /// Returns the key of the stored shortlist.
    fn key(self) -> String {
        let key = match self {
            Self::StaticRules => "static-rules",
            Self::StaticFacts => "static-facts",
            Self::Rules => "rules",
            Self::Others => "others",
        };
        key.to_owned()
    }

    /// Checks whether a memory is live at `now` and of this group.
    fn has_live(self, memory: &Memory, now: Timestamp) -> bool {
        memory.is_live(now) && Self::of(memory) == self
    }

    /// Checks whether these are lasting traits.
    pub(crate) fn is_static(self) -> bool {
        matches!(self, Self::StaticRules | Self::StaticFacts)
    }

    /// Checks whether these are standing instructions and preferences of the user, which belong to every
    /// profile.
    pub(crate) fn is_rule(self) -> bool {
        matches!(self, Self::StaticRules | Self::Rules)
    }

    /// Compares memories of this group by the order in which a profile offers them.
    fn compare(self, a: &impl Ranked, b: &impl Ranked) -> Ordering {
        match self {
            Self::StaticRules | Self::Rules => compare_newest_first(a, b),
            Self::StaticFacts => compare_most_certain_first(a, b),
            Self::Others => compare_inferences_last(a, b),
        }
    }

    /// Keeps the first memories of this group, at most `limit`, in their order.
    pub(crate) fn truncate(self, memories: &mut Vec<impl Ranked>, limit: usize) {
        if memories.len() > limit {
            memories.select_nth_unstable_by(limit, |a, b| self.compare(a, b));
            memories.truncate(limit);
        }
        memories.sort_unstable_by(|a, b| self.compare(a, b));
    }
}

/// Returns the rank of the kind among lasting traits: instructions, then preferences, then facts.
pub(crate) fn kind_rank(memory: &Memory) -> u8 {
    match memory.kind {
        MemoryKind::Instruction => 0,
        MemoryKind::Preference => 1,
        MemoryKind::Fact | MemoryKind::Decision | MemoryKind::Plan | MemoryKind::Event => 2,
    }
}

/// The values that decide the place of a memory in a profile.
pub(crate) struct Rank<'a> {
    said_at: Timestamp,
    confidence: f32,
    is_inference: bool,
    id: &'a MemoryId,
}

/// A memory that has a place in a profile.
pub(crate) trait Ranked {
    /// Returns the values that decide the place.
    fn rank(&self) -> Rank<'_>;
}

impl Ranked for Memory {
    fn rank(&self) -> Rank<'_> {
        Rank {
            said_at: self.said_at,
            confidence: self.confidence,
            is_inference: self.is_inference,
            id: &self.id,
        }
    }
}

impl<T: Ranked> Ranked for Arc<T> {
    fn rank(&self) -> Rank<'_> {
        self.as_ref().rank()
    }
}

/// Compares by time, the latest first. Ties are broken by id.
fn compare_newest_first(a: &impl Ranked, b: &impl Ranked) -> Ordering {
    let (a, b) = (a.rank(), b.rank());
    (Reverse(a.said_at), a.id).cmp(&(Reverse(b.said_at), b.id))
}

/// Compares by confidence, and then by time.
pub(crate) fn compare_most_certain_first(a: &impl Ranked, b: &impl Ranked) -> Ordering {
    let by_confidence = b.rank().confidence.total_cmp(&a.rank().confidence);
    by_confidence.then_with(|| compare_newest_first(a, b))
}

/// Compares by time, with all inferences after what was said.
pub(crate) fn compare_inferences_last(a: &impl Ranked, b: &impl Ranked) -> Ordering {
    let by_inference = a.rank().is_inference.cmp(&b.rank().is_inference);
    by_inference.then_with(|| compare_newest_first(a, b))
}

/// The first live memories of a group, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Shortlist {
    entries: Vec<ShortlistEntry>,
    /// True if these are all live memories of the group.
    is_complete: bool,
}

impl Record for Shortlist {}

impl Shortlist {
    /// Keeps the first entries, at most `len`.
    fn truncate(&mut self, group: ProfileGroup, len: usize) {
        self.is_complete &= self.entries.len() <= len;
        group.truncate(&mut self.entries, len);
    }

    /// Checks whether it has `count` memories, or all that there are.
    fn has_enough(&self, count: usize) -> bool {
        self.is_complete || self.entries.len() >= count
    }
}

/// A memory of a shortlist. It has what is needed to find its place among others, so a shortlist is brought
/// up to date without its memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ShortlistEntry {
    id: MemoryId,
    said_at: Timestamp,
    confidence: f32,
    is_inference: bool,
    /// The time until which it is live, as [`Memory::live_until`] returns it.
    live_until: i64,
}

impl ShortlistEntry {
    fn new(memory: &Memory) -> Self {
        Self {
            id: memory.id.clone(),
            said_at: memory.said_at,
            confidence: memory.confidence,
            is_inference: memory.is_inference,
            live_until: memory.live_until(),
        }
    }
}

impl Ranked for ShortlistEntry {
    fn rank(&self) -> Rank<'_> {
        Rank {
            said_at: self.said_at,
            confidence: self.confidence,
            is_inference: self.is_inference,
            id: &self.id,
        }
    }
}

impl Ledger {
    /// Returns the memories that are live at `now` and come first in their groups, of each group as many
    /// as `limit` says. Returns `None` if shortlists do not tell that: there are none, or too many of
    /// their memories have gone since they were stored.
    pub(crate) fn shortlisted_memories(
        &self,
        now: Timestamp,
        limit: impl Fn(ProfileGroup) -> usize,
    ) -> Option<Vec<Arc<Memory>>> {
        let mut memories = Vec::new();
        for group in ProfileGroup::ALL {
            let limit = limit(group);
            let mut shortlist = self.read_shortlist(group, now)?;
            if !shortlist.has_enough(limit) {
                return None;
            }
            shortlist.truncate(group, limit);
            // A memory that is missing is yet to be fetched. All are asked for, so that a store can fetch
            // them together.
            let ids = shortlist.entries.iter().map(|entry| &entry.id);
            memories.extend(ids.filter_map(|id| self.memories.get(id)));
        }
        Some(memories)
    }

    /// Returns the keys of the records of the shortlists.
    pub(super) fn shortlist_keys(&self) -> impl Iterator<Item = String> {
        let groups = ProfileGroup::ALL.into_iter();
        groups.map(|group| self.shortlists.stored_key(&group.key()))
    }

    /// Returns the records of the shortlists at `now`, of at most `len` memories each.
    pub(super) fn shortlist_records(&self, now: Timestamp, len: usize) -> Vec<(String, Vec<u8>)> {
        let mut records = Vec::new();
        let mut made = None;
        for group in ProfileGroup::ALL {
            let read = self.read_shortlist(group, now);
            // A shortlist that has lost more than half of its memories is made anew.
            let mut shortlist = read
                .filter(|read| read.has_enough(len / 2))
                .unwrap_or_else(|| {
                    let made = made.get_or_insert_with(|| self.make_shortlists(len, now));
                    std::mem::take(&mut made[group as usize])
                });
            shortlist.truncate(group, len);
            records.push((self.shortlists.stored_key(&group.key()), shortlist.encode()));
        }
        records
    }

    /// Returns the first live memories of a group, as far as the stored shortlist and the changes since
    /// tell. Returns `None` if no shortlist is stored.
    fn read_shortlist(&self, group: ProfileGroup, now: Timestamp) -> Option<Shortlist> {
        let changed = self.memories.changed();
        let changed = changed.filter(|memory| group.has_live(memory, now));
        let mut entries: Vec<ShortlistEntry> =
            changed.map(|memory| ShortlistEntry::new(memory)).collect();

        // Without a store, every memory is a change.
        let mut is_complete = true;
        if self.memories.has_store() {
            let stored = self.shortlists.get(&group.key())?;
            is_complete = stored.is_complete;
            if !is_complete {
                // Behind the last one, memories may follow that are not on the list.
                let last = stored.entries.last();
                entries.retain(|entry| last.is_some_and(|last| group.compare(entry, last).is_le()));
            }
            let unchanged = stored.entries.iter().filter(|entry| {
                now.as_millis() < entry.live_until && !self.memories.is_changed(&entry.id)
            });
            entries.extend(unchanged.cloned());
        }
        Some(Shortlist {
            entries,
            is_complete,
        })
    }

    /// Chooses the first live memories of each group, at most `limit`, from all memories.
    fn make_shortlists(&self, limit: usize, now: Timestamp) -> [Shortlist; 4] {
        let mut shortlists = ProfileGroup::ALL.map(|_| Shortlist {
            entries: Vec::new(),
            is_complete: true,
        });
        for (_, memory) in self.memories.read_all() {
            if !memory.is_live(now) {
                continue;
            }
            let group = ProfileGroup::of(&memory);
            let shortlist = &mut shortlists[group as usize];
            shortlist.entries.push(ShortlistEntry::new(&memory));
            if shortlist.entries.len() > 2 * limit {
                shortlist.truncate(group, limit);
            }
        }
        shortlists
    }
}
