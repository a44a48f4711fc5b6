//! The model of a folder as a port.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use domain::PortError;
use domain::ports::{EmbeddingInput, PortResult, TextEmbedder, TextVectors};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tracing::info;

use crate::batches::plan_batches;
use crate::model::FolderModel;
use crate::{FolderError, FolderSettings};

/// Embeds texts by the model of a folder. Cheap to clone.
///
/// The work is done on threads for blocking work, a batch at a time, by all cores. A question waits
/// for the batch of other questions, and not for the batches of documents. If the caller gives up,
/// only the current batch is finished.
#[derive(Debug, Clone)]
pub struct FolderEmbedder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    model: FolderModel,
    /// One batch at a time for questions, and one for passages, so that memory is bounded.
    questions: Semaphore,
    passages: Semaphore,
}

impl FolderEmbedder {
    /// Reads the model of a folder.
    ///
    /// # Errors
    /// Returns an error that names the file if one is missing, broken, or of an unsupported kind.
    pub fn open(settings: &FolderSettings) -> Result<Self, FolderError> {
        let begun = Instant::now();
        let model = FolderModel::open(settings)?;
        let (name, millis) = (&model.name, begun.elapsed().as_millis());
        let (dimensions, max_tokens) = (model.dimensions, model.max_tokens);
        info!(
            model = name,
            dimensions, max_tokens, millis, "opened the embedding model {name} in {millis} ms"
        );

        let shared = Shared {
            model,
            questions: Semaphore::new(1),
            passages: Semaphore::new(1),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Runs work on the model away from the async threads.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> PortResult<T> + Send + 'static,
    ) -> PortResult<T> {
        let shared = self.shared.clone();
        match spawn_blocking(move || work(&shared)).await {
            Ok(result) => result,
            // A panic. Its text may quote the input, so it is not passed on.
            Err(_) => Err(internal(
                "the embedding model stopped while it embedded texts",
            )),
        }
    }
}

impl Shared {
    fn with_prefix(&self, text: EmbeddingInput<'_>) -> String {
        match text {
            EmbeddingInput::Question(text) => format!("{}{text}", self.model.query_prefix),
            EmbeddingInput::Passage(text) => format!("{}{text}", self.model.passage_prefix),
        }
    }

    fn tokenize(&self, text: &str) -> PortResult<Vec<u32>> {
        self.model.tokenize(text).map_err(PortError::Internal)
    }
}

#[async_trait]
impl TextEmbedder for FolderEmbedder {
    fn model(&self) -> &str {
        &self.shared.model.name
    }

    fn can_embed_by(&self, model: &str) -> bool {
        model == self.model()
    }

    async fn embed(&self, model: &str, texts: &[EmbeddingInput<'_>]) -> PortResult<TextVectors> {
        if !self.can_embed_by(model) {
            return Err(internal("another embedding model than that of the folder"));
        }

        let begun = Instant::now();
        let is_question = texts
            .iter()
            .any(|text| matches!(text, EmbeddingInput::Question(_)));
        let places = if is_question {
            &self.shared.questions
        } else {
            &self.shared.passages
        };

        let prefixed: Vec<String> = texts
            .iter()
            .map(|text| self.shared.with_prefix(*text))
            .collect();
        let tokens = self
            .run(move |shared| {
                let tokens = prefixed.iter().map(|text| shared.tokenize(text));
                tokens.collect::<PortResult<Vec<_>>>()
            })
            .await?;
        let tokens = Arc::new(tokens);
        let lengths: Vec<usize> = tokens.iter().map(Vec::len).collect();

        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in plan_batches(&lengths, self.shared.model.heads) {
            let Ok(_place) = places.acquire().await else {
                return Err(internal("the embedding model is closed"));
            };
            let (tokens, indices) = (tokens.clone(), batch.clone());
            let found = self
                .run(move |shared| {
                    let texts: Vec<&[u32]> = indices
                        .iter()
                        .map(|index| tokens[*index].as_slice())
                        .collect();
                    let vectors = shared.model.embed(&texts);
                    vectors.map_err(|error| PortError::Internal(Box::new(error)))
                })
                .await?;
            for (index, vector) in batch.into_iter().zip(found) {
                vectors[index] = vector;
            }
        }

        let (count, millis) = (texts.len(), begun.elapsed().as_millis());
        let tokens = lengths.iter().sum::<usize>() as u64;
        info!(
            texts = count,
            tokens, millis, "embedded {count} texts: {tokens} tokens, {millis} ms"
        );
        Ok(TextVectors { vectors, tokens })
    }
}

fn internal(problem: &'static str) -> PortError {
    PortError::Internal(problem.into())
}
