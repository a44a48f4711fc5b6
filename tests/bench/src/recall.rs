//! LoCoMo evidence recall through the interface. Each session is sent with `POST
//! /v4/conversations`, and each question is one `POST /v4/search` with `searchMode: "hybrid"` and
//! the default threshold. A turn counts as found if its text is inside a returned chunk or inside
//! the source span of a returned memory; in another column, also if such a span is a part of the
//! turn. No model judges any answer.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use processor::WINDOW_CHARS;
use search::{DEFAULT_THRESHOLD, MEMORY_SHARE};
use search_engine::{Embedder, RankingConfig, StaticEmbedder};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::rig::{BenchSystem, percentiles};
use crate::text::squeeze_spaces;

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    qa: Vec<Question>,
    conversation: Value,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

#[derive(Deserialize)]
struct EvidenceTurn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

impl EvidenceTurn {
    fn turn_text(&self) -> String {
        match &self.blip_caption {
            Some(caption) => format!("{} [photo: {caption}]", self.text),
            None => self.text.clone(),
        }
    }
}

/// The sums over all questions.
#[derive(Default)]
struct RecallSums {
    questions: f64,
    turns: f64,
    /// The turns of which a memory states a part, among these.
    touched: f64,
    memories: f64,
    sessions: f64,
    tokens: f64,
    empty: f64,
    times: Vec<Duration>,
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, limit: usize) -> Result<()> {
    let text = std::fs::read_to_string(folder.join("conversations.json"))
        .context("read conversations.json")?;
    let samples: Vec<Sample> = serde_json::from_str(&text)?;
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let questions: usize = samples.iter().map(|sample| sample.qa.len()).sum();
    let bar = ProgressBar::new(questions as u64);
    let (mut all, mut by_category) = (
        RecallSums::default(),
        [(); 5].map(|()| RecallSums::default()),
    );
    for sample in &samples {
        let sessions = ingest_session(&rig, sample).await?;
        for question in &sample.qa {
            bar.inc(1);
            // Category 5 asks about things that were never said; its evidence is not an answer.
            if question.category == 5 || evidence_turns(question).is_empty() {
                continue;
            }
            for sums in [&mut all, &mut by_category[usize::from(question.category)]] {
                search_body(&rig, sample, &sessions, question, limit, sums).await?;
            }
        }
    }

    bar.finish_and_clear();
    rig.stop_workers().await;
    println!(
        "LoCoMo, {} conversations, POST /v4/search hybrid, limit {limit}, default threshold",
        samples.len()
    );
    println!(
        "{:<14} {:>9} {:>10} {:>10} {:>13} {:>9} {:>7} {:>8}",
        "category",
        "questions",
        "turn R@10",
        "or a part",
        "session R@10",
        "memories",
        "tokens",
        "no hit"
    );
    for (category, sums) in by_category.iter().enumerate().skip(1) {
        let name = ["", "multi-hop", "temporal", "open-domain", "single-hop"][category];
        print_sums(name, sums);
    }

    print_sums("all", &all);
    let (p50, p99, _) = percentiles(&mut all.times);
    println!("search: p50 {p50:.2} ms, p99 {p99:.2} ms");
    let configuration = describe_configuration(limit);
    let digest: String = Sha256::digest(&configuration)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("configuration {digest}: {configuration}");

    Ok(())
}

/// Describes everything besides the code that the figures depend on.
fn describe_configuration(limit: usize) -> String {
    format!(
        "limit {limit}, threshold {DEFAULT_THRESHOLD}, memories {MEMORY_SHARE} of the rows, windows of {WINDOW_CHARS} \
         characters, {}, {:?}",
        StaticEmbedder.model_id(),
        RankingConfig::default(),
    )
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_sums(name: &str, sums: &RecallSums) {
    let n = sums.questions.max(1.0);
    println!(
        "{name:<14} {:>9} {:>10.3} {:>10.3} {:>13.3} {:>9.1} {:>7.0} {:>7.1}%",
        sums.questions,
        sums.turns / n,
        sums.touched / n,
        sums.sessions / n,
        sums.memories / n,
        sums.tokens / n,
        100.0 * sums.empty / n
    );
}

/// Returns the evidence turns of a question. Some cells of the data name several.
fn evidence_turns(question: &Question) -> BTreeSet<String> {
    let cells = question
        .evidence
        .iter()
        .flat_map(|cell| cell.split([';', ' ', ',']));
    cells
        .filter(|id| id.starts_with('D') && id.contains(':'))
        .map(str::to_owned)
        .collect()
}

/// A session as it was sent.
struct Session {
    document: String,
    /// The characters that spans refer to.
    text: Vec<char>,
    turns: Vec<EvidenceTurn>,
}

async fn ingest_session(rig: &BenchSystem, sample: &Sample) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for number in 1.. {
        let Some(turns) = sample.conversation.get(format!("session_{number}")) else {
            if sample
                .conversation
                .get(format!("session_{number}_date_time"))
                .is_some()
            {
                continue;
            }
            break;
        };
        let turns: Vec<EvidenceTurn> = serde_json::from_value(turns.clone())?;
        let date = sample.conversation[format!("session_{number}_date_time")]
            .as_str()
            .and_then(iso_date);
        let first = turns.first().map(|turn| turn.speaker.clone());
        let messages: Vec<Value> = turns
            .iter()
            .map(|turn| {
                let role = if Some(&turn.speaker) == first.as_ref() {
                    "user"
                } else {
                    "assistant"
                };
                json!({"role": role, "name": turn.speaker, "content": turn.turn_text()})
            })
            .collect();
        let body = json!({
            "conversationId": format!("{}-session-{number}", sample.sample_id),
            "containerTag": sample.sample_id,
            "documentDate": date,
            "messages": messages,
        });
        let answer = rig.post("/v4/conversations", &body).await?;
        let document = answer["id"].as_str().unwrap_or_default().to_owned();
        sessions.push(Session {
            document,
            text: Vec::new(),
            turns,
        });
    }

    for session in &mut sessions {
        rig.wait_until_done(&session.document).await?;
        let path = format!("/v3/documents/{}", session.document);
        let document = rig.call("GET", &path, &Value::Null).await?;
        session.text = document["content"]
            .as_str()
            .unwrap_or_default()
            .chars()
            .collect();
    }

    Ok(sessions)
}

