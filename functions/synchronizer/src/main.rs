//! The Lambda function `synchronizer`.

use std::sync::Arc;

use remote::{ModelClient, ModelSettings};
use sync::{ModelJudge, SyncEngine};
use synchronizer::SyncWorker;

fn main() -> anyhow::Result<()> {
    lambda::run_queue(|deployment| {
        let setting = |name: &str| deployment.settings.get(name);
        let drive = connectors::DriveSettings::from_environment(setting);
        let models = ModelClient::new(ModelSettings::from_environment(setting));
        let judge = Arc::new(ModelJudge(models));
        let notifications =
            lambda::read_variable("RECOLLECT_PUBLIC_URL").filter(|url| !url.is_empty());
        let fetcher = reader::deployed_fetcher(deployment)?;
        Ok(SyncWorker::new(SyncEngine {
            ctx: deployment.ctx.clone(),
            connectors: connectors::all_connectors(&drive, fetcher)?,
            judge,
            notifications,
        }))
    })
}
