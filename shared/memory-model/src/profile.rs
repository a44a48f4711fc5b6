//! Profiles: the memories of a container, arranged for a prompt as lasting traits, current matters
//! and buckets.

mod across_ledgers;
mod budget;
#[cfg(test)]
mod tests;
mod topics;

use std::sync::Arc;

use domain::{Filter, MemoryId, Timestamp};

use crate::ledger::{
    Ledger, Memory, ProfileGroup, compare_inferences_last, compare_most_certain_first, kind_rank,
};

use budget::{Budget, MAX_MISSES, RULE_FACTOR};
pub use topics::BucketSorter;

/// The default budget of the lasting traits, in estimated tokens.
const STATIC_TOKENS: usize = 1000;
/// The default budget of everything else, and of each bucket, in estimated tokens.
const DYNAMIC_TOKENS: usize = 600;
/// The share of the lasting traits in a budget for all parts. It is that of the default budgets.
const STATIC_SHARE: f64 = 0.625;
/// The memories of each group that are put into buckets at least, if there are so many.
const SORTED_MEMORIES: usize = 500;
/// The tokens of a short line.
const SHORT_LINE_TOKENS: usize = 4;

/// The contents and size of the profile to build.
#[derive(Debug, Clone, Copy)]
pub struct ProfileOptions<'a> {
    /// The present time. Memories that have expired by then are left out.
    pub now: Timestamp,
    /// A filter that the memories must satisfy.
    pub filter: Option<&'a Filter>,
    /// The sorter of the buckets; `None` for a profile without buckets.
    pub sorter: Option<&'a BucketSorter>,
    /// The budget of the lasting traits, in estimated tokens.
    pub static_tokens: usize,
    /// The budget of everything else, and of each bucket, in estimated tokens.
    pub dynamic_tokens: usize,
    /// The most estimated tokens of the lasting traits and everything else together, which replaces
    /// both budgets. A bucket has at most as many as everything else. Instructions take no more
    /// than their share.
    pub max_tokens: Option<usize>,
}

impl ProfileOptions<'_> {
    /// Creates an outline of the default size, without buckets.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            filter: None,
            sorter: None,
            static_tokens: STATIC_TOKENS,
            dynamic_tokens: DYNAMIC_TOKENS,
            max_tokens: None,
        }
    }

    /// Returns the most memories of a group that a profile is chosen from: about as many short lines as
    /// there can be room for, and enough for buckets. It bounds the memories that are read and sorted.
    fn most_memories(&self, group: ProfileGroup) -> usize {
        let tokens = match (self.max_tokens, group.is_static()) {
            (Some(tokens), _) => tokens,
            (None, true) => RULE_FACTOR * self.static_tokens,
            (None, false) => RULE_FACTOR * self.dynamic_tokens,
        };
        let shown = tokens / SHORT_LINE_TOKENS + MAX_MISSES;
        match self.sorter {
            Some(_) => shown.max(SORTED_MEMORIES),
            None => shown,
        }
    }
}

/// A profile, as lines to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Lasting traits: instructions, then preferences, then facts.
    pub static_lines: Vec<ProfileLine>,
    /// Everything else, newest first, each line with its day.
    pub dynamic_lines: Vec<ProfileLine>,
    /// The lines of each bucket of the sorter, newest first, each with its day.
    pub bucket_lines: Vec<Vec<ProfileLine>>,
}

/// A line of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileLine {
    /// The memory that it shows.
    pub memory: MemoryId,
    /// The text to show.
    pub text: String,
}

/// Builds the profile of a container tag from its ledgers, of which a tag may have several.
pub fn build_profile(ledgers: &[&Ledger], options: &ProfileOptions<'_>) -> Profile {
    build_shortlisted_profile(ledgers, options)
        .unwrap_or_else(|| build_complete_profile(ledgers, options))
}

/// Builds the same profile as [`build_profile`], unless more memories than those of shortlists have to be
/// read: if there are several ledgers or a filter, or if shortlists are missing or have become short.
pub fn build_shortlisted_profile(
    ledgers: &[&Ledger],
    options: &ProfileOptions<'_>,
) -> Option<Profile> {
    let ([ledger], None) = (ledgers, options.filter) else {
        return None;
    };
    let memories =
        ledger.shortlisted_memories(options.now, |group| options.most_memories(group))?;
    Some(arrange(memories, options))
}

