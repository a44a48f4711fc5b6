//! What is known of somebody at a glance: lasting traits, what is going on, and topics.

mod across;
mod budget;
#[cfg(test)]
mod tests;
mod topics;

use std::cmp::{Ordering, Reverse};

use domain::{Filter, MemoryKind, Timestamp};

use crate::ledger::{Ledger, Memory};

pub use topics::Sorter;

/// About how many tokens the lasting traits may have.
const STATIC_TOKENS: usize = 1000;
/// About how many tokens what is going on may have, and each topic.
const DYNAMIC_TOKENS: usize = 600;
/// More memories than a list has room for, and as many as are sorted into topics: the first request pays for each.
const MAX_SORTED: usize = 2000;

/// What a profile is built for.
#[derive(Debug, Clone, Copy)]
pub struct Outline<'a> {
    /// The present time: what has expired by then is left out.
    pub now: Timestamp,
    /// Only memories that satisfy it.
    pub filter: Option<&'a Filter>,
    /// The topics; none when they are not asked for.
    pub sorter: Option<&'a Sorter>,
    /// About how many tokens the lasting traits may have.
    pub static_tokens: usize,
    /// About how many tokens what is going on may have, and each topic.
    pub dynamic_tokens: usize,
}

impl Outline<'_> {
    /// An outline without topics, in the usual size.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            filter: None,
            sorter: None,
            static_tokens: STATIC_TOKENS,
            dynamic_tokens: DYNAMIC_TOKENS,
        }
    }
}

/// A profile, as lines to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Lasting traits: instructions, then preferences, then facts.
    pub statics: Vec<String>,
    /// Everything else, newest first, each line with its day.
    pub dynamic: Vec<String>,
    /// The lines of each topic of the sorter, newest first, each with its day.
    pub buckets: Vec<Vec<String>>,
}

/// Builds the profile of the memories of one container tag, which may have several ledgers.
pub fn profile(ledgers: &[&Ledger], outline: &Outline<'_>) -> Profile {
    let live = live(ledgers, outline);
    let (mut lasting, mut passing): (Vec<&Memory>, Vec<&Memory>) =
        live.iter().partition(|memory| is_lasting(memory));
    lasting.sort_by(|a, b| {
        rank(a)
            .cmp(&rank(b))
            .then(b.confidence.total_cmp(&a.confidence))
            .then(newest(a, b))
    });

    // What nobody has said comes after what somebody has.
    let order = |a: &&Memory, b: &&Memory| a.is_inference.cmp(&b.is_inference).then(newest(a, b));
    keep_first(&mut passing, |a, b| {
        is_standing(b).cmp(&is_standing(a)).then(order(a, b))
    });

    passing.sort_by(order);
    let buckets = outline
        .sorter
        .map(|sorter| sort(live, sorter, outline.dynamic_tokens));

    Profile {
        statics: budget::fit(
            &lasting,
            |memory| memory.text.clone(),
            outline.static_tokens,
        ),
        dynamic: budget::fit(&passing, dated, outline.dynamic_tokens),
        buckets: buckets.unwrap_or_default(),
    }
}

/// Leaves the first ones by `order`, as many as a profile could ever show, so that only these need sorting.
fn keep_first<'a>(
    memories: &mut Vec<&'a Memory>,
    order: impl Fn(&&'a Memory, &&'a Memory) -> Ordering,
) {
    if memories.len() > MAX_SORTED {
        memories.select_nth_unstable_by(MAX_SORTED, order);
        memories.truncate(MAX_SORTED);
    }
}

/// The memories that a profile may show: each sentence once, and one answer where there can be one at a time.
fn live<'a>(ledgers: &[&'a Ledger], outline: &Outline<'_>) -> Vec<&'a Memory> {
    let mut found = Vec::new();
    for (place, ledger) in ledgers.iter().enumerate() {
        let shown = ledger.memories().filter(|memory| {
            memory.is_live(outline.now)
                && outline
                    .filter
                    .is_none_or(|filter| ledger.admits(filter, memory))
        });
        found.extend(shown.map(|memory| (place, memory)));
    }

    if ledgers.len() > 1 {
        across::keep_current(ledgers, &mut found);
    }

    found.into_iter().map(|(_, memory)| memory).collect()
}

fn is_lasting(memory: &Memory) -> bool {
    memory.is_static && !memory.is_inference && memory.trust.is_own()
}

/// Standing instructions and preferences, which belong to every profile.
fn is_standing(memory: &Memory) -> bool {
    rank(memory) < 2 && !memory.is_inference && memory.trust.is_own()
}

fn rank(memory: &Memory) -> u8 {
    match memory.kind {
        MemoryKind::Instruction => 0,
        MemoryKind::Preference => 1,
        MemoryKind::Fact | MemoryKind::Decision | MemoryKind::Plan | MemoryKind::Event => 2,
    }
}

/// The one that was said later comes first; equal ones come in the order of their ids.
fn newest(a: &Memory, b: &Memory) -> Ordering {
    (Reverse(a.said_at), &a.id).cmp(&(Reverse(b.said_at), &b.id))
}

/// The sentence after the day of which it tells, or else on which it was said; what others say with where they say it.
fn dated(memory: &Memory) -> String {
    let time = memory
        .event
        .map_or(memory.said_at, |event| event.from)
        .to_string();
    let day = time.split('T').next().unwrap_or_default();
    format!("[{day}] {}", memory.shown())
}

/// The lines of each topic.
fn sort(mut live: Vec<&Memory>, sorter: &Sorter, tokens: usize) -> Vec<Vec<String>> {
    keep_first(&mut live, |a, b| {
        is_standing(b).cmp(&is_standing(a)).then(newest(a, b))
    });

    live.sort_by(|a, b| a.is_inference.cmp(&b.is_inference).then(newest(a, b)));
    let mut buckets: Vec<Vec<&Memory>> = vec![Vec::new(); sorter.buckets().len()];
    for memory in live {
        if let Some(bucket) = sorter
            .place(memory)
            .and_then(|place| buckets.get_mut(place))
        {
            bucket.push(memory);
        }
    }

    buckets
        .iter()
        .map(|memories| budget::fit(memories, dated, tokens))
        .collect()
}
