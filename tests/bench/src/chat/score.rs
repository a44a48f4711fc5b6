//! The figures of the chats, by kind and by language.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;

use super::cases::{Case, ChatQuestion, is_any_in};

/// The number of checks, and of those that are right.
#[derive(Default, Clone, Copy)]
pub(crate) struct Share {
    right: usize,
    all: usize,
}

impl Share {
    fn count(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    /// Returns the share of right checks; none if there were no checks.
    pub(crate) fn rate(self) -> Option<f64> {
        (self.all > 0).then(|| self.right as f64 / self.all as f64)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all {
            0 => out.pad("-"),
            _ => out.pad(&format!("{}/{}", self.right, self.all)),
        }
    }
}

/// The checks of some cases.
#[derive(Default)]
pub(crate) struct ChatCounts {
    pub(crate) facts: Share,
    pub(crate) profile: Share,
    pub(crate) questions: Share,
    pub(crate) never: Share,
    memories: usize,
    /// The memories that fit no fact and no line of the profile.
    unasked: usize,
    /// A line for each wrong check.
    pub(super) failures: Vec<String>,
}

impl ChatCounts {
    fn add(&mut self, other: &Self) {
        self.facts.add(other.facts);
        self.profile.add(other.profile);
        self.questions.add(other.questions);
        self.never.add(other.never);
        self.memories += other.memories;
        self.unasked += other.unasked;
    }
}

pub(super) fn check_facts(case: &Case, memories: &[String], counts: &mut ChatCounts) -> Result<()> {
    for fact in &case.facts {
        let is_there = fact.fits_any(memories)?;
        counts.facts.count(is_there);
        if !is_there {
            counts.failures.push(format!("missing {fact:?}"));
        }
    }

    counts.memories += memories.len();
    for memory in memories {
        let mut is_asked = false;
        for fact in case.facts.iter().chain(&case.profile) {
            is_asked = is_asked || fact.fits(memory)?;
        }
        counts.unasked += usize::from(!is_asked);
    }

    Ok(())
}

pub(super) fn check_never(case: &Case, memories: &[String], counts: &mut ChatCounts) -> Result<()> {
    for fact in &case.never {
        let is_there = fact.fits_any(memories)?;
        counts.never.count(!is_there);
        if is_there {
            counts.failures.push(format!("false {fact:?}"));
        }
    }
    Ok(())
}

pub(super) fn check_profile(case: &Case, lines: &[String], counts: &mut ChatCounts) -> Result<()> {
    for fact in &case.profile {
        let is_there = fact.fits_any(lines)?;
        counts.profile.count(is_there);
        if !is_there {
            counts.failures.push(format!("not in the profile {fact:?}"));
        }
    }
    Ok(())
}

pub(super) fn check_question(
    question: &ChatQuestion,
    rows: &[String],
    counts: &mut ChatCounts,
) -> Result<()> {
    let is_right = is_right_answer(question, rows)?;
    counts.questions.count(is_right);
    if !is_right {
        let first = &rows[..rows.len().min(3)];
        counts
            .failures
            .push(format!("asked {:?}: {first:?}", question.q));
    }
    Ok(())
}

fn is_right_answer(question: &ChatQuestion, rows: &[String]) -> Result<bool> {
    if question.first.is_empty() {
        return Ok(rows.is_empty());
    }
    let Some(first) = rows.first() else {
        return Ok(false);
    };

    for row in rows {
        if is_any_in(&question.not, row)? && !is_any_in(&question.first, row)? {
            return Ok(false);
        }
    }

    is_any_in(&question.first, first)
}

/// The figures of all cases.
#[derive(Default)]
pub(crate) struct ChatReport {
    groups: BTreeMap<String, ChatCounts>,
    pub(crate) all: ChatCounts,
    pub(crate) baseline: ChatCounts,
}

impl ChatReport {
    pub(super) fn add(&mut self, case: &Case, counts: &ChatCounts, baseline: &ChatCounts) {
        for group in [case.kind.clone(), format!("language {}", case.lang)] {
            self.groups.entry(group).or_default().add(counts);
        }
        self.all.add(counts);
        self.baseline.add(baseline);
    }
}

impl fmt::Display for ChatReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<24} {:>10} {:>10} {:>10} {:>10}",
            "chats", "facts", "profile", "questions", "no false"
        )?;
        let groups = self
            .groups
            .iter()
            .map(|(name, counts)| (name.as_str(), counts));
        let sums = [("all", &self.all), ("sentences and BM25", &self.baseline)];
        for (name, counts) in groups.chain(sums) {
            let ChatCounts {
                facts,
                profile,
                questions,
                never,
                ..
            } = counts;
            writeln!(
                out,
                "{name:<24} {facts:>10} {profile:>10} {questions:>10} {never:>10}"
            )?;
        }

        let rate = |share: Share| share.rate().unwrap_or_default();
        write!(
            out,
            "facts {:.3}  profile {:.3}  questions {:.3}  kept clear of false ones {:.3}  memories nobody asked for {}/{}",
            rate(self.all.facts),
            rate(self.all.profile),
            rate(self.all.questions),
            rate(self.all.never),
            self.all.unasked,
            self.all.memories
        )
    }
}
