//! The request log: each request of a key appears once, with only those contents that may be kept.

use std::collections::BTreeMap;

use domain::activity::{Hour, RequestRecord, TimeSpan};
use domain::key::Permission;
use domain::ports::Connectors;
use domain::settings::LogContentMode;
use serde_json::{Value, json};
use testkit::{FaultRates, LogCapture, TestAnswer, TestApp, TestEnvironment};
use tracing::Level;

use crate::auth_matrix::Operation;
use crate::client::OrgClient;

/// Returns all records in the log of the client's organization, oldest first.
pub(crate) async fn read_log(client: &OrgClient) -> Vec<RequestRecord> {
    let activity = &client.app.system.ctx.request_log;
    let now = Hour::containing(client.app.system.ctx.clock.now());
    let mut all = Vec::new();
    for hour in now.0 - 24..=now.0 {
        let (mut after, mut records) = (None, Vec::new());
        loop {
            let span = TimeSpan::for_hour(Hour(hour));
            let page = activity
                .list_requests(
                    &client.tenant,
                    Hour(hour),
                    span,
                    after.as_deref(),
                    usize::MAX,
                )
                .await
                .expect("a page");
            records.extend(page.0);
            after = page.1;
            if after.is_none() {
                break;
            }
        }
        all.extend(records.into_iter().rev());
    }

    all
}

/// Sets what the log keeps, and waits until every process knows.
pub(crate) async fn set_log_content(client: &OrgClient, mode: LogContentMode) {
    let ctx = &client.app.system.ctx;
    let mut settings = ctx.settings.get(&client.tenant).await.expect("settings");
    settings.log_content = mode;
    settings.version += 1;
    ctx.settings
        .put(&client.tenant, &settings)
        .await
        .expect("settings");
    client.app.environment.clock.advance_seconds(31);
}

fn request_id(answer: &TestAnswer) -> String {
    answer.headers["x-request-id"]
        .to_str()
        .expect("ASCII")
        .to_owned()
}

#[tokio::test]
async fn every_request_of_a_key_is_in_the_log_once() {
    let client = OrgClient::new().await;
    let mut asked = BTreeMap::new();
    for operation in Operation::all_operations()
        .iter()
        .filter(|operation| !operation.is_open())
    {
        let reader = client
            .app
            .create_key_with("acme", Permission::Read, None)
            .await;
        for key in [client.app.create_key("acme").await, reader] {
            let answer = operation.send(&client.app, &key).await;
            let route = format!("{} {}", operation.method, operation.path);
            let error = answer.body["type"]
                .as_str()
                .filter(|_| answer.status.as_u16() >= 400)
                .map(str::to_owned);
            asked.insert(request_id(&answer), (route, answer.status.as_u16(), error));
        }
        operation.send(&client.app, "").await;
        operation.send(&client.app, "rk_nobody's").await;
    }

    let records = read_log(&client).await;
    let logged: BTreeMap<_, _> = records
        .iter()
        .map(|record| {
            (
                record.id.clone(),
                (record.route.clone(), record.status, record.error.clone()),
            )
        })
        .collect();
    assert_eq!(logged, asked);
    assert_eq!(records.len(), asked.len(), "each of them once");
    assert!(
        records
            .iter()
            .all(|record| record.key_name == "test" && record.micros > 0)
    );
    assert!(records.is_sorted_by_key(|record| record.at));
}

#[tokio::test]
async fn a_record_says_who_asked_for_what_and_where() {
    let client = OrgClient::new().await;
    let key = client
        .app
        .system
        .ctx
        .keys
        .list(&client.tenant)
        .await
        .expect("keys")[0]
        .id
        .to_string();
    let sent =
        json!({"content": "The heron stands still.", "containerTag": "birds", "customId": "note"});
    let added = client.post("/v3/documents", sent).await;
    let missing = client
        .delete("/v3/documents/nothing?containerTag=birds")
        .await;
    client
        .post("/v4/search", json!({"q": "heron", "containerTag": "birds"}))
        .await;
    let records = read_log(&client).await;
    let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["add", "delete", "search"]);

    let [add, delete, search] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!((add.key.as_str(), add.containers.len()), (key.as_str(), 1));
    assert_eq!(search.containers, add.containers);

    let body = json!({"content": "[23 characters]", "containerTag": "birds", "customId": "note"});
    assert_eq!(add.input, Some(json!({"body": body})));
    assert_eq!(
        add.output,
        Some(json!({"id": added.body["id"], "status": "queued"}))
    );

    let input = json!({"path": {"id": "nothing"}, "query": {"containerTag": "birds"}});
    assert_eq!(delete.input, Some(input));
    let output = json!({"error": "Document not found", "type": "NotFoundError", "requestId": request_id(&missing)});
    assert_eq!((delete.status, &delete.output), (404, &Some(output)));
    assert_eq!(delete.error.as_deref(), Some("NotFoundError"));
}

