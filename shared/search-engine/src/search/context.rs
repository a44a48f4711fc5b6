//! The score of a chunk in its context: its neighbours and the document as a whole.

use super::candidates::ScoredCandidates;
use super::lexical::LexicalQuery;
use crate::config::RankingConfig;

/// Sets `fused` of every candidate.
///
/// A chunk without neighbours uses its own score in their place, so that a document of one chunk
/// competes on equal terms.
pub(super) fn apply_context(
    scored: &mut ScoredCandidates,
    lexical: &LexicalQuery<'_>,
    config: &RankingConfig,
) {
    let width = lexical.idf.len();
    let coverages: Vec<f32> = scored
        .documents
        .iter()
        .map(|range| document_coverage(&scored.contributions, range.clone(), width))
        .collect();
    let best = coverages
        .iter()
        .fold(0f32, |best, &value| best.max(value))
        .max(f32::MIN_POSITIVE);

    for (range, coverage) in scored.documents.iter().zip(&coverages) {
        let candidates = &mut scored.candidates[range.clone()];
        let mut own_scores: Vec<f32> = candidates
            .iter()
            .map(|candidate| candidate.own_score)
            .collect();
        let chunks: Vec<u32> = candidates.iter().map(|candidate| candidate.chunk).collect();
        let neighbour_scores: Vec<f32> = (0..own_scores.len())
            .map(|index| mean_neighbour_score(&own_scores, &chunks, index, config.neighbour_reach))
            .collect();
        for (candidate, neighbour_score) in candidates.iter_mut().zip(neighbour_scores) {
            candidate.fused = candidate.own_score + config.neighbour_weight * neighbour_score;
        }
        own_scores.sort_unstable_by(|a, b| b.total_cmp(a));
        let best_count = own_scores.len().min(config.document_best.max(1));
        let document_score = own_scores[..best_count].iter().sum::<f32>() / best_count as f32;
        for candidate in candidates {
            candidate.fused +=
                config.document_weight * document_score + config.coverage_weight * coverage / best;
        }
    }
}

/// Returns the mean own score of the chunks within `reach`.
fn mean_neighbour_score(own_scores: &[f32], chunks: &[u32], index: usize, reach: u32) -> f32 {
    let reach_index = reach as usize;
    let (first, last) = (
        index.saturating_sub(reach_index),
        (index + reach_index).min(own_scores.len() - 1),
    );
    let (mut sum, mut count) = (0.0, 0);
    for other in first..=last {
        if other != index && chunks[other].abs_diff(chunks[index]) <= reach {
            sum += own_scores[other];
            count += 1;
        }
    }

    if count == 0 {
        own_scores[index]
    } else {
        sum / count as f32
    }
}

/// Computes BM25 of a document from the best contribution of each term.
fn document_coverage(contributions: &[f32], range: std::ops::Range<usize>, width: usize) -> f32 {
    (0..width)
        .map(|term| {
            range
                .clone()
                .map(|index| contributions[index * width + term])
                .fold(0f32, f32::max)
        })
        .sum()
}
