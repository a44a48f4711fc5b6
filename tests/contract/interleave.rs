//! 64 organizations take turns in one warm process. Every answer contains words of its own
//! organization only, and no log line and no error contains words of any organization.

use futures::stream::{self, StreamExt};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{LogCapture, TestApp, TestEnvironment};
use tracing::Level;

const ORGANIZATIONS: usize = 64;
/// The number of requests of each organization.
const REQUESTS: usize = 12;
/// The number of concurrent requests.
const PARALLEL: usize = 16;
/// The beginning of every canary.
const CANARY: &str = "zanzibarcanary";

fn canary_of(organization: usize) -> String {
    format!("{CANARY}{organization:02}x")
}

/// Returns a random request with the canary in every place that allows it.
fn random_request(random: &mut StdRng, organization: usize) -> (&'static str, String, Value) {
    let canary = canary_of(organization);
    let number = random.random_range(0..4);
    // The tag and the customIds are the same for all organizations.
    let own = |body: Value| crate::shape::merge_shapes(body, &json!({"containerTag": "box"}));
    match random.random_range(0..14) {
        0 | 1 => {
            let content = format!("I prefer {canary} number {number}.");
            let body = own(
                json!({"content": content, "customId": format!("n{number}"), "metadata": {"k": canary}}),
            );
            ("POST", "/v3/documents".into(), body)
        }
        2 => (
            "POST",
            "/v4/memories".into(),
            own(json!({"memories": [{"content": format!("{canary} grows.")}]})),
        ),
        3 => {
            let messages = json!([{"role": "user", "content": format!("I moved to {canary}.")}]);
            let body =
                json!({"conversationId": "talk", "messages": messages, "containerTags": ["box"]});
            ("POST", "/v4/conversations".into(), body)
        }
        4 | 5 => {
            let mode = ["memories", "documents", "hybrid"][random.random_range(0..3)];
            let body = json!({"q": CANARY, "searchMode": mode, "threshold": 0, "limit": 50, "explain": true});
            ("POST", "/v4/search".into(), body)
        }
        6 => (
            "POST",
            "/v3/search".into(),
            json!({"q": CANARY, "includeFullDocs": true}),
        ),
        7 => ("POST", "/v4/profile".into(), own(json!({"q": CANARY}))),
        8 => (
            "POST",
            "/v3/documents/list".into(),
            json!({"includeContent": true, "limit": 100}),
        ),
        9 => (
            "POST",
            "/v4/memories/list".into(),
            json!({"containerTags": ["box"], "limit": 100}),
        ),
        10 => ("GET", format!("/v3/documents/n{number}"), Value::Null),
        11 => (
            "PATCH",
            "/v3/container-tags/box".into(),
            json!({"name": canary, "entityContext": canary}),
        ),
        12 => ("GET", "/v3/analytics/logs?limit=100".into(), Value::Null),

        // This request is refused, and the canary is in the invalid part.
        _ => (
            "POST",
            "/v3/documents".into(),
            json!({"content": canary, "containerTag": format!("{canary} !")}),
        ),
    }
}

#[tokio::test]
async fn answers_and_logs_of_many_organizations_never_mix() {
    let log = LogCapture::start(Level::DEBUG);
    let world = TestEnvironment::new().expect("a folder");
    let app = TestApp::start(&world, 0).await.expect("an app");
    let mut keys = Vec::new();
    for organization in 0..ORGANIZATIONS {
        keys.push(app.create_key(&format!("org-{organization}")).await);
    }
    let mut random = StdRng::seed_from_u64(7);
    let (mut own, mut refused) = (0, 0);

    for _ in 0..REQUESTS {
        let round: Vec<_> = (0..ORGANIZATIONS)
            .map(|who| (who, random_request(&mut random, who)))
            .collect();
        let asked = round.iter().map(|(who, (method, path, body))| {
            let (app, key) = (&app, &keys[*who]);
            async move { (*who, path, app.call_json(method, path, key, body).await) }
        });
        let answers: Vec<_> = stream::iter(asked)
            .buffer_unordered(PARALLEL)
            .collect()
            .await;

        for (who, path, answer) in answers {
            assert!(!answer.status.is_server_error(), "{path}: {}", answer.body);
            refused += usize::from(answer.status.is_client_error());
            let text = answer.body.to_string().to_lowercase();
            let mine = text.matches(&canary_of(who)).count();
            assert_eq!(
                text.matches(CANARY).count(),
                mine,
                "{path} shows {who} what is another's: {text}"
            );
            own += mine;
        }

        while app.run_workers_once().await > 0 {}
    }

    assert!(own > 500, "answers show the organization its own: {own}");
    assert!(refused > 10, "some are refused: {refused}");
    let lines = log.finish().to_lowercase();
    assert!(lines.len() > 10_000, "something is logged");

    let line = lines.lines().find(|line| line.contains(CANARY));
    assert_eq!(line, None, "content in a log line");
}
