//! Ranking after the search: mixes memories with chunks, tries other wordings, and reranks.

use std::collections::HashMap;

use domain::Timestamp;
use memory_model::words::{content_words, split_words};
use search_engine::{Embedder, StaticEmbedder};
use unicode_segmentation::UnicodeSegmentation;

use crate::engine::{FoundChunk, FoundMemory};

/// The share of the limit of a hybrid answer that goes to memories if a memory answers better than
/// every chunk. Otherwise memories fill the rows that chunks leave empty. A chunk holds the
/// evidence of several memories, so each memory in place of a chunk costs recall: three of ten
/// yield R@10 .822, one of ten .847, this rule .855 (`bench recall`).
pub const MEMORY_SHARE: f32 = 0.1;
/// The words that begin a question but not its answer. Sorted.
const QUESTION_WORDS: &[&str] = &[
    "are", "can", "could", "did", "do", "does", "had", "has", "have", "how", "is", "should",
    "tell", "was", "were", "what", "what's", "when", "where", "which", "who", "whom", "whose",
    "why", "will", "would",
];

/// One row of an answer.
pub(crate) enum ResultRow {
    Chunk(Box<FoundChunk>),
    Memory(Box<FoundMemory>),
}

impl ResultRow {
    pub(crate) fn similarity(&self) -> f32 {
        match self {
            Self::Chunk(found) => found.hit.similarity,
            Self::Memory(found) => found.hit.similarity,
        }
    }

    fn similarity_mut(&mut self) -> &mut f32 {
        match self {
            Self::Chunk(found) => &mut found.hit.similarity,
            Self::Memory(found) => &mut found.hit.similarity,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Chunk(found) => &found.hit.text,
            Self::Memory(found) => &found.hit.text,
        }
    }

    /// Returns the key that identifies the row.
    fn identity(&self) -> (String, u32) {
        match self {
            Self::Chunk(found) => (found.hit.document.clone(), found.hit.position),
            Self::Memory(found) => (found.memory.id.to_string(), 0),
        }
    }

    /// Returns the time of the last change of the content, which puts the newer of two equals
    /// first.
    fn updated_at(&self) -> Timestamp {
        match self {
            Self::Chunk(found) => Timestamp::from_millis(found.document.updated_at),
            Self::Memory(found) => found.memory.said_at,
        }
    }
}

/// Merges memories and chunks into one list by similarity, with memories first among equals.
pub(crate) fn mix_rows(
    chunks: Vec<FoundChunk>,
    memories: Vec<FoundMemory>,
    limit: usize,
) -> Vec<ResultRow> {
    let best_memory = match memories.first() {
        Some(found) => found.hit.similarity,
        None => 0.0,
    };
    let best_chunk = match chunks.first() {
        Some(found) => found.hit.similarity,
        None => 0.0,
    };
    let memory_share = if best_memory >= best_chunk {
        (limit as f32 * MEMORY_SHARE).ceil() as usize
    } else {
        0
    };

    let reserved = memory_share.max(limit.saturating_sub(chunks.len()));
    let mut rows = Vec::new();
    for found in memories.into_iter().take(reserved.min(limit)) {
        rows.push(ResultRow::Memory(Box::new(found)));
    }

    let memory_count = rows.len();
    for found in chunks {
        if rows.len() == limit {
            break;
        }
        // A chunk that repeats a memory word for word would be the same result twice.
        let text = found.hit.text.trim();
        let is_repetition = rows[..memory_count]
            .iter()
            .any(|row| row.text().trim() == text);
        if !is_repetition {
            rows.push(ResultRow::Chunk(Box::new(found)));
        }
    }
    sort_rows(&mut rows);

    rows
}

/// Sorts the best rows first, with a stable order of equals.
pub(crate) fn sort_rows(rows: &mut [ResultRow]) {
    let is_chunk = |row: &ResultRow| matches!(row, ResultRow::Chunk(_));
    rows.sort_by(|a, b| {
        b.similarity()
            .total_cmp(&a.similarity())
            .then(is_chunk(a).cmp(&is_chunk(b)))
            .then(b.updated_at().cmp(&a.updated_at()))
            .then_with(|| a.identity().cmp(&b.identity()))
    });
}

