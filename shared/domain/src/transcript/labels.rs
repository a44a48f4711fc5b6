//! The labels of speakers, and the labels that look like them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The file of labels.
const FILE: &str = include_str!("labels.txt");

static LABELS: LazyLock<HashMap<&'static str, HashSet<&'static str>>> = LazyLock::new(parse_file);

/// The kind of speaker that a label names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpeakerKind {
    /// The user, to whom the memory belongs.
    User,
    /// The assistant.
    Assistant,
    /// The instructions of a program to the assistant.
    System,
    /// The result of a tool.
    Tool,
    /// A person with a name.
    Person,
}

impl SpeakerKind {
    /// Returns the kind that a label in lower case names, or `None` if it names no role.
    pub(super) fn of_role(label: &str) -> Option<Self> {
        let roles = [
            ("user", Self::User),
            ("assistant", Self::Assistant),
            ("system", Self::System),
            ("tool", Self::Tool),
        ];
        let role = roles.iter().find(|(section, _)| is_in(section, label));
        role.map(|(_, kind)| *kind)
    }

    /// Returns the role of the speaker's turns.
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::User | Self::Person => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

/// Checks whether notes or logs begin lines with this label, in lower case.
pub(super) fn is_note(label: &str) -> bool {
    is_in("note", label) || is_in("log", label)
}

/// Checks whether mails begin with this label, in lower case.
pub(super) fn is_mail_header(label: &str) -> bool {
    is_in("header", label)
}

fn is_in(section: &str, label: &str) -> bool {
    LABELS
        .get(section)
        .is_some_and(|labels| labels.contains(label))
}

fn parse_file() -> HashMap<&'static str, HashSet<&'static str>> {
    let mut sections: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut section = "";
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for line in FILE.lines().filter(is_entry) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let labels = line.split(';').map(str::trim);
        let labels = labels.filter(|label| !label.is_empty());
        sections.entry(section).or_default().extend(labels);
    }

    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_of_the_file_is_known_and_has_labels_in_lower_case() {
        let mut names: Vec<&str> = LABELS.keys().copied().collect();
        names.sort_unstable();
        let expected = [
            "assistant",
            "header",
            "log",
            "note",
            "system",
            "tool",
            "user",
        ];
        assert_eq!(names, expected);
        for (section, labels) in LABELS.iter() {
            assert!(!labels.is_empty(), "{section}");
            for label in labels {
                assert_eq!(label.to_lowercase(), *label, "{section}");
            }
        }
    }
}
