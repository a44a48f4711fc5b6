//! The figures of the questions over documents, by kind of question.

use std::fmt;

use super::set::Question;

/// The systems that are compared, in the order of the columns.
pub(super) const SYSTEMS: [&str; 3] = ["service", "BM25, same chunks", "vectors alone"];
/// The ranks up to which recall is measured.
const RANKS: [usize; 3] = [1, MAIN_RANK, 10];
/// The rank of the main figure, and of the recall of documents.
const MAIN_RANK: usize = 5;
/// The place of the main figure in [`RANKS`].
const MAIN_PLACE: usize = 1;

/// A result of a search.
#[derive(Default)]
pub(super) struct FoundRow {
    /// The document of each text that the result shows, and the text with single spaces.
    pub(super) texts: Vec<(usize, String)>,
    pub(super) tokens: usize,
}

impl FoundRow {
    fn shows(&self, document: usize, quote: &str) -> bool {
        let mut texts = self.texts.iter();
        texts.any(|(of, text)| *of == document && text.contains(quote))
    }

    fn is_of(&self, document: usize) -> bool {
        self.texts.iter().any(|(of, _)| *of == document)
    }
}

/// Checks whether all passages of a question are among the results up to the rank of the main
/// figure.
pub(super) fn is_found(question: &Question, found: &[FoundRow]) -> bool {
    passage_recall(question, found, MAIN_RANK) >= 1.0
}

/// Returns the share of the passages of a question that are in the first results.
fn passage_recall(question: &Question, found: &[FoundRow], rank: usize) -> f64 {
    let first = &found[..rank.min(found.len())];
    let is_shown = |quote: &&String| first.iter().any(|row| row.shows(question.document, quote));
    let shown = question.passages.iter().filter(is_shown).count();
    shown as f64 / question.passages.len() as f64
}

/// The sums of one system.
#[derive(Default, Clone, Copy)]
struct SystemSums {
    passages: [f64; RANKS.len()],
    document: f64,
    tokens: f64,
}

impl SystemSums {
    fn add(&mut self, question: &Question, found: &[FoundRow]) {
        for (sum, rank) in self.passages.iter_mut().zip(RANKS) {
            *sum += passage_recall(question, found, rank);
        }

        let mut first = found.iter().take(MAIN_RANK);
        if first.any(|row| row.is_of(question.document)) {
            self.document += 1.0;
        }
        self.tokens += found.iter().map(|row| row.tokens).sum::<usize>() as f64;
    }
}

/// The sums of a kind of questions.
#[derive(Default, Clone)]
pub(crate) struct KindScores {
    name: String,
    questions: f64,
    systems: [SystemSums; SYSTEMS.len()],
}

impl KindScores {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the passage recall of each system in the first five results.
    pub(crate) fn recall_at_5(&self) -> [f64; SYSTEMS.len()] {
        let questions = self.questions.max(1.0);
        self.systems
            .map(|sums| sums.passages[MAIN_PLACE] / questions)
    }

    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn add(&mut self, question: &Question, found: [&[FoundRow]; SYSTEMS.len()]) {
        self.questions += 1.0;
        for (sums, found) in self.systems.iter_mut().zip(found) {
            sums.add(question, found);
        }
    }
}

/// The figures of all questions.
pub(crate) struct DocumentsReport {
    documents: usize,
    chunks: usize,
    /// The passages that no chunk has as a whole.
    cut: usize,
    /// The kinds in the order of the questions, then the halves, then all questions.
    kinds: Vec<KindScores>,
    halves: [KindScores; 2],
    all: KindScores,
    /// The median, the 99th percentile and the maximum of a search, in milliseconds.
    pub(super) latency: (f64, f64, f64),
}

impl DocumentsReport {
    pub(super) fn new(documents: usize, chunks: usize) -> Self {
        Self {
            documents,
            chunks,
            cut: 0,
            kinds: Vec::new(),
            halves: [KindScores::new("for fitting"), KindScores::new("held out")],
            all: KindScores::new("all"),
            latency: (0.0, 0.0, 0.0),
        }
    }

    /// Counts the passages of a question that no chunk has as a whole.
    pub(super) fn note_cut_passages<'a>(
        &mut self,
        question: &Question,
        chunks: impl Iterator<Item = &'a str> + Clone,
    ) {
        for quote in &question.passages {
            if !chunks.clone().any(|chunk| chunk.contains(quote.as_str())) {
                self.cut += 1;
            }
        }
    }

    /// Adds a question with the results of each system.
    pub(super) fn add(&mut self, question: &Question, found: [&Vec<FoundRow>; SYSTEMS.len()]) {
        let found = found.map(Vec::as_slice);
        let known = self
            .kinds
            .iter()
            .position(|kind| kind.name == question.kind);
        let place = known.unwrap_or_else(|| {
            self.kinds.push(KindScores::new(&question.kind));
            self.kinds.len() - 1
        });

        self.kinds[place].add(question, found);
        self.halves[usize::from(question.held_out)].add(question, found);
        self.all.add(question, found);
    }

    /// Returns the figures of each kind, and of all questions.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &KindScores> {
        self.kinds.iter().chain(&self.halves).chain([&self.all])
    }
}

impl fmt::Display for DocumentsReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{} documents, {} chunks; passages that are cut between two chunks: {}",
            self.documents, self.chunks, self.cut
        )?;
        write!(out, "{:<15} {:>4}", "", "")?;
        for system in SYSTEMS {
            write!(out, " | {system:<27}")?;
        }
        write!(out, "\n{:<15} {:>4}", "kind", "n")?;
        for _ in SYSTEMS {
            write!(
                out,
                " | {:>4} {:>4} {:>4} {:>5} {:>6}",
                "R@1", "R@5", "R@10", "doc@5", "tokens"
            )?;
        }

        for kind in self.rows() {
            write!(out, "\n{:<15} {:>4}", kind.name, kind.questions)?;
            for sums in &kind.systems {
                write!(out, " | {}", system_columns(sums, kind.questions))?;
            }
        }

        let (p50, p99, _) = self.latency;
        write!(out, "\nsearch: p50 {p50:.2} ms, p99 {p99:.2} ms")
    }
}

/// Shows the columns of one system.
fn system_columns(sums: &SystemSums, questions: f64) -> String {
    let share = |sum: f64| sum / questions.max(1.0);
    let [first, fifth, tenth] = sums.passages.map(share);
    format!(
        "{first:.2} {fifth:.2} {tenth:.2} {:>5.2} {:>6.0}",
        share(sums.document),
        share(sums.tokens)
    )
}
