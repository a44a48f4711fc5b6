//! Profiles: the memories of a container, arranged for a prompt as lasting traits, current matters
//! and buckets.

mod across_ledgers;
mod budget;
#[cfg(test)]
mod tests;
mod topics;

use std::cmp::{Ordering, Reverse};

use domain::{Filter, MemoryId, MemoryKind, Timestamp};

use crate::ledger::{Ledger, Memory};

use budget::Budget;
pub use topics::BucketSorter;

/// The default budget of the lasting traits, in estimated tokens.
const STATIC_TOKENS: usize = 1000;
/// The default budget of everything else, and of each bucket, in estimated tokens.
const DYNAMIC_TOKENS: usize = 600;
/// The share of the lasting traits in a budget for all parts. It is that of the default budgets.
const STATIC_SHARE: f64 = 0.625;
/// The most memories that are sorted and put into buckets. It is more than a list has room for, and
/// it bounds the first request, which has to place each memory.
const MAX_SORTED: usize = 2000;

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
    let live = collect_live_memories(ledgers, options);
    let (mut static_memories, mut dynamic_memories): (Vec<&Memory>, Vec<&Memory>) =
        live.iter().partition(|memory| is_static_trait(memory));
    static_memories.sort_by(|a, b| {
        kind_rank(a)
            .cmp(&kind_rank(b))
            .then(b.confidence.total_cmp(&a.confidence))
            .then(compare_newest_first(a, b))
    });

    truncate_to_first(&mut dynamic_memories, |a, b| {
        is_standing_rule(b)
            .cmp(&is_standing_rule(a))
            .then(compare_inferences_last(a, b))
    });
    dynamic_memories.sort_by(|a, b| compare_inferences_last(a, b));

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
        Some(sorter) => fill_buckets(live, sorter, rest_budget),
        None => Vec::new(),
    };

    Profile {
        static_lines,
        dynamic_lines,
        bucket_lines,
    }
}

/// Keeps the first memories by `order`, as many as a profile can ever show, so that only these need
/// sorting.
fn truncate_to_first<'a>(
    memories: &mut Vec<&'a Memory>,
    order: impl Fn(&&'a Memory, &&'a Memory) -> Ordering,
) {
    if memories.len() > MAX_SORTED {
        memories.select_nth_unstable_by(MAX_SORTED, order);
        memories.truncate(MAX_SORTED);
    }
}

/// Returns the memories that a profile may show. Across several ledgers, each sentence occurs once,
/// and a topic with one answer at a time has one answer.
fn collect_live_memories<'a>(
    ledgers: &[&'a Ledger],
    options: &ProfileOptions<'_>,
) -> Vec<&'a Memory> {
    let mut found = Vec::new();
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
            found.push((index, memory.as_ref()));
        }
    }

    if ledgers.len() > 1 {
        across_ledgers::retain_current(ledgers, &mut found);
    }

    found.into_iter().map(|(_, memory)| memory).collect()
}

fn is_static_trait(memory: &Memory) -> bool {
    memory.is_static && !memory.is_inference && memory.trust.is_own_words()
}

/// Checks for a standing instruction or preference of the user, which belongs to every profile.
fn is_standing_rule(memory: &Memory) -> bool {
    kind_rank(memory) < 2 && !memory.is_inference && memory.trust.is_own_words()
}

fn kind_rank(memory: &Memory) -> u8 {
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

/// Compares by time as [`compare_newest_first`] does, with all inferences after what was said.
fn compare_inferences_last(a: &Memory, b: &Memory) -> Ordering {
    a.is_inference
        .cmp(&b.is_inference)
        .then(compare_newest_first(a, b))
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
    mut live: Vec<&Memory>,
    sorter: &BucketSorter,
    budget: Budget,
) -> Vec<Vec<ProfileLine>> {
    truncate_to_first(&mut live, |a, b| {
        is_standing_rule(b)
            .cmp(&is_standing_rule(a))
            .then(compare_newest_first(a, b))
    });

    live.sort_by(|a, b| compare_inferences_last(a, b));

    let mut buckets: Vec<Vec<&Memory>> = vec![Vec::new(); sorter.buckets().len()];
    for memory in live {
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
