//! LoCoMo evidence recall through the interface. Each session is sent with `POST
//! /v4/conversations`, and each question is one `POST /v4/search` with `searchMode: "hybrid"` and
//! the default threshold. A turn counts as found if its text is inside a returned chunk or inside
//! the source span of a returned memory; in another column, also if such a span is a part of the
//! turn. No model judges any answer. The baseline is BM25 over windows of three turns.

mod curve;
mod sessions;
mod windows;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use processor::WINDOW_CHARS;
use search::{DEFAULT_THRESHOLD, MEMORY_SHARE};
use search_engine::{Embedder, RankingConfig, StaticEmbedder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::curve::{CurveSums, draw_curve};
use self::sessions::{Question, Sample, Session, ingest_sessions, read_samples};
use self::windows::{TurnWindows, WindowRecall, first_windows, windows_within};
use crate::progress::progress_bar;
use crate::rig::{BenchSystem, percentiles};
use crate::text::squeeze_spaces;

/// The names of the categories, by their number.
const CATEGORIES: [&str; 5] = ["", "multi-hop", "temporal", "open-domain", "single-hop"];
/// The results of a search unless another number is requested.
pub(crate) const DEFAULT_LIMIT: usize = 10;

/// The fields of each search.
#[derive(Clone, Copy)]
pub(crate) struct RecallOptions {
    /// The number of results.
    pub(crate) limit: usize,
    pub(crate) rerank: bool,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            rerank: false,
        }
    }
}

/// The sums over all questions of a category.
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
    /// The turns in as many windows as the search has results.
    window_turns: f64,
    window_tokens: f64,
    /// The turns in as many windows as fit into the tokens of the answer.
    filled_turns: f64,
    filled_tokens: f64,
    times: Vec<Duration>,
}

/// The figures of the conversations.
pub(crate) struct RecallReport {
    conversations: usize,
    options: RecallOptions,
    by_category: [RecallSums; CATEGORIES.len()],
    all: RecallSums,
    latency: (f64, f64, f64),
}

/// The means over all questions.
pub(crate) struct RecallMeans {
    pub(crate) turns: f64,
    pub(crate) tokens: f64,
    pub(crate) sessions: f64,
    pub(crate) window_turns: f64,
    pub(crate) window_tokens: f64,
    pub(crate) filled_turns: f64,
    pub(crate) filled_tokens: f64,
}

impl RecallReport {
    pub(crate) fn means(&self) -> RecallMeans {
        let n = self.all.questions.max(1.0);
        RecallMeans {
            turns: self.all.turns / n,
            tokens: self.all.tokens / n,
            sessions: self.all.sessions / n,
            window_turns: self.all.window_turns / n,
            window_tokens: self.all.window_tokens / n,
            filled_turns: self.all.filled_turns / n,
            filled_tokens: self.all.filled_tokens / n,
        }
    }
}

/// Measures and prints the figures. With `plot`, also measures recall for several numbers of
/// results and draws it over the tokens into that file.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, options: RecallOptions, plot: Option<&Path>) -> Result<()> {
    let report = measure(folder, options, plot).await?;
    println!("{report}");
    Ok(())
}

