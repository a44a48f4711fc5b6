//! The nearest chunks by cosine, from an exact scan of int8 rows. In large parts, sign bits choose
//! the rows to scan.

use super::admission::FilterCache;
use super::top::{ChunkScore, TopChunks};
use super::{SearchQuery, SearchScope};
use crate::error::{FirstError, SegmentError};
use crate::kernel;
use crate::vector::DIMENSIONS;

const STRIDE: usize = 1_024;

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
        query
            .models
            .iter()
            .any(|model| model.vector.model() == name)
    });
    let is_large = source.len_chunks() >= query.config.prefilter_from;
    if is_large && !has_models && !source.signs().is_empty() {
        return offer_by_signs(scope, part, query, admission, top);
    }

    let mut buffer = [0f32; STRIDE];
    let vectors = source.vectors()?;
    let rows = vectors.chunks(STRIDE * DIMENSIONS);

    for (block, (rows, norms)) in rows.zip(source.inverse_norms().chunks(STRIDE)).enumerate() {
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
                top.offer(
                    scope,
                    admission,
                    ChunkScore {
                        part,
                        chunk: (block * STRIDE + offset) as u32,
                        score,
                    },
                );
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
    kernel::write_sign_distances(&query.vector, source.signs(), &mut distances);
    if admission.filters() || source.liveness.has_deletions {
        for (chunk, distance) in distances.iter_mut().enumerate() {
            if !admission.admits_chunk(scope, part, chunk as u32) {
                *distance = u8::MAX;
            }
        }
    }

    let mut first_error = FirstError::default();
    let cutoff = distance_cutoff(&distances, query.config.prefilter_keep);
    for (block, distances) in distances.chunks(STRIDE / 16).enumerate() {
        if distances
            .iter()
            .fold(u8::MAX, |least, &distance| least.min(distance))
            > cutoff
        {
            continue;
        }
        for (offset, &distance) in distances.iter().enumerate() {
            if distance <= cutoff {
                let chunk = (block * (STRIDE / 16) + offset) as u32;
                let cosine = chunk_cosine(scope, part, query, chunk);
                if let Some(score) = first_error.ok(cosine) {
                    top.offer(scope, admission, ChunkScore { part, chunk, score });
                }
            }
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

/// Returns the cosine of one chunk with the query, by a chosen model if both have its vector.
///
/// # Errors
/// [`SegmentError::NotFetched`] if the vector is missing.
pub(super) fn chunk_cosine(
    scope: &SearchScope<'_>,
    part: usize,
    query: &SearchQuery<'_>,
    chunk: u32,
) -> Result<f32, SegmentError> {
    if !query.models.is_empty()
        && let Some(similarity) = model_similarity(scope, part, query, chunk)
    {
        return Ok(similarity);
    }

    let source = scope.parts[part].1;
    let mut out = [0f32];
    let row = source.vector(chunk)?;
    let norm = chunk as usize..chunk as usize + 1;
    kernel::write_cosines(
        &query.vector,
        &row.0,
        &source.inverse_norms()[norm],
        &mut out,
    );
    Ok(out[0])
}
