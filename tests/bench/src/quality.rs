//! All measurements of quality in one table, with their baselines.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::chat::{self, ChatReport};
use crate::documents::{self, DocumentsReport};
use crate::extraction::{self, ExtractionReport};
use crate::recall::{self, DEFAULT_LIMIT, RecallOptions, RecallReport};

/// The data sets that are looked for in a folder.
const KNOWN: &str = "conversations.json; dataset.jsonl and labels.jsonl; dev.jsonl; or the documents of documents.py";

/// A line of the table.
struct QualityRow {
    figure: String,
    measured: Option<f64>,
    baselines: [Option<f64>; 2],
}

impl QualityRow {
    fn new(figure: impl Into<String>, measured: f64, baselines: [Option<f64>; 2]) -> Self {
        Self {
            figure: figure.into(),
            measured: Some(measured),
            baselines,
        }
    }
}

/// The lines of one data set, under the names of its baselines.
struct QualitySection {
    title: &'static str,
    baselines: [&'static str; 2],
    rows: Vec<QualityRow>,
}

/// Measures what is in the folders and prints one table. With `details`, also prints the figures of
/// each data set by kind.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folders: &[PathBuf], details: bool) -> Result<()> {
    for folder in folders {
        if !is_known(folder) {
            bail!("{} has none of: {KNOWN}", folder.display());
        }
    }

    let mut sections = Vec::new();
    for folder in folders {
        measure_folder(folder, details, &mut sections).await?;
    }

    for section in &sections {
        println!("{section}");
    }
    println!(
        "configuration: {}",
        recall::describe_configuration(DEFAULT_LIMIT)
    );

    Ok(())
}

fn has_conversations(folder: &Path) -> bool {
    folder.join("conversations.json").is_file()
}

fn has_labels(folder: &Path) -> bool {
    folder.join("dataset.jsonl").is_file() && folder.join("labels.jsonl").is_file()
}

fn has_chats(folder: &Path) -> bool {
    folder.join("dev.jsonl").is_file()
}

fn is_known(folder: &Path) -> bool {
    has_conversations(folder)
        || has_labels(folder)
        || has_chats(folder)
        || documents::is_documents_folder(folder)
}

async fn measure_folder(
    folder: &Path,
    details: bool,
    sections: &mut Vec<QualitySection>,
) -> Result<()> {
    if has_labels(folder) {
        let report = extraction::measure(folder, false)?;
        print_details(details, &report);
        sections.push(extraction_section(&report));
    }
    if has_conversations(folder) {
        extraction::measure_rate(folder, false)?;
        let report = recall::measure(folder, RecallOptions::default(), None).await?;
        print_details(details, &report);
        sections.push(conversations_section(&report));
    }
    if has_chats(folder) {
        let report = chat::measure(folder, false).await?;
        print_details(details, &report);
        sections.push(chats_section(&report));
    }
    if documents::is_documents_folder(folder) {
        let report = documents::measure(folder, false, false).await?;
        print_details(details, &report);
        sections.push(documents_section(&report));
    }

    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_details(details: bool, report: &impl fmt::Display) {
    if details {
        println!("{report}\n");
    }
}

fn conversations_section(report: &RecallReport) -> QualitySection {
    let means = report.means();
    let windows = [Some(means.window_turns), Some(means.filled_turns)];
    let tokens = [Some(means.window_tokens), Some(means.filled_tokens)];
    QualitySection {
        title: "conversations",
        baselines: ["BM25, 10 windows", "as many tokens"],
        rows: vec![
            QualityRow::new("evidence turns in 10 results", means.turns, windows),
            QualityRow::new("evidence sessions in 10", means.sessions, [None; 2]),
            QualityRow::new("tokens of 10 results", means.tokens, tokens),
        ],
    }
}

fn extraction_section(report: &ExtractionReport) -> QualitySection {
    let mut rows = Vec::new();
    for measured in &report.measures {
        let (found, sentences) = (&measured.extractor, &measured.sentences);
        rows.push(QualityRow::new(
            format!("{}: recall", measured.measure),
            found.recall(),
            [Some(sentences.recall()), None],
        ));
        rows.push(QualityRow::new(
            format!("{}: precision", measured.measure),
            found.precision(),
            [Some(sentences.precision()), None],
        ));
    }

    QualitySection {
        title: "labelled memories",
        baselines: ["each sentence", ""],
        rows,
    }
}

fn chats_section(report: &ChatReport) -> QualitySection {
    let (found, sentences) = (&report.all, &report.baseline);
    let row = |figure: &str, measured: chat::Share, baseline: chat::Share| QualityRow {
        figure: figure.to_owned(),
        measured: measured.rate(),
        baselines: [baseline.rate(), None],
    };
    QualitySection {
        title: "chats",
        baselines: ["sentences, BM25", ""],
        rows: vec![
            row("facts remembered", found.facts, sentences.facts),
            row("facts in the profile", found.profile, sentences.profile),
            row("questions answered", found.questions, sentences.questions),
            row("kept clear of false ones", found.never, sentences.never),
        ],
    }
}

fn documents_section(report: &DocumentsReport) -> QualitySection {
    let mut rows = Vec::new();
    for kind in report.rows() {
        let [service, words, vectors] = kind.recall_at_5();
        let figure = format!("passages in 5 results: {}", kind.name());
        rows.push(QualityRow::new(
            figure,
            service,
            [Some(words), Some(vectors)],
        ));
    }

    QualitySection {
        title: "documents",
        baselines: ["BM25, same chunks", "vectors alone"],
        rows,
    }
}

impl fmt::Display for QualitySection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.baselines.map(str::to_owned);
        let title = show_columns(self.title, ["Recollect".to_owned(), first, second]);
        writeln!(out, "{title}")?;
        for row in &self.rows {
            let [first, second] = row.baselines.map(show_figure);
            let figure = format!("  {}", row.figure);
            let line = show_columns(&figure, [show_figure(row.measured), first, second]);
            writeln!(out, "{line}")?;
        }

        Ok(())
    }
}

fn show_columns(name: &str, [measured, first, second]: [String; 3]) -> String {
    let line = format!("{name:<40} {measured:>9} {first:>18} {second:>15}");
    line.trim_end().to_owned()
}

/// Shows a share with three digits, and a number of tokens without any.
fn show_figure(figure: Option<f64>) -> String {
    match figure {
        None => String::new(),
        Some(figure) if figure > 1.0 => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.3}"),
    }
}
