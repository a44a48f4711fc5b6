//! `recollect list`: lists documents, memories and containers.

use anyhow::Result;
use serde_json::{Value, json};

use super::api::{get, hint_for_person, named_or_all_tags, post, scoped_body};
use super::output::{Outcome, Output, clean_text, one_line, short_time};
use super::table::{Column, format_table};
use super::target::{OpenService, Purpose};
use crate::arguments::List;

const DOCUMENT_COLUMNS: [Column; 6] = [
    Column::fixed("ID"),
    Column::fixed("STATUS"),
    Column::fixed("TYPE"),
    Column::flexible("TITLE"),
    Column::flexible("SOURCE"),
    Column::flexible("CONTAINER"),
];
const MEMORY_COLUMNS: [Column; 4] = [
    Column::fixed("ID"),
    Column::fixed("KIND"),
    Column::fixed("SINCE"),
    Column::flexible("MEMORY"),
];
const CONTAINER_COLUMNS: [Column; 4] = [
    Column::flexible("CONTAINER"),
    Column::number("DOCUMENTS"),
    Column::number("MEMORIES"),
    Column::fixed("LAST ACTIVITY"),
];

/// A list: the answer, and what people see of it.
struct Listing {
    answer: Value,
    columns: &'static [Column],
    rows: Vec<Vec<String>>,
    /// The text after the table.
    notes: String,
}

pub(super) async fn run_list(options: List) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let listing = match (options.memories, options.containers) {
        (true, _) => list_memories(&service, &options).await?,
        (_, true) => list_containers(&service).await?,
        _ => list_documents(&service, &options).await?,
    };
    service.close().await;

    let is_empty = listing.rows.is_empty();
    if output.is_json {
        output.print_json(&listing.answer)?;
    } else if is_empty {
        output.print(&explain_empty(&listing.answer))?;
    } else {
        let table = format_table(&output, listing.columns, &listing.rows);
        output.print(&format!("{table}{}", listing.notes))?;
    }
    Ok(match is_empty {
        true => Outcome::NothingFound,
        false => Outcome::Done,
    })
}

async fn list_documents(service: &OpenService, options: &List) -> Result<Listing> {
    let mut body = json!({"limit": options.limit, "page": options.page});
    if !options.status.is_empty() {
        body["status"] = json!(options.status);
    }
    if !options.types.is_empty() {
        body["type"] = json!(options.types);
    }
    if let Some(title) = &options.title {
        body["title"] = title.as_str().into();
    }
    if let Some(path) = &options.path {
        body["filepath"] = path.as_str().into();
    }
    let body = scoped_body(body, &options.tag);
    let answer = post(&service.client, "/v3/documents/list", &body).await?;

    let documents = answer["memories"].as_array().map_or(&[][..], Vec::as_slice);
    let mut notes = page_note(&answer["pagination"], documents.len());
    for document in documents {
        if let Some(reason) = document["errorMessage"].as_str() {
            notes += &format!("{}: {}\n", text(&document["id"]), clean_text(reason));
        }
    }
    // One container for all says nothing, and takes the room of the titles.
    let first_tag = documents.first().map(|document| &document["containerTag"]);
    let is_one_tag = documents
        .iter()
        .all(|document| Some(&document["containerTag"]) == first_tag);
    let columns = match is_one_tag {
        true => &DOCUMENT_COLUMNS[..DOCUMENT_COLUMNS.len() - 1],
        false => &DOCUMENT_COLUMNS[..],
    };
    Ok(Listing {
        rows: documents.iter().map(document_row).collect(),
        columns,
        notes,
        answer,
    })
}

fn document_row(document: &Value) -> Vec<String> {
    let source = match document["filepath"].is_null() {
        true => &document["url"],
        false => &document["filepath"],
    };
    let title = match &document["title"] {
        Value::Null => source,
        title => title,
    };
    vec![
        text(&document["id"]),
        text(&document["status"]),
        text(&document["type"]),
        text(title),
        text(source),
        text(&document["containerTag"]),
    ]
}

