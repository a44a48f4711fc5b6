//! The document as YAML that every reader understands alike. Readers of YAML 1.1 take plain `=`,
//! `no` or `2026-03-01` for something else than a text, so all but plain words are quoted.

use serde_json::Value;

/// Words that some reader takes for a boolean or for null.
const RESERVED_WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Writes a value as YAML in block style.
pub fn write_yaml(value: &Value) -> String {
    let mut text = String::new();
    write_block(value, 0, &mut text);
    text
}

/// Writes the entries of an object or a list, each on lines of its own.
fn write_block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                text.push_str(&format!("{indent}{}:", scalar(&name.as_str().into())));
                write_after_key(field, depth, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                text.push_str(&format!("{indent}-"));
                write_item(item, depth, text);
            }
        }
        _ => text.push_str(&format!("{indent}{}\n", scalar(value))),
    }
}

fn write_after_key(value: &Value, depth: usize, text: &mut String) {
    if is_block(value) {
        text.push('\n');
        write_block(value, depth + 1, text);
    } else {
        text.push_str(&format!(" {}\n", scalar(value)));
    }
}

/// Writes an item of a list. Its first line follows the hyphen.
fn write_item(item: &Value, depth: usize, text: &mut String) {
    if !is_block(item) {
        text.push_str(&format!(" {}\n", scalar(item)));
        return;
    }

    let mut block = String::new();
    write_block(item, depth + 1, &mut block);
    text.push(' ');
    text.push_str(block.trim_start());
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Returns a value on one line. A quoted text of JSON is also one of YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        _ => value.to_string(),
    }
}

/// Checks whether a text means the same with and without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
    let starts_with_letter = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let words = text.strip_suffix('.').unwrap_or(text);
    starts_with_letter
        && words.split(' ').all(|word| {
            let word = word.strip_suffix(',').unwrap_or(word);
            !word.is_empty() && word.chars().all(is_word)
        })
        && !RESERVED_WORDS.contains(&text.to_lowercase().as_str())
}
