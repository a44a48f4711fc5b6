//! `GET /v3/documents/processing`.

use container_index::CompactionSettings;
use domain::{DeliveryOutcome, Job, JobMessage, QueueDelivery, QueueWorker};
use maintenance::MaintenanceWorker;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::containers::{index_head, physical_container};
use crate::shape::{
    ErrorMismatches, expect_ok, failure_shape, listed_document_shape, merge_shapes,
    pagination_shape,
};
use crate::steps::{make_long, process_only};

/// Returns the ids in a view, newest first. Checks the shape of the view.
async fn processing_ids(client: &OrgClient, query: &str) -> Vec<String> {
    let mut shape = json!({"documents": [listed_document_shape()], "totalCount": "int"});
    if query.contains("view=all") {
        shape["pagination"] = pagination_shape();
    }
    let body = expect_ok(
        client
            .get(&format!("/v3/documents/processing{query}"))
            .await,
        &shape,
    );
    collect_field(&body["documents"], "id")
}

#[tokio::test]
async fn what_is_unfinished_is_shown_with_its_stage() {
    let client = OrgClient::new().await;
    let first = client
        .send_document(json!({"content": make_long("The first words."), "containerTag": "a"}))
        .await;
    let second = client
        .send_document(json!({"content": make_long("The second words."), "containerTag": "b"}))
        .await;
    for query in [
        "",
        "?view=active",
        "?view=pending",
        "?view=all",
        "?containerTags=a,b",
    ] {
        assert_eq!(
            processing_ids(&client, query).await,
            [second.as_str(), first.as_str()],
            "{query}"
        );
    }

    assert_eq!(
        processing_ids(&client, "?containerTags=a").await,
        [first.as_str()]
    );
    assert_eq!(
        processing_ids(&client, "?containerTags=unknown").await,
        [""; 0]
    );
    assert_eq!(process_only(&client).await, 2);
    let body = client.get("/v3/documents/processing").await.body;
    assert_eq!(
        collect_field(&body["documents"], "status"),
        ["indexing", "indexing"]
    );
    assert_eq!(body["totalCount"], 2);
    client.run_until_settled().await;
    assert_eq!(processing_ids(&client, "?view=all").await, [""; 0]);
}

#[tokio::test]
async fn failed_documents_are_in_the_view_of_all() {
    let client = OrgClient::new().await;
    let answer = client
        .app
        .upload_file(&client.key, "a.bin", &[0, 1, 2, 3, 0, 0, 7, 1, 0], &[])
        .await;
    client.run_until_settled().await;
    assert_eq!(processing_ids(&client, "").await, [""; 0]);
    assert_eq!(processing_ids(&client, "?view=pending").await, [""; 0]);
    let shape = json!({
        "documents": [merge_shapes(listed_document_shape(), &failure_shape())], "totalCount": "int", "pagination": pagination_shape(),
    });

    let body = expect_ok(
        client.get("/v3/documents/processing?view=all").await,
        &shape,
    );
    assert_eq!(body["documents"][0]["id"], answer.body["id"]);
}

#[tokio::test]
async fn after_four_hours_a_document_is_stuck_and_no_longer_active() {
    let client = OrgClient::new().await;
    let id = client
        .send_document(json!({"content": "Nobody works on this."}))
        .await;
    client.app.environment.clock.advance_seconds(4 * 3600 + 1);
    assert_eq!(processing_ids(&client, "?view=active").await, [""; 0]);

    let body = client
        .get("/v3/documents/processing?view=pending")
        .await
        .body;
    assert_eq!(
        (&body["documents"][0]["id"], &body["documents"][0]["stuck"]),
        (&json!(id), &Value::Bool(true))
    );

    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&id).await["status"],
        "done",
        "stuck is not lost"
    );
}

