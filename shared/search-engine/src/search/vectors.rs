//! The nearest chunks by cosine: from an exact scan of int8 rows in small parts, and of the rows that
//! sign bits choose in large ones. Where vectors may be missing, cosines are estimated from codes.

use super::admission::FilterCache;
use super::top::{ChunkScore, TopChunks};
use super::{SearchQuery, SearchScope};
use crate::error::{FirstError, SegmentError};
use crate::kernel;
use crate::vector::{DIMENSIONS, QuantizedVector};

const STRIDE: usize = 1_024;

/// The similarity of a chunk's vector with the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkCosine {
    /// The cosine, -1..=1.
    pub(super) value: f32,
    /// True if it is an estimate, because the vector may be missing.
    pub(super) is_estimated: bool,
}

impl ChunkCosine {
    fn exact(value: f32) -> Self {
        Self {
            value,
            is_estimated: false,
        }
    }
}

/// Offers the chunks of `part` to `top`, at least the nearest ones.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn offer_nearest(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) -> Result<(), SegmentError> {
    let source = scope.parts[part].1;
    let has_models = source.model_names().any(|name| {
        let mut models = query.models.iter();
        models.any(|model| model.vector.model() == name)
    });
    let is_large = source.len_chunks() >= query.config.prefilter_from;
    match (scope.estimated[part], has_models) {
        (true, true) => {
            let all = 0..source.len_chunks() as u32;
            offer_chunks(scope, part, query, admission, top, all)
        }
        (true, false) => offer_by_signs(scope, part, query, admission, top),
        (false, false) if is_large && !source.signs()?.is_empty() => {
            offer_by_signs(scope, part, query, admission, top)
        }
        (false, _) => offer_all(scope, part, query, has_models, admission, top),
    }
}

/// Offers all chunks by their exact cosines, or by the vectors of models.
fn offer_all(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    has_models: bool,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) -> Result<(), SegmentError> {
    let source = scope.parts[part].1;
    let mut buffer = [0f32; STRIDE];
    let vectors = source.vectors()?;
    let rows = vectors.chunks(STRIDE * DIMENSIONS);

    for (block, (rows, norms)) in rows.zip(source.inverse_norms()?.chunks(STRIDE)).enumerate() {
        let cosines = &mut buffer[..norms.len()];
        kernel::write_cosines(&query.vector, rows, norms, cosines);
        if has_models {
            for (offset, cosine) in cosines.iter_mut().enumerate() {
                let chunk = (block * STRIDE + offset) as u32;
                if let Some(similarity) = model_similarity(scope, part, query, chunk) {
                    *cosine = similarity;
                }
            }
        }
        for (offset, &score) in cosines.iter().enumerate() {
            if score >= top.threshold {
                let chunk = (block * STRIDE + offset) as u32;
                top.offer(scope, admission, ChunkScore { part, chunk, score });
            }
        }
    }
    Ok(())
}

/// Offers the rows whose signs differ least from the query's. Rows that cannot be hits are left out
/// before the cut, so that a narrow filter still gets its nearest chunks.
fn offer_by_signs(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) -> Result<(), SegmentError> {
    let source = scope.parts[part].1;
    let mut distances = vec![0u8; source.len_chunks()];
    let query_signs = match source.has_codes() {
        true => scope.rotated_query.sign_bits(),
        false => query.vector.sign_bits(),
    };
    kernel::write_sign_distances(&query_signs, source.signs()?, &mut distances);
    if admission.filters() || source.liveness.has_deletions {
        for (chunk, distance) in distances.iter_mut().enumerate() {
            if !admission.admits_chunk(scope, part, chunk as u32) {
                *distance = u8::MAX;
            }
        }
    }

    let keep = query.config.prefilter_keep.max(top.size);
    let cutoff = distance_cutoff(&distances, keep);
    let near = (0..)
        .zip(&distances)
        .filter(|(_, distance)| **distance <= cutoff);
    let near = near.map(|(chunk, _)| chunk);
    offer_chunks(scope, part, query, admission, top, near)
}

/// Offers these chunks.
fn offer_chunks(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
    chunks: impl Iterator<Item = u32>,
) -> Result<(), SegmentError> {
    let mut first_error = FirstError::default();
    for chunk in chunks {
        let cosine = chunk_cosine(scope, part, query, chunk);
        if let Some(ChunkCosine { value: score, .. }) = first_error.ok(cosine) {
            top.offer(scope, admission, ChunkScore { part, chunk, score });
        }
    }
    first_error.into_result()
}

/// Returns the smallest distance within which at least `keep` rows lie. Rows at 255 are excluded.
fn distance_cutoff(distances: &[u8], keep: usize) -> u8 {
    let mut histogram = [0usize; 256];
    distances
        .iter()
        .for_each(|&distance| histogram[usize::from(distance)] += 1);
    let mut sum = 0;
    let cutoff = histogram.iter().position(|&count| {
        sum += count;
        sum >= keep
    });
    cutoff.map_or(254, |cutoff| cutoff.min(254) as u8)
}

/// Returns the similarity of one chunk with the query by a chosen model, on the scale of the
/// built-in embedder. Returns `None` without such a model that both have a vector of.
fn model_similarity(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    chunk: u32,
) -> Option<f32> {
    let row = scope.parts[part].1.model_row(chunk)?;
    query.models.iter().find_map(|model| model.similarity(&row))
}

/// Returns the cosine of one chunk with the query, by a chosen model if both have its vector. It is
/// estimated where vectors may be missing.
///
/// # Errors
/// [`SegmentError::NotFetched`] if the vector is missing and cannot be estimated.
pub(super) fn chunk_cosine(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    chunk: u32,
) -> Result<ChunkCosine, SegmentError> {
    if !query.models.is_empty()
        && let Some(similarity) = model_similarity(scope, part, query, chunk)
    {
        return Ok(ChunkCosine::exact(similarity));
    }
    if query.vector == QuantizedVector::ZERO {
        return Ok(ChunkCosine::exact(0.0));
    }

    if scope.estimated[part] {
        let source = scope.parts[part].1;
        return Ok(ChunkCosine {
            value: source.estimate_cosine(&scope.rotated_query, chunk)?,
            is_estimated: true,
        });
    }
    exact_cosine(scope, part, query, chunk).map(ChunkCosine::exact)
}

/// Returns the cosine of the built-in vectors of one chunk and the query.
///
/// # Errors
/// [`SegmentError::NotFetched`] if the vector is missing.
pub(super) fn exact_cosine(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    chunk: u32,
) -> Result<f32, SegmentError> {
    let row = scope.parts[part].1.vector(chunk)?;
    let mut out = [0f32];
    kernel::write_cosines(&query.vector, &row.0, &[row.inverse_norm()], &mut out);
    Ok(out[0])
}