/// Converts `1:56 pm on 8 May, 2023` to `2023-05-08`.
fn iso_date(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (_, date) = text.split_once(" on ")?;
    let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;

    Some(format!("{year}-{month:02}-{:02}", day.parse::<u8>().ok()?))
}

async fn search_body(
    rig: &BenchSystem,
    sample: &Sample,
    sessions: &[Session],
    question: &Question,
    limit: usize,
    sums: &mut RecallSums,
) -> Result<()> {
    let ask = |limit: usize, threshold: f64| {
        json!({
            "q": question.question, "containerTag": sample.sample_id, "searchMode": "hybrid", "limit": limit,
            "threshold": threshold, "include": {"documents": true}, "explain": true,
        })
    };

    let begun = Instant::now();
    let answer = rig.post("/v4/search", &ask(limit, 0.6)).await?;
    sums.times.push(begun.elapsed());
    let chunks: Vec<String> = result_texts(&answer, "chunk").map(squeeze_spaces).collect();
    let spans = memory_spans(&answer, sessions);
    let wanted = evidence_turns(question);
    let turns = sessions
        .iter()
        .flat_map(|session| session.turns.iter().map(move |turn| (session, turn)));
    let (mut found, mut touched, mut documents) = (0.0, 0.0, BTreeSet::new());
    for (session, turn) in turns.filter(|(_, turn)| wanted.contains(&turn.dia_id)) {
        documents.insert(session.document.as_str());
        let text = squeeze_spaces(&turn.turn_text());
        let of_session = || {
            spans
                .iter()
                .filter(|(document, _)| *document == session.document)
        };
        if chunks.iter().any(|chunk| chunk.contains(&text))
            || of_session().any(|(_, span)| span.contains(&text))
        {
            found += 1.0;
        } else if of_session().any(|(_, span)| text.contains(span)) {
            touched += 1.0;
        }
    }

    // The first ten sessions span more than ten chunks, so this search asks for 100.
    let deep = rig.post("/v4/search", &ask(100, 0.0)).await?;
    let mut first_ten: Vec<&str> = Vec::new();
    for result in deep["results"].as_array().into_iter().flatten() {
        let document = result["documents"][0]["id"].as_str().unwrap_or_default();
        if first_ten.len() < 10 && !first_ten.contains(&document) {
            first_ten.push(document);
        }
    }

    let sessions_found = documents
        .iter()
        .filter(|document| first_ten.contains(document))
        .count() as f64;
    sums.questions += 1.0;
    sums.turns += found / wanted.len() as f64;
    sums.touched += (found + touched) / wanted.len() as f64;
    sums.memories += spans.len() as f64;
    sums.sessions += sessions_found / (documents.len() as f64).max(1.0);
    let said = result_texts(&answer, "chunk").chain(result_texts(&answer, "memory"));
    sums.tokens += said
        .map(|text| StaticEmbedder.count_tokens(text))
        .sum::<usize>() as f64;
    sums.empty += if chunks.is_empty() && spans.is_empty() {
        1.0
    } else {
        0.0
    };

    Ok(())
}

/// Returns the source spans of the memories in an answer, with their documents.
fn memory_spans<'a>(answer: &'a Value, sessions: &[Session]) -> Vec<(&'a str, String)> {
    let rows = answer["results"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row.get("memory").is_some());
    let sources = rows.flat_map(|row| row["explain"]["sources"].as_array().into_iter().flatten());
    let text = |source: &'a Value| {
        let document = source["documentId"].as_str()?;
        let session = sessions
            .iter()
            .find(|session| session.document == document)?;
        let place = |end: &str| usize::try_from(source["span"][end].as_u64()?).ok();
        let span = session.text.get(place("start")?..place("end")?)?;
        Some((document, squeeze_spaces(&span.iter().collect::<String>())))
    };

    sources.filter_map(text).collect()
}

fn result_texts<'a>(answer: &'a Value, field: &'a str) -> impl Iterator<Item = &'a str> {
    answer["results"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(move |result| result[field].as_str())
}
