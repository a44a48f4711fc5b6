//! A request that is paused before one of its calls while something else happens.

use std::time::Duration;

use futures::FutureExt;
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;

/// Returns clients of two processes in one world.
pub(crate) async fn two_processes() -> (OrgClient, OrgClient) {
    let world = TestEnvironment::new().expect("a folder");
    let slow = OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await;
    let quick = OrgClient::of(TestApp::start(&world, 1).await.expect("an app"), "acme").await;
    (slow, quick)
}

/// Runs `first` up to its call number `call`, then `second`, then the rest of `first`. Returns the
/// result of `first`, and whether it reached that call.
pub(crate) async fn pause_and_run<T>(
    slow: &OrgClient,
    call: u64,
    first: impl Future<Output = T>,
    second: impl Future<Output = ()>,
) -> (T, bool) {
    // The backlog is counted and the key is read in advance. Otherwise these calls would run
    // concurrently with the request, and a pause would affect only one of them.
    let ctx = &slow.app.system.ctx;
    ctx.backlog
        .admit_documents(ctx, &slow.tenant, 0)
        .await
        .expect("a count");
    slow.get("/v3/session").await;
    let faults = &slow.app.faults;
    let begun = faults.call_count();
    faults.pause_at(begun + call);
    let mut first = std::pin::pin!(first);
    let mut early = (&mut first).now_or_never();
    while early.is_none() && faults.call_count() < begun + call {
        tokio::time::sleep(Duration::from_millis(1)).await;
        early = (&mut first).now_or_never();
    }

    second.await;
    faults.resume_calls();
    let result = match early {
        Some(result) => result,
        None => first.await,
    };

    (result, faults.call_count() > begun + call)
}
