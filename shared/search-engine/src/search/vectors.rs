//! The nearest chunks by cosine, from an exact scan of int8 rows. In large parts, sign bits choose
//! the rows to scan.

use super::SearchScope;
use super::admission::FilterCache;
use super::top::{ChunkScore, TopChunks};
use crate::config::RankingConfig;
use crate::kernel;
use crate::vector::{DIMENSIONS, QuantizedVector};

const STRIDE: usize = 1_024;

/// Offers the chunks of `part` to `top`, at least the nearest ones.
pub(super) fn offer_nearest(
    scope: &SearchScope<'_>,
    part: usize,
    query: &QuantizedVector,
    config: &RankingConfig,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) {
    let source = scope.parts[part].1;
    let is_large = source.len_chunks() >= config.prefilter_from;
    if is_large && !source.signs().is_empty() {
        return offer_by_signs(scope, part, query, config, admission, top);
    }

    let mut buffer = [0f32; STRIDE];
    let rows = source.vectors().chunks(STRIDE * DIMENSIONS);

    for (block, (rows, norms)) in rows.zip(source.inverse_norms().chunks(STRIDE)).enumerate() {
        let cosines = &mut buffer[..norms.len()];
        kernel::write_cosines(query, rows, norms, cosines);
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
}

/// Offers the rows whose signs differ least from the query's. Rows that cannot be hits are left out
/// before the cut, so that a narrow filter still gets its nearest chunks.
fn offer_by_signs(
    scope: &SearchScope<'_>,
    part: usize,
    query: &QuantizedVector,
    config: &RankingConfig,
    admission: &mut FilterCache<'_>,
    top: &mut TopChunks,
) {
    let source = scope.parts[part].1;
    let mut distances = vec![0u8; source.len_chunks()];
    kernel::write_sign_distances(query, source.signs(), &mut distances);
    if admission.filters() || source.liveness.has_deletions {
        for (chunk, distance) in distances.iter_mut().enumerate() {
            if !admission.admits_chunk(scope, part, chunk as u32) {
                *distance = u8::MAX;
            }
        }
    }

    let cutoff = distance_cutoff(&distances, config.prefilter_keep);
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
                let score = chunk_cosine(scope, part, query, chunk);
                top.offer(scope, admission, ChunkScore { part, chunk, score });
            }
        }
    }
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

/// Returns the cosine of one chunk with the query.
pub(super) fn chunk_cosine(
    scope: &SearchScope<'_>,
    part: usize,
    query: &QuantizedVector,
    chunk: u32,
) -> f32 {
    let (source, chunk) = (scope.parts[part].1, chunk as usize);
    let mut out = [0f32];
    let (row, norm) = (
        source
            .vectors()
            .get(chunk * DIMENSIONS..(chunk + 1) * DIMENSIONS),
        source.inverse_norms().get(chunk..=chunk),
    );
    if let (Some(row), Some(norm)) = (row, norm) {
        kernel::write_cosines(query, row, norm, &mut out);
    }
    out[0]
}
