//! The selection of the lines that fit into a part of a profile.

use std::cmp::Reverse;

use super::ProfileLine;
use crate::ledger::{Memory, ProfileGroup};

/// The number of lines that did not fit after which the search for smaller ones ends.
pub(super) const MAX_MISSES: usize = 32;
/// The factor by which standing instructions and preferences may exceed a flexible budget.
pub(super) const RULE_FACTOR: usize = 2;

/// The room of a part of a profile, in estimated tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    tokens: usize,
    /// The room of standing instructions and preferences.
    rule_tokens: usize,
    /// True if the newest of these is shown even if there is no room for it.
    shows_newest_rule: bool,
}

impl Budget {
    /// Creates a budget of which standing instructions and preferences may take [`RULE_FACTOR`] times as
    /// much. The newest of them is always shown.
    pub(super) fn flexible(tokens: usize) -> Self {
        Self {
            tokens,
            rule_tokens: RULE_FACTOR * tokens,
            shows_newest_rule: true,
        }
    }

    /// Creates a budget that nothing exceeds.
    pub(super) fn strict(tokens: usize) -> Self {
        Self {
            tokens,
            rule_tokens: tokens,
            shows_newest_rule: false,
        }
    }
}

/// The lines chosen so far, with their positions and the tokens that they take.
#[derive(Default)]
struct LineSelection {
    lines: Vec<(usize, String)>,
    used_tokens: usize,
    misses: usize,
}

impl LineSelection {
    /// Takes a line if there is room for it. Returns whether it is worth offering more.
    fn offer(&mut self, index: usize, line: String, limit: usize) -> bool {
        let cost = estimate_tokens(&line);
        if self.used_tokens + cost <= limit {
            self.used_tokens += cost;
            self.lines.push((index, line));
        } else {
            self.misses += 1;
        }
        self.misses < MAX_MISSES
    }
}

/// Returns the lines of `memories` that fit into the budget, in their order.
///
/// Standing instructions and preferences come before everything else, the newest first.
pub(super) fn select_lines(
    memories: &[&Memory],
    line: impl Fn(&Memory) -> String,
    budget: Budget,
) -> Vec<ProfileLine> {
    let mut selection = LineSelection::default();
    let mut standing_rules: Vec<usize> = (0..memories.len())
        .filter(|index| ProfileGroup::of(memories[*index]).is_rule())
        .collect();
    standing_rules.sort_by_key(|index| Reverse(memories[*index].said_at));
    for (count, index) in standing_rules.into_iter().enumerate() {
        let is_always_shown = count == 0 && budget.shows_newest_rule;
        let limit = if is_always_shown {
            usize::MAX
        } else {
            budget.rule_tokens
        };
        if !selection.offer(index, line(memories[index]), limit) {
            break;
        }
    }

    selection.misses = 0;
    for (index, memory) in memories.iter().enumerate() {
        if ProfileGroup::of(memory).is_rule() {
            continue;
        }
        let is_full = selection.used_tokens >= budget.tokens;
        if is_full || !selection.offer(index, line(memory), budget.tokens) {
            break;
        }
    }

    selection.lines.sort_by_key(|(index, _)| *index);
    let mut lines = Vec::with_capacity(selection.lines.len());
    for (index, text) in selection.lines {
        lines.push(ProfileLine {
            memory: memories[index].id.clone(),
            text,
        });
    }

    lines
}

/// Estimates the tokens of lines.
pub(super) fn count_tokens(lines: &[ProfileLine]) -> usize {
    lines.iter().map(|line| estimate_tokens(&line.text)).sum()
}

/// Estimates the tokens of a text: four letters are one token, and each character of a script
/// without spaces is one.
fn estimate_tokens(text: &str) -> usize {
    let (mut quarter_tokens, mut whole_tokens) = (0, 0);
    for character in text.chars() {
        if is_cjk(character) {
            whole_tokens += 1
        } else {
            quarter_tokens += 1
        }
    }
    whole_tokens + usize::div_ceil(quarter_tokens, 4)
}

/// Checks for a character of Chinese, Japanese or Korean.
fn is_cjk(character: char) -> bool {
    matches!(character as u32,
        0x1100..=0x11FF | 0x2E80..=0x9FFF | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_estimated_by_script() {
        let cases = [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("日本語", 3),
            ("日本 ab", 3),
            ("한국", 2),
        ];
        for (text, expected) in cases {
            assert_eq!(estimate_tokens(text), expected, "{text}");
        }
    }
}
