//! The Lambda function `settings`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| {
        let model = lambda::read_variable("RECOLLECT_MEMORY_MODEL");
        let has_model = model.is_some_and(|name| !name.trim().is_empty());
        Ok(settings::router(app, has_model))
    })
}
