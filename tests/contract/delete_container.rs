//! `DELETE /v3/container-tags/{tag}`. Afterwards, nothing of the container is left.

use cli::transfer::ImportOptions;
use domain::key::Permission;
use domain::{TaskId, TaskState};
use serde_json::{Value, json};
use service::{run_task, verify_erasure_report};
use testkit::TestApp;

use crate::client::OrgClient;
use crate::containers::{
    StoredData, compact, field_by_tag, find_container, find_stored, physical_container,
};
use crate::shape::{expect_error, expect_ok};
use crate::transfer::{export_lines, import_text, text};

pub(crate) fn tag_path(tag: &str) -> String {
    format!("/v3/container-tags/{tag}")
}

fn deletion_shape() -> Value {
    json!({
        "success": "bool", "containerTag": "string", "deletedDocumentsCount": "int", "deletedMemoriesCount": "int",
        "deletionId": "id|null", "dryRun": "bool",
    })
}

pub(crate) async fn deletion_status(client: &OrgClient, id: &Value) -> Value {
    let report = json!({
        "documents": "int", "chunks": "int", "statements": "int", "inlineBlobs": "int", "objects": "int",
        "objectBytes": "int", "indexRecords": "int", "segments": "int", "logContents": "int",
    });
    let shape = json!({
        "id": "id", "containerTag": "string", "status": "string", "report": report, "deletedAt": "time",
        "updatedAt": "time", "completedAt": "time|null", "error": "null",
    });
    let id = id.as_str().expect("the id of a deletion");

    expect_ok(
        client
            .get(&format!("/v3/container-tags/deletions/{id}"))
            .await,
        &shape,
    )
}

/// Fills a container with every kind of data and returns the ids of its documents.
async fn fill_container(client: &OrgClient, tag: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for (custom_id, content) in [
        ("plain", "The heron HRN-1 waits."),
        ("said", "I live in Bonn."),
    ] {
        let body = json!({"content": content, "containerTag": tag, "customId": custom_id, "metadata": {"n": 1}});
        ids.push(client.add_document(body).await);
    }

    let file = client
        .app
        .upload_file(
            &client.key,
            "mill.txt",
            b"The mill MLL-2 stands.",
            &[("containerTag", tag)],
        )
        .await;
    ids.push(file.body["id"].as_str().expect("an id").to_owned());
    let large = "The weaver WVR-3 sings of the loom. ".repeat(12_000);
    ids.push(
        client
            .add_document(json!({"content": large, "containerTag": tag}))
            .await,
    );
    client.run_until_settled().await;

    ids
}

/// Returns every request that still shows the documents. The container `other` is left out.
async fn requests_that_show(
    client: &OrgClient,
    app: &TestApp,
    tag: &str,
    ids: &[String],
) -> Vec<String> {
    let key = &client.key;
    let mut seen = Vec::new();
    for id in ids.iter().map(String::as_str).chain(["plain", "said"]) {
        for rest in ["", "/chunks", "/file-url"] {
            let answer = app.get(&format!("/v3/documents/{id}{rest}"), key).await;
            seen.extend(
                answer
                    .status
                    .is_success()
                    .then(|| format!("GET {id}{rest}")),
            );
        }
    }

    let q = "heron mill weaver Bonn";
    for (path, body, found) in [
        (
            "/v3/documents/list",
            json!({"containerTags": [tag]}),
            "/memories",
        ),
        ("/v3/documents/list", json!({}), "/memories"),
        (
            "/v3/documents/documents",
            json!({"containerTags": [tag]}),
            "/documents",
        ),
        (
            "/v3/documents/documents/by-ids",
            json!({"ids": ids}),
            "/documents",
        ),
        (
            "/v4/search",
            json!({"q": q, "searchMode": "documents", "threshold": 0}),
            "/results",
        ),
        (
            "/v4/search",
            json!({"q": q, "threshold": 0, "containerTag": tag}),
            "/results",
        ),
        (
            "/v3/search",
            json!({"q": q, "containerTag": tag}),
            "/results",
        ),
        ("/v3/search", json!({"q": q, "docId": ids[0]}), "/results"),
        (
            "/v4/memories/list",
            json!({"containerTags": [tag]}),
            "/memoryEntries",
        ),
        (
            "/v4/profile",
            json!({"containerTag": tag}),
            "/profile/static",
        ),
        (
            "/v4/profile",
            json!({"containerTag": tag}),
            "/profile/dynamic",
        ),
    ] {
        let answer = app.post(path, key, &body).await;
        let rows = answer
            .body
            .pointer(found)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let rows = rows
            .map(Value::to_string)
            .filter(|row| !row.contains("CRN-9") && !row.contains("\"other\""));
        seen.extend(rows.map(|row| format!("{path} {body}: {row}")));
    }

    for rest in ["", "/profile", "/inferred"] {
        let answer = app.get(&format!("{}{rest}", tag_path(tag)), key).await;
        seen.extend(answer.status.is_success().then(|| format!("tag{rest}")));
    }

    let processing = app.get("/v3/documents/processing?view=all", key).await.body;
    seen.extend((processing["totalCount"] != 0).then(|| format!("processing: {processing}")));

    seen
}

