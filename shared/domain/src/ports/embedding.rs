//! The model that the operator chose for the vectors of texts.

use std::fmt::Debug;

use async_trait::async_trait;

use super::PortResult;

/// The start of the names of models in a folder. No endpoint has a model of such a name.
const FOLDER_PREFIX: &str = "folder:";

/// Returns the name of the vectors by a model in a folder. The digest is that of the model's files,
/// so vectors of other weights have another name.
pub fn folder_model_name(folder: &str, digest: &str) -> String {
    format!("{FOLDER_PREFIX}{folder}@{digest}")
}

/// Checks whether a name is that of a model in a folder, as [`folder_model_name`] makes it.
pub fn is_folder_model(model: &str) -> bool {
    model.starts_with(FOLDER_PREFIX)
}

/// A text to embed. Some models embed a question in another way than the text that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingInput<'a> {
    /// A question.
    Question(&'a str),
    /// A text that is searched.
    Passage(&'a str),
}

impl<'a> EmbeddingInput<'a> {
    /// Returns the text without its kind.
    pub fn text(self) -> &'a str {
        match self {
            Self::Question(text) | Self::Passage(text) => text,
        }
    }
}

/// The vectors of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextVectors {
    /// A vector for each text, in order. A text that the model refuses has an empty one.
    pub vectors: Vec<Vec<f32>>,
    /// The number of tokens that the model has read, or 0 if it does not say so.
    pub tokens: u64,
}

/// A model that turns texts into vectors, besides the built-in one.
#[async_trait]
pub trait TextEmbedder: Debug + Send + Sync {
    /// Returns the name of the model, which is stored with its vectors.
    fn model(&self) -> &str;

    /// Checks whether `model`, the chosen one or an earlier one, can be asked here.
    fn can_embed_by(&self, model: &str) -> bool;

    /// Returns a vector for each of the texts, in order. `model` is one of those that can be asked
    /// here. All vectors of a model have the same dimensions.
    ///
    /// # Errors
    /// [`crate::PortError::Unavailable`] if the model may answer later, and
    /// [`crate::PortError::Internal`] if it refuses every text.
    async fn embed(&self, model: &str, texts: &[EmbeddingInput<'_>]) -> PortResult<TextVectors>;
}