#[tokio::test]
async fn an_organization_chooses_what_is_kept() {
    let client = OrgClient::new().await;
    let sent = |n: usize| json!({"content": format!("The heron number {n} stands still."), "containerTag": "birds"});
    for (n, mode) in [
        LogContentMode::Redacted,
        LogContentMode::Full,
        LogContentMode::Off,
    ]
    .into_iter()
    .enumerate()
    {
        set_log_content(&client, mode).await;
        client.post("/v3/documents", sent(n)).await;
        client
            .post(
                "/v3/documents",
                json!({"content": 5, "note": "The heron is refused."}),
            )
            .await;
    }

    let records = read_log(&client).await;
    let inputs: Vec<&Value> = records
        .iter()
        .map(|record| record.input.as_ref().unwrap_or(&Value::Null))
        .collect();
    assert_eq!(inputs[0]["body"]["content"], "[32 characters]");
    assert_eq!(
        inputs[2]["body"]["content"],
        "The heron number 1 stands still."
    );
    // A refused request has no container with which its text could be deleted.
    assert_eq!(
        inputs[3]["body"],
        json!({"content": 5, "note": "[21 characters]"})
    );
    assert_eq!((inputs[4], inputs[5]), (&Value::Null, &Value::Null));
    assert!(records[4].output.is_none() && records[4].status == 200);
}

#[tokio::test]
async fn a_request_to_very_many_containers_keeps_no_content() {
    let client = OrgClient::new().await;
    for n in 0..17 {
        client
            .send_document(json!({"content": "Words.", "containerTag": format!("tag-{n}")}))
            .await;
        client.post("/v4/search", json!({"q": "words"})).await;
    }

    let records = read_log(&client).await;
    let searches: Vec<_> = records
        .iter()
        .filter(|record| record.route == "POST /v4/search")
        .collect();
    assert_eq!(searches[15].containers.len(), 16);
    assert!(searches[15].input.is_some());
    assert_eq!(
        (
            &searches[16].input,
            &searches[16].output,
            searches[16].containers.len()
        ),
        (&None, &None, 0)
    );
}

#[tokio::test]
async fn a_file_is_in_the_log_by_its_size() {
    let client = OrgClient::new().await;
    client
        .app
        .upload_file(
            &client.key,
            "diary of ada.txt",
            b"Dear diary.",
            &[("containerTag", "ada")],
        )
        .await;

    let input = read_log(&client).await[0]
        .input
        .clone()
        .expect("what was sent");
    let file =
        json!({"name": "[16 characters]", "bytes": 11, "mimeType": "application/octet-stream"});
    assert_eq!(
        (&input["body"]["file"], &input["body"]["containerTag"]),
        (&file, &json!("ada"))
    );
}

#[tokio::test]
async fn when_the_log_cannot_be_written_the_answer_is_the_same() {
    let world = TestEnvironment::new().expect("a folder");
    let app = TestApp::start(&world, 0).await.expect("an app");
    let names = aws::ResourceNames {
        activity: "no-such-table".into(),
        ..app.system.names.clone()
    };
    let mut ctx = app.system.ctx.clone();
    ctx.request_log =
        aws::build_context(&app.system.clients, &names, ctx.clock.clone()).request_log;
    let authenticator = service::Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let routes = cli::all_routes(
        &edge::App::new(ctx, authenticator),
        1024 * 1024,
        Connectors::default(),
        None,
        false,
    );

    let key = app.create_key("acme").await;
    let request = http::Request::post("/v3/documents").header("x-api-key", key);
    let body = axum::body::Body::from(json!({"content": "Words."}).to_string());
    let request = request.body(body).expect("a request");
    let response = tower::ServiceExt::oneshot(routes, request)
        .await
        .expect("routes never fail");
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("a body");

    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
}

#[tokio::test]
async fn only_failures_of_the_server_are_logged_as_errors() {
    let client = OrgClient::new().await;
    let log = LogCapture::start(Level::INFO);
    let unsupported = client
        .post(
            "/v3/connections/unknown-drive",
            json!({"containerTag": "box"}),
        )
        .await;
    assert_eq!(unsupported.status, 501, "{}", unsupported.body);
    let invalid = client.post("/v3/documents", json!({"content": 7})).await;
    assert_eq!(invalid.status, 400, "{}", invalid.body);
    let refused = log.finish();
    assert!(
        refused.contains("answered 501") && !refused.contains("ERROR"),
        "{refused}"
    );

    let log = LogCapture::start(Level::INFO);
    client.app.faults.set_rates(FaultRates {
        lost_request: 1.0,
        ..FaultRates::default()
    });

    let failed = client.post("/v3/documents/list", json!({})).await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    assert!(log.finish().contains("ERROR"), "a failure is logged");
}
