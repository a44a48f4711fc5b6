//! The model that the operator chose for the vectors of texts.

use std::fmt::Debug;

use async_trait::async_trait;

use super::PortResult;

/// A model that turns texts into vectors, besides the built-in one.
#[async_trait]
pub trait TextEmbedder: Debug + Send + Sync {
    /// Returns the name of the model, which is stored with its vectors.
    fn model(&self) -> &str;

    /// Returns a vector for each of the texts, in order. `model` is the chosen model or an earlier
    /// one. All vectors of a model have the same dimensions. A text that the model refuses gets an
    /// empty vector.
    ///
    /// # Errors
    /// [`crate::PortError::Unavailable`] if the model may answer later, and
    /// [`crate::PortError::Internal`] if it refuses every text.
    async fn embed(&self, model: &str, texts: &[&str]) -> PortResult<Vec<Vec<f32>>>;
}