#[tokio::test]
async fn nothing_of_it_is_seen_from_the_answer_on_and_nothing_is_left_in_the_end() {
    let client = OrgClient::new().await;
    assert_eq!(
        client
            .send_patch("/v3/settings", json!({"logContent": "full"}))
            .await
            .status,
        200
    );
    let ids = fill_container(&client, "box").await;
    client
        .add_document(json!({"content": "A crane CRN-9 stays.", "containerTag": "other"}))
        .await;
    let physical = physical_container(&client, "box").await.to_string();
    compact(&client, "box").await;
    let waiting = client
        .send_document(json!({"content": "Still queued.", "containerTag": "box"}))
        .await;
    let needles = [physical.as_str()];
    let before = find_stored(&client.app, &needles).await;

    let known = client
        .post("/v4/memories/list", json!({"containerTags": ["box"]}))
        .await
        .body;
    let known = known["pagination"]["totalItems"].clone();
    assert!(known.as_u64() > Some(0), "{known}");
    let preview = client
        .delete(&format!("{}?dryRun=true", tag_path("box")))
        .await;
    let preview = expect_ok(preview, &deletion_shape());
    assert_eq!(
        (&preview["deletionId"], &preview["dryRun"]),
        (&Value::Null, &json!(true))
    );
    let body = client
        .app
        .call_json(
            "DELETE",
            &tag_path("box"),
            &client.key,
            &json!({"dryRun": true}),
        )
        .await;
    assert_eq!(expect_ok(body, &deletion_shape()), preview);
    assert!(find_container(&client, "box").await.is_some());

    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    assert_eq!(
        (
            &answer["deletedDocumentsCount"],
            &answer["deletedMemoriesCount"]
        ),
        (&json!(5), &known)
    );
    for count in ["deletedDocumentsCount", "deletedMemoriesCount"] {
        assert_eq!(preview[count], answer[count], "{count}");
    }
    let all: Vec<String> = ids.iter().cloned().chain([waiting]).collect();
    assert_eq!(seen_elsewhere(&client, &all).await, Vec::<String>::new());
    expect_error(
        &client.delete(&tag_path("box")).await,
        404,
        "NotFoundError",
        "Container tag",
    );
    assert_eq!(
        deletion_status(&client, &answer["deletionId"]).await["status"],
        "running"
    );

    // The same tag and customId can be used again at once.
    let fresh = client
        .add_document(
            json!({"content": "A new heron HRN-7.", "containerTag": "box", "customId": "plain"}),
        )
        .await;
    assert!(!all.contains(&fresh));
    client.run_until_settled().await;
    let report = deletion_status(&client, &answer["deletionId"]).await;
    assert_eq!(report["status"], "completed", "{report}");
    let after = find_stored(&client.app, &needles).await;
    // The task names the containers that it deleted, and the request log those of each request.
    let told = |item: &&String| !item.starts_with("records J#") && !item.starts_with("activity");
    let left: Vec<&String> = after.items.iter().filter(told).collect();
    assert_eq!((left, after.objects.len()), (Vec::new(), 0), "{report}");
    assert_eq!(
        find_stored(&client.app, &["HRN-1", "MLL-2", "in Bonn"]).await,
        StoredData::default()
    );
    let report = &report["report"];
    let kind = |prefix: &str| {
        before
            .items
            .iter()
            .filter(|item| item.starts_with(prefix))
            .count()
    };
    assert_eq!(report["documents"], 5);
    assert_eq!(report["objects"], before.objects.len(), "{before:?}");
    assert_eq!(report["objectBytes"], before.objects.values().sum::<u64>());
    assert!(
        report["inlineBlobs"].as_u64() >= Some(kind("records B#") as u64),
        "{report} {before:?}"
    );
    assert!(
        report["chunks"].as_u64() > Some(100) && report["segments"] == 1,
        "{report}"
    );
    assert!(report["logContents"].as_u64() > Some(0), "{report}");
    assert_eq!(client.get_document("plain").await["id"], json!(fresh));
    assert!(client.search_finds("CRN-9").await && client.search_finds("HRN-7").await);
    let cold = TestApp::start(&client.app.environment, 1)
        .await
        .expect("an app");
    for needle in ["HRN-1", "MLL-2", "WVR-3"] {
        let body = json!({"q": needle, "searchMode": "documents", "threshold": 0});
        assert!(
            !cold
                .post("/v4/search", &client.key, &body)
                .await
                .body
                .to_string()
                .contains(needle)
        );
    }
}

