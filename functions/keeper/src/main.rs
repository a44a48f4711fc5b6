//! The Lambda function `keeper`.

use std::sync::Arc;

fn main() -> anyhow::Result<()> {
    let walk = Arc::new(keeper::OrphanWalk::default());
    lambda::queue_and_schedule(keeper::Keeper::new, move |ctx| {
        let walk = walk.clone();
        async move {
            let now = ctx.clock.now();
            keeper::sweep(&ctx, now).await?;
            if let Err(error) = walk.step(&ctx).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not look for orphans"
                );
            }
            Ok(())
        }
    })
}
