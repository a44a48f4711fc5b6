//! The live documents of a part, and their statistics.

use std::ops::Range;

use crate::analysis::{LatinStemmer, StemmerSet};

/// A set of numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    pub(crate) fn contains(&self, index: u32) -> bool {
        self.0
            .get(index as usize / 64)
            .is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Returns the numbers in the set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(word, &bits)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(word * u64::BITS + bit)
            })
        })
    }

    pub(crate) fn insert(&mut self, index: u32) {
        let word = index as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }
}

/// The deleted documents and chunks of a part, and sums over the live ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Liveness {
    deleted_documents: BitSet,
    deleted_chunks: BitSet,
    pub(crate) has_deletions: bool,
    pub(crate) documents: usize,
    pub(crate) chunks: usize,
    /// The sum of the chunk lengths.
    pub(crate) total_length: u64,
    /// The number of live documents with each stemmer, without those that have no chunks.
    documents_by_stemmer: [u32; LatinStemmer::ALL.len()],
}

impl Liveness {
    /// Adds a live document whose chunks have these `lengths`.
    pub(crate) fn add_document(&mut self, stemmer: LatinStemmer, lengths: &[u16]) {
        self.documents += 1;
        self.chunks += lengths.len();
        self.total_length += lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        self.documents_by_stemmer[stemmer as usize] += u32::from(!lengths.is_empty());
    }

    /// Marks a live document as deleted.
    pub(crate) fn delete_document(
        &mut self,
        document: u32,
        chunks: Range<u32>,
        stemmer: LatinStemmer,
        lengths: &[u16],
    ) {
        self.has_deletions = true;
        self.deleted_documents.insert(document);
        self.documents -= 1;
        self.chunks -= lengths.len();
        self.total_length -= lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        self.documents_by_stemmer[stemmer as usize] -= u32::from(!lengths.is_empty());
        chunks.for_each(|chunk| self.deleted_chunks.insert(chunk));
    }

    pub(crate) fn is_deleted(&self, document: u32) -> bool {
        self.deleted_documents.contains(document)
    }

    #[inline]
    pub(crate) fn is_deleted_chunk(&self, chunk: u32) -> bool {
        self.has_deletions && self.deleted_chunks.contains(chunk)
    }

    /// Returns the chunks of deleted documents, ascending.
    pub(crate) fn deleted_chunks(&self) -> impl Iterator<Item = u32> {
        self.deleted_chunks.iter()
    }

    /// Returns the stemmers of the live documents.
    pub(crate) fn stemmers(&self) -> StemmerSet {
        let used = LatinStemmer::ALL
            .into_iter()
            .filter(|&stemmer| self.documents_by_stemmer[stemmer as usize] > 0);
        used.fold(StemmerSet::default(), StemmerSet::with)
    }
}