/// Returns [`seen`] of a process that has read the documents before and of one that has not.
async fn seen_elsewhere(client: &OrgClient, ids: &[String]) -> Vec<String> {
    let cold = TestApp::start(&client.app.environment, 7)
        .await
        .expect("an app");
    let mut all = requests_that_show(client, &client.app, "box", ids).await;
    all.extend(requests_that_show(client, &cold, "box", ids).await);
    all
}

#[tokio::test]
async fn a_custom_id_stays_one_document_while_its_former_container_is_removed() {
    let client = OrgClient::new().await;
    let body = |tag: &str| json!({"content": format!("A heron in {tag}."), "containerTag": tag, "customId": "bird"});
    let former = client.add_document(body("box")).await;
    expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());

    // The record of the former document is still stored.
    let id = client.send_document(body("crate")).await;
    assert_ne!(id, former);
    client.run_until_settled().await;
    assert_eq!(client.add_document(body("shed")).await, id);
    let listed = client.post("/v3/documents/list", json!({})).await;
    assert_eq!(
        listed.body["pagination"]["totalItems"], 1,
        "{}",
        listed.body
    );
    let found = client.get("/v3/documents/bird").await;
    assert_eq!(found.body["id"], Value::from(id));
}

#[tokio::test]
async fn a_completed_deletion_has_a_signed_report() {
    let client = OrgClient::new().await;
    fill_container(&client, "box").await;
    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    let report_path = |answer: &Value| {
        let id = answer["deletionId"].as_str().expect("an id");
        format!("/v3/container-tags/deletions/{id}/report")
    };
    let path = report_path(&answer);
    let early = client.get(&path).await;
    expect_error(&early, 409, "ConflictError", "not completed");

    client.run_until_settled().await;
    let status = deletion_status(&client, &answer["deletionId"]).await;
    // The first requests race for the organization's key.
    let answers = futures::join!(client.get(&path), client.get(&path));
    let again = client.get(&path).await;
    for answer in [&answers.0, &answers.1, &again] {
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.body, again.body);
    }

    let signed = again.body;
    let report = &signed["report"];
    assert_eq!(
        verify_erasure_report(&signed).expect("a valid signature"),
        signed["publicKey"]["kid"]
    );
    assert_eq!(report["organization"], "acme");
    assert_eq!(report["containerTag"], "box");
    assert_eq!(report["removed"], status["report"]);
    assert_eq!(report["deletedAt"], status["deletedAt"]);
    assert_eq!(report["completedAt"], status["completedAt"]);
    assert_eq!(
        report["stores"],
        json!(["records", "objects", "requestLog"])
    );

    // Another report has the same key, and another organization has its own.
    client
        .add_document(json!({"content": "A crane.", "containerTag": "box"}))
        .await;
    let second = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    let other = OrgClient::of(
        TestApp::start(&client.app.environment, 1)
            .await
            .expect("an app"),
        "other",
    )
    .await;
    expect_error(&other.get(&path).await, 404, "NotFoundError", "Deletion");
    other
        .add_document(json!({"content": "A crane.", "containerTag": "box"}))
        .await;
    let theirs = expect_ok(other.delete(&tag_path("box")).await, &deletion_shape());
    client.run_until_settled().await;
    other.run_until_settled().await;
    let second = client.get(&report_path(&second)).await;
    assert_eq!(second.body["publicKey"], signed["publicKey"]);
    let theirs = other.get(&report_path(&theirs)).await;
    assert_ne!(theirs.body["publicKey"], signed["publicKey"]);
}

