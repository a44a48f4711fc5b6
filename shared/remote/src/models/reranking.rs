//! Scores of texts for a question from the operator's endpoint.
//!
//! Cohere, Jina and the servers that follow them take `{model, query, documents, top_n}` and answer
//! `{results: [{index, relevance_score}]}` (<https://docs.cohere.com/reference/rerank>). Voyage has
//! `top_k` and `data` instead (<https://docs.voyageai.com/reference/reranker-api>). Text Embeddings
//! Inference takes `{query, texts}` and answers `[{index, score}]`
//! (<https://huggingface.github.io/text-embeddings-inference>).

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use domain::PortError;
use domain::ports::{PortResult, RerankModel};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::BoxError;
use tracing::info;

use super::chat::AcceptedFormat;
use super::{ModelClient, ModelError};

/// The most bytes of an answer. Some endpoints repeat the texts in it.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// The most texts of one request of [`RequestFormat::Texts`], which that server accepts by default.
const BATCH_TEXTS: usize = 32;

/// The forms of a request, in the order in which they are tried.
const FORMATS: [RequestFormat; 3] = [
    RequestFormat::WithTopN,
    RequestFormat::WithoutTopN,
    RequestFormat::Texts,
];

/// The form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestFormat {
    /// The form of Cohere and Jina. Some servers answer ten texts only, unless `top_n` says how many.
    WithTopN,
    /// The same without `top_n`, which Voyage refuses.
    WithoutTopN,
    /// The form of Text Embeddings Inference.
    Texts,
}

/// A client of the endpoint that scores texts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RerankClient {
    client: ModelClient,
    model: Arc<str>,
    accepted_format: Arc<AcceptedFormat>,
}

/// An answer in any of its forms.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Results {
        #[serde(alias = "data")]
        results: Vec<TextScore>,
    },
    List(Vec<TextScore>),
}

#[derive(Deserialize)]
struct TextScore {
    index: usize,
    #[serde(alias = "relevance_score")]
    score: f32,
}

impl ModelClient {
    /// Returns the client of the model that reranks search results, if the operator has chosen one.
    /// Without an address of its own it is at the endpoint of the other models.
    pub fn rerank_client(&self) -> Option<RerankClient> {
        let settings = &self.settings;
        let model = Arc::from(settings.rerank_model.as_deref()?);
        Some(RerankClient {
            client: self.at_endpoint(settings.rerank_url.as_ref(), settings.rerank_key.as_ref()),
            model,
            accepted_format: Arc::default(),
        })
    }

    /// Returns the same client as a port.
    pub fn rerank_model(&self) -> Option<Arc<dyn RerankModel>> {
        let client = self.rerank_client()?;
        Some(Arc::new(client))
    }
}

#[async_trait]
impl RerankModel for RerankClient {
    fn model(&self) -> &str {
        &self.model
    }

    /// Calls the endpoint once for each form of request until one is accepted, and repeats nothing:
    /// a search is waiting.
    async fn score(&self, question: &str, texts: &[&str]) -> PortResult<Vec<Option<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }

        let begun = Instant::now();
        let scores = self
            .try_formats(question, texts)
            .await
            .map_err(port_error)?;
        let (count, millis) = (texts.len(), begun.elapsed().as_millis());
        info!(
            texts = count,
            millis, "reranked {count} texts in {millis} ms"
        );
        Ok(scores)
    }
}

impl RerankClient {
    async fn try_formats(
        &self,
        question: &str,
        texts: &[&str],
    ) -> Result<Vec<Option<f32>>, ModelError> {
        let mut refusal = ModelError::Invalid;
        for number in self.accepted_format.candidate_formats(FORMATS.len()) {
            match self.call_in_format(FORMATS[number], question, texts).await {
                Ok(scores) => {
                    self.accepted_format.remember_format(number);
                    return Ok(scores);
                }
                // The form of the request may be refused, so the next one is tried.
                Err(error @ ModelError::Refused(400 | 422)) => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    async fn call_in_format(
        &self,
        format: RequestFormat,
        question: &str,
        texts: &[&str],
    ) -> Result<Vec<Option<f32>>, ModelError> {
        let batch_len = match format {
            RequestFormat::Texts => BATCH_TEXTS,
            RequestFormat::WithTopN | RequestFormat::WithoutTopN => texts.len(),
        };
        let mut scores = Vec::with_capacity(texts.len());
        for batch in texts.chunks(batch_len) {
            let body = self.build_request_body(format, question, batch);
            scores.extend(self.call(&body, batch.len()).await?);
        }
        Ok(scores)
    }

    fn build_request_body(&self, format: RequestFormat, question: &str, texts: &[&str]) -> Value {
        let model = &*self.model;
        match format {
            RequestFormat::WithTopN => {
                json!({"model": model, "query": question, "documents": texts, "top_n": texts.len()})
            }
            RequestFormat::WithoutTopN => {
                json!({"model": model, "query": question, "documents": texts})
            }
            RequestFormat::Texts => json!({"query": question, "texts": texts, "truncate": true}),
        }
    }

    async fn call(&self, body: &Value, texts: usize) -> Result<Vec<Option<f32>>, ModelError> {
        let body = Bytes::from(body.to_string());
        let call = self
            .client
            .call_endpoint("rerank", "application/json", body, MAX_ANSWER_BYTES);
        let Ok(answer) = timeout(self.client.call_timeout, call).await else {
            return Err(ModelError::Unavailable);
        };
        read_answer(&answer?, texts).ok_or(ModelError::Invalid)
    }
}

/// Returns the scores in the order of the texts. Returns `None` unless each score is a number that
/// belongs to one text, and at least one text has a score.
fn read_answer(answer: &[u8], texts: usize) -> Option<Vec<Option<f32>>> {
    let (Answer::Results { results } | Answer::List(results)) =
        serde_json::from_slice(answer).ok()?;
    let mut scores = vec![None; texts];
    for result in &results {
        let place = scores.get_mut(result.index)?;
        if place.is_some() || !result.score.is_finite() {
            return None;
        }
        *place = Some(result.score);
    }
    (!results.is_empty()).then_some(scores)
}

fn port_error(error: ModelError) -> PortError {
    let is_temporary = matches!(error, ModelError::Unavailable | ModelError::Invalid);
    let source: BoxError = Box::new(error);
    if is_temporary {
        PortError::Unavailable(source)
    } else {
        PortError::Internal(source)
    }
}
