//! The search for orphaned blobs runs while a worker is paused at every position in turn, for
//! longer than the age from which a blob can count as an orphan. It removes nothing that the worker
//! still uses.

use domain::ports::BlobStore;
use futures::FutureExt;
use service::Ctx;
use service::collect_orphans;
use testkit::{TestApp, TestEnvironment};

use crate::history::HistoryClient;

/// A time in seconds that is longer than the age from which a blob can count as an orphan.
pub(crate) const LONG_SECONDS: i64 = 25 * 3600;

/// Deletes every orphan, in DynamoDB and in S3.
pub(crate) async fn collect_all(ctx: &Ctx) {
    for shelf in [BlobStore::Inline, BlobStore::Objects] {
        let mut after: Option<String> = None;
        loop {
            let page = collect_orphans(ctx, shelf, after.as_deref(), 1000)
                .await
                .expect("a page");
            after = page.1;
            if after.is_none() {
                break;
            }
        }
    }
}

async fn run_with_pause(world: &TestEnvironment, healthy: &TestApp, at: u64, others: bool) -> u64 {
    let org = format!("orphan-{at}-{others}");
    let mut client = HistoryClient::new(&org, healthy.create_key(&org).await);
    client.put_content(healthy, "doc").await;
    let slow = TestApp::start(world, at).await.expect("an app");
    let begun = slow.faults.call_count();
    slow.faults.pause_at(begun + at);
    let mut turn = std::pin::pin!(slow.run_workers_once());
    let finished = (&mut turn).now_or_never().is_some();
    world.clock.advance_seconds(LONG_SECONDS);
    if others {
        healthy.run_until_settled().await.expect("work that ends");
    }

    collect_all(&healthy.system.ctx).await;
    slow.faults.resume_calls();
    if !finished {
        turn.await;
    }

    healthy.run_until_settled().await.expect("work that ends");
    let cold = TestApp::start(world, at).await.expect("an app");
    client.check_state(&cold).await;

    slow.faults.call_count() - begun
}

#[tokio::test]
async fn nothing_that_a_slow_worker_still_uses_is_taken_for_an_orphan() {
    for others in [false, true] {
        let world = TestEnvironment::new().expect("a folder");
        let healthy = TestApp::start(&world, 0).await.expect("an app");
        let mut at = 0;
        while at < run_with_pause(&world, &healthy, at, others).await {
            at += 1;
        }
        assert!(at > 12, "a turn with a document has only {at} calls");
    }
}
