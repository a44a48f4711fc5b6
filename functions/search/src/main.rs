//! The Lambda function `search`.

use remote::{ModelClient, ModelSettings};

fn main() -> anyhow::Result<()> {
    let settings = lambda::Settings::load()?;
    let models = ModelClient::new(ModelSettings::from_environment(|name| settings.get(name)));
    lambda::run_http(move |app| {
        search::router(
            app.with_embedder(models.embedder())
                .with_rerank_model(models.rerank_model()),
            search::lambda_cache(search::LAMBDA_CACHE_BYTES),
        )
    })
}
