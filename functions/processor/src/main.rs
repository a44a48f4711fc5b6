//! The Lambda function `processor`.

use processor::{ContentReaders, Processor};

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    lambda::run_queue(|deployment| {
        let models = deployment.model_client();
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
