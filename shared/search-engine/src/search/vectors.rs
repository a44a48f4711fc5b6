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

/// The sign bits of a part that differ from those of the query.
struct SignDistances {
    part: usize,
    /// For each chunk their number, at most 254. A chunk that cannot be a hit has 255, so that a narrow
    /// filter keeps its nearest chunks.
    of_chunks: Vec<u8>,
}

/// Offers the chunks of all parts to `top`, at least the nearest ones.
///
/// # Errors
/// [`SegmentError::NotFetched`] if some vectors are missing; all that are were asked for.
pub(super) fn offer_nearest(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) -> Result<(), SegmentError> {
    let mut first_error = FirstError::default();
    let mut scanned_by_signs = Vec::new();
    for part in 0..scope.parts.len() {
        let has_models = has_models_of_query(scope, part, query);
        let by_signs = first_error.ok(is_scanned_by_signs(scope, part, query));
        if !has_models && by_signs == Some(true) {
            let distances = sign_distances(scope, part, query, admission);
            scanned_by_signs.extend(first_error.ok(distances));
        } else if scope.estimated[part] {
            let all = 0..scope.parts[part].1.len_chunks() as u32;
            first_error.ok(offer_chunks(scope, part, query, admission, top, all));
        } else {
            let offered = offer_all(scope, part, query, has_models, admission, top);
            first_error.ok(offered);
        }
    }

    // The sign bits of some earlier segments are not those of rotated vectors, and cannot be compared with
    // others.
    let (rotated, others): (Vec<SignDistances>, Vec<SignDistances>) = scanned_by_signs
        .into_iter()
        .partition(|distances| scope.parts[distances.part].1.has_codes());
    for distances in [others, rotated] {
        first_error.ok(offer_near_rows(scope, query, admission, top, &distances));
    }
    first_error.into_result()
}

/// Offers the rows whose sign bits differ least from those of the query. They are chosen from all parts
/// together, so that the layout does not matter.
fn offer_near_rows(
    scope: &SearchScope<'_>,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
    parts: &[SignDistances],
) -> Result<(), SegmentError> {
    let share = scope.chunks.checked_div(query.config.prefilter_divisor);
    let enough = query.config.prefilter_keep.max(share.unwrap_or(0));
    let cutoff = distance_cutoff(parts, enough.max(top.size));

    let mut first_error = FirstError::default();
    for SignDistances { part, of_chunks } in parts {
        let near = (0..).zip(of_chunks);
        let near = near.filter(|(_, distance)| **distance <= cutoff);
        let near = near.map(|(chunk, _)| chunk);
        first_error.ok(offer_chunks(scope, *part, query, admission, top, near));
    }
    first_error.into_result()
}

/// Checks whether chunks of a part have vectors of a model of the query.
fn has_models_of_query(scope: &SearchScope<'_>, part: usize, query: &SearchQuery<'_>) -> bool {
    scope.parts[part].1.model_names().any(|name| {
        let mut models = query.models.iter();
        models.any(|model| model.vector.model() == name)
    })
}

/// Checks whether the nearest rows of a part are chosen by their sign bits: many chunks are searched, or
/// cosines are estimated, and the part has sign bits.
fn is_scanned_by_signs(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
) -> Result<bool, SegmentError> {
    let is_large = scope.chunks >= query.config.prefilter_from;
    Ok(scope.estimated[part] || is_large && !scope.parts[part].1.signs()?.is_empty())
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

/// Counts the sign bits of each chunk of a part that differ from those of the query.
fn sign_distances(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    admission: &mut FilterCache<'_>,
) -> Result<SignDistances, SegmentError> {
    let source = scope.parts[part].1;
    let mut of_chunks = vec![0u8; source.len_chunks()];
    let query_signs = match source.has_codes() {
        true => scope.rotated_query.sign_bits(),
        false => query.vector.sign_bits(),
    };
    kernel::write_sign_distances(&query_signs, source.signs()?, &mut of_chunks);
    if admission.has_filter() {
        for (chunk, distance) in of_chunks.iter_mut().enumerate() {
            if !admission.admits_chunk(scope, part, chunk as u32) {
                *distance = u8::MAX;
            }
        }
    } else {
        let deleted = source.liveness.deleted_chunks();
        for chunk in deleted.chain(admission.expired_chunks(part)) {
            of_chunks[chunk as usize] = u8::MAX;
        }
    }
    Ok(SignDistances { part, of_chunks })
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

/// Returns the smallest distance within which `enough` chunks lie. Chunks at 255 are excluded.
fn distance_cutoff(parts: &[SignDistances], enough: usize) -> u8 {
    let mut histogram = [0usize; 256];
    for part in parts {
        for &distance in &part.of_chunks {
            histogram[usize::from(distance)] += 1;
        }
    }

    let mut sum = 0;
    let cutoff = histogram.iter().position(|&count| {
        sum += count;
        sum >= enough
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
    let source = scope.parts[part].1;
    let row = source.vector(chunk)?;
    let inverse_norm = source.known_inverse_norm(chunk);
    let inverse_norm = inverse_norm.unwrap_or_else(|| row.inverse_norm());
    Ok(query.vector.dot(&row) as f32 * inverse_norm * scope.inverse_norm)
}
