//! The candidates that are scored in full, and their own scores.

use std::collections::{BTreeSet, HashSet};

use super::admission::FilterCache;
use super::lexical::LexicalQuery;
use super::top::{ChunkScore, TopChunks};
use super::{ChunkPlace, SearchQuery, SearchScope, compare_scored, vectors};
use crate::analysis::QueryTerm;
use crate::error::{FirstError, SegmentError};

/// A chunk with its scores.
#[derive(Debug, Clone)]
pub(crate) struct ScoredChunk {
    pub(super) part: usize,
    pub(super) chunk: u32,
    pub(super) lexical: f32,
    pub(super) cosine: f32,
    /// True if the cosine is an estimate.
    is_estimated: bool,
    /// The score of the chunk by itself.
    pub(super) own_score: f32,
    /// The score with its context.
    pub(super) fused: f32,
}

impl ChunkPlace for ScoredChunk {
    fn part(&self) -> usize {
        self.part
    }

    fn chunk(&self) -> u32 {
        self.chunk
    }
}

/// The candidates in the order of part and chunk, so that those of a document are adjacent.
pub(super) struct ScoredCandidates {
    pub(super) candidates: Vec<ScoredChunk>,
    /// The ranges of `candidates`, one per document.
    pub(super) documents: Vec<std::ops::Range<usize>>,
    /// The contributions of each term to the BM25 of each candidate, one row per candidate.
    pub(super) contributions: Vec<f32>,
    /// The nearness of each term to the words of each candidate, in the same rows: 1 for the same
    /// word, 0 if no word is near.
    pub(super) nearness: Vec<f32>,
}

impl ScoredCandidates {
    /// Returns the candidates of the document of a candidate.
    pub(super) fn of_same_document(&self, index: usize) -> std::ops::Range<usize> {
        let document = self.documents.partition_point(|range| range.end <= index);
        self.documents[document].clone()
    }
}

/// The numbers of found chunks by part, ascending.
pub(super) type ChunksByPart = Vec<Vec<u32>>;

/// Returns all chunks of one document.
///
/// # Errors
/// [`SegmentError::NotFetched`] if its id is missing; it was asked for.
pub(super) fn chunks_of_document(
    scope: &SearchScope<'_>,
    id: &str,
    admission: &mut FilterCache<'_>,
) -> Result<ChunksByPart, SegmentError> {
    let mut found = vec![Vec::new(); scope.parts.len()];
    for (number, (_, part)) in scope.parts.iter().enumerate() {
        if let Some(document) = part.find(id)?
            && admission.admits_document(scope, number, document)
        {
            found[number] = part.chunks_of(document).collect();
        }
    }
    Ok(found)
}

/// Returns the chunks that are nearest to the query by vector.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn find_nearest(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
) -> Result<Vec<ChunkScore>, SegmentError> {
    let count = candidate_count(query, query.config.vector_candidates);
    let mut top = TopChunks::new(count, f32::MIN_POSITIVE);
    if query.vector != crate::QuantizedVector::ZERO || !query.models.is_empty() {
        vectors::offer_nearest(scope, query, admission, &mut top)?;
    }
    Ok(top.finish(scope))
}

/// Returns the number of candidates of one kind.
fn candidate_count(query: &SearchQuery<'_>, minimum: usize) -> usize {
    minimum.max(query.limit * 4)
}

