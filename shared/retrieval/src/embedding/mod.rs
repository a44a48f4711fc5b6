//! Texts to vectors. Built in is a static word-piece table; a caller may bring any other [`Embedder`].

mod table;
mod wordpiece;

use crate::vector::Vector;

/// Turns a text into a direction. Equal texts give equal vectors; a text without known words gives [`Vector::ZERO`].
pub trait Embedder: Send + Sync {
    /// Names the model; vectors of different models must not be compared.
    fn model_id(&self) -> &str;

    /// The text's vector.
    fn embed(&self, text: &str) -> Vector;
}

/// The built-in embedder: the mean of a static table's rows over the text's word pieces. No state, costs microseconds.
///
/// The first use in a process builds the vocabulary (a few milliseconds).
#[derive(Debug, Clone, Copy, Default)]
pub struct StaticEmbedder;

impl StaticEmbedder {
    /// Builds the vocabulary now instead of at first use.
    #[must_use]
    pub fn warm() -> Self {
        wordpiece::vocabulary();
        Self
    }

    /// The number of word pieces of `text`: the unit in which returned tokens are counted.
    #[must_use]
    pub fn count_tokens(&self, text: &str) -> usize {
        self.token_ids(text).len()
    }

    /// The text's word-piece ids, unknown words as [`UNKNOWN`](Self::UNKNOWN).
    #[must_use]
    pub fn token_ids(&self, text: &str) -> Vec<u32> {
        wordpiece::encode(text)
    }

    /// Id of a word that no pieces spell.
    pub const UNKNOWN: u32 = 1;
}

impl Embedder for StaticEmbedder {
    fn model_id(&self) -> &str {
        "static-minilm-l6-256-1"
    }

    fn embed(&self, text: &str) -> Vector {
        table::mean(&wordpiece::encode(text))
    }
}
