//! The Lambda function `processor`.

use processor::{ContentReaders, Processor};
use remote::{ModelClient, ModelSettings};

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    let settings = lambda::Settings::load()?;
    let models = ModelClient::new(ModelSettings::from_environment(|name| settings.get(name)));
    let readers = ContentReaders {
        reader: reader::deployed_reader()?,
        embedder: models.embedder(),
        models,
    };

    lambda::run_queue(|ctx| {
        let reader = readers.reader.clone();
        tokio::spawn(async move { reader.log_isolation().await });
        Processor::new(ctx, readers)
    })?;

    Ok(std::process::ExitCode::SUCCESS)
}
