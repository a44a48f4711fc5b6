//! Markdown: its recognition, its title and its front matter.

use crate::extract::ExtractedDocument;
use crate::format::Format;

/// The number of bytes that are examined to recognize Markdown.
const LOOK_BYTES: usize = 64 * 1024;

/// Keeps the text as it is. The title comes from the front matter, or else from the first heading
/// if only blank lines precede it.
pub(crate) fn read_markdown(text: String) -> ExtractedDocument {
    let mut extracted = ExtractedDocument::new(Format::Markdown, String::new());
    let (front_matter, body) = split_front_matter(&text);
    let mut title = None;
    for line in front_matter.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        match key.to_ascii_lowercase().as_str() {
            "title" => title = Some(value),
            "author" => extracted.set_property("author", Some(value)),
            "date" => extracted.set_property("created", Some(value)),
            "description" => extracted.set_property("description", Some(value)),
            "lang" | "language" => extracted.set_property("language", Some(value)),
            _ => {}
        }
    }

    match title {
        Some(title) if !title.is_empty() => extracted.set_title(Some(title)),
        _ => extracted.set_title(first_heading(body)),
    }

    extracted.text = text;
    extracted
}

/// Splits YAML front matter (between two `---` lines at the very start) from the body.
pub(crate) fn split_front_matter(text: &str) -> (&str, &str) {
    let rest = text.trim_start_matches('\u{FEFF}');
    let mut lines = rest.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return ("", text);
    }

    let start = first.len();
    let mut at = start;
    for (count, line) in lines.enumerate() {
        let is_end = matches!(line.trim_end(), "---" | "...");
        if is_end {
            return (&rest[start..at], &rest[at + line.len()..]);
        }
        // Blank lines and prose do not occur in a mapping, so this is a rule at the top and not
        // front matter.
        let is_yaml = line.starts_with([' ', '\t', '-', '#']) || line.contains(':');
        if !is_yaml || count > 200 {
            break;
        }
        at += line.len();
    }

    ("", text)
}

/// Returns the text of a heading at the start.
pub(crate) fn first_heading(body: &str) -> Option<&str> {
    let mut lines = body.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next()?;
    if let Some((_, title)) = parse_atx_heading(first) {
        return Some(title);
    }
    let underline = lines.next()?.trim_end();
    (underline.len() >= 3 && underline.bytes().all(|byte| byte == b'=')).then(|| first.trim())
}

/// Returns level and text of a `# heading` line.
pub(crate) fn parse_atx_heading(line: &str) -> Option<(u8, &str)> {
    let line = strip_indent(line)?;
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    let is_heading =
        (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t', '\n']));
    if !is_heading {
        return None;
    }

    let title = rest.trim();
    let without_closing = title.trim_end_matches('#');
    // Closing marks count only after white space: `# C#` is about C#.
    let title = if without_closing.is_empty() || without_closing.ends_with([' ', '\t']) {
        without_closing.trim_end()
    } else {
        title
    };

    Some((u8::try_from(level).unwrap_or(6), title))
}

/// Returns the line without its indentation, or `None` if the indentation makes it code.
pub(crate) fn strip_indent(line: &str) -> Option<&str> {
    let stripped = line.trim_start_matches(' ');
    (line.len() - stripped.len() < 4).then_some(stripped)
}

/// Checks whether a text without name or type is Markdown. It needs two different signs, or a
/// heading above prose, because `#` also starts comments and `*` lists in many other texts.
pub(crate) fn looks_like_markdown(text: &str) -> bool {
    if !split_front_matter(text).0.is_empty() {
        return true;
    }

    let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
    let mut signs = MarkdownSigns::default();
    let mut previous_blank = true;
    for line in text.lines() {
        signs.look_at(line, previous_blank);
        previous_blank = line.trim().is_empty();
    }

    signs.enough()
}

/// The signs of Markdown in a text.
#[derive(Default)]
struct MarkdownSigns {
    headings: usize,
    fences: usize,
    lists: usize,
    tables: usize,
    inline: usize,
    in_fence: bool,
}

impl MarkdownSigns {
    fn look_at(&mut self, line: &str, previous_blank: bool) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            self.fences += 1;
            self.in_fence = !self.in_fence;
        }

        if self.in_fence {
            return;
        }

        if previous_blank
            && let Some((_, title)) = parse_atx_heading(line)
            && !title.is_empty()
        {
            self.headings += 1;
        }

        let is_item = ["- ", "* ", "+ "]
            .iter()
            .any(|mark| trimmed.starts_with(mark));
        self.lists += usize::from(is_item);
        let is_rule =
            trimmed.contains("---") && trimmed.bytes().all(|byte| b"|:- ".contains(&byte));
        self.tables += usize::from(is_rule && trimmed.contains('|'));
        self.inline += usize::from(trimmed.contains("](") || has_bold(trimmed));
    }

    fn enough(&self) -> bool {
        let kinds = [
            self.headings,
            self.fences / 2,
            self.lists,
            self.tables,
            self.inline,
        ];
        let kind_count = kinds.iter().filter(|count| **count > 0).count();
        self.tables > 0
            || self.fences >= 2
            || self.headings >= 1 && (kind_count >= 2 || self.headings <= 3)
    }
}

/// Checks whether the line contains `**words**`.
fn has_bold(line: &str) -> bool {
    line.split("**")
        .skip(1)
        .step_by(2)
        .any(|part| !part.is_empty() && !part.starts_with(' ') && !part.ends_with(' '))
        && line.matches("**").count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_gives_title_and_properties() {
        let extracted = read_markdown(
            "---\ntitle: \"Tides: a primer\"\nauthor: Mira\ndate: 2024-03-05\n---\n# Other\n"
                .into(),
        );
        assert_eq!(extracted.title.as_deref(), Some("Tides: a primer"));
        assert_eq!(extracted.properties["author"], "Mira");
        assert_eq!(extracted.properties["created"], "2024-03-05");
    }

    #[test]
    fn title_is_the_first_heading() {
        assert_eq!(
            read_markdown("\n# About C#\ntext".into()).title.as_deref(),
            Some("About C#")
        );
        assert_eq!(
            read_markdown("Tides\n=====\ntext".into()).title.as_deref(),
            Some("Tides")
        );
        assert_eq!(read_markdown("text\n\n# Later\n".into()).title, None);
    }

    #[test]
    fn a_rule_at_the_top_is_no_front_matter() {
        assert_eq!(split_front_matter("---\nSome prose\n---\n").0, "");
        assert_eq!(split_front_matter("---\na: 1\n---\nx"), ("a: 1\n", "x"));
    }

    #[test]
    fn markdown_is_told_from_prose_and_code() {
        for markdown in [
            "# Title\n\nText.",
            "Text\n\n- a\n\n## Part\n",
            "|a|b|\n|-|---|\n|1|2|",
            "x\n```\ny\n```\n",
        ] {
            assert!(looks_like_markdown(markdown), "{markdown}");
        }

        for other in [
            "Only prose.",
            "- one\n- two",
            "x = 2 ** 3 ** 4",
            "#!/bin/sh\necho 1",
            "#hashtag day",
        ] {
            assert!(!looks_like_markdown(other), "{other}");
        }
    }
}
