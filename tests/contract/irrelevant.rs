//! A question that is unrelated to a container finds nothing in it, and a related one finds its
//! answer.
//!
//! `irrelevant/held.jsonl` has the contents of the container: turns of a conversation, memories,
//! documents. `unrelated.txt` has questions about anything else, one per line. The questions in
//! `near.txt` share a word with the contents. `related.jsonl` has questions with the words that
//! answer them. Only a document answers those with `chunk`.

use serde_json::{Value, json};

use crate::client::OrgClient;

const HELD: &str = include_str!("irrelevant/held.jsonl");
const UNRELATED: &str = include_str!("irrelevant/unrelated.txt");
const NEAR: &str = include_str!("irrelevant/near.txt");
const RELATED: &str = include_str!("irrelevant/related.jsonl");

/// The smallest percentage of unrelated questions that find nothing in each mode. The next constant
/// is the percentage of near questions.
const MIN_UNRELATED_EMPTY_PERCENT: usize = 95;
const MIN_NEAR_EMPTY_PERCENT: usize = 88;
const LISTS: [(&str, &str, usize); 2] = [
    ("unrelated", UNRELATED, MIN_UNRELATED_EMPTY_PERCENT),
    ("near", NEAR, MIN_NEAR_EMPTY_PERCENT),
];
const MODES: [&str; 3] = ["memories", "hybrid", "documents"];
/// The smallest number of related questions that find their answer in hybrid mode. The next
/// constant is the number of those that memories answer.
const MIN_HYBRID_ANSWERS: usize = 46;
const MIN_MEMORY_ANSWERS: usize = 31;

fn parse_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect()
}

/// Returns a client whose container `life` holds all contents.
async fn client_with_contents() -> OrgClient {
    let client = OrgClient::new().await;
    for (i, line) in parse_lines(HELD).into_iter().enumerate() {
        let (path, body) = if let Some(turns) = line["say"].as_array() {
            let messages: Vec<Value> = turns.iter().map(parse_turn).collect();
            let id = format!("talk-{i}");
            (
                "/v4/conversations",
                json!({"conversationId": id, "messages": messages, "containerTags": ["life"]}),
            )
        } else if line["memory"].is_string() {
            (
                "/v4/memories",
                json!({"memories": [{"content": line["memory"]}], "containerTag": "life"}),
            )
        } else {
            (
                "/v3/documents",
                json!({"content": line["document"], "containerTag": "life"}),
            )
        };
        let answer = client.post(path, body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
    }

    client.run_until_settled().await;
    client
}

fn parse_turn(turn: &Value) -> Value {
    let turn = turn.as_str().expect("a turn");
    match turn.split_once("assistant: ") {
        Some((_, text)) => json!({"role": "assistant", "content": text}),
        None => json!({"role": "user", "content": turn}),
    }
}

/// Returns the texts found at the default threshold, with their similarities.
async fn search_texts(client: &OrgClient, q: &str, mode: &str) -> Vec<(String, f64)> {
    let answer = client
        .post(
            "/v4/search",
            json!({"q": q, "containerTag": "life", "searchMode": mode}),
        )
        .await;
    assert!(answer.status.is_success(), "{}", answer.body);
    let rows = answer.body["results"].as_array().expect("results").clone();
    let text = |row: &Value| {
        row["memory"]
            .as_str()
            .or(row["chunk"].as_str())
            .unwrap_or_default()
            .to_owned()
    };

    rows.iter()
        .map(|row| (text(row), row["similarity"].as_f64().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn a_question_about_anything_else_finds_nothing() {
    let client = client_with_contents().await;
    let mut loud = Vec::new();
    for (mode, (name, questions, share)) in MODES
        .into_iter()
        .flat_map(|mode| LISTS.map(|list| (mode, list)))
    {
        let (mut quiet, mut all) = (0, 0);
        for q in questions.lines() {
            let rows = search_texts(&client, q, mode).await;
            all += 1;
            quiet += usize::from(rows.is_empty());
            if let Some((text, similarity)) = rows.first() {
                println!(
                    "{mode:9} {q} -> {} rows, {similarity:.2} {text:?}",
                    rows.len()
                );
            }
        }
        println!("== {mode}: {quiet} of {all} {name} questions find nothing");
        loud.extend(
            (quiet * 100 < all * share).then(|| format!("{mode}: {quiet} of {all} {name}")),
        );
    }

    assert!(loud.is_empty(), "too few find nothing: {}", loud.join(", "));
}

#[tokio::test]
async fn a_question_about_what_is_held_finds_it() {
    let client = client_with_contents().await;
    let all = parse_lines(RELATED);
    let spoken: Vec<Value> = all
        .iter()
        .filter(|line| line["chunk"] != true)
        .cloned()
        .collect();

    for (mode, questions, floor) in [
        ("hybrid", all, MIN_HYBRID_ANSWERS),
        ("memories", spoken, MIN_MEMORY_ANSWERS),
    ] {
        let mut held = 0;
        for line in &questions {
            let (q, has) = (
                line["q"].as_str().expect("a question"),
                line["has"].as_str().expect("words"),
            );
            let rows = search_texts(&client, q, mode).await;
            let answers = rows.iter().any(|(text, _)| text.contains(has));
            held += usize::from(answers);
            if !answers {
                println!("{mode:9} {q} -> no {has:?} in {rows:?}");
            }
        }

        println!("== {mode}: {held} of {} find their answer", questions.len());
        assert!(
            held >= floor,
            "{mode}: only {held} find their answer, not {floor}"
        );
    }
}
