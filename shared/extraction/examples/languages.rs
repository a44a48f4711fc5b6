//! Measures how well the statements of German and Chinese notes match the labels of their English
//! originals.
//!
//! `cargo run --release -p extraction --example languages FOLDER [--show]`, where the folder
//! contains `dataset.jsonl`, `dataset.de.jsonl`, `dataset.zh.jsonl` and `labels.jsonl`. A label
//! belongs to the English sentence that shares the most words with it, and so to the sentence with
//! the same number in the translation. A label is recalled if a statement covers that sentence. A
//! statement is precise if it overlaps such a sentence.
#![allow(clippy::print_stdout)]

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use domain::{Timestamp, Trust};
use extraction::{Passage, Role, SourceText, extract_statements};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let prints_details = arguments.next().is_some();
    let read = |name: &str| read_lines(&Path::new(&folder).join(name));
    let (english, labels) = (read("dataset.jsonl")?, read("labels.jsonl")?);
    println!(
        "{:<8} {:>7} {:>10} {:>7} {:>10}",
        "language", "labels", "statements", "recall", "precision"
    );
    for (name, file) in [
        ("German", "dataset.de.jsonl"),
        ("Chinese", "dataset.zh.jsonl"),
    ] {
        let mut tally = Tally::default();
        for ((original, translated), label) in english.iter().zip(read(file)?).zip(&labels) {
            tally.add(
                &text(original),
                &text(&translated),
                &contents(label),
                prints_details,
            );
        }
        tally.print(name);
        measure_speed(name, &read(file)?);
    }

    Ok(())
}

/// Measures how fast notes are read. They are repeated until they amount to some megabytes.
fn measure_speed(name: &str, rows: &[Value]) {
    let notes = rows.iter().map(text).collect::<Vec<_>>();
    let bytes = notes.iter().map(String::len).sum::<usize>();
    let rounds = 4_000_000 / bytes.max(1) + 1;
    let start = std::time::Instant::now();
    let mut found = 0;
    for _ in 0..rounds {
        found += notes
            .iter()
            .map(|note| statements(note).len())
            .sum::<usize>();
    }

    let rate = (bytes * rounds) as f64 / 1e6 / start.elapsed().as_secs_f64();
    println!(
        "{name:<8} {rate:.1} MB/s ({} statements a round)",
        found / rounds
    );
}

fn read_lines(path: &Path) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn text(row: &Value) -> String {
    row["text"].as_str().unwrap_or_default().to_owned()
}

fn contents(row: &Value) -> Vec<String> {
    let memories = row["memories"].as_array().cloned().unwrap_or_default();
    memories
        .iter()
        .filter_map(|memory| memory["content"].as_str().map(str::to_owned))
        .collect()
}

#[derive(Default)]
struct Tally {
    labels: usize,
    recalled: usize,
    statements: usize,
    precise: usize,
}

impl Tally {
    fn add(&mut self, english: &str, translated: &str, labels: &[String], prints_details: bool) {
        let (originals, sentences) = (sentence_spans(english), sentence_spans(translated));
        let chars = english.chars().collect::<Vec<_>>();
        let originals = originals
            .iter()
            .map(|(from, to)| words(&chars[*from..*to].iter().collect::<String>()));
        let originals = originals.collect::<Vec<_>>();
        let found = statements(translated);
        let mut labelled = BTreeSet::new();
        for label in labels {
            let label = words(label);
            let shared = |index: &usize| originals[*index].intersection(&label).count();
            // Of several equally good sentences, the first counts.
            let Some(best) = (0..originals.len()).rev().max_by_key(shared) else {
                continue;
            };
            let best = best.min(sentences.len().saturating_sub(1));
            self.labels += 1;
            self.recalled += usize::from(
                found
                    .iter()
                    .any(|(from, to, _)| spans_overlap((*from, *to), sentences[best])),
            );
            labelled.insert(best);
        }

        for (from, to, text) in &found {
            let precise = labelled
                .iter()
                .any(|index| spans_overlap((*from, *to), sentences[*index]));
            self.statements += 1;
            self.precise += usize::from(precise);
            if prints_details && !precise {
                println!("  wrong  {text}");
            }
        }

        let chars = translated.chars().collect::<Vec<_>>();
        for (from, to) in labelled.iter().map(|index| sentences[*index]) {
            if prints_details
                && !found
                    .iter()
                    .any(|(start, end, _)| spans_overlap((*start, *end), (from, to)))
            {
                println!("  missed {}", chars[from..to].iter().collect::<String>());
            }
        }
    }

    fn print(&self, name: &str) {
        let share = |part: usize, total: usize| part as f64 / total.max(1) as f64;
        println!(
            "{name:<8} {:>7} {:>10} {:>7.2} {:>10.2}",
            self.labels,
            self.statements,
            share(self.recalled, self.labels),
            share(self.precise, self.statements)
        );
    }
}

fn spans_overlap(left: (usize, usize), right: (usize, usize)) -> bool {
    left.0 < right.1 && right.0 < left.1
}

fn statements(text: &str) -> Vec<(usize, usize, String)> {
    let said_at = Timestamp::from_millis(1_744_675_200_000);
    let passage = Passage {
        text,
        start_char: 0,
        role: Role::Author,
        speaker: None,
        origin: None,
        said_at,
    };

    let source = SourceText {
        passages: vec![passage],
        trust: Trust::Document,
    };

    extract_statements(&source)
        .into_iter()
        .map(|statement| {
            (
                statement.start,
                statement.end,
                format!("{:?} {}", statement.kind, statement.text),
            )
        })
        .collect()
}

/// Returns the spans of sentences by their punctuation alone, so that the measure does not depend
/// on the code that it measures.
fn sentence_spans(text: &str) -> Vec<(usize, usize)> {
    let chars = text.chars().collect::<Vec<_>>();
    let mut spans = Vec::new();
    let mut start = 0;
    for (at, c) in chars.iter().enumerate() {
        let next = chars.get(at + 1);
        let day = at > 0
            && chars[at - 1].is_ascii_digit()
            && chars.get(at + 2).is_some_and(|c| "AJMFSOND".contains(*c));
        let ends = matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?') && next.is_none_or(|c| *c == ' ') && !day);
        if ends {
            spans.push((start, at + 1));
            start = at + 1;
        }
    }

    if start < chars.len() {
        spans.push((start, chars.len()));
    }

    spans
}

fn words(text: &str) -> HashSet<String> {
    const SMALL: [&str; 14] = [
        "the", "a", "an", "of", "to", "and", "in", "is", "for", "on", "it", "at", "by", "will",
    ];
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !SMALL.contains(word));
    // The first five letters stand for the stem.
    words.map(|word| word.chars().take(5).collect()).collect()
}
