//! Changes of a JSON object in its text, so that everything else keeps its order and its form.

use std::ops::Range;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::edit::TextEdit;

/// Returns the change that sets `section.name` to `entry`.
///
/// # Errors
/// Fails if the text is not a JSON object, or if the section is something else.
pub(super) fn set_entry(text: &str, section: &str, name: &str, entry: &Value) -> Result<TextEdit> {
    let root = parse_root(text)?;
    let unit = indentation_of(text, &root);
    let Some(found) = root.member(section) else {
        let object = serde_json::json!({name: entry});
        return Ok(root.insertion(section, &object, &unit, 1));
    };

    let inner = parse_section(text, section, &found.value)?;
    match inner.member(name) {
        None => Ok(inner.insertion(name, entry, &unit, 2)),
        Some(old) => Ok(TextEdit {
            range: old.value.clone(),
            replacement: render(entry, &unit, 2),
        }),
    }
}

/// Returns the change that removes `section.name`, or `None` if there is no such entry.
///
/// # Errors
/// Fails if the text is not a JSON object, or if the section is something else.
pub(super) fn remove_entry(text: &str, section: &str, name: &str) -> Result<Option<TextEdit>> {
    let root = parse_root(text)?;
    let Some(found) = root.member(section) else {
        return Ok(None);
    };

    let inner = parse_section(text, section, &found.value)?;
    let Some(index) = inner.members.iter().position(|member| member.key == name) else {
        return Ok(None);
    };
    let range = match (index.checked_sub(1), inner.members.get(index + 1)) {
        (_, Some(next)) => inner.members[index].start..next.start,
        (Some(before), None) => inner.members[before].value.end..inner.members[index].value.end,
        (None, None) => inner.inside.clone(),
    };
    Ok(Some(TextEdit {
        range,
        replacement: String::new(),
    }))
}

/// An object in a text.
struct ObjectText {
    members: Vec<MemberText>,
    /// The bytes between the braces.
    inside: Range<usize>,
}

/// A member of an object in a text.
struct MemberText {
    key: String,
    /// The position of the key.
    start: usize,
    value: Range<usize>,
}

impl ObjectText {
    fn member(&self, key: &str) -> Option<&MemberText> {
        // Of equal keys, programs take the last one.
        self.members.iter().rev().find(|member| member.key == key)
    }

    /// Returns the change that adds a member at the end. `depth` is that of the member.
    fn insertion(&self, key: &str, value: &Value, unit: &str, depth: usize) -> TextEdit {
        let indentation = unit.repeat(depth);
        let (key, value) = (Value::from(key), render(value, unit, depth));
        let member = format!("\n{indentation}{key}: {value}");
        match self.members.last() {
            Some(last) => TextEdit {
                range: last.value.end..last.value.end,
                replacement: format!(",{member}"),
            },
            None => TextEdit {
                range: self.inside.clone(),
                replacement: format!("{member}\n{}", unit.repeat(depth - 1)),
            },
        }
    }
}

fn parse_root(text: &str) -> Result<ObjectText> {
    let parsed: Value = serde_json::from_str(text).context("it is not valid JSON")?;
    if !parsed.is_object() {
        bail!("it is not a JSON object");
    }
    Scanner { text, at: 0 }
        .object()
        .context("it is not a JSON object")
}

fn parse_section(text: &str, section: &str, value: &Range<usize>) -> Result<ObjectText> {
    let mut scanner = Scanner {
        text,
        at: value.start,
    };
    let object = scanner.object();
    object.with_context(|| format!("its `{section}` is not an object"))
}

/// Returns the spaces or tabs before the first member of an object, or two spaces.
fn indentation_of(text: &str, root: &ObjectText) -> String {
    let first = root.members.first().map_or("", |first| {
        let before = &text[root.inside.start..first.start];
        before.rsplit_once('\n').map_or("", |(_, spaces)| spaces)
    });
    let is_blank = first.chars().all(|letter| letter == ' ' || letter == '\t');
    if first.is_empty() || !is_blank {
        return "  ".to_owned();
    }
    first.to_owned()
}