#[tokio::test]
async fn the_view_of_all_has_pages() {
    let client = OrgClient::new().await;
    let mut sent = Vec::new();
    for i in 0..5 {
        sent.insert(
            0,
            client
                .send_document(json!({"content": format!("Words number {i}.")}))
                .await,
        );
    }

    let mut seen = Vec::new();
    for page in 1..=3 {
        let body = client
            .get(&format!(
                "/v3/documents/processing?view=all&limit=2&page={page}"
            ))
            .await
            .body;
        let wanted = json!({"currentPage": page, "limit": 2, "totalItems": 5, "totalPages": 3});
        assert_eq!(body["pagination"], wanted);
        assert_eq!(body["totalCount"], 5);
        seen.extend(collect_field(&body["documents"], "id"));
    }

    assert_eq!(seen, sent);
}

#[tokio::test]
async fn a_wrong_query_names_the_parameter() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (query, named) in [
        ("view=some", "view"),
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=x", "page"),
        ("limit=0", "limit"),
        ("limit=1101", "limit"),
        ("limit=ten", "limit"),
        ("containerTags=a%20b", "containerTag"),
        ("containerTags=a,b/c", "containerTag"),
    ] {
        let answer = client
            .get(&format!("/v3/documents/processing?{query}"))
            .await;
        faults.check_error(query, &answer, 400, "ValidationError", named);
    }

    faults.assert_none();
}

#[tokio::test]
async fn the_views_have_only_what_is_unfinished_or_failed_among_finished_documents() {
    let client = OrgClient::new().await;
    for number in 0..3 {
        let body = json!({"content": format!("Finished {number}."), "containerTag": "a"});
        client.add_document(body).await;
    }
    let failed = client
        .app
        .upload_file(
            &client.key,
            "a.bin",
            &[0, 1, 2, 3, 0, 0, 7, 1, 0],
            &[("containerTag", "a")],
        )
        .await;
    client.run_until_settled().await;
    let failed = failed.body["id"].as_str().expect("an id").to_owned();
    let old = client
        .send_document(json!({"content": "Nobody works on this.", "containerTag": "a"}))
        .await;
    client.app.environment.clock.advance_seconds(4 * 3600 + 1);
    let new = client
        .send_document(json!({"content": "Sent now.", "containerTag": "a"}))
        .await;
    assert!(index_head(&client, "a").await.pending_listed);

    let check_views = async || {
        for (view, wanted) in [
            ("active", vec![&new]),
            ("pending", vec![&new, &old]),
            ("all", vec![&new, &old, &failed]),
        ] {
            // A document that is stuck has one more field.
            let path = format!("/v3/documents/processing?view={view}");
            let body = client.get(&path).await.body;
            let found = collect_field(&body["documents"], "id");
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{view}");
        }
        let body = client
            .get("/v3/documents/processing?view=pending&limit=1&page=2")
            .await
            .body;
        assert_eq!(collect_field(&body["documents"], "id"), [old.as_str()]);
        assert_eq!(body["totalCount"], 2);
        let list = client
            .post(
                "/v3/documents/list",
                json!({"containerTag": "a", "limit": 2}),
            )
            .await
            .body;
        assert_eq!(list["pagination"]["totalItems"], 6);
    };
    check_views().await;

    // A container of a version without the listing is read as a whole until it is compacted.
    client.app.remove_attributes("gp, pl").await;
    assert!(!index_head(&client, "a").await.pending_listed);
    check_views().await;
    compact_only(&client, "a").await;
    assert!(index_head(&client, "a").await.pending_listed);
    check_views().await;

    client.run_until_settled().await;
    assert_eq!(processing_ids(&client, "?view=pending").await, [""; 0]);
    let all = client.get("/v3/documents/processing?view=all").await.body;
    assert_eq!(collect_field(&all["documents"], "id"), [failed]);
}

/// Compacts a container and leaves all other work.
async fn compact_only(client: &OrgClient, tag: &str) {
    let job = Job::CompactV1 {
        container: physical_container(client, tag).await,
        through: None,
    };
    let message = JobMessage {
        org: client.tenant.org().clone(),
        job,
    };
    let delivery = QueueDelivery {
        body: serde_json::to_string(&message).expect("JSON"),
        is_dead_letter: false,
        trace_parent: None,
    };
    let worker = MaintenanceWorker::new(client.app.system.ctx.clone(), CompactionSettings::LOCAL);
    assert_eq!(
        worker.handle_batch(&[delivery]).await,
        [DeliveryOutcome::Done]
    );
}