/// Builds the same profile as [`build_profile`] from all memories.
pub fn build_complete_profile(ledgers: &[&Ledger], options: &ProfileOptions<'_>) -> Profile {
    let live = collect_live_memories(ledgers, options);
    arrange(shortlist(live, options), options)
}

/// Keeps the first memories of each group.
fn shortlist(memories: Vec<Arc<Memory>>, options: &ProfileOptions<'_>) -> Vec<Arc<Memory>> {
    let mut kept = Vec::new();
    for group in ProfileGroup::ALL {
        let members = memories.iter();
        let mut members: Vec<Arc<Memory>> = members
            .filter(|memory| ProfileGroup::of(memory) == group)
            .cloned()
            .collect();
        group.truncate(&mut members, options.most_memories(group));
        kept.append(&mut members);
    }
    kept
}

/// Arranges the memories that come first in their groups.
fn arrange(memories: Vec<Arc<Memory>>, options: &ProfileOptions<'_>) -> Profile {
    let (mut static_memories, mut dynamic_memories): (Vec<&Memory>, Vec<&Memory>) = memories
        .iter()
        .map(Arc::as_ref)
        .partition(|memory| ProfileGroup::of(memory).is_static());
    static_memories.sort_by(|a, b| {
        kind_rank(a)
            .cmp(&kind_rank(b))
            .then_with(|| compare_most_certain_first(*a, *b))
    });
    dynamic_memories.sort_by(|a, b| compare_inferences_last(*a, *b));

    let static_budget = match options.max_tokens {
        Some(tokens) => Budget::strict((tokens as f64 * STATIC_SHARE) as usize),
        None => Budget::flexible(options.static_tokens),
    };
    let static_lines = budget::select_lines(
        &static_memories,
        |memory| memory.text.clone(),
        static_budget,
    );

    // The rest may take the tokens that the lasting traits leave.
    let rest_budget = match options.max_tokens {
        Some(tokens) => Budget::strict(tokens.saturating_sub(budget::count_tokens(&static_lines))),
        None => Budget::flexible(options.dynamic_tokens),
    };
    let dynamic_lines = budget::select_lines(&dynamic_memories, format_dated_line, rest_budget);
    let bucket_lines = match options.sorter {
        Some(sorter) => fill_buckets(&memories, sorter, rest_budget),
        None => Vec::new(),
    };

    Profile {
        static_lines,
        dynamic_lines,
        bucket_lines,
    }
}

/// Returns the memories that a profile may show. Across several ledgers, each sentence occurs once,
/// and a topic with one answer at a time has one answer.
fn collect_live_memories(ledgers: &[&Ledger], options: &ProfileOptions<'_>) -> Vec<Arc<Memory>> {
    let mut found: Vec<(usize, &Arc<Memory>)> = Vec::new();
    for (index, ledger) in ledgers.iter().enumerate() {
        for memory in ledger.memories() {
            if !memory.is_live(options.now) {
                continue;
            }
            if let Some(filter) = options.filter
                && !ledger.matches_filter(filter, memory)
            {
                continue;
            }
            found.push((index, memory));
        }
    }

    if ledgers.len() > 1 {
        across_ledgers::retain_current(ledgers, &mut found);
    }

    found
        .into_iter()
        .map(|(_, memory)| memory.clone())
        .collect()
}

/// Returns the sentence with the day of its event in front, or else the day on which it was said.
/// Words of others come with their attribution.
fn format_dated_line(memory: &Memory) -> String {
    let time = match memory.event {
        Some(event) => event.from,
        None => memory.said_at,
    };
    let time = time.to_string();
    let day = time.split('T').next().unwrap_or_default();
    format!("[{day}] {}", memory.display_text())
}

/// Returns the lines of each bucket.
fn fill_buckets(
    memories: &[Arc<Memory>],
    sorter: &BucketSorter,
    budget: Budget,
) -> Vec<Vec<ProfileLine>> {
    let mut sorted: Vec<&Memory> = memories.iter().map(Arc::as_ref).collect();
    sorted.sort_by(|a, b| compare_inferences_last(*a, *b));

    let mut buckets: Vec<Vec<&Memory>> = vec![Vec::new(); sorter.buckets().len()];
    for memory in sorted {
        if let Some(index) = sorter.bucket_index(memory)
            && let Some(bucket) = buckets.get_mut(index)
        {
            bucket.push(memory);
        }
    }

    buckets
        .iter()
        .map(|memories| budget::select_lines(memories, format_dated_line, budget))
        .collect()
}
