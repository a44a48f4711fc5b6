//! The Lambda function `maintenance`.

use std::sync::Arc;

use container_index::CompactionSettings;
use lambda::Deployment;
use maintenance::MaintenanceWorker;

fn main() -> anyhow::Result<()> {
    let walk = Arc::new(maintenance::OrphanWalk::default());
    let worker = |deployment: &Deployment| {
        MaintenanceWorker::new(deployment.ctx.clone(), CompactionSettings::OVER_NETWORK)
            .with_embedder(deployment.model_client().embedder())
    };
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
