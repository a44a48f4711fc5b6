//! The order of candidates by a second look at their texts.

use std::collections::HashSet;

use async_trait::async_trait;
use domain::ports::PortResult;
use memory_model::words::{content_words, split_words};
use search_engine::{Embedder, StaticEmbedder};
use tracing::warn;

use crate::rank::{Candidates, ResultRow, reorder_rows};

/// The number of candidates of each kind, memories and chunks, that a reranker sees.
pub(crate) const RERANK_CANDIDATES: usize = 50;

/// Scores the candidates of a search.
#[async_trait]
pub(crate) trait Reranker: Send + Sync {
    /// Returns a score for each of the candidates, in order. The greatest score is the best. Only
    /// the order of the scores counts.
    ///
    /// # Errors
    /// Any error leaves the candidates in the order of the search.
    async fn score(
        &self,
        question: &str,
        candidates: &[RerankCandidate<'_>],
    ) -> PortResult<Vec<f32>>;
}

/// A candidate as a reranker sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RerankCandidate<'a> {
    /// The text of the memory or chunk.
    pub(crate) text: &'a str,
    /// The score of the search as a share of the best score of its kind, 0..=1.
    pub(crate) score_share: f32,
}

/// Scores candidates by their words and by the vectors of their lines, without a model.
///
/// The weights were chosen on a half of the conversations and of the questions over documents. It
/// finds a little more in the first result and as much in ten (`docs/benchmarks.md`, Reranking).
/// A search of the lines of the candidates was no better.
#[derive(Debug)]
pub(crate) struct TextReranker;

/// The weight of the cosine of the question and the nearest line of a candidate.
const LINE_WEIGHT: f32 = 0.2;
/// The weight of the share of the question's words that a candidate has.
const WORD_WEIGHT: f32 = 0.1;

#[async_trait]
impl Reranker for TextReranker {
    async fn score(
        &self,
        question: &str,
        candidates: &[RerankCandidate<'_>],
    ) -> PortResult<Vec<f32>> {
        let question_words = content_words(question);
        let question_vector = StaticEmbedder.embed(question);

        let mut scores = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let mut nearest = 0f32;
            for line in candidate.text.lines() {
                nearest = nearest.max(StaticEmbedder.embed(line).cosine(&question_vector));
            }
            let share = word_share(&question_words, candidate.text);
            scores.push(candidate.score_share + LINE_WEIGHT * nearest + WORD_WEIGHT * share);
        }

        Ok(scores)
    }
}

/// Returns the share of the words that a text has, as they are or as forms of them.
fn word_share(words: &[String], text: &str) -> f32 {
    let text_words: HashSet<String> = split_words(text).into_iter().collect();
    let text_stems: HashSet<String> = content_words(text).into_iter().collect();
    let held = words
        .iter()
        .filter(|word| text_words.contains(*word) || text_stems.contains(*word))
        .count();
    held as f32 / words.len().max(1) as f32
}

/// Orders the chunks and the memories of a search by the scores of `reranker`. The similarities of
/// each kind stay the same and are reassigned in the new order, so that the threshold and the mix of
/// both kinds do not depend on the scale of the scores.
pub(crate) async fn rerank(reranker: &dyn Reranker, question: &str, candidates: &mut Candidates) {
    let mut seen = to_rerank_candidates(&candidates.chunks);
    seen.extend(to_rerank_candidates(&candidates.memories));
    if seen.is_empty() {
        return;
    }

    let mut scores = match reranker.score(question, &seen).await {
        Ok(scores) if scores.len() == seen.len() && scores.iter().all(|s| s.is_finite()) => scores,
        Ok(_) => {
            warn!("a reranker did not score every candidate; the candidates keep their order");
            return;
        }
        Err(error) => {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not rerank the candidates; they keep their order"
            );
            return;
        }
    };

    let memory_scores = scores.split_off(candidates.chunks.len());
    reorder_rows(&mut candidates.chunks, scores);
    reorder_rows(&mut candidates.memories, memory_scores);
}

/// Returns rows of one kind as a reranker sees them.
fn to_rerank_candidates(rows: &[ResultRow]) -> Vec<RerankCandidate<'_>> {
    let best = rows
        .iter()
        .map(ResultRow::score)
        .fold(f32::MIN_POSITIVE, f32::max);
    let candidate = |row| RerankCandidate {
        text: ResultRow::text(row),
        score_share: ResultRow::score(row) / best,
    };
    rows.iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use domain::PortError;

    use super::*;
    use crate::rank::test_rows::{chunk_row, texts_of};
    use crate::rank::{mix_rows, sort_reranked_rows};

    fn numbered_row(position: u32, similarity: f32) -> ResultRow {
        chunk_row("", &format!("chunk {position}"), similarity)
    }

    /// Returns the given scores, or fails without any.
    struct FixedScores(Option<Vec<f32>>);

    #[async_trait]
    impl Reranker for FixedScores {
        async fn score(&self, _: &str, _: &[RerankCandidate<'_>]) -> PortResult<Vec<f32>> {
            let error = || PortError::Unavailable("no model".into());
            self.0.clone().ok_or_else(error)
        }
    }

    async fn reranked_texts(scores: Option<Vec<f32>>) -> Vec<(String, f32)> {
        let mut candidates = Candidates {
            chunks: vec![
                numbered_row(0, 0.9),
                numbered_row(1, 0.8),
                numbered_row(2, 0.7),
            ],
            memories: Vec::new(),
        };
        rerank(&FixedScores(scores), "which?", &mut candidates).await;
        texts_of(&candidates.chunks)
    }

    #[tokio::test]
    async fn scores_order_the_candidates_and_the_similarities_stay_sorted() {
        let reranked = reranked_texts(Some(vec![-3.0, 12.0, 5.0])).await;
        let expected = [("chunk 1", 0.9), ("chunk 2", 0.8), ("chunk 0", 0.7)];
        assert_eq!(
            reranked,
            expected.map(|(text, similarity)| (text.to_owned(), similarity))
        );
    }

    #[tokio::test]
    async fn equal_similarities_keep_the_order_of_the_scores() {
        let mut candidates = Candidates {
            chunks: vec![
                numbered_row(0, 0.9),
                numbered_row(1, 0.9),
                numbered_row(2, 0.9),
            ],
            memories: Vec::new(),
        };
        let scores = FixedScores(Some(vec![1.0, 2.0, 3.0]));
        rerank(&scores, "which?", &mut candidates).await;
        let mut rows = mix_rows(candidates, 2);
        sort_reranked_rows(&mut rows);
        let texts: Vec<&str> = rows.iter().map(ResultRow::text).collect();
        assert_eq!(texts, ["chunk 2", "chunk 1"]);
    }

    #[tokio::test]
    async fn a_reranker_that_fails_changes_nothing() {
        for scores in [None, Some(vec![1.0]), Some(vec![f32::NAN, 1.0, 2.0])] {
            let texts = reranked_texts(scores.clone()).await;
            let order: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(order, ["chunk 0", "chunk 1", "chunk 2"], "{scores:?}");
        }
    }
}
