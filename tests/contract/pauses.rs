//! A request that stands still before one of its calls while something else happens.

use std::time::Duration;

use futures::FutureExt;
use testkit::{TestApp, World};

use crate::client::Client;

/// Two processes of one world.
pub(crate) async fn two() -> (Client, Client) {
    let world = World::new().expect("a folder");
    let slow = Client::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await;
    let quick = Client::of(TestApp::start(&world, 1).await.expect("an app"), "acme").await;
    (slow, quick)
}

/// Lets `first` come as far as its call number `call`, then has `second` happen, then the rest of `first`. Returns the
/// result of `first`, and whether it came as far.
pub(crate) async fn meanwhile<T>(
    slow: &Client,
    call: u64,
    first: impl Future<Output = T>,
    second: impl Future<Output = ()>,
) -> (T, bool) {
    // The backlog is counted and the key read now: those calls go out together, and one that stands still is all that can
    // go on.
    let ctx = &slow.app.system.ctx;
    ctx.backlog
        .admit(ctx, &slow.tenant, 0)
        .await
        .expect("a count");
    slow.get("/v3/session").await;
    let faults = &slow.app.faults;
    let begun = faults.calls();
    faults.pause_at(begun + call);
    let mut first = std::pin::pin!(first);
    let mut early = (&mut first).now_or_never();
    while early.is_none() && faults.calls() < begun + call {
        tokio::time::sleep(Duration::from_millis(1)).await;
        early = (&mut first).now_or_never();
    }

    second.await;
    faults.resume();
    let result = match early {
        Some(result) => result,
        None => first.await,
    };

    (result, faults.calls() > begun + call)
}
