//! Search for the chunks that answer a query, in one or several containers at once.
//!
//! 1. Every live chunk gets a BM25 score and a cosine (`lexical`, `vectors`). The best of both are
//!    candidates.
//! 2. Candidates, their neighbours and the other chunks of the best documents are scored in full
//!    (`candidates`): the own score combines BM25 and cosine, and the scores of the neighbours and
//!    the document raise it (`context`). Where vectors are missing, this is done with estimated cosines
//!    first, and again with those of the best candidates.
//! 3. The words of the best short chunks are compared with those of the query by their meaning
//!    (`meaning`), because a memory often answers in other words.
//! 4. The features of the best hits give the probability that the query is answered at all
//!    (`calibrate`).

mod admission;
mod calibrate;
mod candidates;
mod context;
mod lexical;
mod meaning;
#[cfg(test)]
mod naive;
mod top;
mod vectors;

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashSet;

use bytes::Bytes;

pub use calibrate::HitFeatures;

use crate::analysis::{QueryTerm, StemmerSet, query_terms};
use crate::config::RankingConfig;
use crate::error::{FirstError, SegmentError};
use crate::index::{ContainerIndex, DocumentView, IndexPart};
use crate::vector::{ModelRow, ModelVector, QuantizedVector};
use crate::vector_code::RotatedQuery;
use admission::FilterCache;
use candidates::{ChunksByPart, ScoredCandidates, ScoredChunk};
use lexical::LexicalQuery;
use top::ChunkScore;

/// A query.
#[derive(Clone, Copy)]
pub struct SearchQuery<'a> {
    /// The words to search for.
    pub text: &'a str,
    /// Their vector by the built-in embedder. [`QuantizedVector::ZERO`] searches by words alone.
    pub vector: QuantizedVector,
    /// Their vectors by models that the operator chose. A chunk with a vector of one of them is
    /// compared by it, and any other chunk by the built-in vector.
    pub models: &'a [QueryModel],
    /// The most hits to return.
    pub limit: usize,
    /// Returns more hits if one of the first ones calls for it.
    pub wider: Option<WiderLimit<'a>>,
    /// A filter of documents. It is called at most once per document, and only for documents that
    /// could be hits.
    pub admit: Option<&'a dyn Fn(&DocumentView<'_>) -> bool>,
    /// The time in milliseconds at which documents must not have expired; `None` to find expired ones
    /// as well.
    pub live_at: Option<i64>,
    /// The id of the only document to search.
    pub only_document: Option<&'a str>,
    /// The parameters of ranking.
    pub config: RankingConfig,
}

impl<'a> SearchQuery<'a> {
    /// Creates a query for ten hits in all documents.
    #[must_use]
    pub fn new(text: &'a str, vector: QuantizedVector) -> Self {
        Self {
            text,
            vector,
            models: &[],
            limit: 10,
            wider: None,
            admit: None,
            live_at: None,
            only_document: None,
            config: RankingConfig::default(),
        }
    }
}

/// A limit that replaces that of a query. Hits beyond that of the query may have estimated scores, where
/// vectors are missing.
#[derive(Clone, Copy)]
pub struct WiderLimit<'a> {
    /// The most hits to return then.
    pub limit: usize,
    /// Checks whether a hit within the limit of the query calls for more hits.
    pub is_wanted: &'a dyn Fn(&SearchHit) -> bool,
}

/// The vector of a query by a model, and the calibration of its cosines.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryModel {
    /// The vector.
    pub vector: ModelVector,
    /// The conversion of the model's cosines to the scale of the built-in embedder.
    pub scale: CosineScale,
}

impl QueryModel {
    /// Returns the similarity of a chunk's vector on the scale of the built-in embedder, or `None`
    /// if it is of another model.
    fn similarity(&self, row: &ModelRow<'_>) -> Option<f32> {
        let query = self.vector.row();
        query
            .is_comparable(row)
            .then(|| self.scale.convert(query.cosine(row)))
    }
}

/// A linear conversion of the cosines of one model to the scale of another.
///
/// Models differ in the cosines that they give to unrelated and to related texts. After the
/// conversion, chunks with vectors of different models can be ranked together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineScale {
    factor: f32,
    offset: f32,
}