/// Sends the conversations and asks every question. See [`run`] about `plot`.
pub(crate) async fn measure(
    folder: &Path,
    options: RecallOptions,
    plot: Option<&Path>,
) -> Result<RecallReport> {
    let samples = read_samples(folder)?;
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let questions: usize = samples.iter().map(|sample| sample.qa.len()).sum();
    let bar = progress_bar("asking about conversations", questions);
    let mut report = RecallReport {
        conversations: samples.len(),
        options,
        by_category: Default::default(),
        all: RecallSums::default(),
        latency: (0.0, 0.0, 0.0),
    };
    let mut curve = CurveSums::default();

    for sample in &samples {
        let sessions = ingest_sessions(&rig, sample).await?;
        let windows = TurnWindows::new(&sessions);
        for question in &sample.qa {
            bar.inc(1);
            // Category 5 asks about things that were never said; its evidence is not an answer.
            if question.category == 5 || question.evidence_turns().is_empty() {
                continue;
            }
            let asked = AskedQuestion {
                rig: &rig,
                sample,
                sessions: &sessions,
                question,
                rerank: options.rerank,
            };
            let ranked = windows.rank(question);
            let place = usize::from(question.category);
            let category = report.by_category.get_mut(place).context("a category")?;
            asked
                .add_to(options.limit, &ranked, [&mut report.all, category])
                .await?;
            if plot.is_some() {
                curve.add(&asked, &ranked).await?;
            }
        }
    }

    bar.finish_and_clear();
    rig.stop_workers().await;
    report.latency = percentiles(&mut report.all.times);
    if let Some(path) = plot {
        std::fs::write(path, draw_curve(&curve))
            .with_context(|| format!("write {}", path.display()))?;
    }

    Ok(report)
}

impl fmt::Display for RecallReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { conversations, .. } = self;
        let RecallOptions { limit, rerank } = self.options;
        let reranked = if rerank { ", reranked" } else { "" };
        writeln!(
            out,
            "LoCoMo, {conversations} conversations, POST /v4/search hybrid, limit {limit}, default threshold{reranked}; \
             beside it BM25 over windows of three turns: {limit} of them, and filled to the same tokens"
        )?;
        writeln!(
            out,
            "{:<12} {:>9} {:>8} {:>9} {:>12} {:>8} {:>6} {:>7} {:>8} {:>6} {:>7}",
            "category",
            "questions",
            "turn R",
            "or a part",
            "session R@10",
            "memories",
            "tokens",
            "no hit",
            "BM25 R",
            "tokens",
            "filled"
        )?;
        for (name, sums) in CATEGORIES.iter().zip(&self.by_category).skip(1) {
            write_sums(out, name, sums)?;
        }

        write_sums(out, "all", &self.all)?;
        let (p50, p99, _) = self.latency;
        writeln!(out, "search: p50 {p50:.2} ms, p99 {p99:.2} ms")?;
        let configuration = describe_configuration(limit);
        let digest: String = Sha256::digest(&configuration)
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        write!(out, "configuration {digest}: {configuration}")
    }
}

/// Describes everything besides the code that the figures depend on.
pub(crate) fn describe_configuration(limit: usize) -> String {
    format!(
        "limit {limit}, threshold {DEFAULT_THRESHOLD}, memories {MEMORY_SHARE} of the rows, windows of {WINDOW_CHARS} \
         characters, {}, {:?}",
        StaticEmbedder.model_id(),
        RankingConfig::default(),
    )
}

fn write_sums(out: &mut fmt::Formatter<'_>, name: &str, sums: &RecallSums) -> fmt::Result {
    let n = sums.questions.max(1.0);
    writeln!(
        out,
        "{name:<12} {:>9} {:>8.3} {:>9.3} {:>12.3} {:>8.1} {:>6.0} {:>6.1}% {:>8.3} {:>6.0} {:>7.3}",
        sums.questions,
        sums.turns / n,
        sums.touched / n,
        sums.sessions / n,
        sums.memories / n,
        sums.tokens / n,
        100.0 * sums.empty / n,
        sums.window_turns / n,
        sums.window_tokens / n,
        sums.filled_turns / n,
    )
}

/// A question about a conversation that the service knows.
struct AskedQuestion<'a> {
    rig: &'a BenchSystem,
    sample: &'a Sample,
    sessions: &'a [Session],
    question: &'a Question,
    rerank: bool,
}

/// The figures of one answer.
#[derive(Default)]
struct AnswerFigures {
    /// The share of the evidence turns that are found.
    turns: f64,
    /// The share of those that are found or of which a memory states a part.
    touched: f64,
    memories: f64,
    tokens: f64,
    is_empty: bool,
}

