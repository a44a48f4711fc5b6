//! The Lambda function `settings`.

fn main() -> anyhow::Result<()> {
    let model = lambda::read_variable("RECOLLECT_MEMORY_MODEL");
    let has_model = model.is_some_and(|name| !name.trim().is_empty());
    lambda::run_http(move |app| settings::router(app, has_model))
}
