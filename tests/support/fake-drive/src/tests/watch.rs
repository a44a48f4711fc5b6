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

async fn wait_until(rig: &DriveFixture, deliveries: usize) {
    for _ in 0..200 {
        if rig.drive.sent_notifications().len() >= deliveries {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("only {:?}", rig.drive.sent_notifications());
}

#[tokio::test]
async fn channels_tell_changes_until_they_are_stopped_or_over() {
    let rig = DriveFixture::new().await;
    let (address, inbox) = start_listener().await;
    let path = format!("changes/watch?pageToken={}", rig.start("").await);
    let body = json!({ "id": "c1", "type": "web_hook", "address": address, "token": "t1" });
    let (status, channel) = rig.post(&path, &body).await;
    assert_eq!(
        (status, &channel["kind"], &channel["id"]),
        (200, &json!("api#channel"), &json!("c1"))
    );
    let left = channel["expiration"]
        .as_str()
        .unwrap()
        .parse::<i64>()
        .unwrap()
        - rig.drive.now_millis();
    assert!((3_590_000..=3_600_000).contains(&left), "{left}");
    let again = rig.post(&path, &body).await;
    assert_eq!(
        (again.0, reason(&again.1).as_str()),
        (400, "channelIdNotUnique")
    );
    rig.add_doc(&rig.root, "a");
    wait_until(&rig, 2).await;
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
    assert_eq!(rig.drive.sent_notifications()[1].status, Some(200));

    let stop = json!({ "id": "c1", "resourceId": channel["resourceId"] });
    assert_eq!(rig.post("channels/stop", &stop).await.0, 204);
    assert_eq!(rig.post("channels/stop", &stop).await.0, 404);
    let expiration = (rig.drive.now_millis() + 30 * 24 * 3_600_000).to_string();
    let body =
        json!({ "id": "c2", "type": "web_hook", "address": address, "expiration": expiration });
    rig.post(&path, &body).await;
    assert_eq!(rig.drive.open_channel_ids(), ["c2"]);
    rig.drive.advance_clock(7 * 24 * 3600 + 1);
    assert!(rig.drive.open_channel_ids().is_empty());
}

#[tokio::test]
async fn wrong_channels_are_refused() {
    let rig = DriveFixture::new().await;
    let token = rig.start("").await;
    let good = json!({ "id": "c", "type": "web_hook", "address": "https://example.test/" });
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
        let mut body = good.clone();
        body[field] = value.clone();
        let (status, answer) = rig
            .post(&format!("changes/watch?pageToken={token}"), &body)
            .await;
        assert_eq!(
            (status, reason(&answer).as_str()),
            (400, expected),
            "{field}: {value}"
        );
    }

    assert_eq!(rig.post("changes/watch", &good).await.0, 400);
}
