//! No token, code or secret is ever revealed in answers, errors or logs.

use fake_drive::PlannedFault;
use serde_json::json;
use testkit::{DRIVE_ACCOUNT, LogCapture, TestApp, TestEnvironment};
use tracing::Level;

use crate::client::{DriveClient, TAG};

/// The beginnings of secrets. Everything secret that the drive issues or receives begins with one
/// of them.
const SECRETS: [&str; 4] = ["ya29.", "1//", "4/0", "fake-client-secret"];

fn assert_silent(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} has {secret}");
    }
}

#[tokio::test]
async fn tokens_are_nowhere_but_in_the_vault() {
    let log = LogCapture::start(Level::TRACE);
    let (world, drive) = TestEnvironment::with_drive().await.expect("a world");
    let app = TestApp::start(&world, 0).await.expect("an app");
    let key = app.create_key("acme").await;
    let client = DriveClient { app, drive, key };
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    client
        .drive
        .plan_fault(PlannedFault::html_error("/token", 502).repeat(1));
    let body = json!({"containerTag": TAG, "metadata": {"syncScope": "full"}});
    client
        .app
        .connect_drive(&client.key, &body)
        .await
        .expect("a page");
    let id = client.connect_all().await;
    client
        .drive
        .plan_fault(PlannedFault::html_error("/drive/v3", 500).repeat(3));
    client.app.environment.clock.advance_seconds(3700);
    client.run_import(&id).await;
    client.drive.revoke_permissions(DRIVE_ACCOUNT);
    client.app.environment.clock.advance_seconds(3700);
    client.run_import(&id).await;
    for path in ["", "/sync-runs", "/items"] {
        let answer = client.get(&format!("/v3/connections/{id}{path}")).await;
        assert_silent(path, &answer.body.to_string());
    }

    let settings = client.get("/v3/settings").await.body;
    assert_silent("settings", &settings.to_string());
    let logs = client.get("/v3/analytics/logs?limit=100").await.body;
    assert_silent("the request log", &logs.to_string());

    let text = log.finish();
    assert!(text.contains("/v3/connections"), "something was logged");
    let ours: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("hyper") && !line.contains("aws_"))
        .collect();
    assert_silent("the log", &ours.join("\n"));
}
