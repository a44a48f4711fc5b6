//! An organization that sends more than can be processed is asked to wait, and never makes another
//! organization wait.

use http::StatusCode;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;

/// Returns a client of an organization that may have `max` unfinished documents.
async fn client_with_limit(max: usize) -> OrgClient {
    let mut world = TestEnvironment::new().expect("a folder");
    world.max_unfinished = Some(max);
    OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await
}

/// Returns the requests that send documents, each with the number of documents.
fn sending_requests(number: usize) -> Vec<(&'static str, Value, usize)> {
    let text = |i: usize| format!("Note {number}.{i} of the day.");
    vec![
        ("/v3/documents", json!({"content": text(0)}), 1),
        (
            "/v3/documents/batch",
            json!({"documents": [text(1), text(2), text(3)]}),
            3,
        ),
        (
            "/v4/conversations",
            json!({"conversationId": text(4), "messages": [{"role": "user", "content": "Hi."}]}),
            1,
        ),
        (
            "/v3/documents/file/uploads",
            json!({"fileName": "a.txt"}),
            1,
        ),
    ]
}

#[tokio::test]
async fn what_is_over_the_limit_is_refused_as_a_whole_and_nothing_else_is_lost() {
    let client = client_with_limit(6).await;
    let mut accepted = 0;
    for number in 0..6 {
        accepted += usize::from(
            client
                .post("/v3/documents", sending_requests(number)[0].1.clone())
                .await
                .status
                .is_success(),
        );
    }

    assert_eq!(accepted, 6);
    for (path, body, _) in sending_requests(9) {
        let refused = client.post(path, body).await;
        assert_eq!(
            refused.status,
            StatusCode::TOO_MANY_REQUESTS,
            "{path}: {}",
            refused.body
        );
        assert_eq!(refused.body["type"], "RateLimitError");

        let wait = refused.headers["retry-after"]
            .to_str()
            .expect("a text")
            .parse::<u64>()
            .expect("seconds");
        assert!((1..=60).contains(&wait), "{wait}");
    }

    let upload = client
        .app
        .upload_file(&client.key, "a.txt", b"A file.", &[])
        .await;
    assert_eq!(upload.status, StatusCode::TOO_MANY_REQUESTS);

    // Reading and deleting still work.
    let list = client.post("/v3/documents/list", json!({})).await;
    assert_eq!(
        list.body["pagination"]["totalItems"], 6,
        "nothing of a refused request stays"
    );

    client.run_until_settled().await;
    let list = client
        .post("/v3/documents/list", json!({"status": "done"}))
        .await;
    assert_eq!(list.body["pagination"]["totalItems"], 6);

    client.app.environment.clock.advance_seconds(10);
    for (path, body, _) in sending_requests(9) {
        assert!(
            client.post(path, body).await.status.is_success(),
            "there is room again: {path}"
        );
    }
}

#[tokio::test]
async fn one_request_larger_than_the_limit_is_taken_where_nothing_waits() {
    let client = client_with_limit(2).await;
    let (path, body, count) = sending_requests(0).swap_remove(1);
    let answer = client.post(path, body).await;
    assert_eq!(answer.body["success"], count, "{}", answer.body);
}

#[tokio::test]
async fn the_limit_of_one_organization_is_not_anothers() {
    let client = client_with_limit(1).await;
    client
        .send_document(json!({"content": "The only one."}))
        .await;
    let other = client.app.create_key("other").await;
    for _ in 0..2 {
        let refused = client
            .post("/v3/documents", json!({"content": "One more."}))
            .await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    }

    let theirs = client
        .app
        .post(
            "/v3/documents",
            &other,
            &json!({"content": "The first of the other."}),
        )
        .await;
    assert_eq!(theirs.status, StatusCode::OK);
}

#[tokio::test]
async fn a_flood_of_one_organization_does_not_hold_up_a_document_of_another() {
    /// The number of documents in the flood: several times the number that one poll receives.
    const FLOOD: usize = 1000;
    let client = OrgClient::new().await;
    for half in 0..2 {
        let documents: Vec<String> = (0..FLOOD / 2)
            .map(|i| format!("Drop {i} of flood {half}."))
            .collect();
        let body = json!({"documents": documents, "containerTag": "flood"});
        let answer = client.post("/v3/documents/batch", body).await;
        assert_eq!(answer.body["failed"], 0, "{}", answer.body);
    }

    let other = client.app.create_key("quiet").await;
    let quiet = client
        .app
        .post(
            "/v3/documents",
            &other,
            &json!({"content": "A single quiet note."}),
        )
        .await;
    let id = quiet.body["id"].as_str().expect("an id").to_owned();
    let mut turns = 0;

    while client
        .app
        .get(&format!("/v3/documents/{id}"), &other)
        .await
        .body["status"]
        != "done"
    {
        assert!(
            client.app.run_workers_once().await > 0,
            "the queues have something"
        );
        turns += 1;
        assert!(turns < 12, "still waiting behind the flood");
    }

    let done = client
        .post(
            "/v3/documents/list",
            json!({"status": "done", "containerTags": ["flood"]}),
        )
        .await;
    let done = done.body["pagination"]["totalItems"]
        .as_u64()
        .expect("a number");
    assert!(
        done < FLOOD as u64 / 4,
        "{done} of the flood were done before it"
    );
}
