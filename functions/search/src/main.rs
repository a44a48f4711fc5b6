//! The Lambda function `search`.

use remote::{ModelClient, ModelSettings};

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, deployment| {
        let models = ModelSettings::from_environment(|name| deployment.settings.get(name));
        let models = ModelClient::new(models);
        Ok(search::router(
            app.with_embedder(models.embedder())
                .with_rerank_model(models.rerank_model()),
            search::lambda_cache(search::LAMBDA_CACHE_BYTES),
        ))
    })
}
