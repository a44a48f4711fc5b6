//! Passage recall of questions over documents. The documents are files of packages that
//! `documents.py` fetched. They are uploaded as files, and each question is one `POST /v4/search`
//! with `searchMode: "hybrid"` and the default threshold.
//!
//! A passage is recognized by a short quote. It counts as found if the quote is in a returned
//! chunk, or in the source span of a returned memory, of its document. The baselines rank the same
//! chunks: BM25 over lower-cased words, and the built-in vectors alone.

mod score;
mod set;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use search_engine::{Embedder, QuantizedVector, StaticEmbedder};
use serde_json::{Value, json};

pub(crate) use self::score::DocumentsReport;
use self::score::FoundRow;
use self::set::{Question, SourceDocument, load_documents, load_questions};
use crate::bm25::Bm25;
use crate::progress::progress_bar;
use crate::rig::{BenchSystem, percentiles};
use crate::text::squeeze_spaces;

/// The container of all documents.
const TAG: &str = "documents";
/// The number of results of each search.
const LIMIT: usize = 10;

/// A chunk as the service made it.
struct Chunk {
    /// The place of its document in the list.
    document: usize,
    text: String,
    squeezed: String,
    vector: QuantizedVector,
}

/// An uploaded document.
struct StoredDocument {
    id: String,
    /// The characters that spans refer to.
    text: Vec<char>,
}

/// Checks whether a folder has the documents.
pub(crate) fn is_documents_folder(folder: &Path) -> bool {
    set::is_filled(folder)
}

/// Measures and prints the figures.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(folder: &Path, rerank: bool, failures: bool) -> Result<()> {
    let report = measure(folder, rerank, failures).await?;
    println!("{report}");
    Ok(())
}

/// Uploads the documents, asks every question, and ranks the same chunks with the baselines.
pub(crate) async fn measure(
    folder: &Path,
    rerank: bool,
    failures: bool,
) -> Result<DocumentsReport> {
    let documents = load_documents(folder)?;
    let questions = load_questions(&documents)?;
    let mut rig = BenchSystem::new().await?;
    rig.start_workers().await?;
    let stored = upload_documents(&rig, &documents).await?;
    let chunks = list_chunks(&rig, &stored).await?;
    let bm25 = Bm25::new(chunks.iter().map(|chunk| chunk.text.as_str()));

    let mut report = DocumentsReport::new(documents.len(), chunks.len());
    let mut times = Vec::new();
    let bar = progress_bar("asking about documents", questions.len());
    for question in &questions {
        let (found, time) = search_service(&rig, &stored, question, rerank).await?;
        let by_words = chunk_rows(&chunks, bm25.rank(&question.question, LIMIT));
        let by_vectors = chunk_rows(&chunks, rank_by_vectors(&chunks, &question.question));
        if failures && !score::is_found(question, &found) {
            print_failure(&bar, question, &found, &documents);
        }

        times.push(time);
        report.note_cut_passages(question, chunks.iter().map(|chunk| chunk.squeezed.as_str()));
        report.add(question, [&found, &by_words, &by_vectors]);
        bar.inc(1);
    }

    bar.finish_and_clear();
    rig.stop_workers().await;
    report.latency = percentiles(&mut times);

    Ok(report)
}

/// Uploads each document as a file and waits until it is done.
async fn upload_documents(
    rig: &BenchSystem,
    documents: &[SourceDocument],
) -> Result<Vec<StoredDocument>> {
    let bar = progress_bar("reading documents", documents.len());
    let mut stored = Vec::new();
    for document in documents {
        let name = Path::new(&document.path).file_name();
        let name = name.and_then(|name| name.to_str()).context("a file name")?;
        let answer = rig.upload_file(TAG, name, document.text.as_bytes()).await?;
        let id = answer["id"].as_str().context("an id")?.to_owned();
        rig.wait_until_done(&id).await?;
        let path = format!("/v3/documents/{id}");
        let answer = rig.call("GET", &path, &Value::Null).await?;
        let text = answer["content"].as_str().unwrap_or_default();
        stored.push(StoredDocument {
            id,
            text: text.chars().collect(),
        });
        bar.inc(1);
    }

    bar.finish_and_clear();
    Ok(stored)
}

