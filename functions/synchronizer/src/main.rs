//! The Lambda function `synchronizer`.

use std::sync::Arc;

use sync::{ModelJudge, SyncEngine};
use synchronizer::SyncWorker;

fn main() -> anyhow::Result<()> {
    lambda::run_queue(|deployment| {
        let drive =
            connectors::DriveSettings::from_environment(|name| deployment.settings.get(name));
        let judge = Arc::new(ModelJudge(deployment.model_client()));
        let notifications = lambda::read_non_empty("RECOLLECT_PUBLIC_URL");
        let fetcher = reader::deployed_fetcher(deployment)?;
        Ok(SyncWorker::new(SyncEngine {
            ctx: deployment.ctx.clone(),
            connectors: connectors::all_connectors(&drive, fetcher)?,
            judge,
            notifications,
        }))
    })
}
