//! Calibration of scores to a similarity that has a meaning by itself.

use super::candidates::ScoredCandidates;
use super::lexical::LexicalQuery;
use super::{SearchScope, compare_scored};
use crate::config::SimilarityCalibration;

/// The features of a query's best hits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HitFeatures {
    /// The share of the query's terms, weighted by rarity, in the best chunk and its neighbours.
    pub coverage: f32,
    /// The same for the chunk alone.
    pub tight: f32,
    /// The best cosine among the best chunks.
    ///
    /// It is 0 if the query has identifiers and those chunks contain none of them, because the word
    /// pieces of one order number are close to those of any other.
    pub cosine: f32,
    /// The number of terms of the query.
    pub terms: usize,
}

/// The number of best hits that are considered.
const BEST_HITS: usize = 3;

/// Computes the features of the scored candidates.
pub(super) fn compute_features(
    scope: &SearchScope<'_>,
    scored: &ScoredCandidates,
    lexical: &LexicalQuery<'_>,
) -> HitFeatures {
    let width = lexical.weights.len();
    let total = lexical.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE);
    let share =
        |rows: &[usize]| sum_held_weights(&scored.contributions, &lexical.weights, rows) / total;
    let best = select_best(scope, scored);
    let named = |&index: &usize| {
        let row = &scored.contributions[index * width..(index + 1) * width];
        row.iter()
            .zip(&lexical.identifiers)
            .any(|(&held, &is)| is && held > 0.0)
    };

    let missed = lexical.identifiers.contains(&true) && !best.iter().any(named);
    let mut features = HitFeatures {
        terms: width,
        ..HitFeatures::default()
    };

    for &index in &best {
        features.coverage = features
            .coverage
            .max(share(&with_neighbours(scored, index)));
        features.tight = features.tight.max(share(&[index]));
        if !missed {
            features.cosine = features.cosine.max(scored.candidates[index].cosine);
        }
    }

    features
}

/// Returns the best candidates in arbitrary order.
fn select_best(scope: &SearchScope<'_>, scored: &ScoredCandidates) -> Vec<usize> {
    let candidates = &scored.candidates;
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    if order.len() > BEST_HITS {
        order.select_nth_unstable_by(BEST_HITS - 1, |&a, &b| {
            compare_scored(
                scope,
                (candidates[b].fused, &candidates[b]),
                (candidates[a].fused, &candidates[a]),
            )
        });
        order.truncate(BEST_HITS);
    }

    order
}

/// Returns a candidate with its neighbours in the document.
fn with_neighbours(scored: &ScoredCandidates, index: usize) -> Vec<usize> {
    let place = scored
        .documents
        .partition_point(|range| range.start <= index)
        .saturating_sub(1);
    let document = scored
        .documents
        .get(place)
        .cloned()
        .unwrap_or(index..index + 1);
    let chunk = scored.candidates[index].chunk;

    document
        .filter(|&other| scored.candidates[other].chunk.abs_diff(chunk) <= 1)
        .collect()
}

/// Sums the weights of the terms that one of the `rows` contains.
fn sum_held_weights(contributions: &[f32], weights: &[f32], rows: &[usize]) -> f32 {
    let holds = |term: usize| {
        rows.iter()
            .any(|row| contributions[row * weights.len() + term] > 0.0)
    };
    (0..weights.len())
        .filter(|&term| holds(term))
        .map(|term| weights[term])
        .sum()
}

impl SimilarityCalibration {
    /// Returns the probability that the query is answered, scaled so that
    /// [`SimilarityCalibration::accept_probability`] is 0.6.
    #[must_use]
    pub fn query_confidence(&self, features: &HitFeatures) -> f32 {
        let z = self.bias + self.coverage * features.tight + self.cosine * features.cosine.max(0.0);
        let probability = 1.0 / (1.0 + (-z).exp());
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
        let below = (share / self.floor_share).min(1.0);
        let value = if confidence >= 0.6 && share >= self.floor_share {
            0.6 + (confidence - 0.6) * (share - self.floor_share) / (1.0 - self.floor_share)
        } else {
            confidence.min(0.6) * below
        };
        value.clamp(0.0, 1.0)
    }
}