async fn list_memories(service: &OpenService, options: &List) -> Result<Listing> {
    let tags = named_or_all_tags(&service.client, &options.tag).await?;
    if tags.is_empty() {
        return Ok(Listing {
            answer: json!({"memoryEntries": []}),
            columns: &MEMORY_COLUMNS,
            rows: Vec::new(),
            notes: String::new(),
        });
    }

    let body = json!({"containerTags": tags, "limit": options.limit, "page": options.page});
    let answer = post(&service.client, "/v4/memories/list", &body).await?;
    let memories = answer["memoryEntries"].as_array();
    let memories = memories.map_or(&[][..], Vec::as_slice);
    Ok(Listing {
        rows: memories.iter().map(memory_row).collect(),
        columns: &MEMORY_COLUMNS,
        notes: page_note(&answer["pagination"], memories.len()),
        answer,
    })
}

fn memory_row(memory: &Value) -> Vec<String> {
    let forgotten = match memory["isForgotten"].as_bool() {
        Some(true) => "(forgotten) ",
        _ => "",
    };
    let since = short_time(&text(&memory["createdAt"]));
    vec![
        text(&memory["id"]),
        text(&memory["kind"]),
        since.get(..10).unwrap_or(&since).to_owned(),
        format!("{forgotten}{}", text(&memory["memory"])),
    ]
}

async fn list_containers(service: &OpenService) -> Result<Listing> {
    let answer = get(&service.client, "/v3/container-tags/list").await?;
    let containers = answer.as_array().map_or(&[][..], Vec::as_slice);
    let row = |container: &Value| {
        vec![
            text(&container["containerTag"]),
            text(&container["documentCount"]),
            text(&container["memoryCount"]),
            short_time(&text(&container["lastActivityAt"])),
        ]
    };
    Ok(Listing {
        rows: containers.iter().map(row).collect(),
        columns: &CONTAINER_COLUMNS,
        notes: String::new(),
        answer,
    })
}

/// Returns a value in one line. Null is empty.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        value => value.to_string(),
    }
}

/// Says which page this is, unless it is the only one.
fn page_note(pagination: &Value, shown: usize) -> String {
    let number = |field: &str| pagination[field].as_u64().unwrap_or_default();
    let (page, pages) = (number("currentPage"), number("totalPages"));
    if pages <= 1 {
        return String::new();
    }
    let next = match page < pages {
        true => format!("; --page {} shows more", page + 1),
        false => String::new(),
    };
    format!(
        "{shown} of {} on page {page} of {pages}{next}.\n",
        number("totalItems")
    )
}

fn explain_empty(answer: &Value) -> String {
    match hint_for_person(answer) {
        Some(hint) => format!("The list is empty: {hint}\n"),
        None => "The list is empty.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_follows() {
        let note = |page, pages| {
            let pagination = json!({"currentPage": page, "totalPages": pages, "totalItems": 7});
            page_note(&pagination, 3)
        };
        assert_eq!(note(1, 1), "");
        assert_eq!(note(1, 3), "3 of 7 on page 1 of 3; --page 2 shows more.\n");
        assert_eq!(note(3, 3), "3 of 7 on page 3 of 3.\n");
    }

    #[test]
    fn a_row_shows_where_a_document_came_from() {
        let page = json!({"id": "a", "status": "done", "type": "webpage", "title": null,
            "filepath": null, "url": "https://a", "containerTag": "t"});
        assert_eq!(
            document_row(&page),
            ["a", "done", "webpage", "https://a", "https://a", "t"]
        );
        let file = json!({"id": "a", "status": "done", "type": "pdf", "title": "A\nB",
            "filepath": "n/a.pdf", "containerTag": "t"});
        assert_eq!(
            document_row(&file),
            ["a", "done", "pdf", "A B", "n/a.pdf", "t"]
        );
    }
}
