//! BM25 with statistics of the live chunks of all parts.

use super::SearchScope;
use super::admission::FilterCache;
use super::top::{ChunkScore, TopChunks};
use crate::analysis::QueryTerm;
use crate::config::RankingConfig;
use crate::error::{FirstError, SegmentError};
use crate::segment::PostingList;

/// The terms of a query with their postings in the parts.
pub(super) struct LexicalQuery<'a> {
    /// The postings by term and part.
    postings: Vec<Vec<Option<PostingList<'a>>>>,
    /// The inverse document frequency of each term in BM25.
    pub(super) idf: Vec<f32>,
    /// The weight of each term. Unlike the inverse document frequency, it assumes at least
    /// [`SMALLEST_POPULATION`] chunks.
    pub(super) weights: Vec<f32>,
    pub(super) identifiers: Vec<bool>,
    /// True for the terms that are numbers.
    pub(super) numbers: Vec<bool>,
    saturation: TermSaturation,
}

/// The part of BM25 that does not depend on the term.
#[derive(Clone, Copy)]
struct TermSaturation {
    k1: f32,
    constant: f32,
    per_word: f32,
}

impl TermSaturation {
    #[inline(always)]
    fn apply(self, frequency: u32, length: u16) -> f32 {
        let frequency = frequency as f32;
        frequency * (self.k1 + 1.0)
            / (frequency + self.constant + self.per_word * f32::from(length))
    }
}

/// The number of chunks that a smaller container is assumed to be a sample of, when the weight of a
/// term is estimated.
const SMALLEST_POPULATION: usize = 100;

/// The share of its weight that a pair of characters keeps if it is mostly grammar.
const WEAK_SHARE: f32 = 0.25;

/// A word is rare in a container if at most one of this many chunks contains it.
const RARE_SHARE: usize = 1_000;
/// The number of chunks that may contain a rare word in a small container: a name or a code word,
/// and what is said about it.
const RARE_CHUNKS: usize = 3;

impl<'a> LexicalQuery<'a> {
    /// Reads the postings of the terms.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some are missing; all that are were asked for.
    pub(super) fn new(
        scope: &SearchScope<'a>,
        terms: &[QueryTerm],
        config: &RankingConfig,
    ) -> Result<Self, SegmentError> {
        let mut first_error = FirstError::default();
        let mut postings: Vec<Vec<Option<PostingList<'a>>>> = Vec::with_capacity(terms.len());
        for term in terms {
            let lists = scope.parts.iter().map(|(_, part)| {
                let list = find_postings(part, term);
                first_error.ok(list).flatten()
            });
            postings.push(lists.collect());
        }
        first_error.into_result()?;

        let frequencies: Vec<usize> = postings
            .iter()
            .map(|lists| count_live_chunks(scope, lists))
            .collect();
        let saturation = TermSaturation {
            k1: config.k1,
            constant: config.k1 * (1.0 - config.b),
            per_word: config.k1 * config.b / scope.mean_length,
        };

        Ok(Self {
            postings,
            idf: frequencies
                .iter()
                .map(|&frequency| inverse_document_frequency(frequency, scope.chunks))
                .collect(),
            weights: weigh_terms(terms, &frequencies, scope.chunks),
            numbers: terms.iter().map(is_number).collect(),
            identifiers: mark_identifiers(terms, &frequencies, scope.chunks),
            saturation,
        })
    }

    /// Computes BM25 of every chunk of `part`.
    pub(super) fn accumulate(&self, scope: &SearchScope<'_>, part: usize) -> Vec<f32> {
        let lengths = scope.parts[part].1.lengths();
        let mut scores = vec![0f32; lengths.len()];
        for (term, lists) in self.postings.iter().enumerate() {
            let Some(list) = &lists[part] else { continue };
            let idf = self.idf[term];
            list.for_each_block(|chunks, frequencies| {
                for (&chunk, &frequency) in chunks.iter().zip(frequencies) {
                    let chunk = chunk as usize;
                    if let (Some(score), Some(&length)) =
                        (scores.get_mut(chunk), lengths.get(chunk))
                    {
                        *score += idf * self.saturation.apply(frequency, length);
                    }
                }
            });
        }

        scores
    }

