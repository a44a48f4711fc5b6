//! A worker is paused at every position in turn, long enough for another to do its work, and then
//! continues.

use futures::FutureExt;
use testkit::{TestApp, TestEnvironment};

use crate::history::HistoryClient;

#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Nothing,
    Replaced,
    Deleted,
    DeletedAndSentAgain,
}

/// Runs one turn of a slow worker that is paused before its call number `at`, about a document or
/// about texts that share a message. Returns the number of calls of the turn.
async fn run_slow_worker(
    world: &TestEnvironment,
    healthy: &TestApp,
    at: u64,
    meanwhile: Meanwhile,
    custom_ids: &[&str],
) -> u64 {
    let org = format!("slow-{at}-{}-{}", meanwhile as u8, custom_ids.len());
    let mut client = HistoryClient::new(&org, healthy.create_key(&org).await);
    client.put_batch(healthy, custom_ids).await;
    let slow = TestApp::start(world, at).await.expect("an app");
    let begun = slow.faults.call_count();
    slow.faults.pause_at(begun + at);
    let mut turn = std::pin::pin!(slow.run_workers_once());
    let finished = (&mut turn).now_or_never().is_some();
    // The lease of the slow worker expires, the sweep sends the message again, and another worker
    // takes over.
    healthy.run_until_settled().await.expect("work that ends");
    match meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::Replaced => client.put_content(healthy, "doc").await,
        Meanwhile::Deleted => client.delete(healthy, "doc").await,
        Meanwhile::DeletedAndSentAgain => {
            client.delete(healthy, "doc").await;
            client.put_content(healthy, "doc").await;
        }
    }

    healthy.run_until_settled().await.expect("work that ends");
    slow.faults.resume_calls();
    if !finished {
        turn.await;
    }

    healthy.run_until_settled().await.expect("work that ends");
    // A new process has no warm index, so it finds only what is stored.
    let cold = TestApp::start(world, at).await.expect("an app");
    client.check_state(&cold).await;

    slow.faults.call_count() - begun
}

#[tokio::test]
async fn a_worker_that_goes_on_too_late_changes_nothing() {
    let world = TestEnvironment::new().expect("a folder");
    let healthy = TestApp::start(&world, 0).await.expect("an app");
    for meanwhile in [
        Meanwhile::Nothing,
        Meanwhile::Replaced,
        Meanwhile::Deleted,
        Meanwhile::DeletedAndSentAgain,
    ] {
        for custom_ids in [["doc"].as_slice(), &["doc", "other"]] {
            let mut at = 0;
            while at < run_slow_worker(&world, &healthy, at, meanwhile, custom_ids).await {
                at += 1;
            }
            assert!(at > 12, "a turn with a document has only {at} calls");
        }
    }
}