impl CosineScale {
    /// The conversion that changes nothing.
    pub const IDENTITY: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };
    /// The range of factors: a model that hardly tells related texts from unrelated ones must not
    /// have its noise amplified.
    const FACTORS: std::ops::RangeInclusive<f32> = 0.25..=8.0;

    /// Returns the conversion by which the mean cosines of unrelated and of related texts become
    /// those of the other model.
    #[must_use]
    pub fn between(from: CosineLevels, to: CosineLevels) -> Self {
        let distance = (from.related - from.unrelated).max(f32::MIN_POSITIVE);
        let factor = ((to.related - to.unrelated) / distance)
            .clamp(*Self::FACTORS.start(), *Self::FACTORS.end());
        Self {
            factor,
            offset: to.unrelated - factor * from.unrelated,
        }
    }

    /// Converts a cosine, -1..=1.
    #[must_use]
    pub fn convert(&self, cosine: f32) -> f32 {
        (self.factor * cosine + self.offset).clamp(-1.0, 1.0)
    }
}

/// The mean cosines of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineLevels {
    /// The mean of unrelated texts.
    pub unrelated: f32,
    /// The mean of questions and their answers.
    pub related: f32,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The index of the hit's container in the slice that was searched.
    pub container: usize,
    /// The id of the hit's document.
    pub document: String,
    /// The document's attributes.
    pub attributes: Bytes,
    /// The caller's number of the chunk.
    pub position: u32,
    /// The chunk's text.
    pub text: String,
    /// Its headings.
    pub headings: String,
    /// The start of the text in its document.
    pub start: u32,
    /// The end of the text.
    pub end: u32,
    /// The components of the score.
    pub scores: HitScores,
    /// The similarity, 0..=1. At least 0.6 means that this is probably an answer. Hits are sorted
    /// by it.
    pub similarity: f32,
}

/// The components of a hit's score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HitScores {
    /// The BM25 score.
    pub lexical: f32,
    /// The cosine, -1..=1.
    pub vector: f32,
    /// The amount that neighbours and document added to the own score.
    pub context: f32,
    /// The score by which the hits were sorted.
    pub fused: f32,
}

/// The hits of a query, with the features of the best ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The input of the calibration.
    pub features: HitFeatures,
}

/// The partial results of a search that lacked pages. The search of the same containers with the same query is
/// continued with them.
#[derive(Debug, Default)]
pub struct SearchProgress {
    /// The nearest chunks by vector.
    nearest: Option<Vec<ChunkScore>>,
    /// The chunks that are scored in full.
    candidates: Option<ChunksByPart>,
}

impl SearchProgress {
    /// Returns what is kept, or finds it and keeps it. What would change when more is fetched is not kept:
    /// what a filter has admitted, and the order of documents whose ids are missing.
    fn keep<T: Clone>(
        kept: &mut Option<T>,
        scope: &SearchScope<'_>,
        query: &SearchQuery<'_>,
        find: impl FnOnce() -> Result<T, SegmentError>,
    ) -> Result<T, SegmentError> {
        if let Some(kept) = kept {
            return Ok(kept.clone());
        }
        let found = find()?;
        if query.admit.is_none() && scope.knows_order() {
            *kept = Some(found.clone());
        }
        Ok(found)
    }
}

/// Searches `containers` as if they were one.
///
/// # Errors
/// As [`continue_search`].
pub fn search_containers(
    containers: &[&ContainerIndex],
    query: &SearchQuery<'_>,
) -> Result<SearchOutcome, SegmentError> {
    continue_search(containers, query, &mut SearchProgress::default())
}

