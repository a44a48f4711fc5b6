//! Vectors of questions by the models whose vectors the searched containers have.

use std::collections::{BTreeSet, HashMap};
use std::iter::zip;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use container_index::{ChosenModel, IndexedChunks};
use domain::ports::TextEmbedder;
use domain::{ContainerId, Job, JobMessage, OrgId, Tenant, Timestamp};
use futures::future::join_all;
use search_engine::QueryModel;
use service::Ctx;
use tokio::time::timeout;
use tracing::warn;

/// The time that a model has for a question. After it the built-in vectors answer.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The most models that embed one question: the chosen one, and those before it.
const MAX_MODELS: usize = 4;
/// The pause between two requests to embed the documents of a container.
const REQUEST_PAUSE_SECONDS: i64 = 3_600;
/// The number of containers from which the times of requests are forgotten.
const MAX_REQUESTS: usize = 10_000;

/// Embeds questions, and notices containers that lack vectors of the chosen model.
#[derive(Debug, Default)]
pub(crate) struct QuestionEmbedder {
    model: Option<ChosenModel>,
    /// The times of the last requests to embed the documents of a container.
    requested_at: Mutex<HashMap<(OrgId, ContainerId), Timestamp>>,
}

impl QuestionEmbedder {
    /// Returns an embedder by the chosen model, if there is one.
    pub(crate) fn new(embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self {
            model: embedder.map(ChosenModel::new),
            requested_at: Mutex::default(),
        }
    }

    /// Embeds a question by every model whose vectors these containers have. A model that fails, or
    /// cannot be asked any more, is left out: its chunks are then compared by their built-in vectors.
    /// Containers with documents that the chosen model has not embedded are embedded in the
    /// background.
    pub(crate) async fn embed_question(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        ids: &[ContainerId],
        indexed_chunks: &[IndexedChunks],
        question: &str,
    ) -> Arc<[QueryModel]> {
        let Some(model) = &self.model else {
            return Arc::default();
        };

        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        for (id, chunks) in zip(ids, indexed_chunks) {
            let models = chunks.index.model_names().into_iter();
            names.extend(models.filter(|name| model.can_embed_by(name)));
            let without = chunks.index.documents_without(model.name(), 1);
            if without.is_ok_and(|ids| !ids.is_empty()) {
                self.request_embedding(ctx, tenant, id).await;
            }
        }

        // The chosen model comes first.
        let mut names: Vec<Arc<str>> = names.into_iter().collect();
        names.sort_by_key(|name| **name != *model.name());
        names.truncate(MAX_MODELS);
        let attempts = names.iter().map(|name| embed(model, name, question));
        join_all(attempts).await.into_iter().flatten().collect()
    }

    /// Asks maintenance to embed the documents of a container, unless that was done lately. A lost
    /// message only costs time, because later searches ask again.
    async fn request_embedding(&self, ctx: &Ctx, tenant: &Tenant, id: &ContainerId) {
        if !self.is_request_due(tenant, id, ctx.clock.now()) {
            return;
        }
        let job = Job::EmbedV1 {
            container: id.clone(),
            documents: Vec::new(),
            after: None,
        };
        let message = JobMessage::new(tenant.org(), job);
        if let Err(error) = ctx.jobs.send(&[message]).await {
            warn!(container.id = %id, error = &error as &dyn std::error::Error,
                "could not ask for the embedding of {id}");
        }
    }

    fn is_request_due(&self, tenant: &Tenant, id: &ContainerId, now: Timestamp) -> bool {
        // A panic while the lock was held cannot leave the map half-changed.
        let mut requested_at = self
            .requested_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.org().clone(), id.clone());
        if let Some(at) = requested_at.get(&key)
            && now < at.plus_seconds(REQUEST_PAUSE_SECONDS)
        {
            return false;
        }
        if requested_at.len() >= MAX_REQUESTS {
            requested_at.clear();
        }
        requested_at.insert(key, now);
        true
    }
}

async fn embed(model: &ChosenModel, name: &Arc<str>, question: &str) -> Option<QueryModel> {
    match timeout(QUESTION_TIMEOUT, model.embed_question(name, question)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            warn!(model = %name, error = &error as &dyn std::error::Error,
                "could not embed a question by {name}; the built-in vectors answer it");
            None
        }
        Err(_) => {
            warn!(model = %name, "{name} takes long to embed a question; the built-in vectors answer it");
            None
        }
    }
}
