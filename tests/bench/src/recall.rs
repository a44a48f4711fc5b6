//! LoCoMo evidence recall through the interface: each session is sent with `POST /v4/conversations`, each question is
//! one `POST /v4/search` with `searchMode: "hybrid"` and the default threshold. A turn counts as found when its text is
//! inside a returned chunk. No model judges anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use retrieval::StaticEmbedder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rig::{Rig, percentiles};

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
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

impl Turn {
    fn content(&self) -> String {
        match &self.blip_caption {
            Some(caption) => format!("{} [photo: {caption}]", self.text),
            None => self.text.clone(),
        }
    }
}

/// Sums over questions.
#[derive(Default)]
struct Sums {
    questions: f64,
    turns: f64,
    sessions: f64,
    tokens: f64,
    empty: f64,
    times: Vec<Duration>,
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, limit: usize) -> Result<()> {
    let text =
        std::fs::read_to_string(folder.join("conversations.json")).context("read conversations.json")?;
    let samples: Vec<Sample> = serde_json::from_str(&text)?;
    let mut rig = Rig::new().await?;
    rig.work().await?;
    let questions: usize = samples.iter().map(|sample| sample.qa.len()).sum();
    let bar = ProgressBar::new(questions as u64);
    let (mut all, mut by_category) = (Sums::default(), [(); 5].map(|()| Sums::default()));
    for sample in &samples {
        let sessions = ingest(&rig, sample).await?;
        for question in &sample.qa {
            bar.inc(1);
            // Category 5 asks about what was never said; its evidence is no answer.
            if question.category == 5 || evidence(question).is_empty() {
                continue;
            }
            for sums in [&mut all, &mut by_category[usize::from(question.category)]] {
                ask(&rig, sample, &sessions, question, limit, sums).await?;
            }
        }
    }
    bar.finish_and_clear();
    rig.rest().await;
    println!(
        "LoCoMo, {} conversations, POST /v4/search hybrid, limit {limit}, default threshold",
        samples.len()
    );
    println!(
        "{:<14} {:>9} {:>12} {:>15} {:>8} {:>9}",
        "category", "questions", "turn R@10", "session R@10", "tokens", "no hit"
    );
    for (category, sums) in by_category.iter().enumerate().skip(1) {
        let name = ["", "multi-hop", "temporal", "open-domain", "single-hop"][category];
        show(name, sums);
    }
    show("all", &all);
    let (p50, p99, _) = percentiles(&mut all.times);
    println!("search: p50 {p50:.2} ms, p99 {p99:.2} ms");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn show(name: &str, sums: &Sums) {
    let n = sums.questions.max(1.0);
    println!(
        "{name:<14} {:>9} {:>12.3} {:>15.3} {:>8.0} {:>8.1}%",
        sums.questions,
        sums.turns / n,
        sums.sessions / n,
        sums.tokens / n,
        100.0 * sums.empty / n
    );
}

/// The evidence turns of a question; some cells of the data name several.
fn evidence(question: &Question) -> BTreeSet<String> {
    let cells = question.evidence.iter().flat_map(|cell| cell.split([';', ' ', ',']));
    cells.filter(|id| id.starts_with('D') && id.contains(':')).map(str::to_owned).collect()
}

/// A session as it was sent.
struct Session {
    document: String,
    turns: Vec<Turn>,
}

async fn ingest(rig: &Rig, sample: &Sample) -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for number in 1.. {
        let Some(turns) = sample.conversation.get(format!("session_{number}")) else {
            if sample.conversation.get(format!("session_{number}_date_time")).is_some() {
                continue;
            }
            break;
        };
        let turns: Vec<Turn> = serde_json::from_value(turns.clone())?;
        let date = sample.conversation[format!("session_{number}_date_time")].as_str().and_then(iso_date);
        let first = turns.first().map(|turn| turn.speaker.clone());
        let messages: Vec<Value> = turns
            .iter()
            .map(|turn| {
                let role = if Some(&turn.speaker) == first.as_ref() { "user" } else { "assistant" };
                json!({"role": role, "name": turn.speaker, "content": turn.content()})
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
        sessions.push(Session { document, turns });
    }
    for session in &sessions {
        rig.wait(&session.document).await?;
    }
    Ok(sessions)
}

/// `1:56 pm on 8 May, 2023` as `2023-05-08`.
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

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn ask(
    rig: &Rig,
    sample: &Sample,
    sessions: &[Session],
    question: &Question,
    limit: usize,
    sums: &mut Sums,
) -> Result<()> {
    let ask = |limit: usize, threshold: f64| {
        json!({
            "q": question.question, "containerTag": sample.sample_id, "searchMode": "hybrid", "limit": limit,
            "threshold": threshold, "include": {"documents": true},
        })
    };
    let begun = Instant::now();
    let answer = rig.post("/v4/search", &ask(limit, 0.6)).await?;
    sums.times.push(begun.elapsed());
    let chunks: Vec<String> = texts(&answer).map(squeeze).collect();
    let wanted = evidence(question);
    let turns = sessions.iter().flat_map(|session| session.turns.iter().map(move |turn| (session, turn)));
    let (mut found, mut documents) = (0.0, BTreeSet::new());
    for (session, turn) in turns.filter(|(_, turn)| wanted.contains(&turn.dia_id)) {
        documents.insert(session.document.as_str());
        let text = squeeze(&turn.content());
        if chunks.iter().any(|chunk| chunk.contains(&text)) {
            found += 1.0;
        }
    }
    // The first ten sessions need more chunks than ten.
    let deep = rig.post("/v4/search", &ask(100, 0.0)).await?;
    let mut first_ten: Vec<&str> = Vec::new();
    for result in deep["results"].as_array().into_iter().flatten() {
        let document = result["documents"][0]["id"].as_str().unwrap_or_default();
        if first_ten.len() < 10 && !first_ten.contains(&document) {
            first_ten.push(document);
        }
    }
    let sessions_found = documents.iter().filter(|document| first_ten.contains(document)).count() as f64;
    sums.questions += 1.0;
    sums.turns += found / wanted.len() as f64;
    sums.sessions += sessions_found / (documents.len() as f64).max(1.0);
    sums.tokens += texts(&answer).map(|text| StaticEmbedder.count_tokens(text)).sum::<usize>() as f64;
    sums.empty += if chunks.is_empty() { 1.0 } else { 0.0 };
    Ok(())
}

fn texts(answer: &Value) -> impl Iterator<Item = &str> {
    answer["results"].as_array().into_iter().flatten().filter_map(|result| result["chunk"].as_str())
}
