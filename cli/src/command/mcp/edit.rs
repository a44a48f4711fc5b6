//! A change of a text, which can be shown before it is made.

use std::ops::Range;

use super::clients::KEY_VARIABLE;

/// The replacement of one part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextEdit {
    /// The bytes to replace.
    pub(super) range: Range<usize>,
    /// The text that replaces them.
    pub(super) replacement: String,
}

impl TextEdit {
    /// Returns the text with the change.
    pub(super) fn apply(&self, text: &str) -> String {
        let (before, after) = (&text[..self.range.start], &text[self.range.end..]);
        format!("{before}{}{after}", self.replacement)
    }

    /// Returns the change as a diff. It shows nothing else of the text, which may have the secrets
    /// of other programs, and no key.
    pub(super) fn to_diff(&self, text: &str) -> String {
        let line = text[..self.range.start].matches('\n').count() + 1;
        let mut diff = format!("@@ line {line} @@\n");
        push_lines(&mut diff, '-', &text[self.range.clone()]);
        push_lines(&mut diff, '+', &self.replacement);
        diff
    }
}

fn push_lines(diff: &mut String, sign: char, text: &str) {
    // A comma in front joins the entry to the one before it.
    let text = text.strip_prefix(',').unwrap_or(text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for line in lines {
        match find_secret(line) {
            Some(at) => diff.push_str(&format!("{sign}{} (not shown)\n", &line[..at])),
            None => diff.push_str(&format!("{sign}{line}\n")),
        }
    }
}

/// Returns the position in a line from which it may have a secret: after the name of a key or of a
/// header with one, or where a key begins.
fn find_secret(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    let names = [KEY_VARIABLE, "Authorization", "x-api-key", "Bearer"];
    let after_name = names.iter().filter_map(|name| {
        let at = lower.find(&name.to_ascii_lowercase())?;
        Some(at + name.len())
    });
    after_name.chain(lower.find("rk_")).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_change_and_no_secret() {
        let text = "{\n  \"token\": \"secret-of-another\",\n  \"a\": {\"env\": {\"RECOLLECT_KEY\": \"rk_old\"}}\n}";
        let start = text.find("\"a\"").unwrap();
        let edit = TextEdit {
            range: start..text.len() - 2,
            replacement: "\"b\": {\n    \"RECOLLECT_KEY\": \"rk_new\"\n  }".to_owned(),
        };
        let diff = edit.to_diff(text);
        assert_eq!(
            diff,
            "@@ line 3 @@\n-\"a\": {\"env\": {\"RECOLLECT_KEY (not shown)\n+\"b\": {\n+    \"RECOLLECT_KEY (not shown)\n+  }\n"
        );
    }
}