/// Searches `containers` as if they were one. If something is missing, `progress` has what was found without
/// it, for another call.
///
/// # Errors
/// [`SegmentError::Corrupt`] if the stored text of a hit cannot be read, and
/// [`SegmentError::NotFetched`] if segments of which only the core is known lack something. Each step
/// asks for everything that it lacks, so a caller that fetches it and searches again does so a few times.
pub fn continue_search(
    containers: &[&ContainerIndex],
    query: &SearchQuery<'_>,
    progress: &mut SearchProgress,
) -> Result<SearchOutcome, SegmentError> {
    let scope = SearchScope::new(containers, &query.vector);
    if scope.chunks == 0 || query.limit == 0 {
        return Ok(SearchOutcome::default());
    }

    let terms = query_terms(query.text, scope.stemmers);
    let mut admission = FilterCache::new(&scope, query);
    let lexical = LexicalQuery::new(&scope, &terms, &query.config);
    let nearest = SearchProgress::keep(&mut progress.nearest, &scope, query, || {
        match query.only_document {
            Some(_) => Ok(Vec::new()),
            None => candidates::find_nearest(&scope, query, &mut admission),
        }
    });
    // Both are read before either fails, so that both are asked for.
    let (lexical, nearest) = (lexical?, nearest?);
    let found = SearchProgress::keep(&mut progress.candidates, &scope, query, || {
        match query.only_document {
            Some(id) => candidates::chunks_of_document(&scope, id, &mut admission),
            None => candidates::find_candidates(&scope, query, &lexical, nearest, &mut admission),
        }
    })?;

    let mut scored = candidates::score_candidates(&scope, query, &lexical, &terms, found)?;
    if let Err(error) = complete_scores(&scope, query, &terms, &lexical, &mut scored) {
        ask_for_hits(&scope, query, &scored);
        return Err(error);
    }
    let features = calibrate::compute_features(&scope, &scored, &lexical, &terms);

    scored
        .candidates
        .sort_by(|a, b| compare_scored(&scope, (b.fused, b), (a.fused, a)));
    let hits = build_hits(&scope, query, &scored.candidates, &features)?;
    scope.check_order()?;
    Ok(SearchOutcome { hits, features })
}

/// Adds what raises the own scores of candidates: their context, and words of the same meaning.
///
/// # Errors
/// [`SegmentError::Corrupt`] if the stored text of a chunk cannot be read, and
/// [`SegmentError::NotFetched`] if some vectors or texts are missing.
fn complete_scores(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    terms: &[QueryTerm],
    lexical: &LexicalQuery<'_>,
    scored: &mut ScoredCandidates,
) -> Result<(), SegmentError> {
    context::apply_context(scored, lexical, &query.config);
    while candidates::replace_estimates(scope, query, lexical, scored)? {
        context::apply_context(scored, lexical, &query.config);
    }
    meaning::apply_meaning(scope, query, terms, lexical, scored)
}

/// Asks for everything that the best candidates so far lack: the hits are probably among them, so that
/// they are fetched together with what their scores lack.
fn ask_for_hits(scope: &SearchScope<'_>, query: &SearchQuery<'_>, scored: &ScoredCandidates) {
    for index in candidates::select_best(scope, scored, candidates::exact_count(query)) {
        _ = build_hit(scope, &scored.candidates[index], 0.0);
    }
}

/// Returns the hits of candidates, which are sorted.
fn build_hits(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    candidates: &[ScoredChunk],
    features: &HitFeatures,
) -> Result<Vec<SearchHit>, SegmentError> {
    let calibration = &query.config.calibration;
    let confidence = calibration.query_confidence(features);
    let best = candidates.first().map_or(0.0, |candidate| candidate.fused);

    let mut first_error = FirstError::default();
    let mut hits = Vec::with_capacity(query.limit.min(candidates.len()));
    let mut limit = query.limit;
    let mut wider = query.wider;
    for (rank, candidate) in candidates.iter().enumerate() {
        if rank == limit {
            break;
        }
        let similarity = calibration.hit_similarity(confidence, candidate.fused, best);
        let Some(hit) = first_error.ok(build_hit(scope, candidate, similarity)) else {
            continue;
        };
        if let Some(wanted) = wider.take_if(|wider| (wider.is_wanted)(&hit)) {
            limit = limit.max(wanted.limit);
        }
        hits.push(hit);
    }
    first_error.into_result()?;

    Ok(hits)
}

fn build_hit(
    scope: &SearchScope<'_>,
    candidate: &ScoredChunk,
    similarity: f32,
) -> Result<SearchHit, SegmentError> {
    let part = scope.parts[candidate.part].1;
    let document = part.document_of(candidate.chunk);
    // All are read before one fails, so that all are asked for.
    let (chunk, attributes) = (part.chunk(candidate.chunk), part.attributes_of(document));
    let id = part.id(document);
    let (chunk, attributes, id) = (chunk?, attributes?, id?);

    Ok(SearchHit {
        container: scope.parts[candidate.part].0,
        document: id.into_owned(),
        attributes,
        position: chunk.position,
        text: chunk.text,
        headings: chunk.headings,
        start: chunk.start,
        end: chunk.end,
        scores: HitScores {
            lexical: candidate.lexical,
            vector: candidate.cosine,
            context: candidate.fused - candidate.own_score,
            fused: candidate.fused,
        },
        similarity,
    })
}