/// Returns the best chunks by words and those that are nearest by vector, their neighbours, and all
/// chunks of the best documents.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn find_candidates(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    lexical: &LexicalQuery<'_>,
    nearest: Vec<ChunkScore>,
    admission: &mut FilterCache<'_>,
) -> Result<ChunksByPart, SegmentError> {
    let config = &query.config;
    let count = candidate_count(query, config.lexical_candidates);
    let mut lexical_top = TopChunks::new(count, 0.0);
    let mut scores = Vec::with_capacity(scope.parts.len());
    for part in 0..scope.parts.len() {
        let part_scores = lexical.accumulate(scope, part);
        LexicalQuery::select(scope, part, &part_scores, admission, &mut lexical_top);
        scores.push(part_scores);
    }

    let lexical_top = lexical_top.finish(scope);
    let best = lexical_top
        .iter()
        .fold(0f32, |best, scored| best.max(scored.score))
        .max(f32::MIN_POSITIVE);
    let mut ranked: Vec<ChunkScore> = lexical_top.into_iter().chain(nearest).collect();
    ranked.sort_unstable_by_key(|scored| (scored.part, scored.chunk));
    ranked.dedup_by_key(|scored| (scored.part, scored.chunk));
    let mut first_error = FirstError::default();
    for scored in &mut ranked {
        let lexical = scores[scored.part][scored.chunk as usize] / best;
        let cosine = vectors::chunk_cosine(scope, scored.part, query, scored.chunk);
        let cosine = first_error.ok(cosine).map_or(0.0, |cosine| cosine.value);
        scored.score = config.lexical_weight * lexical + (1.0 - config.lexical_weight) * cosine;
    }
    first_error.into_result()?;

    ranked.sort_unstable_by(|a, b| compare_scored(scope, (b.score, b), (a.score, a)));
    Ok(expand_candidates(scope, query, &ranked))
}

fn expand_candidates(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    ranked: &[ChunkScore],
) -> ChunksByPart {
    let config = &query.config;
    let mut found = vec![Vec::new(); scope.parts.len()];
    let mut documents = HashSet::new();
    for scored in ranked {
        let part = scope.parts[scored.part].1;
        let document = part.document_of(scored.chunk);
        let range = part.chunks_of(document);
        let seen = documents.contains(&(scored.part, document));
        if !seen
            && documents.len() < config.expanded_documents
            && range.len() as u32 <= config.expanded_chunks
        {
            documents.insert((scored.part, document));
            found[scored.part].extend(range);
        } else if !seen {
            let first = scored
                .chunk
                .saturating_sub(config.neighbour_reach)
                .max(range.start);
            let last = (scored.chunk + config.neighbour_reach).min(range.end - 1);
            found[scored.part].extend(first..=last);
        }
    }

    for chunks in &mut found {
        chunks.sort_unstable();
        chunks.dedup();
    }

    found
}

/// Scores the chunks of `found` by themselves.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn score_candidates(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    lexical: &LexicalQuery<'_>,
    terms: &[QueryTerm],
    found: ChunksByPart,
) -> Result<ScoredCandidates, SegmentError> {
    let width = terms.len();
    let mut first_error = FirstError::default();
    let mut scored = ScoredCandidates {
        candidates: Vec::new(),
        documents: Vec::new(),
        contributions: Vec::new(),
        nearness: Vec::new(),
    };

    for (part, chunks) in found.iter().enumerate() {
        let rows = lexical.contributions(scope, part, chunks);
        for (index, &chunk) in chunks.iter().enumerate() {
            let row = &rows[index * width..(index + 1) * width];
            let cosine = vectors::chunk_cosine(scope, part, query, chunk);
            let Some(cosine) = first_error.ok(cosine) else {
                continue;
            };
            scored.candidates.push(ScoredChunk {
                part,
                chunk,
                lexical: row.iter().sum(),
                cosine: cosine.value,
                is_estimated: cosine.is_estimated,
                own_score: 0.0,
                fused: 0.0,
            });
        }
        scored.contributions.extend(rows);
    }
    first_error.into_result()?;

    for &contribution in &scored.contributions {
        let is_held = contribution > 0.0;
        scored.nearness.push(if is_held { 1.0 } else { 0.0 });
    }
    fuse_scores(query, lexical, &mut scored);
    group_by_document(scope, &mut scored);

    Ok(scored)
}

