//! Tests of the errors of the API and their meaning.

use domain::ports::{Connector, ConnectorError};
use serde_json::json;

use super::api_error;
use super::stage::{ScriptedServer, test_access};

const WATCH: &str = "POST /drive/v3/changes/watch?pageToken=12&driveId=d1";
const DATE: &str = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

async fn watch_feed(
    server: &ScriptedServer,
    address: &str,
) -> Result<Option<domain::ports::NotificationSubscription>, ConnectorError> {
    server.script_answer("GET /drive/v3/about?", 200, DATE, "{\"user\":{}}");
    server
        .drive_connector()
        .watch_feed(&test_access(), "d1", "12", "c-1", address, "hidden-token")
        .await
}

#[tokio::test]
async fn changes_are_told_for_a_week_by_the_providers_clock() {
    let server = ScriptedServer::open().await;
    let channel = json!({"id": "c-1", "resourceId": "r-1", "expiration": "1767830000000"});
    server.script_json(WATCH, 200, &channel);
    let watched = watch_feed(&server, "https://api.example/hook")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (watched.resource.as_str(), watched.expires_at.as_millis()),
        ("r-1", 1_767_830_000_000)
    );
    let request = server.last_request();
    let week = 1_767_225_600_000_i64 + (7 * 24 * 3600 - 60) * 1000;
    for part in [
        "\"type\":\"web_hook\"",
        "\"id\":\"c-1\"",
        &format!("\"expiration\":\"{week}\""),
        "hidden-token",
    ] {
        assert!(request.contains(part), "{part}: {request}");
    }

    server.script_json(WATCH, 200, &json!({"id": "c-1", "resourceId": "r-1"}));
    let watched = watch_feed(&server, "https://api.example/hook")
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
    let server = ScriptedServer::open().await;
    assert_eq!(
        watch_feed(&server, "http://api.example/hook")
            .await
            .unwrap(),
        None
    );
    assert!(server.recorded_requests().is_empty());

    for (status, reason) in [
        (400, "webhookUrlNotHttps"),
        (401, "push.webhookUrlUnauthorized"),
    ] {
        server.script_json(WATCH, status, &api_error(status, reason));
        assert_eq!(
            watch_feed(&server, "https://api.example/hook")
                .await
                .unwrap(),
            None,
            "{reason}"
        );
    }

    server.script_json(WATCH, 401, &api_error(401, "authError"));
    assert!(matches!(
        watch_feed(&server, "https://api.example/hook").await,
        Err(ConnectorError::Reauth(_))
    ));
}

#[tokio::test]
async fn notifications_that_have_ended_are_stopped() {
    let server = ScriptedServer::open().await;
    let stop_path = "POST /drive/v3/channels/stop";
    server
        .script_answer(stop_path, 204, "", "")
        .script_json(stop_path, 404, &api_error(404, "notFound"))
        .script_json(stop_path, 500, &json!({}));
    server
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap();
    assert!(
        server
            .last_request()
            .contains("{\"id\":\"c-1\",\"resourceId\":\"r-1\"}")
    );

    server
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap();
    let failed = server
        .drive_connector()
        .stop_watching(&test_access(), "c-1", "r-1")
        .await
        .unwrap_err();
    assert!(matches!(failed, ConnectorError::Unavailable(_)));
}