impl AskedQuestion<'_> {
    async fn search(&self, limit: usize, threshold: f32) -> Result<Value> {
        let body = json!({
            "q": self.question.question, "containerTag": self.sample.sample_id, "searchMode": "hybrid",
            "limit": limit, "threshold": threshold, "rerank": self.rerank,
            "include": {"documents": true}, "explain": true,
        });
        self.rig.post("/v4/search", &body).await
    }

    /// Adds the figures of the service and of the baseline.
    async fn add_to(
        &self,
        limit: usize,
        ranked: &[WindowRecall],
        all_sums: [&mut RecallSums; 2],
    ) -> Result<()> {
        let begun = Instant::now();
        let answer = self.search(limit, DEFAULT_THRESHOLD).await?;
        let time = begun.elapsed();
        let figures = self.score(&answer);
        let sessions = self.session_recall().await?;
        let windows = first_windows(ranked, limit);
        let filled = windows_within(ranked, figures.tokens);

        for sums in all_sums {
            sums.questions += 1.0;
            sums.turns += figures.turns;
            sums.touched += figures.touched;
            sums.memories += figures.memories;
            sums.sessions += sessions;
            sums.tokens += figures.tokens;
            sums.empty += f64::from(u8::from(figures.is_empty));
            sums.window_turns += windows.turns;
            sums.window_tokens += windows.tokens;
            sums.filled_turns += filled.turns;
            sums.filled_tokens += filled.tokens;
            sums.times.push(time);
        }

        Ok(())
    }

    fn score(&self, answer: &Value) -> AnswerFigures {
        let chunks: Vec<String> = result_texts(answer, "chunk").map(squeeze_spaces).collect();
        let spans = memory_spans(answer, self.sessions);
        let wanted = self.question.evidence_turns();
        let (mut found, mut touched) = (0.0, 0.0);
        for session in self.sessions {
            let of_session: Vec<&str> = spans
                .iter()
                .filter(|(document, _)| *document == session.document)
                .map(|(_, span)| span.as_str())
                .collect();
            for turn in &session.turns {
                if !wanted.contains(&turn.dia_id) {
                    continue;
                }
                let text = squeeze_spaces(&turn.turn_text());
                if chunks.iter().any(|chunk| chunk.contains(&text))
                    || of_session.iter().any(|span| span.contains(&text))
                {
                    found += 1.0;
                } else if of_session.iter().any(|span| text.contains(span)) {
                    touched += 1.0;
                }
            }
        }

        let shown = result_texts(answer, "chunk").chain(result_texts(answer, "memory"));
        let tokens: usize = shown.map(|text| StaticEmbedder.count_tokens(text)).sum();
        AnswerFigures {
            turns: found / wanted.len() as f64,
            touched: (found + touched) / wanted.len() as f64,
            memories: spans.len() as f64,
            tokens: tokens as f64,
            is_empty: chunks.is_empty() && spans.is_empty(),
        }
    }

    /// Returns the share of the sessions with evidence among the first ten sessions. They span more
    /// than ten chunks, so this search asks for 100.
    async fn session_recall(&self) -> Result<f64> {
        let answer = self.search(100, 0.0).await?;
        let mut first_ten: Vec<&str> = Vec::new();
        for result in answer["results"].as_array().into_iter().flatten() {
            let document = result["documents"][0]["id"].as_str().unwrap_or_default();
            if first_ten.len() < 10 && !first_ten.contains(&document) {
                first_ten.push(document);
            }
        }

        let wanted = self.question.evidence_turns();
        let has_evidence = |session: &&Session| {
            let mut turns = session.turns.iter();
            turns.any(|turn| wanted.contains(&turn.dia_id))
        };
        let documents: BTreeSet<&str> = self
            .sessions
            .iter()
            .filter(has_evidence)
            .map(|session| session.document.as_str())
            .collect();
        let found = documents
            .iter()
            .filter(|document| first_ten.contains(document))
            .count();
        Ok(found as f64 / (documents.len() as f64).max(1.0))
    }
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
