//! The Lambda function `keeper`.

use std::sync::Arc;

fn main() -> anyhow::Result<()> {
    let walk = Arc::new(keeper::OrphanWalk::default());
    lambda::run_queue_and_schedule(keeper::MaintenanceWorker::new, move |ctx| {
        let walk = walk.clone();
        async move {
            let now = ctx.clock.now();
            keeper::sweep_overdue_work(&ctx, now).await?;
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