/// The parts that are searched, with statistics of all of them.
pub(crate) struct SearchScope<'a> {
    /// The parts, each with the index of its container.
    parts: Vec<(usize, &'a IndexPart)>,
    chunks: usize,
    mean_length: f32,
    stemmers: StemmerSet,
    /// For each part whether cosines are estimated. Decided once, because its vectors may arrive meanwhile.
    estimated: Vec<bool>,
    /// The vector of the query, for estimates.
    rotated_query: RotatedQuery,
    /// The inverse norm of the vector of the query.
    inverse_norm: f32,
    /// The documents that could not be compared by their ids.
    without_ids: RefCell<HashSet<(usize, u32)>>,
    /// The reason why the first of them could not.
    order_error: RefCell<FirstError>,
}

impl<'a> SearchScope<'a> {
    fn new(containers: &[&'a ContainerIndex], query: &QuantizedVector) -> Self {
        let numbered = containers.iter().enumerate();
        let parts: Vec<(usize, &IndexPart)> = numbered
            .flat_map(|(number, container)| container.parts().map(move |part| (number, part)))
            .filter(|(_, part)| part.liveness.chunks > 0)
            .collect();
        let estimated = parts.iter().map(|(_, part)| part.has_estimates()).collect();
        let chunks = parts
            .iter()
            .map(|(_, part)| part.liveness.chunks)
            .sum::<usize>();
        let length: u64 = parts
            .iter()
            .map(|(_, part)| part.liveness.total_length)
            .sum();
        let stemmers = parts.iter().fold(StemmerSet::default(), |set, (_, part)| {
            StemmerSet(set.0 | part.liveness.stemmers().0)
        });

        Self {
            parts,
            chunks,
            mean_length: (length as f32 / chunks.max(1) as f32).max(1.0),
            stemmers,
            estimated,
            rotated_query: RotatedQuery::of(query),
            inverse_norm: query.inverse_norm(),
            without_ids: RefCell::default(),
            order_error: RefCell::default(),
        }
    }

    /// Compares chunks by container, document and position in the document. Documents are compared by the
    /// hash of their ids, which is known of all of them, and then by their ids.
    fn compare_places<T: ChunkPlace>(&self, a: &T, b: &T) -> Ordering {
        let place = |chunk: &T| {
            let (container, part) = self.parts[chunk.part()];
            let document = part.document_of(chunk.chunk());
            (container, part.id_hash(document), document)
        };
        let (container_a, hash_a, document_a) = place(a);
        let (container_b, hash_b, document_b) = place(b);
        if (a.part(), document_a) == (b.part(), document_b) {
            return a.chunk().cmp(&b.chunk());
        }

        let known = (container_a, hash_a).cmp(&(container_b, hash_b));
        known.then_with(|| {
            let (id_a, id_b) = (
                self.known_id(a.part(), document_a),
                self.known_id(b.part(), document_b),
            );
            (id_a, a.part(), document_a).cmp(&(id_b, b.part(), document_b))
        })
    }

    /// Returns the id of a document, unless it could not be read once: the order of documents must not
    /// change while they are sorted.
    fn known_id(&self, part: usize, document: u32) -> Option<Cow<'_, str>> {
        let mut without_ids = self.without_ids.borrow_mut();
        if without_ids.contains(&(part, document)) {
            return None;
        }
        let id = self.parts[part].1.id(document);
        let id = self.order_error.borrow_mut().ok(id);
        if id.is_none() {
            without_ids.insert((part, document));
        }
        id
    }

    /// Checks whether all documents so far could be compared.
    fn knows_order(&self) -> bool {
        self.without_ids.borrow().is_empty()
    }

    /// Checks whether all documents that had to be compared by their ids were.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some ids are missing; all that are were asked for.
    fn check_order(&self) -> Result<(), SegmentError> {
        self.order_error.take().into_result()
    }
}

/// A value that belongs to a chunk of a part.
pub(crate) trait ChunkPlace {
    fn part(&self) -> usize;
    fn chunk(&self) -> u32;
}

/// Compares scores; greater is better. Ties are broken by container, document (the hash of its id, then the
/// id) and position in the document, independently of the layout.
pub(crate) fn compare_scored<T: ChunkPlace>(
    scope: &SearchScope<'_>,
    a: (f32, &T),
    b: (f32, &T),
) -> Ordering {
    a.0.total_cmp(&b.0)
        .then_with(|| scope.compare_places(b.1, a.1))
}