/// Returns a value as it is written at this depth.
fn render(value: &Value, unit: &str, depth: usize) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    let text = match written {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => value.to_string(),
    };
    text.replace('\n', &format!("\n{}", unit.repeat(depth)))
}

/// Reads valid JSON, to learn where its parts are.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blank.count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn object(&mut self) -> Option<ObjectText> {
        self.take(b'{')?;
        let start = self.at;
        let mut members = Vec::new();
        while self.peek()? != b'}' {
            if !members.is_empty() {
                self.take(b',')?;
            }
            members.push(self.member()?);
        }
        let inside = start..self.at;
        self.take(b'}')?;
        Some(ObjectText { members, inside })
    }

    fn member(&mut self) -> Option<MemberText> {
        self.peek()?;
        let start = self.at;
        self.string()?;
        let key = serde_json::from_str(&self.text[start..self.at]).ok()?;
        self.take(b':')?;
        self.peek()?;
        let value_start = self.at;
        self.value()?;
        Some(MemberText {
            key,
            start,
            value: value_start..self.at,
        })
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return Some(());
            }
        }
    }

    /// Passes a value. Brackets need not be told apart, because the text is valid.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => self.word(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Passes a number, `true`, `false` or `null`.
    fn word(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        self.at += rest.iter().take_while(is_part).count().max(1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG: &str = r#"{
    "theme": "dark \" } ,",
    "mcpServers": {
        "other": { "command": "x", "args": ["a", {"b": [1.0, -2e3, null]}], "new": true }
    },
    "tail": [1, 2,   3]
}
"#;

    fn set(text: &str) -> String {
        let entry = json!({"command": "recollect", "args": ["mcp"]});
        let edit = set_entry(text, "mcpServers", "recollect", &entry).unwrap();
        edit.apply(text)
    }

    fn remove(text: &str) -> String {
        let edit = remove_entry(text, "mcpServers", "recollect").unwrap();
        edit.unwrap().apply(text)
    }

    #[test]
    fn an_entry_is_added_and_everything_else_stays_byte_for_byte() {
        let changed = set(CONFIG);
        let added = r#",
        "recollect": {
            "command": "recollect",
            "args": [
                "mcp"
            ]
        }"#;
        assert_eq!(changed.replace(added, ""), CONFIG);
        assert_eq!(remove(&changed), CONFIG);
    }

    #[test]
    fn an_entry_is_replaced_by_the_same_command() {
        let changed = set(CONFIG);
        assert_eq!(set(&changed), changed);
    }

    #[test]
    fn an_entry_goes_from_every_place() {
        for text in [
            r#"{"mcpServers": {"recollect": {"a": 1}}}"#,
            r#"{"mcpServers": {"recollect": {"a": 1}, "z": 2}}"#,
            r#"{"mcpServers": {"y": "recollect", "recollect": {"a": 1}, "z": 2}}"#,
        ] {
            let left: Value = serde_json::from_str(&remove(text)).unwrap();
            let mut expected: Value = serde_json::from_str(text).unwrap();
            expected["mcpServers"]
                .as_object_mut()
                .unwrap()
                .remove("recollect");
            assert_eq!(left, expected, "{text}");
        }
        assert_eq!(
            remove_entry(CONFIG, "mcpServers", "recollect").unwrap(),
            None
        );
    }

    #[test]
    fn a_section_is_made_where_there_is_none() {
        for text in ["{}", "{\n}\n", "{\"a\": 1}", "{\"mcpServers\": {}}"] {
            let changed: Value = serde_json::from_str(&set(text)).unwrap();
            assert_eq!(
                changed["mcpServers"]["recollect"]["args"][0], "mcp",
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["", "[]", "{\"a\": 1,}", "{} // note", "{\"mcpServers\": 1}"] {
            let entry = json!({});
            assert!(
                set_entry(text, "mcpServers", "recollect", &entry).is_err(),
                "{text}"
            );
        }
    }
}
