//! Posting lists: chunk numbers and term frequencies in packed blocks of 128, and the rest as
//! varints.

use bitpacking::{BitPacker, BitPacker4x};
use bytes::Bytes;

use super::format::{put_varint, take_varint};

const BLOCK_LEN: usize = BitPacker4x::BLOCK_LEN;
/// The last chunk as u32, the bits of a delta, and the bits of a frequency.
const BLOCK_HEADER: usize = 6;

/// Appends the packed form of pairs of chunk and frequency, in the order of the chunks, to `out`.
pub(super) fn write_postings(postings: &[(u32, u32)], out: &mut Vec<u8>) {
    put_varint(postings.len() as u32, out);
    let (blocks, rest) = postings.as_chunks::<BLOCK_LEN>();
    let mut previous_chunk = 0;
    for block in blocks {
        let chunks = block.map(|(chunk, _)| chunk);
        let frequencies = block.map(|(_, frequency)| frequency.saturating_sub(1));
        write_block(previous_chunk, &chunks, &frequencies, out);
        previous_chunk = chunks[BLOCK_LEN - 1];
    }

    for &(chunk, frequency) in rest {
        put_varint(chunk - previous_chunk, out);
        put_varint(frequency, out);
        previous_chunk = chunk;
    }
}

fn write_block(
    previous_chunk: u32,
    chunks: &[u32; BLOCK_LEN],
    frequencies: &[u32; BLOCK_LEN],
    out: &mut Vec<u8>,
) {
    let packer = BitPacker4x::new();
    let (delta_bits, frequency_bits) = (
        packer.num_bits_sorted(previous_chunk, chunks),
        packer.num_bits(frequencies),
    );
    out.extend_from_slice(&chunks[BLOCK_LEN - 1].to_le_bytes());
    out.extend_from_slice(&[delta_bits, frequency_bits]);
    let mut packed = [0u8; BLOCK_LEN * 4];
    let size = packer.compress_sorted(previous_chunk, chunks, &mut packed, delta_bits);
    out.extend_from_slice(&packed[..size]);
    let size = packer.compress(frequencies, &mut packed, frequency_bits);
    out.extend_from_slice(&packed[..size]);
}

/// A posting list: read in place, borrowed from the tail, or decoded.
#[derive(Debug, Clone)]
pub(crate) enum PostingList<'a> {
    /// The format of [`write_postings`], without its count.
    Packed { count: u32, data: Bytes },
    /// The chunk numbers and frequencies of the tail.
    Plain {
        chunks: &'a [u32],
        frequencies: &'a [u32],
    },
    /// The union of several lists.
    Owned {
        chunks: Vec<u32>,
        frequencies: Vec<u32>,
    },
}

impl PostingList<'_> {
    pub(super) fn open(data: Bytes) -> Self {
        let mut rest: &[u8] = &data;
        let count = take_varint(&mut rest);
        let data = data.slice(data.len() - rest.len()..);
        Self::Packed { count, data }
    }

    /// Returns the number of chunks, deleted ones included.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Self::Packed { count, .. } => *count,
            Self::Plain { chunks, .. } => chunks.len() as u32,
            Self::Owned { chunks, .. } => chunks.len() as u32,
        }
    }

    /// Calls `visit` with blocks of ascending chunk numbers and their frequencies.
    pub(crate) fn for_each_block(&self, mut visit: impl FnMut(&[u32], &[u32])) {
        self.blocks(&mut |_| true, &mut visit);
    }

    /// Calls `visit(index of the target, frequency)` for each of the `targets` (ascending) in the
    /// list.
    pub(crate) fn intersect(&self, targets: &[u32], mut visit: impl FnMut(usize, u32)) {
        let next = std::cell::Cell::new(0usize);
        let mut is_wanted = |last: u32| {
            targets
                .get(next.get())
                .is_some_and(|&target| target <= last)
        };

        let mut visit_block = |chunks: &[u32], frequencies: &[u32]| {
            let mut from = 0;
            while let Some(&target) = targets.get(next.get()) {
                from += chunks[from..].partition_point(|&chunk| chunk < target);
                let Some(&chunk) = chunks.get(from) else {
                    break;
                };
                if chunk == target {
                    visit(next.get(), frequencies[from]);
                }
                next.set(next.get() + 1);
            }
        };

        self.blocks(&mut is_wanted, &mut visit_block);
    }

    /// Decodes the blocks whose last chunk number is accepted by `wanted`.
    fn blocks(
        &self,
        is_wanted: &mut dyn FnMut(u32) -> bool,
        visit: &mut dyn FnMut(&[u32], &[u32]),
    ) {
        let (count, mut data): (usize, &[u8]) = match self {
            Self::Packed { count, data } => (*count as usize, data),
            Self::Plain {
                chunks,
                frequencies,
            } => return visit(chunks, frequencies),
            Self::Owned {
                chunks,
                frequencies,
            } => return visit(chunks, frequencies),
        };

        let packer = BitPacker4x::new();
        let (mut chunks, mut frequencies) = ([0u32; BLOCK_LEN], [0u32; BLOCK_LEN]);
        let mut previous_chunk = 0;
        for _ in 0..count / BLOCK_LEN {
            let Some((header, rest)) = data.split_first_chunk::<BLOCK_HEADER>() else {
                return;
            };
            let last = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            let (delta_bits, frequency_bits) = (header[4].min(32), header[5].min(32));
            let split = usize::from(delta_bits) * BLOCK_LEN / 8;
            let end = split + usize::from(frequency_bits) * BLOCK_LEN / 8;
            if rest.len() < end {
                return;
            }
            if is_wanted(last) {
                packer.decompress_sorted(previous_chunk, &rest[..split], &mut chunks, delta_bits);
                packer.decompress(&rest[split..end], &mut frequencies, frequency_bits);
                frequencies.iter_mut().for_each(|f| *f += 1);
                visit(&chunks, &frequencies);
            }
            previous_chunk = last;
            data = &rest[end..];
        }

        let remaining = count % BLOCK_LEN;
        for index in 0..remaining {
            previous_chunk = previous_chunk.wrapping_add(take_varint(&mut data));
            chunks[index] = previous_chunk;
            frequencies[index] = take_varint(&mut data);
        }

        if remaining > 0 {
            visit(&chunks[..remaining], &frequencies[..remaining]);
        }
    }

    /// Returns the union of `lists`. The frequencies of a chunk in several lists are added.
    pub(crate) fn union(lists: &[Self]) -> Self {
        let mut union = (Vec::new(), Vec::new());
        for list in lists {
            let mut decoded = (Vec::new(), Vec::new());
            list.for_each_block(|chunks, frequencies| {
                decoded.0.extend_from_slice(chunks);
                decoded.1.extend_from_slice(frequencies);
            });
            union = match union.0.is_empty() {
                true => decoded,
                false => merge(&union, &decoded),
            };
        }

        let (chunks, frequencies) = union;
        Self::Owned {
            chunks,
            frequencies,
        }
    }
}

