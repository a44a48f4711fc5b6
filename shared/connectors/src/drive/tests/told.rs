//! Tests of the errors of the API and their meaning.

use domain::ports::{Connector, ConnectorError};
use serde_json::json;

use super::error;
use super::stage::{Stage, access};

const WATCH: &str = "POST /drive/v3/changes/watch?pageToken=12&driveId=d1";
const DATE: &str = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

async fn watch(
    stage: &Stage,
    address: &str,
) -> Result<Option<domain::ports::Watched>, ConnectorError> {
    stage.answer("GET /drive/v3/about?", 200, DATE, "{\"user\":{}}");
    stage
        .drive()
        .watch(&access(), "d1", "12", "c-1", address, "hidden-token")
        .await
}

#[tokio::test]
async fn changes_are_told_for_a_week_by_the_providers_clock() {
    let stage = Stage::open().await;
    let channel = json!({"id": "c-1", "resourceId": "r-1", "expiration": "1767830000000"});
    stage.json(WATCH, 200, &channel);
    let watched = watch(&stage, "https://api.example/hook")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (watched.resource.as_str(), watched.expires_at.as_millis()),
        ("r-1", 1_767_830_000_000)
    );
    let asked = stage.last();
    let week = 1_767_225_600_000_i64 + (7 * 24 * 3600 - 60) * 1000;
    for part in [
        "\"type\":\"web_hook\"",
        "\"id\":\"c-1\"",
        &format!("\"expiration\":\"{week}\""),
        "hidden-token",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }

    stage.json(WATCH, 200, &json!({"id": "c-1", "resourceId": "r-1"}));
    let watched = watch(&stage, "https://api.example/hook")
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
    let stage = Stage::open().await;
    assert_eq!(
        watch(&stage, "http://api.example/hook").await.unwrap(),
        None
    );
    assert!(stage.asked().is_empty());

    for (status, reason) in [
        (400, "webhookUrlNotHttps"),
        (401, "push.webhookUrlUnauthorized"),
    ] {
        stage.json(WATCH, status, &error(status, reason));
        assert_eq!(
            watch(&stage, "https://api.example/hook").await.unwrap(),
            None,
            "{reason}"
        );
    }

    stage.json(WATCH, 401, &error(401, "authError"));
    assert!(matches!(
        watch(&stage, "https://api.example/hook").await,
        Err(ConnectorError::Reauth(_))
    ));
}

#[tokio::test]
async fn notifications_that_have_ended_are_stopped() {
    let stage = Stage::open().await;
    let stop = "POST /drive/v3/channels/stop";
    stage
        .answer(stop, 204, "", "")
        .json(stop, 404, &error(404, "notFound"))
        .json(stop, 500, &json!({}));
    stage
        .drive()
        .unwatch(&access(), "c-1", "r-1")
        .await
        .unwrap();
    assert!(
        stage
            .last()
            .contains("{\"id\":\"c-1\",\"resourceId\":\"r-1\"}")
    );

    stage
        .drive()
        .unwatch(&access(), "c-1", "r-1")
        .await
        .unwrap();
    let failed = stage
        .drive()
        .unwatch(&access(), "c-1", "r-1")
        .await
        .unwrap_err();
    assert!(matches!(failed, ConnectorError::Unavailable(_)));
}
