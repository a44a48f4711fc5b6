//! Renders a profile as Markdown that can go into a prompt unchanged.

use std::fmt::Write;

use axum::response::{IntoResponse, Response};
use domain::Attribution;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::Value;

use super::ProfileResponse;

/// Checks whether the caller prefers Markdown to JSON.
pub(crate) fn prefers_markdown(headers: &HeaderMap) -> bool {
    let mut accepted: Vec<(String, f32)> = Vec::new();
    for header in headers.get_all(ACCEPT) {
        if let Ok(ranges) = header.to_str() {
            accepted.extend(ranges.split(',').map(parse_media_range));
        }
    }

    let quality = |name: &str| match accepted.iter().find(|(media, _)| media == name) {
        Some((_, quality)) => *quality,
        None => 0.0,
    };

    quality("text/markdown") > quality("application/json")
}

/// Parses a media range and its quality.
fn parse_media_range(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
    let media = parts.next().unwrap_or_default();
    let quality = parts
        .find_map(|part| part.strip_prefix("q=")?.parse().ok())
        .unwrap_or(1.0);
    (media, quality)
}

/// Returns the answer as a document of lists. Parts without lines are left out.
pub(super) fn markdown_response(response: &ProfileResponse) -> Response {
    (
        [(CONTENT_TYPE, "text/markdown; charset=utf-8")],
        render_profile(response),
    )
        .into_response()
}

fn render_profile(response: &ProfileResponse) -> String {
    let profile = &response.profile;
    let mut out = String::from("# Profile\n");
    push_section(
        &mut out,
        "Static",
        profile.statics.as_deref().unwrap_or_default(),
    );
    push_section(
        &mut out,
        "Dynamic",
        profile.dynamic.as_deref().unwrap_or_default(),
    );
    for (key, lines) in profile.buckets.iter().flatten() {
        push_section(&mut out, &format!("Bucket: {key}"), lines);
    }

    let mut result_lines = Vec::new();
    if let Some(search_results) = &response.search_results {
        for row in search_results["results"].as_array().into_iter().flatten() {
            result_lines.extend(result_line(row));
        }
    }
    push_section(&mut out, "Search results", &result_lines);

    out
}

/// Returns the text of a search result, with the place where it was read.
fn result_line(row: &Value) -> Option<String> {
    let text = row["memory"].as_str().or(row["chunk"].as_str())?;
    match Attribution::deserialize(&row["origin"]) {
        Ok(origin) => Some(format!("According to {origin}: {text}")),
        Err(_) => Some(text.to_owned()),
    }
}

fn push_section(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    write!(out, "\n## {title}\n\n").ok();
    for line in lines {
        // Indentation keeps further lines of a text within its list item.
        let line = line.trim().lines().collect::<Vec<_>>().join("\n  ");
        writeln!(out, "- {line}").ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ProfileParts;
    use super::*;

    #[test]
    fn markdown_is_sent_to_those_who_prefer_it() {
        for (accept, expected) in [
            ("text/markdown", true),
            ("Text/Markdown; charset=utf-8", true),
            ("text/markdown, application/json;q=0.9", true),
            ("text/markdown;q=0.5, */*;q=0.1", true),
            ("application/json, text/markdown;q=0.5", false),
            ("text/markdown;q=0", false),
            ("text/markdown, application/json", false),
            ("*/*", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(prefers_markdown(&headers), expected, "{accept}");
        }

        assert!(!prefers_markdown(&HeaderMap::new()));
    }

    #[test]
    fn parts_are_lists_and_empty_ones_are_left_out() {
        let response = ProfileResponse {
            profile: ProfileParts {
                statics: Some(vec!["User is tall.\n# No heading".into()]),
                dynamic: Some(Vec::new()),
                buckets: Some([("food".into(), vec!["[2025-04-15] Soup.".into()])].into()),
            },
            search_results: Some(
                json!({"results": [{"memory": "One.", "origin": {"type": "mail"}}, {"chunk": "Two."}, {}]}),
            ),
        };

        let expected = "# Profile\n\n## Static\n\n- User is tall.\n  # No heading\n\n## Bucket: food\n\n\
                      - [2025-04-15] Soup.\n\n## Search results\n\n- According to a mail: One.\n- Two.\n";
        assert_eq!(render_profile(&response), expected);
    }
}
