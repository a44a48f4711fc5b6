//! `POST /v3/documents/batch`.

use domain::key::Permission;
use http::Request;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::{OrgClient, collect_field};
use crate::containers::find_container;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};

const DATED: &str = "2025-04-15";

fn batch_shape() -> Value {
    json!({"results": ["object"], "success": "int", "failed": "int"})
}

/// Sends a batch and returns its results. Checks the shape of each result, and that the counts
/// match.
async fn send(client: &OrgClient, body: Value) -> Vec<Value> {
    checked(client.post("/v3/documents/batch", body).await)
}

fn checked(answer: TestAnswer) -> Vec<Value> {
    let body = expect_ok(answer, &batch_shape());
    let results = body["results"].as_array().expect("results").clone();
    let is_refused = |result: &&Value| result["status"] == "error";
    assert_eq!(body["failed"], results.iter().filter(is_refused).count());
    assert_eq!(
        body["success"],
        results.len() - body["failed"].as_u64().expect("a count") as usize
    );

    for result in &results {
        let refused =
            json!({"id": "string", "status": "string", "error": "string", "details": "string"});
        let taken = json!({"id": "id", "status": "string"});
        let taken = if result.get("url").is_some() {
            merge_shapes(taken, &json!({"url": "string"}))
        } else {
            taken
        };
        crate::shape::assert_shape(
            result,
            if result["status"] == "error" {
                &refused
            } else {
                &taken
            },
        );
    }

    results
}

#[tokio::test]
async fn objects_and_texts_become_documents_in_the_order_of_the_request() {
    let client = OrgClient::new().await;
    let documents = json!([
        {"content": "The first bird is a heron.", "customId": "first"},
        "The second bird is a bittern.",
        {"content": "The third bird is a crane.", "containerTag": "other"},
    ]);
    let results = send(
        &client,
        json!({"documents": documents, "containerTag": "birds"}),
    )
    .await;
    assert!(
        results.iter().all(|result| result["status"] == "queued"),
        "{results:?}"
    );

    client.run_until_settled().await;
    let wanted = [("heron", "birds"), ("bittern", "birds"), ("crane", "other")];
    for (result, (word, tag)) in results.iter().zip(wanted) {
        let document = client
            .get_document(result["id"].as_str().expect("an id"))
            .await;
        assert!(
            document["content"].as_str().expect("text").contains(word),
            "{document}"
        );
        assert_eq!(
            (&document["status"], &document["containerTags"]),
            (&json!("done"), &json!([tag]))
        );
        assert!(client.search_finds(word).await);
    }

    assert_eq!(client.get_document("first").await["id"], results[0]["id"]);
}

#[tokio::test]
async fn every_field_has_a_default_for_all_and_a_value_of_its_own() {
    let client = OrgClient::new().await;
    let defaults = json!({
        "containerTags": ["all"], "metadata": {"of": "all"}, "taskType": "superrag", "filepath": "/all.md",
        "filterByMetadata": {"of": "all"}, "documentDate": DATED, "entityContext": "All.", "dreaming": "instant",
    });
    let own = json!({
        "content": "With its own.", "containerTag": "own", "metadata": {"its": "own"}, "taskType": "memory",
        "filepath": "/own.md", "filterByMetadata": {"its": ["own"]}, "documentDate": "2024-01-02",
        "entityContext": "Own.", "dreaming": "dynamic",
    });
    let body = merge_shapes(json!({"documents": ["With those of all.", own]}), &defaults);
    let results = send(&client, body).await;
    let mut tags = Vec::new();
    let rows = [
        ("all", "of", "superrag", "/all.md", DATED),
        ("own", "its", "memory", "/own.md", "2024-01-02"),
    ];

    for (result, (tag, key, task, path, date)) in results.iter().zip(rows) {
        let id = result["id"].as_str().expect("an id");
        let document = client.get_document(id).await;
        assert_eq!(document["containerTags"], json!([tag]));
        assert_eq!(
            document["metadata"],
            json!({key: tag}),
            "metadata is taken whole, from one place"
        );
        assert_eq!(
            (&document["taskType"], &document["filepath"]),
            (&json!(task), &json!(path))
        );

        let record = client.stored_record(id).await.expect("a record");
        assert!(
            record
                .filter_by_metadata
                .is_some_and(|filter| filter.get(key).is_some())
        );
        assert!(
            record
                .document_date
                .is_some_and(|at| at.to_string().starts_with(date)),
            "{tag}"
        );

        tags.push((tag, record.dreaming, record.tag));
    }

    assert_ne!(tags[0].1, tags[1].1, "dreaming");
    for (tag, _, parsed) in tags {
        let container = find_container(&client, parsed.as_str()).await;
        let context = container
            .and_then(|container| container.entity_context)
            .expect("guidance");
        assert_eq!(context.to_lowercase(), format!("{tag}."));
    }
}

