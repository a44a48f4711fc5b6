//! Reranking by the model that the operator chose.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::ports::{PortResult, RerankModel};
use tokio::time::timeout;
use tracing::warn;

use crate::rerank::{RERANK_CANDIDATES, RerankCandidate, Reranker, TextReranker};

/// The time that a model has for the candidates of a search. After it they are reranked without it.
const RERANK_TIMEOUT: Duration = Duration::from_secs(5);
/// The most candidates that a model sees: the best fifty of each kind, as searches usually have
/// them. A request for more results would take too long and cost more.
const MAX_TEXTS: usize = 2 * RERANK_CANDIDATES;
/// The score of a candidate that the model has not scored: below all others, in the order of the
/// search.
const UNSCORED: f32 = f32::MIN;

/// Returns the reranker of searches: that of the chosen model, or the built-in one.
pub(crate) fn build_reranker(model: Option<Arc<dyn RerankModel>>) -> Arc<dyn Reranker> {
    match model {
        Some(model) => Arc::new(ModelReranker {
            model,
            time_limit: RERANK_TIMEOUT,
        }),
        None => Arc::new(TextReranker),
    }
}

/// Scores candidates by a model. If it fails or takes long, the built-in reranker scores them.
struct ModelReranker {
    model: Arc<dyn RerankModel>,
    time_limit: Duration,
}

#[async_trait]
impl Reranker for ModelReranker {
    async fn score(
        &self,
        question: &str,
        candidates: &[RerankCandidate<'_>],
    ) -> PortResult<Vec<f32>> {
        let mut best: Vec<usize> = (0..candidates.len()).collect();
        let share = |index: &usize| candidates[*index].score_share;
        best.sort_by(|a, b| share(b).total_cmp(&share(a)));
        best.truncate(MAX_TEXTS);
        let texts: Vec<&str> = best.iter().map(|index| candidates[*index].text).collect();

        let name = self.model.model();
        match timeout(self.time_limit, self.model.score(question, &texts)).await {
            Ok(Ok(scores)) => {
                let mut all = vec![UNSCORED; candidates.len()];
                for (index, score) in best.into_iter().zip(scores) {
                    all[index] = score.unwrap_or(UNSCORED);
                }
                return Ok(all);
            }
            Ok(Err(error)) => {
                warn!(
                    model = name,
                    error = &error as &dyn std::error::Error,
                    "could not rerank by {name}; words and built-in vectors do"
                );
            }
            Err(_) => {
                warn!(
                    model = name,
                    "{name} takes long to rerank; words and built-in vectors do"
                );
            }
        }
        TextReranker.score(question, candidates).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never answers, or leaves out every text but the last.
    #[derive(Debug)]
    struct Model {
        is_slow: bool,
    }

    #[async_trait]
    impl RerankModel for Model {
        fn model(&self) -> &str {
            "judge"
        }

        async fn score(&self, _: &str, texts: &[&str]) -> PortResult<Vec<Option<f32>>> {
            if self.is_slow {
                std::future::pending::<()>().await;
            }
            let mut scores = vec![None; texts.len()];
            scores[texts.len() - 1] = Some(-7.0);
            Ok(scores)
        }
    }

    fn candidate(text: &str, score_share: f32) -> RerankCandidate<'_> {
        RerankCandidate { text, score_share }
    }

    #[tokio::test]
    async fn a_model_that_takes_long_is_replaced() {
        let candidates = [
            candidate("the red ferry", 0.5),
            candidate("a blue bicycle", 0.5),
        ];
        let question = "red ferry";
        let by_words = TextReranker.score(question, &candidates).await.unwrap();
        assert!(by_words[0] > by_words[1]);

        let slow = ModelReranker {
            model: Arc::new(Model { is_slow: true }),
            time_limit: Duration::from_millis(10),
        };
        assert_eq!(slow.score(question, &candidates).await.unwrap(), by_words);
    }

    #[tokio::test]
    async fn what_the_model_does_not_see_or_score_comes_last() {
        let reranker = build_reranker(Some(Arc::new(Model { is_slow: false })));
        let few = [candidate("a", 1.0), candidate("b", 0.5)];
        let scores = reranker.score("q", &few).await.unwrap();
        assert_eq!(scores, [UNSCORED, -7.0]);

        // The last text that the model sees is the hundredth by its score in the search.
        let shares = (0..150).map(|number| number as f32 / 150.0);
        let many: Vec<RerankCandidate<'_>> = shares.map(|share| candidate("a", share)).collect();
        let scores = reranker.score("q", &many).await.unwrap();
        let mut expected = vec![UNSCORED; 150];
        expected[50] = -7.0;
        assert_eq!(scores, expected);
    }
}
