//! Rules for the items that a connection includes or excludes.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The largest number of entries in one list.
const MAX_ENTRIES: usize = 100;
/// The largest number of characters in an entry.
const MAX_ENTRY_CHARS: usize = 1000;
/// The largest total size of both lists in bytes. They are stored in the item of the settings,
/// which many requests read as a whole.
const MAX_BYTES: usize = 64 * 1024;

/// Rules that select items by name and by folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemRules {
    /// Patterns of names.
    pub patterns: Vec<String>,
    /// Folders.
    pub folders: Vec<String>,
}

impl ItemRules {
    /// Checks the rules that a caller sent in the field `field`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the rule that is broken.
    pub fn check_rules(&self, field: &str) -> Result<()> {
        for (name, entries) in [("patterns", &self.patterns), ("folders", &self.folders)] {
            if entries.len() > MAX_ENTRIES {
                return Err(Error::invalid_field(
                    field,
                    format!("at most {MAX_ENTRIES} {name}"),
                ));
            }

            let fits = |entry: &String| {
                !entry.trim().is_empty() && entry.chars().count() <= MAX_ENTRY_CHARS
            };
            if !entries.iter().all(fits) {
                let rule = format!("each of its {name} has 1 to {MAX_ENTRY_CHARS} characters");
                return Err(Error::invalid_field(field, rule));
            }
        }

        let bytes: usize = self
            .patterns
            .iter()
            .chain(&self.folders)
            .map(String::len)
            .sum();
        if bytes > MAX_BYTES {
            return Err(Error::invalid_field(
                field,
                format!("at most {} KB together", MAX_BYTES / 1024),
            ));
        }

        compile_patterns(&self.patterns)
            .map(|_| ())
            .map_err(|error| Error::invalid_field(field, error))
    }
}

/// Compiles patterns with the syntax of ignore files: `*` and `?` match within a folder, `**`
/// matches across folders, and `{a,b}` and `[a-z]` are alternatives. Case is ignored. A pattern
/// that ends with a slash matches everything below.
///
/// # Errors
/// Returns a sentence that names the pattern that cannot be compiled.
pub fn compile_patterns<'a>(
    patterns: impl IntoIterator<Item = &'a String>,
) -> std::result::Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let trimmed = pattern.trim().trim_start_matches('/').to_lowercase();
        let full_pattern = if trimmed.ends_with('/') {
            format!("{trimmed}**")
        } else {
            trimmed
        };
        let glob = GlobBuilder::new(&full_pattern)
            .case_insensitive(true)
            .literal_separator(true)
            .build();
        set.add(glob.map_err(|error| {
            format!("the pattern {pattern:?} cannot be read: {}", error.kind())
        })?);
    }

    set.build()
        .map_err(|error| format!("the patterns are too large: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_bounded() {
        let rules = |patterns: Vec<String>, folders: Vec<String>| ItemRules { patterns, folders };
        let many = |n: usize, text: &str| vec![text.to_owned(); n];
        let cases = [
            (rules(Vec::new(), Vec::new()), None),
            (rules(many(100, "*.md"), many(100, "/ü")), None),
            (rules(many(1, &"ü".repeat(1000)), Vec::new()), None),
            (
                rules(vec!["a[".into()], Vec::new()),
                Some("\"a[\" cannot be read"),
            ),
            (rules(many(101, "*.md"), Vec::new()), Some("100 patterns")),
            (rules(Vec::new(), many(101, "/a")), Some("100 folders")),
            (
                rules(many(1, &"x".repeat(1001)), Vec::new()),
                Some("1000 characters"),
            ),
            (rules(Vec::new(), many(1, " ")), Some("1 to 1000")),
            (
                rules(many(60, &"日".repeat(1000)), Vec::new()),
                Some("64 KB"),
            ),
        ];

        for (rules, expected_error) in cases {
            let found = rules
                .check_rules("includeItems")
                .err()
                .map(|error| error.to_string());
            match expected_error {
                None => assert_eq!(found, None),
                Some(part) => assert!(found.is_some_and(|found| found.contains(part)), "{part}"),
            }
        }
    }
}
