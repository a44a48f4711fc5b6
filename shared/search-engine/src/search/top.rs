//! Selection of the best of many scored chunks.

use super::admission::FilterCache;
use super::{ChunkPlace, SearchScope, compare_scored};

/// A chunk with a score.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkScore {
    pub(super) part: usize,
    pub(super) chunk: u32,
    pub(super) score: f32,
}

impl ChunkPlace for ChunkScore {
    fn part(&self) -> usize {
        self.part
    }

    fn chunk(&self) -> u32 {
        self.chunk
    }
}

/// A collector of the `size` best admitted chunks. Ties are broken by [`compare_scored`].
pub(super) struct TopChunks {
    /// The number of chunks that are kept.
    pub(super) size: usize,
    chunks: Vec<ChunkScore>,
    /// The score below which a chunk cannot enter.
    pub(super) threshold: f32,
}

impl TopChunks {
    /// Creates a collector of scores above `floor`.
    pub(super) fn new(size: usize, floor: f32) -> Self {
        Self {
            size,
            chunks: Vec::with_capacity(size * 2),
            threshold: floor,
        }
    }

    /// Offers a chunk. It is ignored if its score is below the threshold.
    pub(super) fn offer(
        &mut self,
        scope: &SearchScope<'_>,
        admission: &mut FilterCache<'_>,
        scored: ChunkScore,
    ) {
        if scored.score < self.threshold
            || !admission.admits_chunk(scope, scored.part, scored.chunk)
        {
            return;
        }

        self.chunks.push(scored);
        if self.chunks.len() >= self.size * 2 {
            self.shrink(scope);
        }
    }

    fn shrink(&mut self, scope: &SearchScope<'_>) {
        if self.size == 0 || self.chunks.len() <= self.size {
            return;
        }
        let (_, last, _) = self.chunks.select_nth_unstable_by(self.size - 1, |a, b| {
            compare_scored(scope, (b.score, b), (a.score, a))
        });
        self.threshold = self.threshold.max(last.score);
        self.chunks.truncate(self.size);
    }

    /// Returns the best chunks in arbitrary order.
    pub(super) fn finish(mut self, scope: &SearchScope<'_>) -> Vec<ChunkScore> {
        self.shrink(scope);
        self.chunks
    }
}
