//! Changes of a TOML file in its text, so that everything else keeps its form and its comments.

use std::ops::Range;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toml::Table;

use super::edit::TextEdit;

/// Returns the change that sets the table `section.name` to `entry`.
///
/// # Errors
/// Fails if the text is not TOML, or if the change would touch anything else.
pub(super) fn set_entry(text: &str, section: &str, name: &str, entry: &Value) -> Result<TextEdit> {
    parse(text)?;
    let block = render(section, name, entry);
    let edit = match find_block(text, section, name) {
        Some(range) => TextEdit {
            range,
            replacement: block,
        },
        None => TextEdit {
            range: text.len()..text.len(),
            replacement: format!("{}{block}", gap_after(text)),
        },
    };

    check_others(text, &edit.apply(text), section, name)?;
    Ok(edit)
}

/// Returns the change that removes the table `section.name`, or `None` if there is none.
///
/// # Errors
/// Fails if the text is not TOML, or if the change would touch anything else.
pub(super) fn remove_entry(text: &str, section: &str, name: &str) -> Result<Option<TextEdit>> {
    let table = parse(text)?;
    let servers = table.get(section).and_then(|servers| servers.as_table());
    if servers.is_none_or(|servers| !servers.contains_key(name)) {
        return Ok(None);
    }

    let range = find_block(text, section, name);
    let range = range.with_context(|| format!("it has no line [{section}.{name}]"))?;
    let edit = TextEdit {
        range,
        replacement: String::new(),
    };
    check_others(text, &edit.apply(text), section, name)?;
    Ok(Some(edit))
}

fn parse(text: &str) -> Result<Table> {
    text.parse().context("it is not valid TOML")
}

/// Returns the lines of a table and of the tables in it, with the blank lines after them. Comments between them and
/// the next table belong to that one.
fn find_block(text: &str, section: &str, name: &str) -> Option<Range<usize>> {
    let own = format!("[{section}.{name}]");
    let inner = format!("[{section}.{name}.");
    let (mut start, mut end, mut at) = (None, 0, 0);
    let mut has_comment = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_own = trimmed.starts_with(&own) || trimmed.starts_with(&inner);
        match start {
            None if is_own => start = Some(at),
            Some(start) if trimmed.starts_with('[') && !is_own => return Some(start..end),
            _ => {}
        }
        at += line.len();
        has_comment = trimmed.starts_with('#') || has_comment && trimmed.is_empty();
        if !has_comment {
            end = at;
        }
    }
    start.map(|start| start..end)
}

/// Returns what separates a new table from the text before it.
fn gap_after(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    }
}

/// Returns the table of an entry, whose values are texts, lists of texts and one table of texts.
fn render(section: &str, name: &str, entry: &Value) -> String {
    let mut text = format!("[{section}.{name}]\n");
    let mut tables = String::new();
    // Texts and lists of texts are written in JSON as they are in TOML.
    for (key, value) in entry.as_object().into_iter().flatten() {
        let Some(table) = value.as_object() else {
            text.push_str(&format!("{key} = {value}\n"));
            continue;
        };
        tables.push_str(&format!("\n[{section}.{name}.{key}]\n"));
        for (key, value) in table {
            tables.push_str(&format!("{key} = {value}\n"));
        }
    }
    text + &tables
}

/// Checks that nothing but the entry differs.
fn check_others(before: &str, after: &str, section: &str, name: &str) -> Result<()> {
    let without_entry = |text: &str| -> Result<Table> {
        let mut table = parse(text)?;
        if let Some(servers) = table
            .get_mut(section)
            .and_then(|servers| servers.as_table_mut())
        {
            servers.remove(name);
            if servers.is_empty() {
                table.remove(section);
            }
        }
        Ok(table)
    };

    let after = without_entry(after).context("its form is not supported");
    if without_entry(before)? != after? {
        bail!("its form is not supported: other entries would change");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG: &str = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\" # keep\n\n[profiles.a]\nb = [\n  1,\n]\n";

    fn entry() -> Value {
        json!({"command": "recollect", "args": ["mcp", "--data", "a \"b\""], "env": {"RECOLLECT_KEY": "rk_1"}})
    }

    fn set(text: &str) -> String {
        let edit = set_entry(text, "mcp_servers", "recollect", &entry()).unwrap();
        edit.apply(text)
    }

    #[test]
    fn an_entry_is_added_replaced_and_removed_and_everything_else_stays() {
        let changed = set(CONFIG);
        assert!(changed.starts_with(CONFIG));
        assert_eq!(set(&changed), changed);

        let table: Table = changed.parse().unwrap();
        let args = table["mcp_servers"]["recollect"]["args"]
            .as_array()
            .unwrap();
        assert_eq!(args[2].as_str(), Some("a \"b\""));

        let edit = remove_entry(&changed, "mcp_servers", "recollect").unwrap();
        assert_eq!(edit.unwrap().apply(&changed).trim_end(), CONFIG.trim_end());
    }

    #[test]
    fn an_entry_between_others_is_replaced_in_its_place() {
        let text = format!("[mcp_servers.recollect]\ncommand = \"old\"\n\n{CONFIG}");
        let text = text.replace("# mine\nmodel = \"x\"\n\n", "");
        let changed = set(&text);
        assert!(changed.starts_with("[mcp_servers.recollect]\ncommand = \"recollect\""));
        assert!(changed.contains("command = \"y\" # keep"));
    }

    #[test]
    fn a_comment_of_the_next_table_stays() {
        let own = "[mcp_servers.recollect]\ncommand = \"x\"\n# ours\nargs = []\n\n";
        let next = "# keys for the other\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let text = format!("{own}{next}");
        let edit = remove_entry(&text, "mcp_servers", "recollect").unwrap();
        assert_eq!(edit.unwrap().apply(&text), next);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "a = ",
            "mcp_servers = 1",
            "mcp_servers = {recollect = {command = \"x\"}}",
            "a = \"\"\"\n[mcp_servers.recollect]\n\"\"\"",
        ] {
            assert!(
                set_entry(text, "mcp_servers", "recollect", &entry()).is_err(),
                "{text}"
            );
        }
    }
}
