//! The Lambda function `maintenance`.

use std::sync::Arc;

fn main() -> anyhow::Result<()> {
    let walk = Arc::new(maintenance::OrphanWalk::default());
    lambda::run_queue_and_schedule(maintenance::MaintenanceWorker::new, move |ctx| {
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
