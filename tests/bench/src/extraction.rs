//! Quality and speed of the built-in extractor: its statements against labelled memories in English
//! and against aligned sentences in translations, and the rate at which it reads conversations.
//!
//! FOLDER holds `dataset.jsonl` and `labels.jsonl`, and translations as `dataset.de.jsonl`. Two
//! measures are printed, because each alone is too favourable. *Cover* counts a label as found if
//! half of its content words are in one memory (recall), and a memory as correct if half of the
//! words of the shorter of memory and label are in the other (precision). *Both ways* requires that
//! twice the common words are at least half of the words of memory and label together. The baseline
//! takes each sentence as a memory.

mod rate;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use domain::{Statement, Timestamp, Trust};
use extraction::{Passage, Role, SourceText, extract_statements, spell_out};
use serde::Deserialize;

pub(crate) use self::rate::measure_rate;
use self::words::{Words, content_words, is_sentence_end, sentence_spans};

/// The date of texts that have none, in milliseconds.
const SAID_AT: i64 = 1_744_709_400_000;
const LANGUAGES: [&str; 2] = ["de", "zh"];

#[derive(Deserialize)]
struct Entry {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Labels {
    id: String,
    memories: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    content: String,
}

/// The counts from which recall and precision are computed.
#[derive(Default)]
pub(crate) struct MatchCounts {
    labels: usize,
    recalled: usize,
    memories: usize,
    precise: usize,
}

impl MatchCounts {
    pub(crate) fn recall(&self) -> f64 {
        self.recalled as f64 / self.labels.max(1) as f64
    }

    pub(crate) fn precision(&self) -> f64 {
        self.precise as f64 / self.memories.max(1) as f64
    }
}

impl fmt::Display for MatchCounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "recall {:.3} ({}/{})   precision {:.3} ({}/{})",
            self.recall(),
            self.recalled,
            self.labels,
            self.precision(),
            self.precise,
            self.memories
        )
    }
}

/// The matches by one measure.
pub(crate) struct MeasuredMatches {
    pub(crate) measure: String,
    pub(crate) extractor: MatchCounts,
    /// The matches if each sentence is a memory.
    pub(crate) sentences: MatchCounts,
}

impl MeasuredMatches {
    fn new(measure: impl Into<String>) -> Self {
        Self {
            measure: measure.into(),
            extractor: MatchCounts::default(),
            sentences: MatchCounts::default(),
        }
    }

    /// Counts the matches of a text, by a rule over the number of common words, the words of the
    /// label, the words of the memory, and whether recall is measured.
    fn count(
        &mut self,
        statements: &[Statement],
        text: &str,
        labels: &[Label],
        meets: impl Fn(usize, usize, usize, bool) -> bool,
    ) {
        let statements = statements.iter().map(|statement| statement.text.as_str());
        let sentences = split_sentences(text);
        let sentences = sentences.iter().map(String::as_str);
        count_matches(&mut self.extractor, statements, labels, &meets);
        count_matches(&mut self.sentences, sentences, labels, &meets);
    }
}

/// The figures of the labelled texts.
pub(crate) struct ExtractionReport {
    pub(crate) measures: Vec<MeasuredMatches>,
    statements_per_1000_words: f64,
}

impl fmt::Display for ExtractionReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for measured in &self.measures {
            let MeasuredMatches {
                measure,
                extractor,
                sentences,
            } = measured;
            writeln!(out, "{measure:<22} {extractor}")?;
            writeln!(out, "{:<22} {sentences}", "  each sentence")?;
        }
        write!(
            out,
            "en: {:.1} statements per 1000 words",
            self.statements_per_1000_words
        )
    }
}

/// Measures and prints the figures, and with `conversations` the rate.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) fn run(folder: &Path, conversations: Option<&Path>, show: bool) -> Result<()> {
    println!("{}", measure(folder, show)?);
    conversations.map_or(Ok(()), |path| measure_rate(path, show))
}

