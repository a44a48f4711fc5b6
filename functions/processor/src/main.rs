//! The Lambda function `processor`.

use processor::{ContentReaders, Processor};
use remote::{Fetcher, ModelClient, ModelSettings, Network};
use sandbox::Sandbox;

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    let settings = lambda::Settings::load()?;
    let models = ModelClient::new(ModelSettings::from_environment(|name| settings.get(name)));
    let readers = ContentReaders {
        sandbox: Sandbox::in_child(std::env::current_exe()?),
        fetcher: Fetcher::new(Network::public_internet()),
        embedder: models.embedder(),
        models,
    };

    lambda::run_queue(|ctx| {
        let readers_to_log = readers.clone();
        tokio::spawn(async move { readers_to_log.log_isolation().await });
        Processor::new(ctx, readers)
    })?;

    Ok(std::process::ExitCode::SUCCESS)
}
