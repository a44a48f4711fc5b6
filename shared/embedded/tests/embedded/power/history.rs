//! What callers were told, and so what has to be there after a cut.

use std::collections::BTreeMap;

use super::disk::Record;

/// A change that a caller asked for: the thing is there in this version, or not at all.
#[derive(Debug, Clone, Copy)]
struct Step {
    version: Option<u64>,
    /// When it was answered, in nanoseconds; `None` while it was on the way.
    answered: Option<u64>,
}

/// All things of a workload, by their names.
#[derive(Debug, Default)]
pub(super) struct History {
    steps: BTreeMap<String, Vec<Step>>,
    /// The longest that the machine let a thread wait beyond its time, in nanoseconds.
    pub(super) stall: u64,
}

/// The line that a caller writes before it asks for a version; zero asks for the thing to go.
pub(super) fn asked(name: &str, version: u64) -> String {
    format!("asked {name} {version}\n")
}

/// The line that it writes after the answer.
pub(super) fn answered(name: &str) -> String {
    format!("answered {name}\n")
}

/// The line of a thread that slept too long.
pub(super) fn stalled(nanoseconds: u128) -> String {
    format!("stalled {nanoseconds}\n")
}

impl History {
    /// Takes note of what a caller wrote.
    pub(super) fn note(&mut self, record: &Record) {
        for line in record.text().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["asked", name, version] => {
                    let version = Some(version.parse().unwrap()).filter(|version| *version > 0);
                    self.steps.entry(name.to_owned()).or_default().push(Step {
                        version,
                        answered: None,
                    });
                }
                ["answered", name] => {
                    self.steps
                        .get_mut(name)
                        .unwrap()
                        .last_mut()
                        .unwrap()
                        .answered = Some(record.nanoseconds);
                }
                ["stalled", nanoseconds] => {
                    self.stall = self.stall.max(nanoseconds.parse().unwrap())
                }
                _ => panic!("{line}"),
            }
        }
    }

    /// Checks what is there against what was answered until `limit`: the last of that, or something asked for later.
    /// Answers what is wrong.
    pub(super) fn compare(
        &self,
        kind: &str,
        found: &BTreeMap<String, u64>,
        limit: u64,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, steps) in self.steps.iter().filter(|(name, _)| name.starts_with(kind)) {
            let is_sure = |step: &Step| step.answered.is_some_and(|answered| answered <= limit);
            let sure = steps.iter().rposition(is_sure);
            let there = found.get(name).copied();
            let fits = match sure {
                Some(sure) => steps[sure..].iter().any(|step| step.version == there),
                None => there.is_none() || steps.iter().any(|step| step.version == there),
            };
            if !fits {
                let last = sure.map(|sure| steps[sure].version);
                wrong.push(format!("{name} is {there:?}, answered was {last:?}"));
            }
        }

        for name in found
            .keys()
            .filter(|name| name.starts_with(kind) && !self.steps.contains_key(*name))
        {
            wrong.push(format!("{name} comes from nowhere"));
        }

        wrong
    }

    /// The things of a kind.
    pub(super) fn names(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.steps
            .keys()
            .map(String::as_str)
            .filter(move |name| name.starts_with(kind))
    }

    /// How many answers there were.
    pub(super) fn answers(&self) -> usize {
        self.steps
            .values()
            .flatten()
            .filter(|step| step.answered.is_some())
            .count()
    }
}
