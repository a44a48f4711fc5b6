//! Tests of the errors of the API and their meaning.

use domain::ports::{Connector, ConnectorError};
use serde_json::json;

use super::api_error;
use super::stage::{ScriptedServer, test_access};

const WATCH: &str = "POST /drive/v3/changes/watch?pageToken=12&driveId=d1";
const DATE: &str = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

async fn watch_feed(
    stage: &ScriptedServer,
    address: &str,
) -> Result<Option<domain::ports::NotificationSubscription>, ConnectorError> {
    stage.script_answer("GET /drive/v3/about?", 200, DATE, "{\"user\":{}}");
    stage
        .drive_connector()
        .watch_feed(&test_access(), "d1", "12", "c-1", address, "hidden-token")
        .await
}

#[tokio::test]
async fn changes_are_told_for_a_week_by_the_providers_clock() {
    let stage = ScriptedServer::open().await;
    let channel = json!({"id": "c-1", "resourceId": "r-1", "expiration": "1767830000000"});
    stage.script_json(WATCH, 200, &channel);
    let watched = watch_feed(&stage, "https://api.example/hook")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (watched.resource.as_str(), watched.expires_at.as_millis()),
        ("r-1", 1_767_830_000_000)
    );
    let asked = stage.last_request();
    let week = 1_767_225_600_000_i64 + (7 * 24 * 3600 - 60) * 1000;
    for part in [
        "\"type\":\"web_hook\"",
        "\"id\":\"c-1\"",
        &format!("\"expiration\":\"{week}\""),
        "hidden-token",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }

    stage.script_json(WATCH, 200, &json!({"id": "c-1", "resourceId": "r-1"}));
    let watched = watch_feed(&stage, "https://api.example/hook")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        watched.expires_at.as_millis(),
        1_767_225_600_000 + 3_600_000
    );
}

#[tokio::test]
async fn where_changes_cannot_be_told_there_is_none() {
    let stage = ScriptedServer::open().await;
    assert_eq!(
        watch_feed(&stage, "http://api.example/hook").await.unwrap(),
        None
    );
    assert!(stage.recorded_requests().is_empty());

    for (status, reason) in [
        (400, "webhookUrlNotHttps"),
        (401, "push.webhookUrlUnauthorized"),
    ] {
        stage.script_json(WATCH, status, &api_error(status, reason));
        assert_eq!(
            watch_feed(&stage, "https://api.example/hook")
                .await
                .unwrap(),
            None,
            "{reason}"
        );
    }

    stage.script_json(WATCH, 401, &api_error(401, "authError"));
    assert!(matches!(
        watch_feed(&stage, "https://api.example/hook").await,
        Err(ConnectorError::Reauth(_))
    ));
}

#[tokio::test]
async fn notifications_that_have_ended_are_stopped() {
    let stage = ScriptedServer::open().await;
    let stop = "POST /drive/v3/channels/stop";
    stage
        .script_answer(stop, 204, "", "")
        .script_json(stop, 404, &api_error(404, "notFound"))
        .script_json(stop, 500, &json!({}));
    stage
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap();
    assert!(
        stage
            .last_request()
            .contains("{\"id\":\"c-1\",\"resourceId\":\"r-1\"}")
    );

    stage
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap();
    let failed = stage
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap_err();
    assert!(matches!(failed, ConnectorError::Unavailable(_)));
}
