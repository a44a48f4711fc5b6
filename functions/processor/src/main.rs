//! The Lambda function `processor`.

use processor::{Processor, Readers};
use remote::{Fetcher, ModelSettings, Models, Network};
use sandbox::Sandbox;

fn main() -> anyhow::Result<std::process::ExitCode> {
    if std::env::args().nth(1).as_deref() == Some(sandbox::CHILD_ARGUMENT) {
        return Ok(sandbox::child_main());
    }

    let readers = Readers {
        sandbox: Sandbox::child(std::env::current_exe()?),
        fetcher: Fetcher::new(Network::public()),
        models: Models::new(ModelSettings::from_environment(lambda::variable)),
    };

    lambda::queue(|ctx| {
        let told = readers.clone();
        tokio::spawn(async move { told.log_walls().await });
        Processor::new(ctx, readers)
    })?;

    Ok(std::process::ExitCode::SUCCESS)
}