/// Merges the answers to several wordings of one question. Each row appears once, with the best of
/// its similarities.
pub(crate) fn merge_answers(answers: Vec<Vec<ResultRow>>, limit: usize) -> Vec<ResultRow> {
    let mut best: HashMap<(String, u32), ResultRow> = HashMap::new();
    for row in answers.into_iter().flatten() {
        match best.get(&row.identity()) {
            Some(existing) if existing.similarity() >= row.similarity() => {}
            _ => {
                best.insert(row.identity(), row);
            }
        }
    }

    let mut rows: Vec<ResultRow> = best.into_values().collect();
    sort_rows(&mut rows);
    rows.truncate(limit);

    rows
}

/// Returns the question, and other wordings of it: the statement that would answer it, and its
/// content words alone. The question itself comes first.
pub(crate) fn query_wordings(question: &str) -> Vec<String> {
    let mut wordings = vec![question.to_owned()];
    let statement: Vec<&str> = question
        .trim_end_matches(['?', '？', ' '])
        .split_whitespace()
        .skip_while(|word| {
            QUESTION_WORDS
                .binary_search(&word.to_lowercase().as_str())
                .is_ok()
        })
        .collect();
    for wording in [statement.join(" "), content_words(question).join(" ")] {
        if !wording.is_empty() && !wordings.contains(&wording) {
            wordings.push(wording);
        }
    }

    wordings
}

/// Reorders the rows by their words: by the share of the question's words that a row contains, and
/// by the similarity of its nearest sentence to the question. The list of similarities stays the
/// same and is reassigned in the new order.
pub(crate) fn rerank_rows(question: &str, rows: &mut Vec<ResultRow>) {
    let question_words = content_words(question);
    let vector = StaticEmbedder.embed(question);
    let score = |row: &ResultRow| {
        let row_words = split_words(row.text());
        let row_stems: Vec<String> = content_words(row.text());
        let match_count = question_words
            .iter()
            .filter(|word| row_words.contains(word) || row_stems.contains(word))
            .count();
        let coverage = match_count as f32 / question_words.len().max(1) as f32;

        let mut best_similarity = 0f32;
        for sentence in row.text().unicode_sentences() {
            let similarity = StaticEmbedder.embed(sentence).cosine(&vector);
            best_similarity = best_similarity.max(similarity);
        }

        0.5 * row.similarity() + 0.25 * coverage + 0.25 * best_similarity
    };

    let similarities: Vec<f32> = rows.iter().map(ResultRow::similarity).collect();
    let mut scored: Vec<(f32, ResultRow)> = Vec::with_capacity(rows.len());
    for row in rows.drain(..) {
        scored.push((score(&row), row));
    }
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));

    for ((_, mut row), similarity) in scored.into_iter().zip(similarities) {
        *row.similarity_mut() = similarity;
        rows.push(row);
    }
}

/// Joins the memories about one subject into one row, at the position of the best of them. Their
/// sentences are not changed.
pub(crate) fn aggregate_by_subject(rows: Vec<ResultRow>) -> Vec<ResultRow> {
    let mut joined: Vec<ResultRow> = Vec::new();
    for row in rows {
        let ResultRow::Memory(found) = row else {
            joined.push(row);
            continue;
        };

        let same_subject = joined.iter_mut().find_map(|row| match row {
            ResultRow::Memory(earlier) if earlier.is_about_same(&found) => Some(earlier),
            _ => None,
        });
        match same_subject {
            Some(earlier) => {
                earlier.memory.text.push(' ');
                earlier.memory.text.push_str(&found.memory.text);
                earlier.is_aggregated = true;
            }
            None => joined.push(ResultRow::Memory(found)),
        }
    }

    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_worded_as_its_answer_and_by_its_content() {
        assert!(QUESTION_WORDS.is_sorted());
        assert_eq!(
            query_wordings("Where does Anna work?"),
            ["Where does Anna work?", "Anna work", "where anna work"]
        );
        assert_eq!(query_wordings("E-4711"), ["E-4711", "e 4711"]);
    }
}
