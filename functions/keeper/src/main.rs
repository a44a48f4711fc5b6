//! The Lambda function `keeper`.

fn main() -> anyhow::Result<()> {
    lambda::queue_and_schedule(keeper::Keeper::new, |ctx| async move {
        let now = ctx.clock.now();
        keeper::sweep(&ctx, now).await.map(|_| ())
    })
}