/// Chunks in ascending order, and their frequencies.
type Decoded = (Vec<u32>, Vec<u32>);

/// Merges two lists. The frequencies of a chunk in both are added.
fn merge(a: &Decoded, b: &Decoded) -> Decoded {
    let count = a.0.len() + b.0.len();
    let mut merged = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut in_a, mut in_b) = (0, 0);
    while let (Some(&chunk_a), Some(&chunk_b)) = (a.0.get(in_a), b.0.get(in_b)) {
        let (takes_a, takes_b) = (chunk_a <= chunk_b, chunk_b <= chunk_a);
        let mut frequency = 0;
        if takes_a {
            frequency += a.1[in_a];
            in_a += 1;
        }
        if takes_b {
            frequency += b.1[in_b];
            in_b += 1;
        }
        merged.0.push(chunk_a.min(chunk_b));
        merged.1.push(frequency);
    }

    for (rest, from) in [(a, in_a), (b, in_b)] {
        merged.0.extend_from_slice(&rest.0[from..]);
        merged.1.extend_from_slice(&rest.1[from..]);
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_lists_give_back_what_was_put_in(set in proptest::collection::btree_set(0u32..2_000_000, 0..700)) {
            let expected: Vec<u32> = set.into_iter().collect();
            let pairs: Vec<(u32, u32)> = expected.iter().map(|&chunk| (chunk, chunk % 7 + 1)).collect();
            let mut packed = Vec::new();
            write_postings(&pairs, &mut packed);
            let postings = PostingList::open(packed.into());
            let mut found = Vec::new();
            postings.for_each_block(|chunks, frequencies| {
                for (&chunk, &frequency) in chunks.iter().zip(frequencies) {
                    assert_eq!(frequency, chunk % 7 + 1);
                    found.push(chunk);
                }
            });

            prop_assert_eq!(&found, &expected);
            let targets: Vec<u32> = (0..2_000_000).step_by(997).chain([]).collect();
            let mut hits = Vec::new();
            postings.intersect(&targets, |index, _| hits.push(targets[index]));
            let wanted: Vec<u32> = expected.into_iter().filter(|chunk| chunk % 997 == 0).collect();
            prop_assert_eq!(hits, wanted);
        }

        #[test]
        fn a_union_has_each_chunk_once(sets in proptest::collection::vec(proptest::collection::btree_map(0u32..400, 1u32..9, 0..200), 0..4)) {
            let mut lists = Vec::new();
            let mut expected = std::collections::BTreeMap::new();
            for set in &sets {
                let mut packed = Vec::new();
                let pairs: Vec<(u32, u32)> = set.iter().map(|(&chunk, &count)| (chunk, count)).collect();
                write_postings(&pairs, &mut packed);
                lists.push(PostingList::open(packed.into()));
                for (chunk, count) in pairs {
                    *expected.entry(chunk).or_insert(0) += count;
                }
            }
            let mut found = Vec::new();
            PostingList::union(&lists).for_each_block(|chunks, counts| {
                found.extend(chunks.iter().copied().zip(counts.iter().copied()));
            });
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
