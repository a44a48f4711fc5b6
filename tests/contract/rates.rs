//! Keys with a rate limit.

use domain::RateLimit;
use domain::key::{KeyKind, KeySpec, Permission};
use futures::future::join_all;
use serde_json::json;
use testkit::{TestAnswer, TestApp, TestEnvironment};

use crate::shape::error_mismatch;

async fn create_limited_key(app: &TestApp, max: u32, seconds: i64) -> String {
    let rate = Some(RateLimit {
        max,
        window_ms: seconds * 1000,
    });

    let (kind, permission, name) = (KeyKind::Agent, Permission::Write, "limited".to_owned());
    app.create_planned_key(
        "acme",
        KeySpec {
            name,
            kind,
            permission,
            tags: None,
            expires_at: None,
            rate_limit: rate,
        },
    )
    .await
    .key_text
}

async fn send_request(app: &TestApp, key: &str) -> TestAnswer {
    app.post("/v3/documents/list", key, &json!({})).await
}

/// Returns the number of seconds to wait that an error states.
#[track_caller]
fn expect_wait(answer: &TestAnswer) -> i64 {
    assert_eq!(
        error_mismatch(answer, 429, "RateLimitError", "requests in"),
        None
    );
    answer.headers["retry-after"]
        .to_str()
        .expect("ASCII")
        .parse()
        .expect("seconds")
}

#[tokio::test]
async fn a_limited_key_is_admitted_so_often_and_again_when_it_is_told() {
    let app = TestApp::new().await;
    let (limited, other) = (
        create_limited_key(&app, 3, 60).await,
        create_limited_key(&app, 3, 60).await,
    );
    for _ in 0..3 {
        assert_eq!(send_request(&app, &limited).await.status, 200);
        app.environment.clock.advance_seconds(10);
    }

    let seconds = expect_wait(&send_request(&app, &limited).await);
    assert!((29..=30).contains(&seconds), "{seconds}");
    assert_eq!(
        send_request(&app, &other).await.status,
        200,
        "the limit is the key's own"
    );
    app.environment.clock.advance_seconds(seconds - 2);
    // A refused request does not count, and does not postpone the promised time.
    expect_wait(&send_request(&app, &limited).await);
    app.environment.clock.advance_seconds(2);
    assert_eq!(
        send_request(&app, &limited).await.status,
        200,
        "after what Retry-After said"
    );
    expect_wait(&send_request(&app, &limited).await);
}

#[tokio::test]
async fn however_many_ask_at_once_and_wherever_exactly_so_many_are_admitted() {
    let world = TestEnvironment::new().expect("a folder");
    let one = TestApp::start(&world, 0).await.expect("an app");
    let two = TestApp::start(&world, 1).await.expect("an app");
    let limited = create_limited_key(&one, 7, 3600).await;
    let asked = (0..24).map(|i| send_request(if i % 2 == 0 { &one } else { &two }, &limited));
    let answers = join_all(asked).await;
    let admitted = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert_eq!((admitted, refused), (7, 17));
}

#[tokio::test]
async fn a_refused_request_does_nothing_and_is_limited_before_anything_else() {
    let app = TestApp::new().await;
    let limited = create_limited_key(&app, 1, 60).await;
    // A request that the key is not permitted to make counts as well.
    assert_eq!(app.get("/v3/auth/keys", &limited).await.status, 403);
    expect_wait(
        &app.post("/v3/documents", &limited, &json!({"content": "Words."}))
            .await,
    );
    expect_wait(&app.get("/v3/auth/keys", &limited).await);
    expect_wait(&app.upload_file(&limited, "a.txt", b"Words.", &[]).await);
    let admin = app.create_key("acme").await;
    assert_eq!(
        send_request(&app, &admin).await.body["pagination"]["totalItems"],
        0
    );
}