/// Extracts the memories of the labelled texts and of their translations. With `show`, prints them.
pub(crate) fn measure(folder: &Path, show: bool) -> Result<ExtractionReport> {
    let entries: Vec<Entry> = read_lines(&folder.join("dataset.jsonl"))?;
    let labels: Vec<Labels> = read_lines(&folder.join("labels.jsonl"))?;
    let labels: BTreeMap<_, _> = labels
        .into_iter()
        .map(|labels| (labels.id, labels.memories))
        .collect();
    let mut cover = MeasuredMatches::new("en, cover");
    let mut both = MeasuredMatches::new("en, both ways");
    let (mut words, mut count) = (0, 0);

    for entry in &entries {
        let found = extract_text(&entry.text);
        check_not_invented(&found, &entry.text)?;
        let of_entry = labels.get(&entry.id).map_or(&[][..], Vec::as_slice);
        words += entry.text.split_whitespace().count();
        count += found.len();
        cover.count(
            &found,
            &entry.text,
            of_entry,
            |common, label, memory, recall| {
                let whole = if recall { label } else { label.min(memory) };
                common * 2 >= whole
            },
        );
        both.count(&found, &entry.text, of_entry, |common, label, memory, _| {
            common * 4 >= label + memory
        });
        if show {
            print_memories(entry, &found, of_entry);
        }
    }

    let mut measures = vec![cover, both];
    for language in LANGUAGES {
        let path = folder.join(format!("dataset.{language}.jsonl"));
        if path.exists() {
            let translations = read_lines(&path)?;
            let measured = measure_translation(language, &entries, &translations, &labels, show)?;
            measures.push(measured);
        }
    }

    Ok(ExtractionReport {
        measures,
        statements_per_1000_words: count as f64 * 1000.0 / words.max(1) as f64,
    })
}

/// Returns the words of a statement that neither its source nor the speaker explains. There must be
/// none. A pronoun may have been replaced by what an earlier sentence names, and short forms are
/// spelled out.
fn invented_words(statement: &Statement, source: &str) -> Vec<String> {
    let span = is_sentence_end(source, (statement.start, statement.end));
    let mut known = content_words(source);
    known.extend(content_words(&spell_out(source)));
    known.extend(content_words(
        statement.speaker.as_deref().unwrap_or_default(),
    ));
    // Extraction may add dates in digits, the `asked` of an answer to a question, and words that
    // grammatical agreement changes or adds.
    let added = ["ask", "assistant", "themselv", "their"];
    let wide = |word: &str| !word.is_ascii();
    let words = content_words(&statement.text).into_iter();
    let agrees = |word: &str| known.iter().any(|known| is_inflection(word, known));
    let new = words.filter(|word| !agrees(word) && !added.contains(&word.as_str()));
    let date = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let within = |word: &str| wide(word) && span.to_lowercase().contains(word);
    new.filter(|word| !date(word) && !within(word)).collect()
}

/// Checks whether two words differ in no more than an ending, as `tries` and `try` do.
fn is_inflection(word: &str, known: &str) -> bool {
    let pairs = word.chars().zip(known.chars());
    let common = pairs.take_while(|(a, b)| a == b).count();
    let longest = word.chars().count().max(known.chars().count());
    word == known || common >= 2 && longest - common <= 2
}

/// Fails if a statement says something that its source does not.
fn check_not_invented(found: &[Statement], source: &str) -> Result<()> {
    for statement in found {
        let new = invented_words(statement, source);
        anyhow::ensure!(
            new.is_empty(),
            "{new:?} in {:?} of {source:?}",
            statement.text
        );
    }
    Ok(())
}

fn read_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// Extracts the statements of a text without a known author.
fn extract_text(text: &str) -> Vec<Statement> {
    let said_at = Timestamp::from_millis(SAID_AT);
    let passage = Passage {
        text,
        start_char: 0,
        role: Role::Author,
        speaker: None,
        origin: None,
        said_at,
    };

    extract_statements(&SourceText {
        passages: vec![passage],
        trust: Trust::Document,
    })
}

