//! The Lambda function `synchronizer`.

use std::sync::Arc;

use remote::{ModelClient, ModelSettings};
use sync::{ModelJudge, SyncEngine};
use synchronizer::SyncWorker;

fn main() -> anyhow::Result<()> {
    let settings = lambda::Settings::load()?;
    let drive = connectors::DriveSettings::from_environment(|name| settings.get(name));
    let judge = Arc::new(ModelJudge(ModelClient::new(
        ModelSettings::from_environment(|name| settings.get(name)),
    )));
    let notifications = lambda::read_variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());

    lambda::run_queue(|deployment| {
        let fetcher = reader::deployed_fetcher(deployment)?;
        Ok(SyncWorker::new(SyncEngine {
            ctx: deployment.ctx.clone(),
            connectors: connectors::all_connectors(&drive, fetcher)?,
            judge,
            notifications,
        }))
    })
}
