//! The terms of a chunk with their frequencies.

use hashbrown::HashMap;

use super::ChunkInput;
use crate::analysis::{LatinStemmer, index_terms};

/// Counts the terms of one chunk at a time, reusing its table.
#[derive(Debug, Default)]
pub(crate) struct ChunkAnalyzer {
    frequencies: HashMap<String, u32>,
}

impl ChunkAnalyzer {
    /// Returns the chunk's length in words, headings included, and its terms with their frequencies
    /// in arbitrary order.
    pub(crate) fn chunk(
        &mut self,
        chunk: &ChunkInput,
        stemmer: LatinStemmer,
    ) -> (u16, impl Iterator<Item = (&str, u32)>) {
        self.frequencies.clear();
        let mut length = 0u32;
        let frequencies = &mut self.frequencies;
        let mut sink = |term: &str, counted: bool| {
            length += u32::from(counted);
            *frequencies.entry_ref(term).or_insert(0) += 1;
        };

        index_terms(&chunk.headings, stemmer, &mut sink);
        index_terms(&chunk.text, stemmer, &mut sink);
        let length = u16::try_from(length).unwrap_or(u16::MAX);

        (
            length,
            self.frequencies
                .iter()
                .map(|(term, &frequency)| (term.as_str(), frequency)),
        )
    }
}
