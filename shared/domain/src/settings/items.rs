//! Rules for the items that a connection includes or excludes.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The largest number of entries in one list.
const MAX_ENTRIES: usize = 100;
/// The largest number of characters in an entry.
const MAX_ENTRY_CHARS: usize = 1000;
/// The largest total size of both lists in bytes, and of rules in another form. They are stored in
/// the item of the settings, which many requests read as a whole.
const MAX_BYTES: usize = 64 * 1024;

/// Other names of `patterns`, of which clients of the hosted service send some.
const PATTERN_FIELDS: [&str; 7] = [
    "patterns",
    "pattern",
    "titlePatterns",
    "namePatterns",
    "filePatterns",
    "titles",
    "names",
];
/// Other names of `folders`.
const FOLDER_FIELDS: [&str; 5] = ["folders", "folder", "folderNames", "folderPaths", "paths"];
/// Names of fields with extensions, as in `pdf` or `.pdf`.
const EXTENSION_FIELDS: [&str; 4] = ["extensions", "extension", "fileExtensions", "fileTypes"];

/// Rules that select items by name and by folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemRules {
    /// Patterns of names.
    pub patterns: Vec<String>,
    /// Folders.
    pub folders: Vec<String>,
    /// The rules as they were sent, if that was in another form than these two lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Value>,
}

impl ItemRules {
    /// Reads rules in any form, and returns them with the parts that have no effect.
    ///
    /// An object has `patterns` and `folders`, or fields with other names for these, or
    /// `extensions`. A text or an array of texts names files and folders. Parts that have no effect
    /// are named by their field, or by their position in an array.
    pub fn read(value: &Value) -> (Self, Vec<String>) {
        let mut rules = Self::default();
        let ignored = match value {
            Value::Object(fields) => rules.read_fields(fields),
            Value::Array(_) | Value::String(_) => rules.read_names(value),
            _ => vec!["value".to_owned()],
        };

        let is_own_form = matches!(value, Value::Object(fields)
            if fields.keys().all(|name| name == "patterns" || name == "folders"));
        if !is_own_form || !ignored.is_empty() {
            rules.sent = Some(value.clone());
        }
        (rules, ignored)
    }

    /// Reads the fields of an object, and returns the names of those without an effect.
    fn read_fields(&mut self, fields: &Map<String, Value>) -> Vec<String> {
        let mut ignored = Vec::new();
        for (name, value) in fields {
            let Some(texts) = texts_of(value) else {
                ignored.push(name.clone());
                continue;
            };

            if PATTERN_FIELDS.contains(&name.as_str()) {
                self.patterns.extend(texts);
            } else if FOLDER_FIELDS.contains(&name.as_str()) {
                self.folders.extend(texts);
            } else if EXTENSION_FIELDS.contains(&name.as_str()) {
                for text in texts {
                    let extension = text.trim_start_matches(['*', '.']);
                    self.patterns.push(format!("*.{extension}"));
                }
            } else {
                ignored.push(name.clone());
            }
        }

        ignored
    }

    /// Reads names, and returns the positions of the others. A name without a wildcard may be that
    /// of a folder as well.
    fn read_names(&mut self, value: &Value) -> Vec<String> {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };

        let mut ignored = Vec::new();
        for (position, value) in values.iter().enumerate() {
            let Value::String(name) = value else {
                ignored.push(position.to_string());
                continue;
            };
            self.patterns.push(name.clone());
            if !name.contains(['*', '?', '[', '{']) {
                self.folders.push(name.clone());
            }
        }

        ignored
    }

    /// Returns the rules as they were sent.
    pub fn as_sent(&self) -> Value {
        match &self.sent {
            Some(sent) => sent.clone(),
            None => serde_json::json!({"patterns": self.patterns, "folders": self.folders}),
        }
    }

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
        let sent_bytes = match &self.sent {
            Some(sent) => sent.to_string().len(),
            None => 0,
        };
        if bytes.max(sent_bytes) > MAX_BYTES {
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

/// Returns a text, the texts of an array, or none for null. Returns `None` for anything else.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(values) => {
            let mut texts = Vec::with_capacity(values.len());
            for value in values {
                texts.push(value.as_str()?.to_owned());
            }
            Some(texts)
        }
        _ => None,
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
    fn rules_are_read_in_many_forms() {
        let cases = [
            (
                r#"{"patterns": ["*.md"], "folders": ["Old"]}"#,
                "*.md",
                "Old",
                "",
            ),
            (r#"{"patterns": null}"#, "", "", ""),
            (r#"["drafts", "*.tmp", 7]"#, "drafts *.tmp", "drafts", "2"),
            (r#""drafts""#, "drafts", "drafts", ""),
            (
                r#"{"extensions": ["pdf", ".md", "*.txt"]}"#,
                "*.pdf *.md *.txt",
                "",
                "",
            ),
            (r#"{"titlePatterns": "Draft*"}"#, "Draft*", "", ""),
            (r#"{"folderPaths": ["A/B"]}"#, "", "A/B", ""),
            (
                r#"{"owner": ["me"], "patterns": {"a": 1}, "folders": ["x", 1]}"#,
                "",
                "",
                "owner patterns folders",
            ),
            ("7", "", "", "value"),
        ];

        for (text, patterns, folders, expected_ignored) in cases {
            let value: Value = serde_json::from_str(text).unwrap();
            let (rules, ignored) = ItemRules::read(&value);
            assert_eq!(rules.patterns.join(" "), patterns, "{text}");
            assert_eq!(rules.folders.join(" "), folders, "{text}");
            assert_eq!(ignored.join(" "), expected_ignored, "{text}");
        }
    }

    #[test]
    fn rules_are_given_back_as_they_were_sent() {
        for text in [
            r#"["drafts"]"#,
            r#"{"extensions": ["pdf"]}"#,
            r#"{"other": {"a": 1}}"#,
            r#"{"patterns": ["a"], "folders": []}"#,
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            let (rules, _) = ItemRules::read(&value);
            let stored = serde_json::to_string(&rules).unwrap();
            let rules: ItemRules = serde_json::from_str(&stored).unwrap();
            assert_eq!(rules.as_sent(), value);
        }
    }

    #[test]
    fn rules_are_bounded() {
        let rules = |patterns: Vec<String>, folders: Vec<String>| ItemRules {
            patterns,
            folders,
            sent: None,
        };
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
