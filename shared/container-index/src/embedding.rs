//! Vectors by the model that the operator chose: of chunks, and of questions.

use std::collections::HashMap;
use std::iter::zip;
use std::sync::{Arc, Mutex, PoisonError};

use domain::Pack;
use domain::ports::{EmbeddingInput, PortResult, TextEmbedder};
use search_engine::{
    CosineLevels, CosineScale, Embedder, ModelVector, QuantizedVector, QueryModel, StaticEmbedder,
};

/// The most chunks of a document that the model embeds. A larger document would take longer than a
/// function may run, and it keeps the built-in vectors.
const MAX_CHUNKS: usize = 5_000;

/// Questions with their answers. Their cosines show which values a model gives to related and to
/// unrelated texts.
const LEVEL_TEXTS: [(&str, &str); 8] = [
    (
        "When does the ferry leave?",
        "The ferry departs from the pier at half past seven each morning.",
    ),
    (
        "Which instrument does Ada play?",
        "Ada has taken cello lessons since she was nine.",
    ),
    (
        "How do I reset my password?",
        "Choose a new password on the account page after you confirm your address.",
    ),
    (
        "What did the doctor recommend?",
        "The physician told him to rest for a week and drink plenty of water.",
    ),
    (
        "Why was the meeting moved?",
        "We postponed the appointment because two colleagues are ill.",
    ),
    (
        "Where is the spare key?",
        "An extra key lies under the blue flower pot beside the door.",
    ),
    (
        "How much did the bicycle cost?",
        "She paid four hundred euros for the used bike.",
    ),
    (
        "Who wrote the quarterly report?",
        "The finance team's summary of the last three months is by Jonas.",
    ),
];

/// The model that the operator chose, and the calibration of each model that was asked. Clones
/// share it.
#[derive(Debug, Clone)]
pub struct ChosenModel {
    embedder: Arc<dyn TextEmbedder>,
    scales: Arc<Mutex<HashMap<Arc<str>, CosineScale>>>,
}

impl ChosenModel {
    /// Returns the model of `embedder`.
    pub fn new(embedder: Arc<dyn TextEmbedder>) -> Self {
        Self {
            embedder,
            scales: Arc::default(),
        }
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        self.embedder.model()
    }

    /// Checks whether questions can be embedded by `model`, the chosen one or an earlier one.
    pub fn can_embed_by(&self, model: &str) -> bool {
        self.embedder.can_embed_by(model)
    }

    /// Checks whether the chunks of a pack have been embedded by the model.
    pub fn has_embedded(&self, pack: &Pack) -> bool {
        pack.chunks.is_empty() || pack.chosen_model.as_deref() == Some(self.name())
    }

    /// Embeds the chunks of a pack, and records the model in it. A chunk that `previous` has word
    /// for word keeps its vector. A chunk that the model refuses gets none. Returns the number of
    /// texts that the model has embedded.
    ///
    /// # Errors
    /// Those of the model. The pack is unchanged then.
    pub async fn embed_pack(&self, pack: &mut Pack, previous: Option<&Pack>) -> PortResult<usize> {
        if pack.chunks.is_empty() {
            return Ok(0);
        }

        let mut vectors: HashMap<String, Vec<i8>> = HashMap::new();
        if let Some(previous) = previous
            && self.has_embedded(previous)
        {
            for (text, chunk) in zip(previous.chunk_texts(), &previous.chunks) {
                if !chunk.model_vector.is_empty() {
                    vectors.insert(text.to_owned(), chunk.model_vector.clone());
                }
            }
        }

        let chunk_texts: Vec<String> = pack.chunk_texts().into_iter().map(str::to_owned).collect();
        let mut missing: Vec<&str> = Vec::new();
        if chunk_texts.len() <= MAX_CHUNKS {
            for text in &chunk_texts {
                if !vectors.contains_key(text) && !text.trim().is_empty() {
                    missing.push(text);
                }
            }
        }
        missing.sort_unstable();
        missing.dedup();

        let model: Arc<str> = Arc::from(self.name());
        let embedded = if missing.is_empty() {
            Vec::new()
        } else {
            let passages: Vec<EmbeddingInput<'_>> = missing
                .iter()
                .map(|text| EmbeddingInput::Passage(text))
                .collect();
            self.embedder.embed(&model, &passages).await?.vectors
        };
        for (text, values) in zip(&missing, &embedded) {
            if let Some(vector) = ModelVector::quantize(model.clone(), values) {
                vectors.insert((*text).to_owned(), vector.codes().to_vec());
            }
        }

        for (text, chunk) in zip(&chunk_texts, &mut pack.chunks) {
            chunk.model_vector = vectors.get(text).cloned().unwrap_or_default();
        }
        pack.chosen_model = Some(model.to_string());
        Ok(missing.len())
    }

    /// Embeds a question by `model`, for which [`Self::can_embed_by`] is true. Returns `None` if the
    /// model refuses the question.
    ///
    /// # Errors
    /// Those of the model.
    pub async fn embed_question(
        &self,
        model: &Arc<str>,
        question: &str,
    ) -> PortResult<Option<QueryModel>> {
        let known = self.lock().get(model).copied();
        let mut texts = vec![EmbeddingInput::Question(question)];
        if known.is_none() {
            for (question, answer) in LEVEL_TEXTS {
                texts.push(EmbeddingInput::Question(question));
                texts.push(EmbeddingInput::Passage(answer));
            }
        }

        let mut vectors = Vec::with_capacity(texts.len());
        for values in self.embedder.embed(model, &texts).await?.vectors {
            vectors.push(ModelVector::quantize(model.clone(), &values));
        }

        let scale = match known {
            Some(scale) => scale,
            None => {
                let scale = measure_scale(&vectors[1..]);
                self.lock().insert(model.clone(), scale);
                scale
            }
        };
        let vector = vectors.into_iter().next().flatten();
        Ok(vector.map(|vector| QueryModel { vector, scale }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, CosineScale>> {
        // A panic while the lock was held cannot leave the map half-changed.
        self.scales.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the conversion of a model's cosines to those of the built-in embedder, from the vectors
/// of [`LEVEL_TEXTS`] in order.
fn measure_scale(vectors: &[Option<ModelVector>]) -> CosineScale {
    let mut built_in = Vec::new();
    for (question, answer) in LEVEL_TEXTS {
        built_in.extend([StaticEmbedder.embed(question), StaticEmbedder.embed(answer)]);
    }

    let to = measure_levels(built_in.len(), |a, b| {
        QuantizedVector::cosine(&built_in[a], &built_in[b])
    });
    let from = measure_levels(vectors.len(), |a, b| match (&vectors[a], &vectors[b]) {
        (Some(a), Some(b)) => a.cosine(b),
        _ => 0.0,
    });
    CosineScale::between(from, to)
}

/// Returns the mean cosines of questions with their own answers and with the answers of others.
/// Questions have even numbers, and their answers follow them.
fn measure_levels(count: usize, cosine: impl Fn(usize, usize) -> f32) -> CosineLevels {
    let (mut related, mut unrelated) = (0.0, 0.0);
    let pairs = count / 2;
    for question in 0..pairs {
        for answer in 0..pairs {
            let cosine = cosine(question * 2, answer * 2 + 1);
            if question == answer {
                related += cosine;
            } else {
                unrelated += cosine;
            }
        }
    }

    CosineLevels {
        unrelated: unrelated / (pairs * pairs.saturating_sub(1)).max(1) as f32,
        related: related / pairs.max(1) as f32,
    }
}
