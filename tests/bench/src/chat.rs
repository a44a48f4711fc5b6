//! Chats as people type them: the facts that have to be remembered, what must not be, what the
//! profile shows, and what questions find. FOLDER holds `dev.jsonl`, one case on a line; the fields
//! are described in [`cases`].
//!
//! Each case has a container of its own. Its sessions are sent with `POST /v4/conversations`, or as
//! one text with `POST /v3/documents`. Memories are listed, the profile is read, and questions are
//! asked with `POST /v4/search` in its default mode and at its default threshold. The baseline
//! remembers each sentence of the user as it is, and finds sentences with BM25.

mod cases;
mod score;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use self::cases::{Case, ChatSession, Form, read_cases};
use self::score::{ChatCounts, check_facts, check_never, check_profile, check_question};
pub(crate) use self::score::{ChatReport, Share};
use crate::bm25::Bm25;
use crate::extraction::split_sentences;
use crate::progress::progress_bar;
use crate::rig::BenchSystem;

/// The most memories of a case that are listed.
const MAX_MEMORIES: usize = 100;
/// The sentences that the baseline finds for a question, as many as a search of the service.
const BASELINE_RESULTS: usize = 10;

/// Measures and prints the figures.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, failures: bool) -> Result<()> {
    let report = measure(folder, failures).await?;
    println!("{report}");
    Ok(())
}

/// Sends every case and checks what is remembered. With `failures`, prints what is wrong.
pub(crate) async fn measure(folder: &Path, failures: bool) -> Result<ChatReport> {
    let cases = read_cases(&folder.join("dev.jsonl"))?;
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let bar = progress_bar("chatting", cases.len());
    let mut report = ChatReport::default();
    for case in &cases {
        let mut counts = ChatCounts::default();
        measure_case(&rig, case, &mut counts)
            .await
            .with_context(|| format!("the case {}", case.id))?;
        if failures && !counts.failures.is_empty() {
            let lines = counts.failures.join("\n    ");
            bar.suspend(|| print_line(&format!("[{}] {}\n    {lines}", case.id, case.kind)));
        }

        let mut baseline = ChatCounts::default();
        measure_baseline(case, &mut baseline)?;
        report.add(case, &counts, &baseline);
        bar.inc(1);
    }

    bar.finish_and_clear();
    rig.stop_workers().await;
    Ok(report)
}

async fn measure_case(rig: &BenchSystem, case: &Case, counts: &mut ChatCounts) -> Result<()> {
    let tag = format!("chat:{}", case.id);
    for (number, session) in case.sessions.iter().enumerate() {
        let id = send_session(rig, &tag, number, session).await?;
        rig.wait_until_done(&id).await?;
    }

    let memories = list_memories(rig, &tag).await?;
    check_facts(case, &memories, counts)?;
    check_never(case, &memories, counts)?;
    if !case.profile.is_empty() {
        check_profile(case, &read_profile(rig, &tag).await?, counts)?;
    }

    for question in &case.questions {
        let body = json!({"q": question.q, "containerTag": tag});
        let answer = rig.post("/v4/search", &body).await?;
        let mut rows = Vec::new();
        for row in answer["results"].as_array().into_iter().flatten() {
            let text = row["memory"].as_str().or(row["chunk"].as_str());
            rows.push(text.unwrap_or_default().to_owned());
        }
        check_question(question, &rows, counts)?;
    }

    Ok(())
}

/// Sends a session and returns the id of its document.
async fn send_session(
    rig: &BenchSystem,
    tag: &str,
    number: usize,
    session: &ChatSession,
) -> Result<String> {
    let mut body = json!({"containerTag": tag});
    if let Some(date) = &session.date {
        body["documentDate"] = json!(date);
    }

    let path = match session.form {
        Form::Conversation => {
            body["conversationId"] = json!(format!("{tag}-{number}"));
            body["messages"] = json!(session.messages);
            "/v4/conversations"
        }
        Form::Transcript => {
            body["content"] = json!(session.transcript());
            "/v3/documents"
        }
    };
    let answer = rig.post(path, &body).await?;

    Ok(answer["id"].as_str().context("an id")?.to_owned())
}

/// Returns the memories that are valid now.
async fn list_memories(rig: &BenchSystem, tag: &str) -> Result<Vec<String>> {
    let body = json!({"containerTags": [tag], "limit": MAX_MEMORIES});
    let answer = rig.post("/v4/memories/list", &body).await?;
    let mut memories = Vec::new();
    for entry in answer["memoryEntries"].as_array().context("memories")? {
        if entry["isLatest"] == true && entry["isForgotten"] == false {
            memories.push(entry["memory"].as_str().unwrap_or_default().to_owned());
        }
    }

    Ok(memories)
}

/// Returns the lines of both parts of the profile.
async fn read_profile(rig: &BenchSystem, tag: &str) -> Result<Vec<String>> {
    let answer = rig
        .post("/v4/profile", &json!({"containerTag": tag}))
        .await?;
    let part = |name: &str| answer["profile"][name].as_array().cloned();
    let lines = ["static", "dynamic"].into_iter().filter_map(part).flatten();
    Ok(lines
        .map(|line: Value| line.as_str().unwrap_or_default().to_owned())
        .collect())
}

/// Checks what a memory of each sentence of the user would be worth. It has no profile.
fn measure_baseline(case: &Case, counts: &mut ChatCounts) -> Result<()> {
    let mut sentences = Vec::new();
    for session in &case.sessions {
        for message in &session.messages {
            if message.role == "user" {
                sentences.extend(message.content.lines().flat_map(split_sentences));
            }
        }
    }

    check_facts(case, &sentences, counts)?;
    check_never(case, &sentences, counts)?;
    let index = Bm25::new(sentences.iter().map(String::as_str));
    for question in &case.questions {
        let ranked = index.rank(&question.q, BASELINE_RESULTS);
        let rows: Vec<String> = ranked
            .into_iter()
            .map(|place| sentences[place].clone())
            .collect();
        check_question(question, &rows, counts)?;
    }

    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_line(line: &str) {
    println!("{line}");
}