/// Returns the number of best candidates whose cosines must be exact. More than the limit, because exact
/// cosines change their order.
pub(super) fn exact_count(query: &SearchQuery<'_>) -> usize {
    query.config.exact_candidates.max(query.limit * 3 / 2)
}

/// Replaces the estimated cosines of the best candidates, and of others of their documents, by exact ones,
/// and scores all candidates by themselves again. Returns `false` if none of those within the limit of
/// the query was estimated.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn replace_estimates(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    lexical: &LexicalQuery<'_>,
    scored: &mut ScoredCandidates,
) -> Result<bool, SegmentError> {
    if !scope.estimated.contains(&true) {
        return Ok(false);
    }
    let is_estimated = |index: &usize| scored.candidates[*index].is_estimated;
    if !select_best(scope, scored, query.limit)
        .iter()
        .any(is_estimated)
    {
        return Ok(false);
    }

    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for best in select_best(scope, scored, exact_count(query)) {
        chosen.extend(scored.of_same_document(best).filter(is_estimated));
    }
    let mut first_error = FirstError::default();
    for index in chosen {
        let candidate = &mut scored.candidates[index];
        let exact = vectors::exact_cosine(scope, candidate.part, query, candidate.chunk);
        if let Some(cosine) = first_error.ok(exact) {
            candidate.cosine = cosine;
            candidate.is_estimated = false;
        }
    }
    first_error.into_result()?;

    fuse_scores(query, lexical, scored);
    Ok(true)
}

/// Returns the `count` best candidates in arbitrary order.
pub(super) fn select_best(
    scope: &SearchScope<'_>,
    scored: &ScoredCandidates,
    count: usize,
) -> Vec<usize> {
    let candidates = &scored.candidates;
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    if count > 0 && order.len() > count {
        order.select_nth_unstable_by(count - 1, |&a, &b| {
            compare_scored(
                scope,
                (candidates[b].fused, &candidates[b]),
                (candidates[a].fused, &candidates[a]),
            )
        });
    }
    order.truncate(count);

    order
}

fn fuse_scores(query: &SearchQuery<'_>, lexical: &LexicalQuery<'_>, scored: &mut ScoredCandidates) {
    let width = lexical.weights.len();
    let weight = query.config.lexical_weight;
    let best = scored
        .candidates
        .iter()
        .fold(0f32, |best, c| best.max(c.lexical))
        .max(f32::MIN_POSITIVE);
    let identifier_weight: f32 = sum_where(&lexical.weights, &lexical.identifiers);

    for (index, candidate) in scored.candidates.iter_mut().enumerate() {
        candidate.own_score = weight * candidate.lexical / best + (1.0 - weight) * candidate.cosine;
        if identifier_weight > 0.0 {
            let row = &scored.contributions[index * width..(index + 1) * width];
            let is_matched = row
                .iter()
                .zip(&lexical.identifiers)
                .map(|(&value, &is_identifier)| is_identifier && value > 0.0);
            let is_matched: Vec<bool> = is_matched.collect();
            candidate.own_score += query.config.identifier_bonus
                * sum_where(&lexical.weights, &is_matched)
                / identifier_weight;
        }
    }
}

fn sum_where(values: &[f32], mask: &[bool]) -> f32 {
    values
        .iter()
        .zip(mask)
        .map(|(&value, &is_included)| if is_included { value } else { 0.0 })
        .sum()
}

fn group_by_document(scope: &SearchScope<'_>, scored: &mut ScoredCandidates) {
    let candidates = &scored.candidates;
    let mut start = 0;
    while start < candidates.len() {
        let part = scope.parts[candidates[start].part].1;
        let chunks = part.chunks_of(part.document_of(candidates[start].chunk));
        let is_same_document =
            |c: &&ScoredChunk| c.part == candidates[start].part && c.chunk < chunks.end;
        let end = start
            + candidates[start..]
                .iter()
                .take_while(is_same_document)
                .count();
        scored.documents.push(start..end);
        start = end;
    }
}