/// Counts the matches of some memories. See [`MeasuredMatches::count`] about the rule.
fn count_matches<'a>(
    tally: &mut MatchCounts,
    memories: impl Iterator<Item = &'a str>,
    labels: &[Label],
    meets: impl Fn(usize, usize, usize, bool) -> bool,
) {
    let memories: Vec<Words> = memories.map(content_words).collect();
    let labels: Vec<Words> = labels
        .iter()
        .map(|label| content_words(&label.content))
        .collect();
    let met = |label: &Words, memory: &Words, recall: bool| {
        meets(
            label.intersection(memory).count(),
            label.len(),
            memory.len(),
            recall,
        )
    };

    tally.labels += labels.len();
    tally.memories += memories.len();
    tally.recalled += labels
        .iter()
        .filter(|label| memories.iter().any(|memory| met(label, memory, true)))
        .count();
    tally.precise += memories
        .iter()
        .filter(|memory| labels.iter().any(|label| met(label, memory, false)))
        .count();
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_memories(entry: &Entry, found: &[Statement], labels: &[Label]) {
    println!("\n{}: {}", entry.id, entry.text);
    let memories: Vec<Words> = found
        .iter()
        .map(|statement| content_words(&statement.text))
        .collect();
    let common = |one: &Words, other: &Words| one.intersection(other).count() * 2;
    for label in labels {
        let words = content_words(&label.content);
        let hit = memories
            .iter()
            .any(|memory| common(memory, &words) >= words.len());
        println!("  {} label: {}", if hit { "+" } else { "-" }, label.content);
    }

    for (statement, words) in found.iter().zip(&memories) {
        let hit = labels.iter().any(|label| {
            let label = content_words(&label.content);
            common(&label, words) >= label.len().min(words.len())
        });
        println!("  {} {}", if hit { "=" } else { "!" }, describe(statement));
    }
}

/// Returns the sentences of a text.
pub(crate) fn split_sentences(text: &str) -> Vec<String> {
    let spans = sentence_spans(text);
    spans
        .into_iter()
        .map(|span| is_sentence_end(text, span).trim().to_owned())
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

fn describe(statement: &Statement) -> String {
    let Statement {
        text,
        kind,
        confidence,
        topic,
        ..
    } = statement;

    let kept = if statement.is_static { " static" } else { "" };
    let until = statement
        .forget_after
        .map(|until| format!(" until {until}"))
        .unwrap_or_default();
    let topic = topic.as_ref().map_or(String::new(), |topic| {
        let not = if topic.negated { "not " } else { "" };
        format!(
            " [{} | {} | {not}{}]",
            topic.subject, topic.attribute, topic.value
        )
    });

    format!("{kind:?} {confidence:.2}{kept}{until}: {text}{topic}")
}

/// Measures recall and precision of a translation. Each label belongs to the sentence with the same
/// number.
fn measure_translation(
    language: &str,
    entries: &[Entry],
    translations: &[Entry],
    labels: &BTreeMap<String, Vec<Label>>,
    show: bool,
) -> Result<MeasuredMatches> {
    let mut measured = MeasuredMatches::new(format!("{language}, by alignment"));
    for entry in translations {
        let Some(source) = entries.iter().find(|source| source.id == entry.id) else {
            continue;
        };
        let sentences: Vec<Words> = sentence_spans(&source.text)
            .iter()
            .map(|span| content_words(&is_sentence_end(&source.text, *span)))
            .collect();
        let places = sentence_spans(&entry.text);
        let wanted: Vec<(usize, usize)> = labels
            .get(&entry.id)
            .into_iter()
            .flatten()
            .filter_map(|label| {
                places
                    .get(best_sentence(&content_words(&label.content), &sentences))
                    .copied()
            })
            .collect();
        let found = extract_text(&entry.text);
        check_not_invented(&found, &entry.text)?;
        let spans: Vec<(usize, usize)> = found
            .iter()
            .map(|statement| (statement.start, statement.end))
            .collect();
        count_spans(&mut measured.extractor, &spans, &wanted);
        count_spans(&mut measured.sentences, &places, &wanted);
        if show {
            print_memories(entry, &found, &[]);
        }
    }

    Ok(measured)
}

/// Counts the spans that overlap with a wanted one, and the wanted ones that overlap with a span.
fn count_spans(tally: &mut MatchCounts, spans: &[(usize, usize)], wanted: &[(usize, usize)]) {
    let overlap = |one: &(usize, usize), other: &(usize, usize)| one.0 < other.1 && other.0 < one.1;
    tally.labels += wanted.len();
    tally.memories += spans.len();
    tally.recalled += wanted
        .iter()
        .filter(|label| spans.iter().any(|span| overlap(span, label)))
        .count();
    tally.precise += spans
        .iter()
        .filter(|span| wanted.iter().any(|label| overlap(span, label)))
        .count();
}

/// Returns the index of the sentence with the most words of the label.
fn best_sentence(label: &Words, sentences: &[Words]) -> usize {
    let common = |sentence: &Words| label.intersection(sentence).count();
    (0..sentences.len())
        .rev()
        .max_by_key(|&at| common(&sentences[at]))
        .unwrap_or(0)
}
