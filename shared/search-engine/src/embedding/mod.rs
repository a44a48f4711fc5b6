//! Conversion of texts to vectors. The built-in embedder is a static table of word pieces; a caller
//! may use any other [`Embedder`].

mod table;
mod wordpiece;

use crate::vector::QuantizedVector;

/// A model that turns a text into a direction. Equal texts give equal vectors, and a text without
/// known words gives [`QuantizedVector::ZERO`].
pub trait Embedder: Send + Sync {
    /// Returns the name of the model. Vectors of different models must not be compared.
    fn model_id(&self) -> &str;

    /// Returns the vector of the text.
    fn embed(&self, text: &str) -> QuantizedVector;
}

/// The built-in embedder: the mean of a static table's rows over the word pieces of the text. It
/// has no state and takes microseconds.
///
/// The first use in a process builds the vocabulary, which takes a few milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// Builds the vocabulary now instead of at the first use.
    #[must_use]
    pub fn build_vocabulary() -> Self {
        wordpiece::load_vocabulary();
        Self
    }

    /// Counts the word pieces of `text`, the unit in which returned tokens are counted.
    #[must_use]
    pub fn count_tokens(&self, text: &str) -> usize {
        self.token_ids(text).len()
    }

    /// Returns the word-piece ids of the text, with [`UNKNOWN`](Self::UNKNOWN) for unknown words.
    #[must_use]
    pub fn token_ids(&self, text: &str) -> Vec<u32> {
        wordpiece::encode_text(text)
    }

    /// The id of a word that no sequence of pieces spells.
    pub const UNKNOWN: u32 = 1;
}

impl Embedder for StaticEmbedder {
    fn model_id(&self) -> &str {
        "static-minilm-l6-256-1"
    }

    fn embed(&self, text: &str) -> QuantizedVector {
        table::mean_of_rows(&wordpiece::encode_text(text))
    }
}
