//! Ranking after the search: mixes memories with chunks, and merges the answers to other wordings.

use std::collections::HashMap;

use domain::Timestamp;
use memory_model::words::content_words;

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

/// The rows that an answer is chosen from, each list with the most similar first.
pub(crate) struct Candidates {
    pub(crate) chunks: Vec<ResultRow>,
    pub(crate) memories: Vec<ResultRow>,
}

/// One row of an answer.
#[derive(Clone)]
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

    pub(crate) fn set_similarity(&mut self, similarity: f32) {
        match self {
            Self::Chunk(found) => found.hit.similarity = similarity,
            Self::Memory(found) => found.hit.similarity = similarity,
        }
    }

    /// Returns the score by which the search sorted the row among those of its kind.
    pub(crate) fn score(&self) -> f32 {
        match self {
            Self::Chunk(found) => found.hit.scores.fused,
            Self::Memory(found) => found.hit.scores.fused,
        }
    }

    pub(crate) fn set_score(&mut self, score: f32) {
        match self {
            Self::Chunk(found) => found.hit.scores.fused = score,
            Self::Memory(found) => found.hit.scores.fused = score,
        }
    }

    pub(crate) fn text(&self) -> &str {
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

/// Chooses the rows of an answer from memories and chunks. The memories of the share come first. They are
/// followed by the chunks, and by more memories if there is room for them.
pub(crate) fn mix_rows(candidates: Candidates, limit: usize) -> Vec<ResultRow> {
    let Candidates { chunks, memories } = candidates;
    let best_similarity = |rows: &[ResultRow]| rows.first().map_or(0.0, ResultRow::similarity);
    let memory_share = if best_similarity(&memories) >= best_similarity(&chunks) {
        (limit as f32 * MEMORY_SHARE).ceil() as usize
    } else {
        0
    };

    let reserved = memory_share.max(limit.saturating_sub(chunks.len()));
    let mut rows = memories;
    let other_memories = rows.split_off(reserved.min(limit).min(rows.len()));

    let memory_count = rows.len();
    for chunk in chunks {
        if rows.len() == limit {
            break;
        }
        // A chunk that repeats a memory word for word would be the same result twice.
        let text = chunk.text().trim();
        let is_repetition = rows[..memory_count]
            .iter()
            .any(|row| row.text().trim() == text);
        if !is_repetition {
            rows.push(chunk);
        }
    }

    // The chunks that were left out make room.
    for memory in other_memories {
        if rows.len() == limit {
            break;
        }
        let text = memory.text().trim();
        if rows.iter().all(|row| row.text().trim() != text) {
            rows.push(memory);
        }
    }

    rows
}

/// Sorts the best rows first, with a stable order of equals.
pub(crate) fn sort_rows(rows: &mut [ResultRow]) {
    let is_chunk = |row: &ResultRow| matches!(row, ResultRow::Chunk(_));
    rows.sort_by(|a, b| {
        b.similarity()
            .total_cmp(&a.similarity())
            .then(is_chunk(a).cmp(&is_chunk(b)))
            .then(b.score().total_cmp(&a.score()))
            .then(b.updated_at().cmp(&a.updated_at()))
            .then_with(|| a.identity().cmp(&b.identity()))
    });
}

/// Sorts rows of one kind by new scores and reassigns the list of similarities. Equal rows keep their
/// order.
pub(crate) fn reorder_rows(rows: &mut Vec<ResultRow>, scores: Vec<f32>) {
    let similarities: Vec<f32> = rows.iter().map(ResultRow::similarity).collect();
    let mut scored: Vec<(f32, ResultRow)> = scores.into_iter().zip(rows.drain(..)).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));

    for ((_, mut row), similarity) in scored.into_iter().zip(similarities) {
        row.set_similarity(similarity);
        rows.push(row);
    }
}

/// Sorts the best rows first, with memories first among equals. Equal rows of one kind keep the order
/// that a reranker has given them.
pub(crate) fn sort_reranked_rows(rows: &mut [ResultRow]) {
    let is_chunk = |row: &ResultRow| matches!(row, ResultRow::Chunk(_));
    rows.sort_by(|a, b| {
        b.similarity()
            .total_cmp(&a.similarity())
            .then(is_chunk(a).cmp(&is_chunk(b)))
    });
}

