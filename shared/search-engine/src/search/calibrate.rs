//! Calibration of scores to a similarity that has a meaning by itself.

use super::SearchScope;
use super::candidates::{ScoredCandidates, select_best};
use super::lexical::LexicalQuery;
use crate::analysis::QueryTerm;
use crate::config::SimilarityCalibration;
use crate::embedding::StaticEmbedder;

/// The features of a query's best hits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HitFeatures {
    /// The share of the query's terms, weighted by rarity, in the best chunk and its neighbours.
    pub coverage: f32,
    /// The same for the chunk alone.
    pub chunk_coverage: f32,
    /// The best cosine among the best chunks.
    ///
    /// It is 0 if the query has identifiers and those chunks contain none of them, because the word
    /// pieces of one order number are close to those of any other. For the same reason, a chunk
    /// without a number of the query does not count, and neither does any chunk if no term can be a
    /// word: `qqqq` is only a row of letters.
    pub cosine: f32,
    /// The number of terms of the query.
    pub term_count: usize,
    /// The natural logarithm of the number of chunks. The more chunks, the nearer is the nearest
    /// of them by chance.
    pub log_chunks: f32,
}

impl HitFeatures {
    /// Returns the inputs of the calibration: the share of the query in one chunk, the number of
    /// its terms there as a share of [`ENOUGH_TERMS`], the best cosine, and the logarithm of the
    /// number of chunks.
    #[must_use]
    pub fn inputs(&self) -> [f32; 4] {
        let held_terms = self.chunk_coverage * self.term_count as f32;

        [
            self.chunk_coverage,
            (held_terms / ENOUGH_TERMS).min(1.0),
            self.cosine.max(0.0),
            self.log_chunks.min(MAX_LOG_CHUNKS),
        ]
    }
}

/// The number of terms in one chunk from which further ones make an answer no more probable.
const ENOUGH_TERMS: f32 = 4.0;
/// The logarithm of the number of chunks from which a larger container makes no difference. The
/// calibration was fitted on smaller ones.
const MAX_LOG_CHUNKS: f32 = 6.0;

/// The fewest characters of a word for each of its pieces.
const MIN_PIECE_CHARS: f32 = 2.2;

/// The share of the coverage that counts if the query has identifiers and the best chunks contain
/// none of them: the words of one order number are in every other.
const MISSED_IDENTIFIER_SHARE: f32 = 0.5;

/// The number of best hits that are considered.
const BEST_HITS: usize = 3;

/// Computes the features of the scored candidates.
pub(super) fn compute_features(
    scope: &SearchScope<'_>,
    scored: &ScoredCandidates,
    lexical: &LexicalQuery<'_>,
    terms: &[QueryTerm],
) -> HitFeatures {
    let width = lexical.weights.len();
    let total = lexical.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let weight_share =
        |rows: &[usize]| sum_held_weights(&scored.nearness, &lexical.weights, rows) / total;
    let best_indices = select_best(scope, scored, BEST_HITS);
    let matches_identifier = |&index: &usize| {
        let row = &scored.contributions[index * width..(index + 1) * width];
        row.iter()
            .zip(&lexical.identifiers)
            .any(|(&contribution, &is_identifier)| is_identifier && contribution > 0.0)
    };

    let misses_identifier =
        lexical.identifiers.contains(&true) && !best_indices.iter().any(matches_identifier);
    let has_known_word = terms.iter().any(is_known_word);
    let mut features = HitFeatures {
        term_count: width,
        log_chunks: (scope.chunks as f32).ln(),
        ..HitFeatures::default()
    };

    for &index in &best_indices {
        features.coverage = features
            .coverage
            .max(weight_share(&with_neighbours(scored, index)));
        features.chunk_coverage = features.chunk_coverage.max(weight_share(&[index]));
        if !misses_identifier && has_known_word && holds_numbers(scored, lexical, index) {
            features.cosine = features.cosine.max(scored.candidates[index].cosine);
        }
    }

    if misses_identifier {
        features.chunk_coverage *= MISSED_IDENTIFIER_SHARE;
    }

    features
}

/// Checks whether a term can be a word: its pieces are not mostly single letters. Scripts without
/// spaces have pieces of their own.
fn is_known_word(term: &QueryTerm) -> bool {
    let pieces = StaticEmbedder.count_tokens(&term.word);
    !term.word.is_ascii() || term.word.len() as f32 >= MIN_PIECE_CHARS * pieces as f32
}

/// Checks whether a candidate has every number of the query.
fn holds_numbers(scored: &ScoredCandidates, lexical: &LexicalQuery<'_>, index: usize) -> bool {
    let width = lexical.weights.len();
    let row = &scored.nearness[index * width..(index + 1) * width];

    row.iter()
        .zip(&lexical.numbers)
        .all(|(&nearness, &is_number)| !is_number || nearness > 0.0)
}

/// Returns a candidate with its neighbours in the document.
fn with_neighbours(scored: &ScoredCandidates, index: usize) -> Vec<usize> {
    let chunk = scored.candidates[index].chunk;
    let is_near = |other: &usize| scored.candidates[*other].chunk.abs_diff(chunk) <= 1;
    scored.of_same_document(index).filter(is_near).collect()
}

/// Sums the weights of the terms that one of the `rows` contains, or contains nearly.
fn sum_held_weights(nearness: &[f32], weights: &[f32], rows: &[usize]) -> f32 {
    let mut sum = 0.0;
    for (term, weight) in weights.iter().enumerate() {
        let mut nearest = 0f32;
        for row in rows {
            nearest = nearest.max(nearness[row * weights.len() + term]);
        }
        sum += weight * nearest;
    }

    sum
}

impl SimilarityCalibration {
    /// Returns the probability that the query is answered, scaled so that
    /// [`SimilarityCalibration::accept_probability`] is 0.6.
    #[must_use]
    pub fn query_confidence(&self, features: &HitFeatures) -> f32 {
        let [coverage, terms, cosine, log_chunks] = features.inputs();
        let logit = self.bias
            + self.coverage * coverage
            + self.terms * terms
            + self.cosine * cosine
            + self.log_chunks * log_chunks;
        let probability = 1.0 / (1.0 + (-logit).exp());
        if probability >= self.accept_probability {
            0.6 + 0.4 * (probability - self.accept_probability) / (1.0 - self.accept_probability)
        } else {
            0.6 * probability / self.accept_probability
        }
    }

    /// Returns the similarity of a hit with score `fused`, from the `best` score and the
    /// `confidence` of the query.
    #[must_use]
    pub fn hit_similarity(&self, confidence: f32, fused: f32, best: f32) -> f32 {
        let share = if best > 0.0 {
            (fused / best).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let scaled_share = (share / self.floor_share).min(1.0);
        let value = if confidence >= 0.6 && share >= self.floor_share {
            0.6 + (confidence - 0.6) * (share - self.floor_share) / (1.0 - self.floor_share)
        } else {
            confidence.min(0.6) * scaled_share
        };
        value.clamp(0.0, 1.0)
    }
}
