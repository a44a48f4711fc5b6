//! Long refusals of one kind of call: a merge is given up and its tags open again, and a purge is
//! retried without end.

use domain::{OrgId, Task, TaskId, TaskState, TaskWork, Tenant};
use serde_json::{Value, json};
use service::run_task;
use testkit::{TestAnswer, TestApp};

/// A time longer than the pause after any failure.
const LONG_SECONDS: i64 = 1_000;

async fn app_with_two_tags() -> (TestApp, String) {
    let app = TestApp::new().await;
    let key = app.create_key("acme").await;
    for tag in ["from", "to"] {
        let body = json!({"content": format!("The heron of {tag} waits."), "containerTag": tag, "customId": tag});
        app.add_document(&key, &body).await;
    }
    (app, key)
}

/// Runs the task `times` times and returns its record afterwards.
async fn run_task_times(app: &TestApp, id: &Value, times: usize) -> Task {
    let tenant = Tenant::for_operator(OrgId::parse("acme").expect("an organization"));
    let id = TaskId::parse(id.as_str().expect("an id")).expect("a task id");
    let ctx = &app.system.ctx;
    for _ in 0..times {
        let task = ctx
            .tasks
            .get(&tenant, &id)
            .await
            .expect("an answer")
            .expect("a task");
        app.environment.clock.advance_seconds(LONG_SECONDS);
        run_task(ctx, &tenant, &id, task.step)
            .await
            .expect("a saved record");
    }

    ctx.tasks
        .get(&tenant, &id)
        .await
        .expect("an answer")
        .expect("a task")
}

async fn send_note(app: &TestApp, key: &str, tag: &str) -> TestAnswer {
    app.post(
        "/v3/documents",
        key,
        &json!({"content": "A crane.", "containerTag": tag}),
    )
    .await
}

#[tokio::test]
async fn a_merge_that_cannot_go_on_is_given_up_and_its_tags_open_again() {
    let (app, key) = app_with_two_tags().await;
    let body = json!({"containerTags": ["from"], "targetContainerTag": "to"});
    let begun = app.post("/v3/container-tags/merge", &key, &body).await.body;
    app.faults.refuse_operation(Some("Query"));
    let task = run_task_times(&app, &begun["mergeId"], 5).await;
    assert!(
        task.state == TaskState::Running && task.attempts > 0 && task.error.is_some(),
        "{task:?}"
    );

    app.faults.refuse_operation(None);
    assert_eq!(send_note(&app, &key, "to").await.status, 409);
    app.faults.refuse_operation(Some("Query"));
    let task = run_task_times(&app, &begun["mergeId"], 25).await;
    assert_eq!(task.state, TaskState::Failed, "{task:?}");

    app.faults.refuse_operation(None);
    let id = begun["mergeId"].as_str().expect("an id");
    let status = app
        .get(&format!("/v3/container-tags/merge/{id}"), &key)
        .await
        .body;
    assert!(
        status["status"] == "failed" && status["lastError"].is_string(),
        "{status}"
    );
    assert_eq!(send_note(&app, &key, "to").await.status, 200);

    app.run_until_settled().await.expect("work that ends");
    // Nothing is lost: the documents of the source are in the target.
    let listed = app
        .post(
            "/v3/documents/list",
            &key,
            &json!({"containerTags": ["to"]}),
        )
        .await
        .body;
    assert_eq!(listed["pagination"]["totalItems"], 3, "{listed}");
}

#[tokio::test]
async fn a_purge_that_cannot_go_on_is_never_given_up() {
    let (app, key) = app_with_two_tags().await;
    let begun = app.delete("/v3/container-tags/from", &key).await.body;
    app.faults.refuse_operation(Some("Query"));
    let task = run_task_times(&app, &begun["deletionId"], 40).await;
    assert!(
        task.state == TaskState::Running && task.attempts == 40 && task.error.is_some(),
        "{task:?}"
    );

    let pause = task.due_at.as_millis() - app.system.ctx.clock.now().as_millis();
    assert!(
        (900_000..=960_000).contains(&pause),
        "the sweep comes after a quarter of an hour: {pause}"
    );

    app.faults.refuse_operation(None);
    let path = format!(
        "/v3/container-tags/deletions/{}",
        begun["deletionId"].as_str().expect("an id")
    );
    let status = app.get(&path, &key).await.body;
    assert!(
        status["status"] == "running" && status["error"].is_string(),
        "{status}"
    );

    app.environment.clock.advance_seconds(LONG_SECONDS);
    app.run_until_settled().await.expect("work that ends");
    let task = run_task_times(&app, &begun["deletionId"], 1).await;
    let TaskWork::Purge(purge) = &task.work else {
        panic!("no purge: {task:?}")
    };
    assert_eq!(
        (task.state, task.attempts, purge.report.documents),
        (TaskState::Completed, 0, 1),
        "{task:?}"
    );

    let status = app.get(&path, &key).await.body;
    assert!(
        status["status"] == "completed" && status["error"].is_null(),
        "{status}"
    );
}
