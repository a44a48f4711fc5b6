//! A worker is paused at every position in turn, long enough for another to do its work, and then
//! continues.

use futures::FutureExt;
use testkit::{TestApp, World};

use crate::history::Client;

#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Nothing,
    Replaced,
    Deleted,
    DeletedAndSentAgain,
}

/// Runs one turn of a slow worker that is paused before its call number `at`. Returns the number of
/// calls of the turn.
async fn run(world: &World, healthy: &TestApp, at: u64, meanwhile: Meanwhile) -> u64 {
    let org = format!("slow-{at}-{}", meanwhile as u8);
    let mut client = Client::new(&org, healthy.key(&org).await);
    client.put(healthy, "doc").await;
    let slow = TestApp::start(world, at).await.expect("an app");
    let begun = slow.faults.calls();
    slow.faults.pause_at(begun + at);
    let mut turn = std::pin::pin!(slow.turn());
    let finished = (&mut turn).now_or_never().is_some();
    // The lease of the slow worker expires, the sweep sends the message again, and another worker
    // takes over.
    healthy.settle().await.expect("work that ends");
    match meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::Replaced => client.put(healthy, "doc").await,
        Meanwhile::Deleted => client.delete(healthy, "doc").await,
        Meanwhile::DeletedAndSentAgain => {
            client.delete(healthy, "doc").await;
            client.put(healthy, "doc").await;
        }
    }

    healthy.settle().await.expect("work that ends");
    slow.faults.resume();
    if !finished {
        turn.await;
    }

    healthy.settle().await.expect("work that ends");
    // A new process has no warm index, so it finds only what is stored.
    let cold = TestApp::start(world, at).await.expect("an app");
    client.check(&cold).await;

    slow.faults.calls() - begun
}

#[tokio::test]
async fn a_worker_that_goes_on_too_late_changes_nothing() {
    let world = World::new().expect("a folder");
    let healthy = TestApp::start(&world, 0).await.expect("an app");
    for meanwhile in [
        Meanwhile::Nothing,
        Meanwhile::Replaced,
        Meanwhile::Deleted,
        Meanwhile::DeletedAndSentAgain,
    ] {
        let mut at = 0;
        while at < run(&world, &healthy, at, meanwhile).await {
            at += 1;
        }
        assert!(at > 12, "a turn with a document has only {at} calls");
    }
}