#[tokio::test]
async fn another_organizations_container_of_the_same_name_stays() {
    let client = OrgClient::new().await;
    let other = OrgClient::of(
        TestApp::start(&client.app.environment, 1)
            .await
            .expect("an app"),
        "other",
    )
    .await;

    for client in [&client, &other] {
        client
            .add_document(json!({"content": "The heron HRN-1 waits.", "containerTag": "box", "customId": "a"}))
            .await;
    }

    let before = export_lines(&other, "box").await;
    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    let id = answer["deletionId"].as_str().expect("an id");
    let foreign = other
        .get(&format!("/v3/container-tags/deletions/{id}"))
        .await;
    expect_error(&foreign, 404, "NotFoundError", "Deletion");

    client.run_until_settled().await;
    assert_eq!(export_lines(&other, "box").await.len(), before.len());
    assert!(other.search_finds("HRN-1").await);
    assert_eq!(field_by_tag(&other, "documentCount").await["box"], 1);
}

#[tokio::test]
async fn only_an_administrator_deletes_and_only_what_is_there() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "A heron.", "containerTag": "box"}))
        .await;
    expect_error(
        &client.delete(&tag_path("nowhere")).await,
        404,
        "NotFoundError",
        "Container tag",
    );
    expect_error(
        &client.delete(&tag_path("a%20b")).await,
        400,
        "ValidationError",
        "containerTag",
    );

    let agent = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["box"]))
        .await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    for key in [&agent, &reader] {
        expect_error(
            &client.app.delete(&tag_path("box"), key).await,
            403,
            "PermissionError",
            "administrator",
        );
    }

    for id in ["x", "1111111111111111111111"] {
        let answer = client
            .get(&format!("/v3/container-tags/deletions/{id}"))
            .await;
        expect_error(&answer, 404, "NotFoundError", "Deletion");
    }

    assert!(client.search_finds("heron").await);
}

#[tokio::test]
async fn a_worker_that_is_late_brings_nothing_back() {
    let client = OrgClient::new().await;
    let id = client
        .send_document(json!({"content": crate::steps::make_long("The heron HRN-1 waits."), "containerTag": "box"}))
        .await;
    let old = client.stored_record(&id).await.expect("a record");
    let physical = old.container.to_string();

    // The document is processed but not committed.
    assert_eq!(crate::steps::process_only(&client).await, 1);
    expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    crate::steps::send_late_messages(&client, &old).await;
    client.run_until_settled().await;
    crate::steps::send_late_messages(&client, &old).await;
    client.run_until_settled().await;
    let left = find_stored(&client.app, &[physical.as_str(), "HRN-1"]).await;
    let left = left
        .items
        .iter()
        .filter(|item| item.starts_with("records") && !item.starts_with("records J#"));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(!client.search_finds("HRN-1").await);
}

/// Runs the next step of a deletion now, as a message that comes early does. Returns its status.
async fn run_early(client: &OrgClient, deletion: &Value) -> Value {
    let ctx = &client.app.system.ctx;
    let id = TaskId::parse(deletion.as_str().expect("an id")).expect("an id");
    let task = ctx.tasks.get(&client.tenant, &id).await.expect("a task");
    let step = task.expect("a task").step;
    run_task(ctx, &client.tenant, &id, step)
        .await
        .expect("a step");
    deletion_status(client, deletion).await
}

