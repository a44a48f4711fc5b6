//! Crashes between any two calls of a deletion and of a merge, at every position in turn. In the
//! end the whole operation has happened exactly once.

use domain::key::Permission;
use domain::{OrgId, Task, TaskId, TaskState, TaskWork, Tenant};
use http::StatusCode;
use serde_json::{Value, json};
use service::run_task;
use testkit::{TestApp, TestEnvironment};

/// A time longer than any wait of a deletion or a merge.
const LONG_SECONDS: i64 = 1_000;

fn tenant(org: &str) -> Tenant {
    Tenant::for_operator(OrgId::parse(org).expect("an organization"))
}

/// Fills two containers with every kind of data. A document with the customId `same` is in each of
/// them, and another one in both.
async fn fill_containers(app: &TestApp, org: &str, key: &str) {
    for tag in ["from", "to"] {
        let own_key = app
            .create_key_with(org, Permission::Write, Some(&[tag]))
            .await;
        for (custom_id, content) in [
            (
                format!("{tag}-a"),
                "The heron waits. I live in Bonn.".to_owned(),
            ),
            ("same".to_owned(), format!("The owl of {tag} sees.")),
        ] {
            let body = json!({"content": content, "containerTag": tag, "customId": custom_id});
            let answer = app.post("/v3/documents", &own_key, &body).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let file = app
            .upload_file(
                key,
                "mill.txt",
                b"The mill stands.",
                &[("containerTag", tag)],
            )
            .await;
        assert_eq!(file.status, StatusCode::OK, "{}", file.body);
    }

    let body = json!({"content": "The wren of both sings.", "containerTags": ["from", "to"]});
    let shared = app.post("/v3/documents", key, &body).await;
    assert_eq!(shared.status, StatusCode::OK, "{}", shared.body);

    app.run_until_settled().await.expect("work that ends");
}

/// Returns the partition keys of the organization's items.
async fn item_keys(app: &TestApp, org: &str) -> Vec<String> {
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let scan = app
            .system
            .clients
            .dynamodb
            .scan()
            .table_name(&app.system.names.records);
        let answer = scan
            .set_exclusive_start_key(from)
            .send()
            .await
            .expect("a scan");

        let keys = answer.items.unwrap_or_default();
        let keys = keys
            .iter()
            .filter_map(|item| item.get("pk")?.as_s().ok().cloned());
        found.extend(keys.filter(|pk| pk.split('#').nth(1) == Some(org)));
        from = answer.last_evaluated_key;
        if from.is_none() {
            return found;
        }
    }
}

/// Returns the task of the organization, which has at most one.
async fn find_task(app: &TestApp, org: &str) -> Option<Task> {
    let all = item_keys(app, org).await;
    let ids: Vec<&str> = all
        .iter()
        .filter_map(|pk| pk.strip_prefix("J#")?.split('#').nth(1))
        .collect();
    assert!(ids.len() < 2, "{ids:?}");
    let id = TaskId::parse(ids.first()?).expect("a task id");
    app.system
        .ctx
        .tasks
        .get(&tenant(org), &id)
        .await
        .expect("an answer")
}

type RequestParts<'a> = (&'a str, &'a str, &'a Value);

/// Sends a request to a process that crashes at its call number `at`, and lets that process work
/// until it crashes. Then another process completes the work. Returns the number of calls of the
/// first process, and the key.
async fn run_with_crash(
    world: &TestEnvironment,
    healthy: &TestApp,
    (org, at): (&str, u64),
    asked: RequestParts<'_>,
) -> (u64, String) {
    let key = healthy.create_key(org).await;
    fill_containers(healthy, org, &key).await;
    let app = TestApp::start(world, at).await.expect("an app");
    let begun = app.faults.call_count();
    app.faults.crash_at(Some(begun + at));
    app.call_json(asked.0, asked.1, &key, asked.2).await;
    while let Some(task) = find_task(healthy, org)
        .await
        .filter(|task| task.state == TaskState::Running)
    {
        world.clock.advance_seconds(LONG_SECONDS);
        if run_task(&app.system.ctx, &tenant(org), &task.id, task.step)
            .await
            .is_err()
        {
            break;
        }
    }

    let calls = app.faults.call_count() - begun;
    // The first request may not have been answered, so the client repeats it. If it had taken
    // effect, the repetition is refused.
    let again = healthy.call_json(asked.0, asked.1, &key, asked.2).await;
    assert!(!again.status.is_server_error(), "{}", again.body);
    world.clock.advance_seconds(LONG_SECONDS);
    healthy
        .run_until_settled()
        .await
        .unwrap_or_else(|error| panic!("crash at call {at}: {error:#}"));
    let task = find_task(healthy, org).await.expect("a task");
    assert_eq!(
        (task.state, task.attempts),
        (TaskState::Completed, 0),
        "crash at call {at}: {task:?}"
    );

    (calls, key)
}

