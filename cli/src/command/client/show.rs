//! `recollect show`: shows a document with its memories and passages.

use anyhow::Result;
use api_client::ApiClient;
use serde_json::{Value, json};

use super::api::{document_path, found, get, live_memories};
use super::output::{Outcome, Output, one_line, print_note, short_time};
use super::target::{OpenService, Purpose};
use crate::arguments::Show;
use crate::counts::count;

/// The passages and memories that are shown without `--full`.
const MAX_SHOWN: usize = 5;
/// The lines of a passage without `--full`.
const LINES: usize = 6;

pub(super) async fn run_show(options: Show) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let Some(document) = find_document(&service.client, &options.id).await? else {
        print_note(&format!(
            "There is no document {}. Documents are listed by `recollect list`.",
            options.id
        ));
        return Ok(Outcome::NothingFound);
    };
    let id = document["id"].as_str().unwrap_or(&options.id);
    let chunks = get(&service.client, &format!("{}/chunks", document_path(id))).await?;
    service.close().await;

    if output.is_json {
        output.print_json(&json!({"document": document, "chunks": chunks["chunks"]}))?;
    } else {
        let text = [
            format_head(&output, &document),
            format_memories(&output, &document, options.full),
            format_chunks(&output, &chunks, options.full),
        ];
        output.print(&text.concat())?;
    }
    Ok(Outcome::Done)
}

/// Finds a document by its id, or by that of one of its passages.
async fn find_document(client: &ApiClient, id: &str) -> Result<Option<Value>> {
    if let Some(document) = found(get(client, &document_path(id)).await)? {
        return Ok(Some(document));
    }
    match id.rsplit_once('-') {
        Some((document, position)) if position.parse::<u32>().is_ok() => {
            Ok(found(get(client, &document_path(document)).await)?)
        }
        _ => Ok(None),
    }
}

fn format_head(output: &Output, document: &Value) -> String {
    let title = document["title"].as_str().unwrap_or("untitled");
    let mut text = format!("{}\n", output.bold(&one_line(title)));
    let tags = document["containerTags"].as_array().into_iter().flatten();
    let tags: Vec<&str> = tags.filter_map(Value::as_str).collect();
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            text += &format!(
                "{} {}\n",
                output.dim(&format!("{name:<10}")),
                one_line(value)
            );
        }
    };

    let field = |name: &str| document[name].as_str().unwrap_or_default();
    row("id", field("id"));
    row("status", field("status"));
    row("reason", field("errorMessage"));
    row("type", field("type"));
    row("path", field("filepath"));
    row("address", field("url"));
    row("container", &tags.join(", "));
    row("added", &short_time(field("createdAt")));
    row("updated", &short_time(field("updatedAt")));
    if let Some(metadata) = document["metadata"]
        .as_object()
        .filter(|map| !map.is_empty())
    {
        row("metadata", &Value::from(metadata.clone()).to_string());
    }
    if let Some(summary) = document["summary"].as_str() {
        text += &format!("\n{}\n", output.wrap(summary, 0).join("\n"));
    }
    text
}

fn format_memories(output: &Output, document: &Value, is_full: bool) -> String {
    let memories = live_memories(document);
    if memories.is_empty() {
        return String::new();
    }

    let title = count(memories.len(), "memory");
    let mut text = format!("\n{}\n", output.bold(&title));
    for memory in memories.iter().take(max_shown(is_full)) {
        let sentence = memory["memory"].as_str().unwrap_or_default();
        let lines = output.wrap(sentence, 4);
        let id = output.dim(&one_line(memory["id"].as_str().unwrap_or_default()));
        text += &format!("  • {}  {id}\n", lines.join("\n    "));
    }
    text + &rest_note(output, memories.len(), is_full)
}

fn format_chunks(output: &Output, chunks: &Value, is_full: bool) -> String {
    let chunks = chunks["chunks"].as_array();
    let chunks = chunks.map_or(&[][..], Vec::as_slice);
    if chunks.is_empty() {
        return String::new();
    }

    let title = count(chunks.len(), "passage");
    let mut text = format!("\n{}\n", output.bold(&title));
    for chunk in chunks.iter().take(max_shown(is_full)) {
        text += &format_chunk(output, chunk, is_full);
    }
    text + &rest_note(output, chunks.len(), is_full)
}

fn format_chunk(output: &Output, chunk: &Value, is_full: bool) -> String {
    let content = chunk["content"].as_str().unwrap_or_default();
    let mut lines = output.wrap(content, 4);
    let max_lines = match is_full {
        true => usize::MAX,
        false => LINES,
    };
    if !is_full {
        lines.retain(|line| !line.is_empty());
    }
    let mut text = format!(
        "  {}\n",
        output.dim(&one_line(chunk["id"].as_str().unwrap_or_default()))
    );
    for line in lines.iter().take(max_lines) {
        text += format!("  | {line}").trim_end();
        text.push('\n');
    }
    if lines.len() > max_lines {
        text += &format!("  | {}\n", output.dim("…"));
    }
    text
}

fn max_shown(is_full: bool) -> usize {
    match is_full {
        true => usize::MAX,
        false => MAX_SHOWN,
    }
}

fn rest_note(output: &Output, number: usize, is_full: bool) -> String {
    match number.checked_sub(max_shown(is_full)) {
        None | Some(0) => String::new(),
        Some(rest) => format!(
            "  {}\n",
            output.dim(&format!("{rest} more; --full shows all"))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_documents_are_shortened_unless_all_is_asked_for() {
        let output = Output::plain(Some(60));
        let chunk =
            |number| json!({"id": format!("d-{number}"), "content": "one\ntwo\n3\n4\n5\n6\n7"});
        let chunks = json!({"chunks": (0..7).map(chunk).collect::<Vec<_>>()});
        let short = format_chunks(&output, &chunks, false);
        assert!(short.contains("d-4") && !short.contains("d-5"), "{short}");
        assert!(short.contains("  | …") && !short.contains("| 7"), "{short}");
        assert!(short.ends_with("2 more; --full shows all\n"), "{short}");

        let full = format_chunks(&output, &chunks, true);
        assert!(full.contains("d-6") && full.contains("| 7"), "{full}");
        assert!(!full.contains("--full") && !full.contains('…'), "{full}");
    }

    #[test]
    fn the_head_leaves_out_what_a_document_does_not_have() {
        let document = json!({"id": "d", "title": "T", "status": "failed", "type": "pdf",
            "errorMessage": "it is\u{1b} encrypted", "containerTags": ["a", "b"], "metadata": {"year": 2025},
            "createdAt": "2026-05-04T13:07:09.123Z", "filepath": null});
        let head = format_head(&Output::plain(None), &document);
        let expected = "\
T
id         d
status     failed
reason     it is encrypted
type       pdf
container  a, b
added      2026-05-04 13:07
metadata   {\"year\":2025}
";
        assert_eq!(head, expected);
    }
}