#[tokio::test]
async fn a_purge_waits_for_requests_and_workers_that_began_before() {
    let client = OrgClient::new().await;
    let body = json!({"content": "A heron waits.", "containerTag": "box"});
    client.add_document(body).await;
    let container = physical_container(&client, "box").await;
    let stored = async |prefix: &str| {
        let stored = find_stored(&client.app, &[container.as_str()]).await;
        let items = stored.items.iter();
        items.filter(|item| item.starts_with(prefix)).count()
    };
    let blobs = stored("records B#").await;
    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    let deletion = &answer["deletionId"];
    let clock = &client.app.environment.clock;

    // A request may still read everything for a minute.
    let status = run_early(&client, deletion).await;
    assert_eq!(status["report"]["documents"], 0, "{status}");
    assert_eq!(
        (stored("records D#").await, stored("records B#").await),
        (1, blobs)
    );

    // A worker may still write for 16 minutes.
    clock.advance_seconds(61);
    while run_early(&client, deletion).await["status"] == "running" {}
    let status = run_early(&client, deletion).await;
    assert_eq!(status["status"], "verifying", "{status}");
    assert_eq!(status["report"]["documents"], 1);
    assert_eq!(status["report"]["inlineBlobs"], blobs, "{status}");

    clock.advance_seconds(16 * 60);
    while run_early(&client, deletion).await["status"] == "verifying" {}
    let status = deletion_status(&client, deletion).await;
    assert_eq!(status["status"], "completed", "{status}");
}

#[tokio::test]
async fn two_deletions_at_once_are_one() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "A heron.", "containerTag": "box"}))
        .await;
    let box_path = tag_path("box");
    let answers = futures::join!(client.delete(&box_path), client.delete(&box_path));
    let mut statuses = [answers.0.status.as_u16(), answers.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404]);
    client.run_until_settled().await;
    assert!(find_container(&client, "box").await.is_none());
}

#[tokio::test]
async fn many_documents_take_few_calls_each() {
    const DOCUMENTS: usize = 250;
    let client = OrgClient::new().await;
    let documents: Vec<Value> = (0..DOCUMENTS)
        .map(|i| json!({"content": format!("Heron {i}.")}))
        .collect();
    let batch = client
        .post(
            "/v3/documents/batch",
            json!({"documents": documents, "containerTag": "box"}),
        )
        .await;
    assert_eq!(batch.body["success"], DOCUMENTS, "{}", batch.body);

    client.run_until_settled().await;
    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());
    let id = TaskId::parse(answer["deletionId"].as_str().expect("an id")).expect("a task id");
    let worker = TestApp::start(&client.app.environment, 3)
        .await
        .expect("an app");
    let begun = worker.faults.call_count();
    let ctx = &client.app.system.ctx;

    loop {
        let task = ctx
            .tasks
            .get(&client.tenant, &id)
            .await
            .expect("an answer")
            .expect("a task");
        if task.state != TaskState::Running {
            break;
        }
        client.app.environment.clock.advance_seconds(500);
        run_task(&worker.system.ctx, &client.tenant, &id, task.step)
            .await
            .expect("a step");
    }

    let calls = worker.faults.call_count() - begun;
    assert_eq!(
        deletion_status(&client, &answer["deletionId"]).await["report"]["documents"],
        DOCUMENTS
    );
    assert!(
        calls < DOCUMENTS as u64 * 3 / 2,
        "{calls} calls for {DOCUMENTS} documents"
    );
}

#[tokio::test]
async fn a_copy_is_not_imported_into_what_is_being_removed() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "The heron HRN-1 waits.", "containerTag": "box"}))
        .await;
    let copy = text(&export_lines(&client, "box").await);
    let answer = expect_ok(client.delete(&tag_path("box")).await, &deletion_shape());

    for tag in ["box", "other"] {
        let error = import_text(&client, &copy, &crate::transfer::under(tag))
            .await
            .expect_err("a refusal");
        let conflict = error.downcast_ref::<domain::Error>();
        assert!(
            matches!(conflict, Some(domain::Error::Conflict(_))),
            "{error:#}"
        );
        assert!(
            format!("{error:#}").contains("is being removed")
                && find_container(&client, tag).await.is_none()
        );
    }

    client.run_until_settled().await;
    assert_eq!(
        deletion_status(&client, &answer["deletionId"]).await["status"],
        "completed"
    );

    let report = import_text(&client, &copy, &ImportOptions::default())
        .await
        .expect("an import");
    assert_eq!(report.documents.written, 1);

    client.app.environment.clock.advance_seconds(10_000);
    client.run_until_settled().await;
    assert!(client.search_finds("HRN-1").await);
    assert_eq!(field_by_tag(&client, "documentCount").await["box"], 1);
}
