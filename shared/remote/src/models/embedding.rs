//! Vectors of texts from the operator's endpoint.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use domain::PortError;
use domain::ports::{EmbeddingInput, PortResult, TextEmbedder, TextVectors, is_folder_model};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use tower::BoxError;
use tracing::{info, warn};

use super::chat::RETRIES;
use super::{ModelClient, ModelError};

/// The most texts of one call. Common endpoints accept at least this many.
const BATCH_TEXTS: usize = 64;
/// The most bytes of the texts of one call, unless a single text is longer.
const BATCH_BYTES: usize = 128 * 1024;
/// The most bytes of an answer: 64 vectors of 8,192 dimensions with 20 characters each, and some
/// room.
const MAX_ANSWER_BYTES: usize = 12 * 1024 * 1024;

/// A client of the endpoint that embeds texts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EmbeddingClient {
    client: ModelClient,
    model: Arc<str>,
}

/// The answer to a batch.
#[derive(Deserialize)]
struct EmbeddingAnswer {
    data: Vec<Embedding>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: u64,
}

impl ModelClient {
    /// Returns the client of the model that embeds texts, if the operator has chosen one. Without
    /// an address of its own it is at the endpoint of the other models.
    pub fn embedding_client(&self) -> Option<EmbeddingClient> {
        let settings = &self.settings;
        let model = Arc::from(settings.embedding_model.as_deref()?);
        let (url, key) = (&settings.embedding_url, &settings.embedding_key);
        Some(EmbeddingClient {
            client: self.at_endpoint(url.as_ref(), key.as_ref()),
            model,
        })
    }

    /// Returns the same client as a port.
    pub fn embedder(&self) -> Option<Arc<dyn TextEmbedder>> {
        let client = self.embedding_client()?;
        Some(Arc::new(client))
    }
}

#[async_trait]
impl TextEmbedder for EmbeddingClient {
    fn model(&self) -> &str {
        &self.model
    }

    fn can_embed_by(&self, model: &str) -> bool {
        !is_folder_model(model)
    }

    async fn embed(&self, model: &str, texts: &[EmbeddingInput<'_>]) -> PortResult<TextVectors> {
        let begun = Instant::now();
        // The protocol has no field for the kind of a text.
        let texts: Vec<&str> = texts.iter().map(|text| text.text()).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut tokens = 0;
        let mut rest = texts.as_slice();
        while !rest.is_empty() {
            let (batch, further) = rest.split_at(batch_len(rest));
            tokens += self.embed_batch(model, batch, &mut vectors).await?;
            rest = further;
        }

        let (count, millis) = (texts.len(), begun.elapsed().as_millis());
        info!(
            texts = count,
            tokens, millis, "embedded {count} texts: {tokens} tokens, {millis} ms"
        );
        Ok(TextVectors { vectors, tokens })
    }
}

impl EmbeddingClient {
    /// Appends the vectors of a batch, and returns the number of tokens that the endpoint counted.
    /// If the endpoint refuses the batch, each text is sent by itself, because one of them may be
    /// too long.
    async fn embed_batch(
        &self,
        model: &str,
        batch: &[&str],
        vectors: &mut Vec<Vec<f32>>,
    ) -> PortResult<u64> {
        match self.call_with_retries(model, batch).await {
            Ok((found, tokens)) => {
                vectors.extend(found);
                return Ok(tokens);
            }
            Err(ModelError::Refused(400 | 413 | 422)) => {}
            Err(error) => return Err(port_error(error)),
        }

        let mut tokens = 0;
        for text in batch {
            match self.call_with_retries(model, &[text]).await {
                Ok((found, count)) => {
                    vectors.extend(found);
                    tokens += count;
                }
                Err(ModelError::Refused(status @ (400 | 413 | 422))) => {
                    let bytes = text.len();
                    warn!(
                        status,
                        bytes, "the endpoint refused to embed a text of {bytes} bytes"
                    );
                    vectors.push(Vec::new());
                }
                Err(error) => return Err(port_error(error)),
            }
        }
        Ok(tokens)
    }

    async fn call_with_retries(
        &self,
        model: &str,
        batch: &[&str],
    ) -> Result<(Vec<Vec<f32>>, u64), ModelError> {
        let mut attempts = 0;
        loop {
            let error = match self.call(model, batch).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let is_temporary = matches!(error, ModelError::Unavailable | ModelError::Invalid);
            if attempts == RETRIES || !is_temporary {
                return Err(error);
            }
            self.client.pause_before_retry(attempts).await;
            attempts += 1;
        }
    }

    async fn call(&self, model: &str, batch: &[&str]) -> Result<(Vec<Vec<f32>>, u64), ModelError> {
        let body = json!({ "model": model, "input": batch, "encoding_format": "float" });
        let body = Bytes::from(body.to_string());
        let call =
            self.client
                .call_endpoint("embeddings", "application/json", body, MAX_ANSWER_BYTES);
        let Ok(answer) = timeout(self.client.call_timeout, call).await else {
            return Err(ModelError::Unavailable);
        };
        read_answer(&answer?, batch.len()).ok_or(ModelError::Invalid)
    }
}

/// Returns the number of texts of the next batch, at least 1.
fn batch_len(texts: &[&str]) -> usize {
    let mut bytes = 0;
    let mut count = 0;
    for text in texts.iter().take(BATCH_TEXTS) {
        bytes += text.len();
        if count > 0 && bytes > BATCH_BYTES {
            break;
        }
        count += 1;
    }
    count
}

/// Returns the vectors in the order of the texts, and the number of tokens. Returns `None` unless
/// each text has one vector and all have the same dimensions.
fn read_answer(answer: &[u8], texts: usize) -> Option<(Vec<Vec<f32>>, u64)> {
    let answer: EmbeddingAnswer = serde_json::from_slice(answer).ok()?;
    if answer.data.len() != texts {
        return None;
    }

    let mut vectors = vec![Vec::new(); texts];
    for embedding in answer.data {
        let place = vectors.get_mut(embedding.index)?;
        if !place.is_empty() {
            return None;
        }
        *place = embedding.embedding;
    }

    let dimensions = vectors.first().map_or(0, Vec::len);
    let is_complete = dimensions > 0 && vectors.iter().all(|vector| vector.len() == dimensions);
    let tokens = answer.usage.map_or(0, |usage| usage.total_tokens);
    is_complete.then_some((vectors, tokens))
}

fn port_error(error: ModelError) -> PortError {
    let is_temporary = matches!(
        error,
        ModelError::Unavailable | ModelError::Invalid | ModelError::Refused(401 | 403)
    );
    let source: BoxError = Box::new(error);
    if is_temporary {
        PortError::Unavailable(source)
    } else {
        PortError::Internal(source)
    }
}
