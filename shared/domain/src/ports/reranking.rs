//! The model that the operator chose for a second look at search results.

use std::fmt::Debug;

use async_trait::async_trait;

use super::PortResult;

/// A model that says how well texts answer a question.
#[async_trait]
pub trait RerankModel: Debug + Send + Sync {
    /// Returns the name of the model.
    fn model(&self) -> &str;

    /// Returns a score for each of the texts, in order. A larger score is a better answer. Scores
    /// can only be compared with those of the same call. A text that the model leaves out has no
    /// score.
    ///
    /// # Errors
    /// [`crate::PortError::Unavailable`] if the model may answer later, and
    /// [`crate::PortError::Internal`] if it refuses the request.
    async fn score(&self, question: &str, texts: &[&str]) -> PortResult<Vec<Option<f32>>>;
}
