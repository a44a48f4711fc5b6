//! `recollect search`: lists what a search finds.

use anyhow::Result;
use serde_json::{Value, json};

use super::api::{hint_for_person, post, scoped_body};
use super::hits::SearchHit;
use super::output::{Outcome, Output};
use super::target::{OpenService, Purpose};
use crate::arguments::{Search, SearchMode};

/// The lines of a result. `ask` and `show` give more.
const LINES: usize = 3;

pub(super) async fn run_search(options: Search) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let answer = post(&service.client, "/v4/search", &search_body(&options)).await?;
    service.close().await;

    let hits = SearchHit::parse_all(&answer);
    match output.is_json {
        true => output.print_json(&answer)?,
        false if hits.is_empty() => output.print(&explain_nothing(&answer))?,
        false => output.print(&format_hits(&output, &hits))?,
    }
    Ok(match hits.is_empty() {
        true => Outcome::NothingFound,
        false => Outcome::Done,
    })
}

fn search_body(options: &Search) -> Value {
    let mode = match options.mode {
        SearchMode::All => "hybrid",
        SearchMode::Memories => "memories",
        SearchMode::Passages => "documents",
    };
    let mut body = json!({
        "q": options.query.join(" "), "searchMode": mode, "limit": options.limit,
        "include": {"documents": true},
    });
    if let Some(threshold) = options.threshold {
        body["threshold"] = json!(threshold);
    }
    scoped_body(body, &options.tag)
}

/// Says that nothing was found, with the reason if the service knows one.
pub(super) fn explain_nothing(answer: &Value) -> String {
    match hint_for_person(answer) {
        Some(hint) => format!("Nothing was found: {hint}\n"),
        None => "Nothing was found. Try other words, or a lower --threshold.\n".to_owned(),
    }
}

fn format_hits(output: &Output, hits: &[SearchHit]) -> String {
    let mut text = String::new();
    for (index, hit) in hits.iter().enumerate() {
        let kind = match hit.is_memory {
            true => "memory of ",
            false => "",
        };
        let head = format!("{:.2}  {kind}", hit.similarity);
        let id = output.dim(&hit.id);
        if index > 0 {
            text.push('\n');
        }
        text += &format!("{head}{}  {id}\n", hit.titled_source(output));
        text += &hit.quote(output, "      ", LINES);
    }
    text
}
