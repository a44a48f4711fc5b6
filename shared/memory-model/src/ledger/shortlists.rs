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
    fn compare(self, a: &Memory, b: &Memory) -> Ordering {
        match self {
            Self::StaticRules | Self::Rules => compare_newest_first(a, b),
            Self::StaticFacts => compare_most_certain_first(a, b),
            Self::Others => compare_inferences_last(a, b),
        }
    }

    /// Keeps the first memories of this group, at most `limit`, in their order.
    pub(crate) fn truncate(self, memories: &mut Vec<Arc<Memory>>, limit: usize) {
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

/// Compares by time, the latest first. Ties are broken by id.
fn compare_newest_first(a: &Memory, b: &Memory) -> Ordering {
    (Reverse(a.said_at), &a.id).cmp(&(Reverse(b.said_at), &b.id))
}

/// Compares by confidence, and then by time.
pub(crate) fn compare_most_certain_first(a: &Memory, b: &Memory) -> Ordering {
    let by_confidence = b.confidence.total_cmp(&a.confidence);
    by_confidence.then_with(|| compare_newest_first(a, b))
}

/// Compares by time, with all inferences after what was said.
pub(crate) fn compare_inferences_last(a: &Memory, b: &Memory) -> Ordering {
    let by_inference = a.is_inference.cmp(&b.is_inference);
    by_inference.then_with(|| compare_newest_first(a, b))
}

/// The stored form of a shortlist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredShortlist {
    memories: Vec<MemoryId>,
    is_complete: bool,
}

impl Record for StoredShortlist {}

/// The first live memories of a group.
#[derive(Debug, Default)]
struct Shortlist {
    memories: Vec<Arc<Memory>>,
    /// True if these are all live memories of the group.
    is_complete: bool,
}

impl Shortlist {
    /// Chooses the first of the live memories of a group, at most `limit`.
    fn choose(group: ProfileGroup, mut memories: Vec<Arc<Memory>>, limit: usize) -> Self {
        let is_complete = memories.len() <= limit;
        group.truncate(&mut memories, limit);
        Self {
            memories,
            is_complete,
        }
    }

    /// Checks whether it has `count` memories, or all that there are.
    fn has_enough(&self, count: usize) -> bool {
        self.is_complete || self.memories.len() >= count
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
        // All are asked for before one is missed, so that a store can fetch them together.
        let shortlists = ProfileGroup::ALL.map(|group| {
            let limit = limit(group);
            let shortlist = self.read_shortlist(group, limit, now)?;
            shortlist.has_enough(limit).then_some(shortlist.memories)
        });
        let shortlists: Option<Vec<Vec<Arc<Memory>>>> = shortlists.into_iter().collect();
        shortlists.map(|shortlists| shortlists.concat())
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
            let read = self.read_shortlist(group, len, now);
            // A shortlist that has lost more than half of its memories is made anew.
            let shortlist = read
                .filter(|read| read.has_enough(len / 2))
                .unwrap_or_else(|| {
                    let made = made.get_or_insert_with(|| self.make_shortlists(len, now));
                    std::mem::take(&mut made[group as usize])
                });
            let memories = shortlist.memories.iter().map(|memory| memory.id.clone());
            let stored = StoredShortlist {
                memories: memories.collect(),
                is_complete: shortlist.is_complete,
            };
            records.push((self.shortlists.stored_key(&group.key()), stored.encode()));
        }
        records
    }

    /// Returns the first live memories of a group, at most `limit`, as far as the stored shortlist and
    /// the changes since tell. Returns `None` if no shortlist is stored.
    fn read_shortlist(
        &self,
        group: ProfileGroup,
        limit: usize,
        now: Timestamp,
    ) -> Option<Shortlist> {
        let mut memories: Vec<Arc<Memory>> = Vec::new();
        // Without a store, every memory is a change.
        let mut is_whole_group = true;
        if self.memories.has_store() {
            let stored = self.shortlists.get(&group.key())?;
            let mut ids = stored.memories.iter();
            let mut unreadable = 0;
            while memories.len() + unreadable < limit
                && let Some(id) = ids.next()
            {
                if self.memories.is_changed(id) {
                    continue;
                }
                match self.memories.get(id) {
                    Some(memory) if memory.is_live(now) => memories.push(memory),
                    Some(_) => {}
                    None => unreadable += 1,
                }
            }
            is_whole_group = stored.is_complete && ids.next().is_none();
        }

        // Later changes take their places among the stored memories.
        let last_stored = memories.last().map(|memory| memory.id.clone());
        let changed = self.memories.changed();
        memories.extend(
            changed
                .filter(|memory| group.has_live(memory, now))
                .cloned(),
        );
        let mut shortlist = Shortlist::choose(group, memories, limit);

        if !is_whole_group {
            // Behind the last one that was read, memories may follow that are not on the list.
            let memories = &mut shortlist.memories;
            let known = match last_stored {
                Some(last) => {
                    let position = memories.iter().position(|memory| memory.id == last);
                    position.map_or(memories.len(), |position| position + 1)
                }
                None => 0,
            };
            memories.truncate(known);
            shortlist.is_complete = false;
        }
        Some(shortlist)
    }

    /// Chooses the first live memories of each group, at most `limit`, from all memories.
    fn make_shortlists(&self, limit: usize, now: Timestamp) -> [Shortlist; 4] {
        let mut members = ProfileGroup::ALL.map(|_| Vec::new());
        for (_, memory) in self.memories.read_all() {
            if !memory.is_live(now) {
                continue;
            }
            let group = ProfileGroup::of(&memory);
            let members = &mut members[group as usize];
            members.push(memory);
            if members.len() > 2 * limit {
                // One more than the limit tells that they are not all.
                group.truncate(members, limit + 1);
            }
        }

        ProfileGroup::ALL.map(|group| {
            let members = std::mem::take(&mut members[group as usize]);
            Shortlist::choose(group, members, limit)
        })
    }
}