    /// Offers every scored chunk to `top`.
    pub(super) fn select(
        scope: &SearchScope<'_>,
        part: usize,
        scores: &[f32],
        admission: &mut FilterCache<'_>,
        top: &mut TopChunks,
    ) {
        const STRIDE: usize = 64;

        for (block, chunk_scores) in scores.chunks(STRIDE).enumerate() {
            let best = chunk_scores
                .iter()
                .fold(0f32, |best, &score| best.max(score));
            if best < top.threshold || best <= 0.0 {
                continue;
            }
            for (offset, &score) in chunk_scores.iter().enumerate() {
                if score > 0.0 && score >= top.threshold {
                    let chunk = (block * STRIDE + offset) as u32;
                    top.offer(scope, admission, ChunkScore { part, chunk, score });
                }
            }
        }
    }

    /// Returns the contribution of each term to the BM25 of `chunks` (ascending) of `part`, one row
    /// per chunk.
    pub(super) fn contributions(
        &self,
        scope: &SearchScope<'_>,
        part: usize,
        chunks: &[u32],
    ) -> Vec<f32> {
        let (width, lengths) = (self.idf.len(), scope.parts[part].1.lengths());
        let mut rows = vec![0f32; chunks.len() * width];
        for (term, lists) in self.postings.iter().enumerate() {
            let Some(list) = &lists[part] else { continue };
            list.intersect(chunks, |index, frequency| {
                let length = lengths[chunks[index] as usize];
                rows[index * width + term] =
                    self.idf[term] * self.saturation.apply(frequency, length);
            });
        }
        rows
    }
}

/// Returns the weight of each term. A pair of characters that is mostly grammar says little.
fn weigh_terms(terms: &[QueryTerm], frequencies: &[usize], chunks: usize) -> Vec<f32> {
    let mut weights = Vec::with_capacity(terms.len());
    for (term, &frequency) in terms.iter().zip(frequencies) {
        let weight = inverse_document_frequency(frequency, chunks.max(SMALLEST_POPULATION));
        weights.push(if term.is_weak {
            weight * WEAK_SHARE
        } else {
            weight
        });
    }

    weights
}

fn find_postings<'a>(
    part: &'a crate::index::IndexPart,
    term: &QueryTerm,
) -> Result<Option<PostingList<'a>>, SegmentError> {
    let mut first_error = FirstError::default();
    let mut lists: Vec<PostingList<'a>> = Vec::new();
    for variant in &term.variants {
        lists.extend(first_error.ok(part.postings(variant)).flatten());
    }
    first_error.into_result()?;

    if lists.len() > 1 {
        Ok(Some(PostingList::union(&lists)))
    } else {
        Ok(lists.pop())
    }
}

/// Marks the terms that name something, so that the chunks with them come first: whole identifiers,
/// and a rare word that is the whole query. The vector of an unknown word has little meaning,
/// because its pieces are close to those of any other.
fn mark_identifiers(terms: &[QueryTerm], frequencies: &[usize], chunks: usize) -> Vec<bool> {
    let max_chunks = (chunks / RARE_SHARE).max(RARE_CHUNKS);
    let is_named = |frequency: usize| (1..=max_chunks).contains(&frequency);
    match (terms, frequencies) {
        ([only], [frequency]) => vec![only.is_identifier || is_named(*frequency)],
        _ => terms.iter().map(|term| term.is_identifier).collect(),
    }
}

fn is_number(term: &QueryTerm) -> bool {
    !term.word.is_empty() && term.word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Counts the live chunks in `lists`, which has one list per part.
fn count_live_chunks(scope: &SearchScope<'_>, lists: &[Option<PostingList<'_>>]) -> usize {
    let mut total = 0;
    for (list, (_, part)) in lists.iter().zip(&scope.parts) {
        let Some(list) = list else { continue };
        if part.liveness.has_deletions {
            list.for_each_block(|chunks, _| {
                total += chunks
                    .iter()
                    .filter(|&&chunk| !part.liveness.is_deleted_chunk(chunk))
                    .count();
            });
        } else {
            total += list.count() as usize;
        }
    }

    total
}

fn inverse_document_frequency(frequency: usize, population: usize) -> f32 {
    let (frequency, population) = (frequency as f32, population as f32);
    (1.0 + (population - frequency + 0.5) / (frequency + 0.5)).ln()
}
