//! The documents and the questions about them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::text::squeeze_spaces;

const DOCUMENTS: &str = include_str!("../../documents/documents.jsonl");
const QUESTIONS: &str = include_str!("../../documents/questions.jsonl");
/// The most words of a quote, so that the set repeats little of the documents.
const MAX_QUOTE_WORDS: usize = 12;

/// A document of a package.
#[derive(Deserialize)]
pub(super) struct SourceDocument {
    package: String,
    /// The path in the package.
    pub(super) path: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    sha256: String,
    #[serde(skip)]
    pub(super) text: String,
}

impl SourceDocument {
    /// Returns the name by which questions refer to it.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.package, self.path)
    }
}

#[derive(Deserialize)]
struct QuestionLine {
    id: String,
    kind: String,
    document: String,
    question: String,
    passages: Vec<String>,
    held_out: bool,
}

/// A question about a document.
pub(super) struct Question {
    pub(super) id: String,
    pub(super) kind: String,
    /// The place of its document in the list.
    pub(super) document: usize,
    pub(super) question: String,
    /// A quote of each passage that answers it, with single spaces.
    pub(super) passages: Vec<String>,
    /// True if nothing may be fitted on it.
    pub(super) held_out: bool,
}

fn parse_lines<T: for<'de> Deserialize<'de>>(text: &str) -> Result<Vec<T>> {
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// Checks whether a folder has files with the names of the documents.
pub(super) fn is_filled(folder: &Path) -> bool {
    let documents: Vec<SourceDocument> = parse_lines(DOCUMENTS).unwrap_or_default();
    let mut names = documents.iter().map(SourceDocument::name);
    names.all(|name| folder.join(name).is_file())
}

/// Reads the documents of a folder.
///
/// # Errors
/// A document that is missing, or has other bytes than those the questions were written about.
pub(super) fn load_documents(folder: &Path) -> Result<Vec<SourceDocument>> {
    let mut documents: Vec<SourceDocument> = parse_lines(DOCUMENTS)?;
    for document in &mut documents {
        let path = folder.join(document.name());
        let bytes = std::fs::read(&path)
            .with_context(|| format!("read {}; documents.py fetches it", path.display()))?;
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        ensure!(
            digest == document.sha256,
            "{} has other bytes than expected; documents.py fetches the right ones",
            path.display()
        );
        document.text = String::from_utf8(bytes)?;
    }

    Ok(documents)
}

/// Reads the questions.
///
/// # Errors
/// A question with an unknown document, and a quote that is too long or that is not exactly once
/// in its document.
pub(super) fn load_questions(documents: &[SourceDocument]) -> Result<Vec<Question>> {
    let lines: Vec<QuestionLine> = parse_lines(QUESTIONS)?;
    let texts: Vec<String> = documents
        .iter()
        .map(|document| squeeze_spaces(&document.text))
        .collect();
    let mut ids = BTreeSet::new();
    let mut questions = Vec::new();
    for line in lines {
        let id = &line.id;
        ensure!(ids.insert(id.clone()), "{id} is there twice");
        ensure!(!line.passages.is_empty(), "{id} has no passage");
        let document = documents
            .iter()
            .position(|document| document.name() == line.document)
            .with_context(|| format!("{id} is about the unknown document {}", line.document))?;
        let mut passages = Vec::new();
        for quote in &line.passages {
            let quote = squeeze_spaces(quote);
            let words = quote.split(' ').count();
            ensure!(
                words <= MAX_QUOTE_WORDS,
                "{id}: {quote:?} has {words} words"
            );
            let times = texts[document].matches(quote.as_str()).count();
            ensure!(
                times == 1,
                "{id}: {quote:?} is {times} times in its document"
            );
            passages.push(quote);
        }

        questions.push(Question {
            id: line.id,
            kind: line.kind,
            document,
            question: line.question,
            passages,
            held_out: line.held_out,
        });
    }

    Ok(questions)
}