/// Returns the chunks of all documents, as the service made them, with vectors of their text.
async fn list_chunks(rig: &BenchSystem, stored: &[StoredDocument]) -> Result<Vec<Chunk>> {
    let mut chunks = Vec::new();
    for (place, document) in stored.iter().enumerate() {
        let path = format!("/v3/documents/{}/chunks", document.id);
        let answer = rig.call("GET", &path, &Value::Null).await?;
        for chunk in answer["chunks"].as_array().into_iter().flatten() {
            let text = chunk["content"].as_str().unwrap_or_default();
            chunks.push(Chunk {
                document: place,
                text: text.to_owned(),
                squeezed: squeeze_spaces(text),
                vector: StaticEmbedder.embed(text),
            });
        }
    }

    Ok(chunks)
}

/// Returns the rows of a search of the service, and how long it took.
async fn search_service(
    rig: &BenchSystem,
    stored: &[StoredDocument],
    question: &Question,
    rerank: bool,
) -> Result<(Vec<FoundRow>, Duration)> {
    let body = json!({
        "q": question.question, "containerTag": TAG, "searchMode": "hybrid", "limit": LIMIT,
        "rerank": rerank, "include": {"documents": true}, "explain": true,
    });
    let begun = Instant::now();
    let answer = rig.post("/v4/search", &body).await?;
    let time = begun.elapsed();

    let places: HashMap<&str, usize> = stored
        .iter()
        .enumerate()
        .map(|(place, document)| (document.id.as_str(), place))
        .collect();
    let mut found = Vec::new();
    for row in answer["results"].as_array().into_iter().flatten() {
        found.push(service_row(row, stored, &places)?);
    }

    Ok((found, time))
}

/// Reads a row of an answer: a chunk, or a memory with the text that it was taken from.
fn service_row(
    row: &Value,
    stored: &[StoredDocument],
    places: &HashMap<&str, usize>,
) -> Result<FoundRow> {
    let mut found = FoundRow::default();
    if let Some(chunk) = row["chunk"].as_str() {
        let id = row["documents"][0]["id"].as_str().unwrap_or_default();
        let document = *places.get(id).context("a chunk of an unknown document")?;
        found.tokens = StaticEmbedder.count_tokens(chunk);
        found.texts.push((document, squeeze_spaces(chunk)));
        return Ok(found);
    }

    found.tokens = StaticEmbedder.count_tokens(row["memory"].as_str().unwrap_or_default());
    for source in row["explain"]["sources"].as_array().into_iter().flatten() {
        let id = source["documentId"].as_str().unwrap_or_default();
        let document = *places.get(id).context("a memory of an unknown document")?;
        let place = |end: &str| source["span"][end].as_u64().map(|place| place as usize);
        let span = place("start").zip(place("end"));
        let text = span.and_then(|(start, end)| stored[document].text.get(start..end));
        let text: String = text
            .context("a span outside its document")?
            .iter()
            .collect();
        found.texts.push((document, squeeze_spaces(&text)));
    }

    Ok(found)
}

/// Returns the chunks at these places as results.
fn chunk_rows(chunks: &[Chunk], ranked: Vec<usize>) -> Vec<FoundRow> {
    let row = |place: usize| FoundRow {
        tokens: StaticEmbedder.count_tokens(&chunks[place].text),
        texts: vec![(chunks[place].document, chunks[place].squeezed.clone())],
    };
    ranked.into_iter().map(row).collect()
}

/// Returns the chunks whose vectors are the most similar to that of the question.
fn rank_by_vectors(chunks: &[Chunk], question: &str) -> Vec<usize> {
    let vector = StaticEmbedder.embed(question);
    let mut ranked: Vec<(usize, f32)> = chunks
        .iter()
        .enumerate()
        .map(|(place, chunk)| (place, vector.cosine(&chunk.vector)))
        .collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked.truncate(LIMIT);
    ranked.into_iter().map(|(place, _)| place).collect()
}

/// Prints a question that did not find all of its passages among the first results.
fn print_failure(
    bar: &ProgressBar,
    question: &Question,
    found: &[FoundRow],
    documents: &[SourceDocument],
) {
    let mut names: Vec<String> = Vec::new();
    for row in found.iter().take(5) {
        let document = row.texts.first().map(|(place, _)| *place);
        names.push(document.map_or_else(String::new, |place| documents[place].name()));
    }

    bar.suspend(|| {
        let Question {
            id, kind, question, ..
        } = question;
        print_line(&format!(
            "{id} ({kind}) {question}\n    found {}",
            names.join(", ")
        ));
    });
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print_line(line: &str) {
    println!("{line}");
}