#[tokio::test]
async fn a_deletion_ends_and_its_report_is_exact_wherever_it_is_broken_off() {
    let world = TestEnvironment::new().expect("a folder");
    let app = TestApp::start(&world, 0).await.expect("an app");
    let asked = ("DELETE", "/v3/container-tags/from", &Value::Null);
    let mut whole = None;
    for at in std::iter::once(1_000_000).chain(0..) {
        let org = format!("purge-{at}");
        let (calls, key) = run_with_crash(&world, &app, (&org, at), asked).await;
        let Some(Task {
            work: TaskWork::Purge(purge),
            ..
        }) = find_task(&app, &org).await
        else {
            panic!("no purge");
        };
        let report = purge.report;
        assert_eq!(
            (report.documents, report.chunks, report.objects),
            (3, 3, 1),
            "crash at call {at}: {report:?}"
        );

        let listed = app.post("/v3/documents/list", &key, &json!({})).await.body;
        assert_eq!(
            listed["pagination"]["totalItems"], 4,
            "crash at call {at}: {listed}"
        );
        for document in listed["memories"].as_array().expect("documents") {
            let tags = &document["containerTags"];
            assert_eq!(tags, &json!(["to"]), "crash at call {at}: {document}");
        }

        let left = item_keys(&app, &org).await;
        assert!(
            left.iter()
                .all(|pk| purge.containers.iter().all(|id| !pk.contains(id.as_str()))),
            "{left:?}"
        );

        // Requests that were not answered are in no log, and a message that was delivered twice
        // adds another log record to the index.
        let exact = (
            report.inline_blobs,
            report.statements,
            report.object_bytes,
            left.len(),
        );
        let (known, all_calls) = *whole.get_or_insert((exact, calls));
        assert_eq!(exact, known, "crash at call {at}: {report:?} {left:?}");

        if at < 1_000_000 && at >= all_calls {
            assert!(at > 40, "a deletion has only {at} calls");
            break;
        }
    }
}

#[tokio::test]
async fn a_merge_ends_the_same_wherever_it_is_broken_off() {
    let world = TestEnvironment::new().expect("a folder");
    let app = TestApp::start(&world, 0).await.expect("an app");
    let body = json!({"containerTags": ["from"], "targetContainerTag": "to"});
    for at in 0.. {
        let org = format!("merge-{at}");
        let (calls, key) = run_with_crash(
            &world,
            &app,
            (&org, at),
            ("POST", "/v3/container-tags/merge", &body),
        )
        .await;
        let listed = app
            .post(
                "/v3/documents/list",
                &key,
                &json!({"containerTags": ["to"]}),
            )
            .await
            .body;
        assert_eq!(
            listed["pagination"]["totalItems"], 6,
            "crash at call {at}: {listed}"
        );

        let tags = app.get("/v3/container-tags/list", &key).await.body;
        assert_eq!(
            (tags.as_array().map(Vec::len), &tags[0]["documentCount"]),
            (Some(1), &json!(6)),
            "{tags}"
        );

        let search =
            json!({"q": "owl", "searchMode": "documents", "threshold": 0, "containerTag": "to"});
        let texts = app.post("/v4/search", &key, &search).await.body.to_string();
        assert!(
            texts.contains("owl of to") && !texts.contains("owl of from"),
            "crash at call {at}: {texts}"
        );

        let wren = json!({"q": "wren", "searchMode": "documents", "containerTag": "to"});
        let texts = app.post("/v4/search", &key, &wren).await.body.to_string();
        assert!(
            texts.contains("wren of both"),
            "crash at call {at}: {texts}"
        );

        let write = json!({"content": "A crane.", "containerTag": "to"});
        assert_eq!(
            app.post("/v3/documents", &key, &write).await.status,
            StatusCode::OK,
            "crash at call {at}"
        );

        if at >= calls {
            assert!(at > 20, "a merge has only {at} calls");
            break;
        }
    }
}