#[tokio::test]
async fn a_wrong_document_harms_no_other_and_names_its_place() {
    let client = OrgClient::new().await;
    let wrong = [
        (json!({"content": ""}), "ValidationError", "content"),
        (json!({"content": null}), "ValidationError", "content"),
        (json!({}), "ValidationError", "content"),
        (json!("  \n "), "ValidationError", "content"),
        (json!({"content": 7}), "ValidationError", "content"),
        (
            json!({"content": "a", "metadata": {"bad key": 1}}),
            "ValidationError",
            "metadata",
        ),
        (
            json!({"content": "a", "metadata": "x"}),
            "ValidationError",
            "metadata",
        ),
        (
            json!({"content": "a", "containerTag": "a b"}),
            "ValidationError",
            "containerTag",
        ),
        (
            json!({"content": "a", "containerTags": ["a", "b c"]}),
            "ValidationError",
            "containerTag",
        ),
        (
            json!({"content": "a", "customId": "a b"}),
            "ValidationError",
            "customId",
        ),
        (
            json!({"content": "a", "documentDate": "soon"}),
            "ValidationError",
            "documentDate",
        ),
        (
            json!({"content": "a", "taskType": "x"}),
            "ValidationError",
            "taskType",
        ),
        (
            json!({"content": "x".repeat(1024 * 1024 + 1)}),
            "PayloadTooLargeError",
            "1048577",
        ),
        (json!(7), "ValidationError", "content"),
        (json!(null), "ValidationError", "content"),
        (json!(["a"]), "ValidationError", "content"),
    ];
    let mut documents = Vec::new();
    for (i, (item, _, _)) in wrong.iter().enumerate() {
        documents.extend([item.clone(), json!(format!("Good number {i}."))]);
    }
    let results = send(&client, json!({"documents": documents})).await;
    let (taken, refused) = results.split_at(wrong.len());
    client.run_until_settled().await;

    for (i, result) in taken.iter().enumerate() {
        let document = client
            .get_document(result["id"].as_str().expect("those taken come first"))
            .await;
        assert_eq!(
            (&document["status"], &document["content"]),
            (&json!("done"), &json!(format!("Good number {i}.")))
        );
    }

    for (i, (result, (item, kind, named))) in refused.iter().zip(&wrong).enumerate() {
        let short: String = item.to_string().chars().take(80).collect();
        assert_eq!(
            (&result["id"], &result["status"]),
            (&json!(""), &json!("error")),
            "{short}"
        );
        assert!(
            result["error"].as_str().expect("why").contains(named),
            "{short}: {result}"
        );

        let details = result["details"].as_str().expect("where");
        assert!(
            details.contains(kind) && details.contains(&format!("documents[{}]", 2 * i)),
            "{short}: {details}"
        );
    }

    assert_eq!(
        client.listed_ids(json!({})).await.len(),
        wrong.len(),
        "nothing of a refused document is stored"
    );
}

#[tokio::test]
async fn a_batch_has_one_to_six_hundred_documents() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (body, named) in [
        (json!({"documents": []}), "documents"),
        (json!({"documents": vec!["a"; 601]}), "600"),
        (json!({"documents": "a"}), "documents"),
        (json!({"documents": {}}), "documents"),
        (json!({}), "documents"),
        (json!({"documents": ["a"], "metadata": []}), "metadata"),
        (json!({"documents": ["a"], "taskType": "x"}), "taskType"),
    ] {
        let answer = client.post("/v3/documents/batch", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }
    faults.assert_none();

    assert!(client.listed_ids(json!({})).await.is_empty());
}

#[tokio::test]
async fn a_body_over_64_megabytes_is_refused() {
    let client = OrgClient::new().await;
    let documents = vec!["x".repeat(1024 * 1024); 65];
    let answer = client
        .post("/v3/documents/batch", json!({"documents": documents}))
        .await;
    expect_error(&answer, 413, "PayloadTooLargeError", "bytes");
    assert!(client.listed_ids(json!({})).await.is_empty());
}

#[tokio::test]
async fn six_hundred_documents_are_all_done_in_the_end() {
    let client = OrgClient::new().await;
    let documents: Vec<String> = (0..600)
        .map(|i| format!("The log of day {i} says WORD-{i:03}."))
        .collect();
    let results = send(
        &client,
        json!({"documents": documents, "containerTag": "log"}),
    )
    .await;
    assert_eq!(results.len(), 600);
    let sent: Vec<String> = results
        .iter()
        .map(|result| result["id"].as_str().expect("an id").to_owned())
        .collect();
    client.run_until_settled().await;
    let done = client
        .listed_ids(json!({"status": "done", "containerTags": ["log"]}))
        .await;
    assert_eq!(done.len(), 600);
    assert!(sent.iter().all(|id| done.contains(id)));

    for i in [0, 299, 599] {
        let document = client.get_document(&sent[i]).await;
        assert_eq!(
            document["content"],
            documents[i].as_str(),
            "in the order of the request"
        );
        assert!(client.search_finds(&format!("WORD-{i:03}")).await);
    }
}

