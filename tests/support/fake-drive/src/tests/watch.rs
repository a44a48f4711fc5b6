//! Tests of channels and their notifications.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use http::HeaderMap;

use super::*;

type Inbox = Arc<Mutex<Vec<(String, String, String, String)>>>;

/// Starts a server that keeps every request it receives.
async fn start_listener() -> (String, Inbox) {
    let inbox = Inbox::default();
    let keep = async |State(inbox): State<Inbox>, headers: HeaderMap| {
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let message = [
            "x-goog-channel-id",
            "x-goog-channel-token",
            "x-goog-resource-state",
            "x-goog-message-number",
        ]
        .map(header);
        inbox.lock().unwrap().push(message.into());
    };
    let router: Router = Router::new().fallback(keep).with_state(inbox.clone());
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?a=b", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, router).await });

    (url, inbox)
}

async fn wait_until(fixture: &DriveFixture, deliveries: usize) {
    for _ in 0..200 {
        if fixture.drive.sent_notifications().len() >= deliveries {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("only {:?}", fixture.drive.sent_notifications());
}

#[tokio::test]
async fn channels_tell_changes_until_they_are_stopped_or_over() {
    let fixture = DriveFixture::new().await;
    let (address, inbox) = start_listener().await;
    let path = format!("changes/watch?pageToken={}", fixture.start("").await);
    let body = json!({ "id": "c1", "type": "web_hook", "address": address, "token": "t1" });
    let (status, channel) = fixture.post(&path, &body).await;
    assert_eq!(
        (status, &channel["kind"], &channel["id"]),
        (200, &json!("api#channel"), &json!("c1"))
    );
    let remaining_ms = channel["expiration"]
        .as_str()
        .unwrap()
        .parse::<i64>()
        .unwrap()
        - fixture.drive.now_millis();
    assert!(
        (3_590_000..=3_600_000).contains(&remaining_ms),
        "{remaining_ms}"
    );
    let duplicate = fixture.post(&path, &body).await;
    assert_eq!(
        (duplicate.0, reason(&duplicate.1).as_str()),
        (400, "channelIdNotUnique")
    );
    fixture.add_doc(&fixture.root, "a");
    wait_until(&fixture, 2).await;
    let message = |state: &str, number: &str| {
        (
            "c1".to_owned(),
            "t1".to_owned(),
            state.to_owned(),
            number.to_owned(),
        )
    };

    assert_eq!(
        *inbox.lock().unwrap(),
        [message("sync", "1"), message("change", "2")]
    );
    assert_eq!(fixture.drive.sent_notifications()[1].status, Some(200));

    let stop_body = json!({ "id": "c1", "resourceId": channel["resourceId"] });
    assert_eq!(fixture.post("channels/stop", &stop_body).await.0, 204);
    assert_eq!(fixture.post("channels/stop", &stop_body).await.0, 404);
    let expiration = (fixture.drive.now_millis() + 30 * 24 * 3_600_000).to_string();
    let body =
        json!({ "id": "c2", "type": "web_hook", "address": address, "expiration": expiration });
    fixture.post(&path, &body).await;
    assert_eq!(fixture.drive.open_channel_ids(), ["c2"]);
    fixture.drive.advance_clock(7 * 24 * 3600 + 1);
    assert!(fixture.drive.open_channel_ids().is_empty());
}

#[tokio::test]
async fn wrong_channels_are_refused() {
    let fixture = DriveFixture::new().await;
    let token = fixture.start("").await;
    let valid = json!({ "id": "c", "type": "web_hook", "address": "https://example.test/" });
    for (field, value, expected) in [
        ("id", json!(null), "required"),
        ("id", json!("x".repeat(65)), "invalid"),
        ("type", json!("mail"), "invalid"),
        (
            "address",
            json!("http://example.test/"),
            "push.webhookUrlNotHttps",
        ),
        ("expiration", json!("1000"), "invalid"),
        ("expiration", json!("soon"), "invalid"),
    ] {
        let mut body = valid.clone();
        body[field] = value.clone();
        let (status, answer) = fixture
            .post(&format!("changes/watch?pageToken={token}"), &body)
            .await;
        assert_eq!(
            (status, reason(&answer).as_str()),
            (400, expected),
            "{field}: {value}"
        );
    }

    assert_eq!(fixture.post("changes/watch", &valid).await.0, 400);
}
