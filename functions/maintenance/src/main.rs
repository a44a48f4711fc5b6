//! The Lambda function `maintenance`.

use std::sync::Arc;

use maintenance::MaintenanceWorker;
use remote::{ModelClient, ModelSettings};

fn main() -> anyhow::Result<()> {
    let walk = Arc::new(maintenance::OrphanWalk::default());
    let settings = lambda::Settings::load()?;
    let models = ModelClient::new(ModelSettings::from_environment(|name| settings.get(name)));
    let worker = move |ctx| MaintenanceWorker::new(ctx).with_embedder(models.embedder());
    lambda::run_queue_and_schedule(worker, move |ctx| {
        let walk = walk.clone();
        async move {
            let now = ctx.clock.now();
            maintenance::sweep_overdue_work(&ctx, now).await?;
            if let Err(error) = walk.examine_next_page(&ctx).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not look for orphans"
                );
            }
            Ok(())
        }
    })
}
