//! `recollect ask`: shows what answers a question, with its sources.

use anyhow::Result;
use serde_json::json;

use super::api::{post, scoped_body};
use super::hits::SearchHit;
use super::output::{Outcome, Output};
use super::search::explain_nothing;
use super::target::{OpenService, Purpose};
use crate::arguments::Ask;

/// The lines of a passage. A chunk seldom has more.
const LINES: usize = 20;
/// The part of the best similarity that a result needs. What is far less similar answers another
/// question.
const SHARE_OF_BEST: f64 = 0.7;

pub(super) async fn run_ask(options: Ask) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let body = json!({
        "q": options.question.join(" "), "searchMode": "hybrid", "limit": options.limit,
        "rerank": true, "include": {"documents": true},
    });
    let body = scoped_body(body, &options.tag);
    let answer = post(&service.client, "/v4/search", &body).await?;
    service.close().await;

    let hits = SearchHit::parse_all(&answer);
    match output.is_json {
        true => output.print_json(&answer)?,
        false if hits.is_empty() => output.print(&explain_nothing(&answer))?,
        false => output.print(&format_answer(&output, &hits))?,
    }
    Ok(match hits.is_empty() {
        true => Outcome::NothingFound,
        false => Outcome::Done,
    })
}

/// Returns the memories, and then the passages of each document. The document with the best passage
/// comes first.
fn format_answer(output: &Output, hits: &[SearchHit]) -> String {
    let best = hits.iter().map(|hit| hit.similarity).fold(0.0, f64::max);
    let (memories, passages): (Vec<&SearchHit>, Vec<&SearchHit>) = hits
        .iter()
        .filter(|hit| hit.similarity >= best * SHARE_OF_BEST)
        .partition(|hit| hit.is_memory);
    let mut sections = Vec::new();
    if !memories.is_empty() {
        sections.push(format_memories(output, &memories));
    }
    for group in group_by_document(&passages) {
        sections.push(format_passages(output, &group));
    }
    sections.join("\n")
}

fn format_memories(output: &Output, memories: &[&SearchHit]) -> String {
    let mut text = format!("{}\n", output.bold("What is remembered"));
    for memory in memories {
        let quote = memory.quote(output, "    ", LINES);
        text += &format!("  • {}", quote.trim_start());
        let source = match &memory.source {
            Some(source) => format!("{}, {source}", memory.title),
            None => memory.title.clone(),
        };
        text += &output.dim(&format!("    {:.2}  from {source}", memory.similarity));
        text.push('\n');
    }
    text
}

fn format_passages(output: &Output, passages: &[&SearchHit]) -> String {
    let mut text = String::new();
    for (index, passage) in passages.iter().enumerate() {
        if index == 0 {
            text += &format!("{}\n", passage.titled_source(output));
        }
        text += &passage.quote(output, "  | ", LINES);
        text += &output.dim(&format!("    {:.2}  {}", passage.similarity, passage.id));
        text.push('\n');
    }
    text
}

/// Groups passages by their document, in the order of the best one of each.
fn group_by_document<'a>(passages: &[&'a SearchHit]) -> Vec<Vec<&'a SearchHit>> {
    let document = |hit: &'a SearchHit| hit.id.rsplit_once('-').map_or(&*hit.id, |(id, _)| id);
    let mut groups: Vec<Vec<&SearchHit>> = Vec::new();
    for &passage in passages {
        let group = groups
            .iter_mut()
            .find(|group| document(group[0]) == document(passage));
        match group {
            Some(group) => group.push(passage),
            None => groups.push(vec![passage]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(id: &str, text: &str, is_memory: bool) -> SearchHit {
        SearchHit {
            text: text.to_owned(),
            similarity: 0.5,
            is_memory,
            id: id.to_owned(),
            title: "Title".to_owned(),
            source: Some("a.md".to_owned()),
        }
    }

    #[test]
    fn an_answer_has_memories_first_and_passages_by_document() {
        let unlike = SearchHit {
            similarity: 0.34,
            ..hit("c-0", "Something else.", false)
        };
        let hits = [
            unlike,
            hit("a-0", "First.", false),
            hit("b-0", "Other.", false),
            hit("m", "Remembered.", true),
            hit("a-3", "Second.", false),
        ];
        let expected = "\
What is remembered
  • Remembered.
    0.50  from Title, a.md

Title (a.md)
  | First.
    0.50  a-0
  | Second.
    0.50  a-3

Title (a.md)
  | Other.
    0.50  b-0
";
        assert_eq!(format_answer(&Output::plain(None), &hits), expected);
    }
}
