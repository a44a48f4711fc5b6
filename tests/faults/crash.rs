//! Crashes between any two calls to a service, at every position in turn.

use domain::ports::PortResult;
use testkit::{TestApp, World};

use crate::history::Client;

/// Adds, replaces, changes in place and deletes documents, with processing, commits and searches in
/// between.
async fn story(app: &TestApp, client: &mut Client) {
    client.put(app, "first").await;
    app.turn().await;
    client.mark(app, "first").await;
    client.put_all(app, &["second", "first"]).await;
    client.say(app).await;
    app.turn().await;
    app.turn().await;
    client.search(app).await;
    client.mark(app, "second").await;
    client.delete(app, "second").await;
    client.put(app, "second").await;
    client.say(app).await;
    app.turn().await;
    client.delete(app, "first").await;
    app.turn().await;
    let _: PortResult<_> =
        keeper::sweep(&app.system.ctx, domain::Timestamp::from_millis(i64::MAX)).await;
    app.turn().await;
}

#[tokio::test]
async fn a_crash_between_any_two_calls_loses_nothing() {
    let world = World::new().expect("a folder");
    let healthy = TestApp::start(&world, 0).await.expect("an app");
    let calls = {
        let app = TestApp::start(&world, 0).await.expect("an app");
        let mut client = Client::new("whole", app.key("whole").await);
        let before = app.faults.calls();
        story(&app, &mut client).await;
        app.faults.calls() - before
    };
    assert!(calls > 60, "the story has only {calls} calls");

    for at in 0..calls {
        let org = format!("crash-{at}");
        let mut client = Client::new(&org, healthy.key(&org).await);
        let app = TestApp::start(&world, at).await.expect("an app");
        app.faults.crash_at(Some(app.faults.calls() + at));
        story(&app, &mut client).await;
        drop(app);
        let restarted = TestApp::start(&world, at).await.expect("an app");
        restarted
            .settle()
            .await
            .unwrap_or_else(|error| panic!("crash at call {at}: {error:#}"));
        client.check(&restarted).await;
    }
}