#[tokio::test]
async fn an_address_comes_back_with_its_result() {
    let client = OrgClient::new().await;
    let documents = json!([
        "https://news.example/a",
        "A text about https://news.example/a."
    ]);
    let results = send(&client, json!({"documents": documents})).await;
    assert_eq!(results[0]["url"], "https://news.example/a");
    assert!(results[1].get("url").is_none());
}

#[tokio::test]
async fn of_a_custom_id_that_comes_twice_the_last_content_stays() {
    for (first, last) in [
        (json!({}), json!({})),
        (json!({"containerTag": "sm_project_default"}), json!({})),
        (json!({}), json!({"containerTag": "sm_project_default"})),
    ] {
        let client = OrgClient::new().await;
        let note = |content: &str, more: &Value| {
            merge_shapes(json!({"content": content, "customId": "note"}), more)
        };
        let documents = [
            note("The first words.", &first),
            note("The last words.", &last),
        ];
        let results = send(&client, json!({"documents": documents})).await;
        assert_eq!(results[0]["id"], results[1]["id"]);

        client.run_until_settled().await;
        assert_eq!(
            client.get_document("note").await["content"],
            "The last words.",
            "{first} {last}"
        );
        assert_eq!(client.search_texts("words").await, ["The last words."]);
        assert_eq!(client.listed_ids(json!({})).await.len(), 1);
    }
}

#[tokio::test]
async fn a_batch_that_comes_again_is_the_same_documents() {
    let client = OrgClient::new().await;
    let body =
        json!({"documents": ["One.", "Two.", {"content": "Three.", "customId": "three"}, "One."]});
    let first = send(&client, body.clone()).await;
    assert_eq!(
        first[0]["id"], first[3]["id"],
        "the same content twice is one document"
    );

    client.run_until_settled().await;
    let again = send(&client, body).await;
    assert_eq!(
        collect_field(&json!(first), "id"),
        collect_field(&json!(again), "id")
    );
    assert!(
        again.iter().all(|result| result["status"] == "done"),
        "{again:?}"
    );
    assert_eq!(client.listed_ids(json!({})).await.len(), 3);
}

#[tokio::test]
async fn an_idempotency_key_holds_for_each_document_of_the_batch() {
    let client = OrgClient::new().await;
    let send_as = async |body: Value| {
        let request = Request::builder().method("POST").uri("/v3/documents/batch");
        let request = request.header("authorization", format!("Bearer {}", client.key));
        let request = request.header("idempotency-key", "batch-1");
        client
            .app
            .send(request.body(body.to_string().into()).expect("a request"))
            .await
    };
    let first = checked(send_as(json!({"documents": ["One.", "Two."]})).await);
    client.app.environment.clock.advance_seconds(3600);
    let again = checked(send_as(json!({"documents": ["One.", "Two."]})).await);
    assert_eq!(
        collect_field(&json!(first), "id"),
        collect_field(&json!(again), "id")
    );

    let other = checked(send_as(json!({"documents": ["One.", "Three."]})).await);
    assert_eq!(
        (&other[0]["id"], &other[1]["status"]),
        (&first[0]["id"], &json!("error"))
    );
    assert!(
        other[1]["details"]
            .as_str()
            .is_some_and(|text| text.contains("ConflictError")),
        "{other:?}"
    );
    assert_eq!(client.listed_ids(json!({})).await.len(), 2);
}

#[tokio::test]
async fn a_scoped_key_writes_into_its_tag_alone() {
    let client = OrgClient::new().await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine"]))
        .await;
    let documents = json!(["No tag was sent.", {"content": "Theirs.", "containerTag": "theirs"}]);
    let results = checked(
        client
            .app
            .post(
                "/v3/documents/batch",
                &scoped,
                &json!({"documents": documents}),
            )
            .await,
    );
    assert_eq!(
        client
            .get_document(results[0]["id"].as_str().expect("an id"))
            .await["containerTags"],
        json!(["mine"])
    );
    assert!(
        results[1]["details"]
            .as_str()
            .is_some_and(|text| text.contains("PermissionError")),
        "{results:?}"
    );

    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let answer = client
        .app
        .post("/v3/documents/batch", &reader, &json!({"documents": ["a"]}))
        .await;
    expect_error(&answer, 403, "PermissionError", "read");
}
