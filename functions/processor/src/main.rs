//! The Lambda function `processor`.

use processor::{ContentReaders, Processor};
use remote::{ModelClient, ModelSettings};

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    let settings = lambda::Settings::load()?;
    let models = ModelClient::new(ModelSettings::from_environment(|name| settings.get(name)));
    lambda::run_queue(|deployment| {
        let readers = ContentReaders {
            pages_and_files: reader::deployed_reader(deployment)?,
            embedder: models.embedder(),
            models,
        };
        let reader = readers.pages_and_files.clone();
        tokio::spawn(async move { reader.log_isolation().await });
        Ok(Processor::new(deployment.ctx.clone(), readers))
    })?;

    Ok(std::process::ExitCode::SUCCESS)
}
