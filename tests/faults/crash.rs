//! Crashes between any two calls to a service, at every position in turn.

use domain::ports::PortResult;
use testkit::{TestApp, TestEnvironment};

use crate::history::HistoryClient;

/// Adds, replaces, changes in place and deletes documents, with processing, commits and searches in
/// between.
async fn run_story(app: &TestApp, client: &mut HistoryClient) {
    client.put_content(app, "first").await;
    app.run_workers_once().await;
    client.change_metadata(app, "first").await;
    client.put_batch(app, &["second", "first"]).await;
    client.put_batch(app, &["third", "fourth"]).await;
    client.send_message(app).await;
    app.run_workers_once().await;
    app.run_workers_once().await;
    client.search(app).await;
    client.change_metadata(app, "second").await;
    client.delete(app, "second").await;
    client.put_content(app, "second").await;
    client.send_message(app).await;
    app.run_workers_once().await;
    client.delete(app, "first").await;
    app.run_workers_once().await;
    let _: PortResult<_> =
        maintenance::sweep_overdue_work(&app.system.ctx, domain::Timestamp::from_millis(i64::MAX))
            .await;
    app.run_workers_once().await;
}

#[tokio::test]
async fn a_crash_between_any_two_calls_loses_nothing() {
    let world = TestEnvironment::new().expect("a folder");
    let healthy = TestApp::start(&world, 0).await.expect("an app");
    let calls = {
        let app = TestApp::start(&world, 0).await.expect("an app");
        let mut client = HistoryClient::new("whole", app.create_key("whole").await);
        let before = app.faults.call_count();
        run_story(&app, &mut client).await;
        app.faults.call_count() - before
    };
    assert!(calls > 60, "the story has only {calls} calls");

    for at in 0..calls {
        let org = format!("crash-{at}");
        let mut client = HistoryClient::new(&org, healthy.create_key(&org).await);
        let app = TestApp::start(&world, at).await.expect("an app");
        app.faults.crash_at(Some(app.faults.call_count() + at));
        run_story(&app, &mut client).await;
        drop(app);
        let restarted = TestApp::start(&world, at).await.expect("an app");
        restarted
            .run_until_settled()
            .await
            .unwrap_or_else(|error| panic!("crash at call {at}: {error:#}"));
        client.check_state(&restarted).await;
    }
}
