//! Keys with a rate limit.

use domain::RateLimit;
use domain::key::{KeyKind, KeyPlan, Permission};
use futures::future::join_all;
use serde_json::json;
use testkit::{Answer, TestApp, World};

use crate::shape::fault;

async fn key(app: &TestApp, max: u32, seconds: i64) -> String {
    let rate = Some(RateLimit {
        max,
        window_ms: seconds * 1000,
    });

    let (kind, permission, name) = (KeyKind::Agent, Permission::Write, "limited".to_owned());
    app.key_of(
        "acme",
        KeyPlan {
            name,
            kind,
            permission,
            tags: None,
            expires_at: None,
            rate,
        },
    )
    .await
    .text
}

async fn ask(app: &TestApp, key: &str) -> Answer {
    app.post("/v3/documents/list", key, &json!({})).await
}

/// Returns the number of seconds to wait that an error states.
#[track_caller]
fn wait(answer: &Answer) -> i64 {
    assert_eq!(fault(answer, 429, "RateLimitError", "requests in"), None);
    answer.headers["retry-after"]
        .to_str()
        .expect("ASCII")
        .parse()
        .expect("seconds")
}

#[tokio::test]
async fn a_limited_key_is_admitted_so_often_and_again_when_it_is_told() {
    let app = TestApp::new().await;
    let (limited, other) = (key(&app, 3, 60).await, key(&app, 3, 60).await);
    for _ in 0..3 {
        assert_eq!(ask(&app, &limited).await.status, 200);
        app.world.clock.advance_seconds(10);
    }

    let seconds = wait(&ask(&app, &limited).await);
    assert!((29..=30).contains(&seconds), "{seconds}");
    assert_eq!(
        ask(&app, &other).await.status,
        200,
        "the limit is the key's own"
    );
    app.world.clock.advance_seconds(seconds - 2);
    // A refused request does not count, and does not postpone the promised time.
    wait(&ask(&app, &limited).await);
    app.world.clock.advance_seconds(2);
    assert_eq!(
        ask(&app, &limited).await.status,
        200,
        "after what Retry-After said"
    );
    wait(&ask(&app, &limited).await);
}

#[tokio::test]
async fn however_many_ask_at_once_and_wherever_exactly_so_many_are_admitted() {
    let world = World::new().expect("a folder");
    let one = TestApp::start(&world, 0).await.expect("an app");
    let two = TestApp::start(&world, 1).await.expect("an app");
    let limited = key(&one, 7, 3600).await;
    let asked = (0..24).map(|i| ask(if i % 2 == 0 { &one } else { &two }, &limited));
    let answers = join_all(asked).await;
    let admitted = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert_eq!((admitted, refused), (7, 17));
}

#[tokio::test]
async fn a_refused_request_does_nothing_and_is_limited_before_anything_else() {
    let app = TestApp::new().await;
    let limited = key(&app, 1, 60).await;
    // A request that the key is not permitted to make counts as well.
    assert_eq!(app.get("/v3/auth/keys", &limited).await.status, 403);
    wait(
        &app.post("/v3/documents", &limited, &json!({"content": "Words."}))
            .await,
    );
    wait(&app.get("/v3/auth/keys", &limited).await);
    wait(&app.upload(&limited, "a.txt", b"Words.", &[]).await);
    let admin = app.key("acme").await;
    assert_eq!(ask(&app, &admin).await.body["pagination"]["totalItems"], 0);
}