/// Merges the answers to several wordings of one question. Each row appears once, with the best of
/// its similarities. A single answer keeps its order.
pub(crate) fn merge_answers(mut answers: Vec<Vec<ResultRow>>, limit: usize) -> Vec<ResultRow> {
    if answers.len() == 1 {
        return answers.swap_remove(0);
    }

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
pub(crate) mod test_rows {
    //! Rows for tests.

    use search_engine::{HitScores, SearchHit};
    use serde_json::json;

    use super::*;

    /// Returns a hit whose similarity is its score.
    fn hit(headings: &str, text: &str, score: f32) -> SearchHit {
        SearchHit {
            container: 0,
            document: "note".to_owned(),
            attributes: Default::default(),
            position: 0,
            text: text.to_owned(),
            headings: headings.to_owned(),
            start: 0,
            end: 0,
            scores: HitScores {
                fused: score,
                ..HitScores::default()
            },
            similarity: score,
        }
    }

    /// Returns a chunk whose similarity is its score.
    pub(crate) fn chunk_row(headings: &str, text: &str, score: f32) -> ResultRow {
        let document = json!({
            "id": "note", "revision": "1", "tag": "box", "kind": "text", "created_at": 0,
            "updated_at": 0,
        });
        ResultRow::Chunk(Box::new(FoundChunk {
            hit: hit(headings, text, score),
            document: serde_json::from_value(document).unwrap(),
        }))
    }

    /// Returns a memory whose similarity is its score.
    pub(crate) fn memory_row(text: &str, score: f32) -> ResultRow {
        let time = "2026-03-01T09:30:00.000Z";
        let memory = json!({
            "id": "memory", "topic": "topic", "text": text, "kind": "fact", "confidence": 0.8,
            "trust": "user", "version": 1, "first_version": "memory", "said_at": time,
            "created_at": time, "updated_at": time,
        });
        ResultRow::Memory(Box::new(FoundMemory {
            hit: hit("", text, score),
            memory: serde_json::from_value(memory).unwrap(),
            is_aggregated: false,
        }))
    }

    /// Returns the texts of rows with their similarities.
    pub(crate) fn texts_of(rows: &[ResultRow]) -> Vec<(String, f32)> {
        let pair = |row: &ResultRow| (row.text().to_owned(), row.similarity());
        rows.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::test_rows::{chunk_row, memory_row, texts_of};
    use super::*;

    #[test]
    fn equal_rows_are_sorted_by_their_scores() {
        let mut rows = Vec::new();
        for (text, score) in [("second", 0.5), ("first", 0.7), ("third", 0.4)] {
            let mut row = chunk_row("", text, score);
            row.set_similarity(0.6);
            rows.push(row);
        }
        sort_rows(&mut rows);
        let texts = texts_of(&rows);
        let order: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(order, ["first", "second", "third"]);
    }

    #[test]
    fn memories_take_the_rows_of_chunks_that_repeat_one() {
        let mixed = |limit| {
            let candidates = Candidates {
                chunks: vec![
                    chunk_row("", "Mara counts herons. ", 0.8),
                    chunk_row("", "Mara counts otters.", 0.7),
                ],
                memories: vec![
                    memory_row("Mara counts herons.", 0.9),
                    memory_row("Mara counts otters.", 0.6),
                    memory_row("Mara counts boats.", 0.5),
                    memory_row("Mara counts gulls.", 0.4),
                ],
            };
            let texts = texts_of(&mix_rows(candidates, limit)).into_iter();
            texts.map(|(text, _)| text).collect::<Vec<String>>()
        };
        let expected = [
            "Mara counts herons.",
            "Mara counts otters.",
            "Mara counts boats.",
        ];
        for limit in 0..=3 {
            assert_eq!(mixed(limit), expected[..limit], "{limit}");
        }
    }

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
