//! The answers that callers received, and so the state that must exist after a cut.

use std::collections::BTreeMap;

use super::disk::TraceRecord;

/// A change that a caller requested: the thing exists in this version, or not at all.
#[derive(Debug, Clone, Copy)]
struct RequestedChange {
    version: Option<u64>,
    /// The time of the answer in nanoseconds, or `None` while there is none.
    answered: Option<u64>,
}

/// All things of a workload, by name.
#[derive(Debug, Default)]
pub(super) struct History {
    steps: BTreeMap<String, Vec<RequestedChange>>,
    /// The longest time that the machine let a thread wait too long, in nanoseconds.
    pub(super) stall: u64,
}

/// Returns the line that a caller writes before it requests a version. Zero requests the deletion
/// of the thing.
pub(super) fn request_line(name: &str, version: u64) -> String {
    format!("asked {name} {version}\n")
}

/// Returns the line that a caller writes after the answer.
pub(super) fn answer_line(name: &str) -> String {
    format!("answered {name}\n")
}

/// Returns the line of a thread that slept too long.
pub(super) fn stall_line(nanoseconds: u128) -> String {
    format!("stalled {nanoseconds}\n")
}

impl History {
    /// Records what a caller wrote.
    pub(super) fn record_lines(&mut self, record: &TraceRecord) {
        for line in record.acknowledgement_text().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["asked", name, version] => {
                    let version = Some(version.parse().unwrap()).filter(|version| *version > 0);
                    self.steps
                        .entry(name.to_owned())
                        .or_default()
                        .push(RequestedChange {
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

    /// Compares the existing things of a kind with the answers until `limit`. Each must be in the
    /// last answered version, or in one that was requested later. Returns the differences.
    pub(super) fn find_differences(
        &self,
        kind: &str,
        found: &BTreeMap<String, u64>,
        limit: u64,
    ) -> Vec<String> {
        let mut differences = Vec::new();
        for (name, steps) in self.steps.iter().filter(|(name, _)| name.starts_with(kind)) {
            let is_sure =
                |step: &RequestedChange| step.answered.is_some_and(|answered| answered <= limit);
            let last_certain = steps.iter().rposition(is_sure);
            let found_version = found.get(name).copied();
            let fits = match last_certain {
                Some(last_certain) => steps[last_certain..]
                    .iter()
                    .any(|step| step.version == found_version),
                None => {
                    found_version.is_none()
                        || steps.iter().any(|step| step.version == found_version)
                }
            };
            if !fits {
                let certain_version = last_certain.map(|last_certain| steps[last_certain].version);
                differences.push(format!(
                    "{name} is {found_version:?}, answered was {certain_version:?}"
                ));
            }
        }

        for name in found
            .keys()
            .filter(|name| name.starts_with(kind) && !self.steps.contains_key(*name))
        {
            differences.push(format!("{name} comes from nowhere"));
        }

        differences
    }

    /// Returns the names of the things of a kind.
    pub(super) fn names_of_kind(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.steps
            .keys()
            .map(String::as_str)
            .filter(move |name| name.starts_with(kind))
    }

    /// Returns the number of answers.
    pub(super) fn count_answers(&self) -> usize {
        self.steps
            .values()
            .flatten()
            .filter(|step| step.answered.is_some())
            .count()
    }
}
