//! The documents of a namespace: `/ns/{namespace}/document*` and `/ns/{namespace}/list/documents`,
//! which version 5 of the Python client calls.

use domain::key::Permission;
use serde_json::{Value, json};
use testkit::{TestAnswer, multipart_form};

use crate::client::{OrgClient, collect_field};
use crate::shape::{expect_error, expect_ok, pagination_shape};

const DOCUMENTS: &str = "/ns/user_42/document";
const LIST: &str = "/ns/user_42/list/documents";

/// Returns the shape of an accepted document, whose id may be the caller's own.
fn ref_shape() -> Value {
    json!({"id": "string", "status": "string"})
}

fn system_shape() -> Value {
    json!({"status": "string", "dreamingStatus": "string", "createdAt": "time", "updatedAt": "time"})
}

/// Returns the shape of a document, with what the request includes.
fn full_shape(included: &Value) -> Value {
    let mut shape = json!({
        "id": "string", "title": "string|null", "type": "string", "summary": "string|null",
        "content": "string|null", "metadata": "object", "system": system_shape(),
    });
    for (name, part) in included.as_object().expect("an object") {
        shape[name] = part.clone();
    }
    shape
}

/// Sends content to the namespace, waits until it is processed, and returns the id.
async fn add(client: &OrgClient, body: Value) -> String {
    let answer = expect_ok(client.post(DOCUMENTS, body).await, &ref_shape());
    client.run_until_settled().await;
    answer["id"].as_str().expect("an id").to_owned()
}

async fn content_of(client: &OrgClient, id: &str) -> Value {
    let answer = client.get(&format!("{DOCUMENTS}/{id}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["content"].clone()
}

async fn send_form(
    client: &OrgClient,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> TestAnswer {
    let form = multipart_form("note.md", b"# Herons\n\nThe heron nests in March.", fields);
    client.app.send_form(method, path, &client.key, form).await
}

#[tokio::test]
async fn a_document_is_named_by_the_callers_id_and_by_its_own() {
    let client = OrgClient::new().await;
    let id = add(
        &client,
        json!({"content": "I live in Lisbon.", "id": "note-1", "metadata": {"year": 2026}}),
    )
    .await;
    assert_eq!(id, "note-1");

    let path = format!("{DOCUMENTS}/note-1");
    let document = expect_ok(client.get(&path).await, &full_shape(&json!({})));
    assert_eq!(document["content"], "I live in Lisbon.");
    assert_eq!(document["metadata"], json!({"year": 2026}));
    assert_eq!(document["system"]["status"], "done");

    let own_id = client.get_document_unchecked("note-1").await["id"].clone();
    let by_own_id = format!("{DOCUMENTS}/{}", own_id.as_str().expect("an id"));
    assert_eq!(client.get(&by_own_id).await.body, document);

    let without_id = add(&client, json!({"content": "The mill stands still."})).await;
    let document = client.get(&format!("{DOCUMENTS}/{without_id}")).await.body;
    assert_eq!(
        (&document["id"], &document["metadata"]),
        (&json!(without_id), &json!({}))
    );
}

#[tokio::test]
async fn chunks_and_memories_are_included_if_asked_for() {
    let client = OrgClient::new().await;
    add(&client, json!({"content": "I live in Lisbon.", "id": "n"})).await;

    let chunk = json!({
        "id": "string", "position": "number", "content": "string", "type": "string",
        "metadata": "object", "system": {"createdAt": "time"},
    });
    let memory = json!({
        "id": "string", "memory": "string", "metadata": "object", "isStatic": "bool",
        "isInference": "bool", "isLatest": "bool", "isForgotten": "bool",
        "version": "number", "system": {"createdAt": "time", "updatedAt": "time"},
    });
    let shape = full_shape(&json!({"chunks": [chunk], "memories": [memory]}));
    for query in ["include=chunks,memories", "include=chunks&include=memories"] {
        let answer = client.get(&format!("{DOCUMENTS}/n?{query}")).await;
        let document = expect_ok(answer, &shape);
        assert_eq!(document["chunks"][0]["content"], "I live in Lisbon.");
        let memory = document["memories"][0]["memory"].as_str().expect("a text");
        assert!(memory.contains("Lisbon"), "{memory}");
    }
}

#[tokio::test]
async fn text_under_the_same_id_is_added_and_a_repetition_is_not() {
    let client = OrgClient::new().await;
    let send = |content: &'static str| add(&client, json!({"content": content, "id": "log"}));
    send("The heron came.").await;
    send("The otter left.").await;
    assert_eq!(
        content_of(&client, "log").await,
        "The heron came.\n\nThe otter left."
    );

    let before = client.get_document_unchecked("log").await;
    send("The otter left.").await;
    let after = client.get_document_unchecked("log").await;
    assert_eq!(after["latestRevision"], before["latestRevision"]);

    send("User: I like tea.\nAssistant: Noted.").await;
    let whole = content_of(&client, "log").await;
    assert!(
        whole
            .as_str()
            .expect("a text")
            .starts_with("The heron came."),
        "{whole}"
    );
    assert!(client.search_finds("otter").await && client.search_finds("tea").await);
}

#[tokio::test]
async fn added_text_keeps_the_task_type_of_the_document() {
    let client = OrgClient::new().await;
    let first = json!({"content": "I live in Lisbon.", "id": "log", "taskType": "superrag"});
    add(&client, first.clone()).await;
    let next = json!({"content": "I like tea.", "id": "log"});
    add(&client, next.clone()).await;
    let document = client.get_document_unchecked("log").await;
    assert_eq!(
        (&document["taskType"], &document["latestRevision"]),
        (&json!("superrag"), &json!(2))
    );

    add(&client, next).await;
    let again = client.get_document_unchecked("log").await;
    assert_eq!(again, document, "a repetition changes nothing");

    let with_memories = json!({"content": "I like rain.", "id": "log", "taskType": "memory"});
    add(&client, with_memories).await;
    let document = client.get_document_unchecked("log").await;
    assert_eq!(document["taskType"], "memory");
}

#[tokio::test]
async fn turns_under_the_same_id_continue_a_transcript() {
    let client = OrgClient::new().await;
    let first = "User: I live in Lisbon.\nAssistant: Noted.";
    add(&client, json!({"content": first, "id": "chat"})).await;
    let next = "User: I like tea.\nAssistant: Good.";
    add(&client, json!({"content": next, "id": "chat"})).await;
    let whole = content_of(&client, "chat").await;
    let whole = whole.as_str().expect("a text");
    assert_eq!(whole.matches("Lisbon").count(), 1, "{whole}");
    assert!(whole.find("Lisbon") < whole.find("tea"), "{whole}");
}

#[tokio::test]
async fn nothing_is_added_to_a_file() {
    let client = OrgClient::new().await;
    let body = json!({"content": "First.", "id": "n"});
    add(&client, body.clone()).await;
    let replaced = send_form(&client, "POST", &format!("{DOCUMENTS}/file/n"), &[]).await;
    expect_ok(replaced, &ref_shape());
    client.run_until_settled().await;

    expect_error(
        &client.post(DOCUMENTS, body).await,
        409,
        "ConflictError",
        "only text is appended to text",
    );
    let content = content_of(&client, "n").await;
    assert!(content.as_str().expect("a text").contains("nests in March"));
}

#[tokio::test]
async fn the_same_id_in_two_namespaces_is_two_documents() {
    let client = OrgClient::new().await;
    add(&client, json!({"content": "The heron is here.", "id": "n"})).await;
    let other = json!({"content": "The otter is there.", "id": "n"});
    expect_ok(
        client.post("/ns/elsewhere/document", other).await,
        &ref_shape(),
    );
    client.run_until_settled().await;

    assert_eq!(content_of(&client, "n").await, "The heron is here.");
    let other = client.get("/ns/elsewhere/document/n").await.body;
    assert_eq!(other["content"], "The otter is there.");

    let deleted = client
        .app
        .call_json(
            "DELETE",
            "/ns/elsewhere/document",
            &client.key,
            &json!({"ids": ["n"]}),
        )
        .await;
    assert_eq!(deleted.body, json!({"count": 1, "errors": []}));
    assert_eq!(content_of(&client, "n").await, "The heron is here.");
}

#[tokio::test]
async fn an_update_replaces_the_content_and_keeps_what_is_not_sent() {
    let client = OrgClient::new().await;
    let body = json!({"content": "The heron came.", "id": "n", "metadata": {"year": 2026}});
    add(&client, body).await;

    let path = format!("{DOCUMENTS}/n");
    let update = json!({"content": "The otter came.", "supportingContext": "Birds."});
    let answer = expect_ok(client.send_patch(&path, update).await, &ref_shape());
    assert_eq!(answer["id"], "n");
    client.run_until_settled().await;
    let document = client.get(&path).await.body;
    assert_eq!(document["content"], "The otter came.");
    assert_eq!(document["metadata"], json!({"year": 2026}));
    assert!(!client.search_finds("heron").await);
    let tag = client.get("/v3/container-tags/user_42").await.body;
    assert_eq!(tag["entityContext"], "Birds.");
}

#[tokio::test]
async fn a_file_is_added_replaced_and_updated() {
    let client = OrgClient::new().await;
    let fields = [("metadata", r#"{"year": 2026}"#), ("date", "2026-03-01")];
    let added = send_form(&client, "POST", &format!("{DOCUMENTS}/file"), &fields).await;
    let id = expect_ok(added, &ref_shape())["id"].clone();
    let id = id.as_str().expect("an id");
    client.run_until_settled().await;
    let path = format!("{DOCUMENTS}/{id}");
    let document = client.get(&path).await.body;
    assert_eq!(
        (&document["title"], &document["metadata"]),
        (&json!("Herons"), &json!({"year": 2026}))
    );

    let file_path = format!("{DOCUMENTS}/file/{id}");
    let update = [("metadata", r#"{"year": 2027}"#)];
    let form = multipart_form("", b"", &update);
    let updated = client
        .app
        .send_form("PATCH", &file_path, &client.key, form)
        .await;
    // An empty file is an error of the caller, not the absence of a file.
    expect_error(&updated, 400, "ValidationError", "the file is empty");
    let updated = send_form(&client, "PATCH", &file_path, &update).await;
    expect_ok(updated, &ref_shape());
    assert_eq!(
        client.get(&path).await.body["metadata"],
        json!({"year": 2027})
    );

    let replaced = send_form(&client, "POST", &file_path, &[]).await;
    expect_ok(replaced, &ref_shape());
    client.run_until_settled().await;
    assert_eq!(client.get(&path).await.body["metadata"], json!({}));
}

#[tokio::test]
async fn a_batch_answers_for_each_document() {
    let client = OrgClient::new().await;
    let batch = json!({
        "documents": [
            {"content": "The heron came.", "id": "a"},
            {"content": "", "id": "b"},
            {"content": "The otter left."},
            "text",
        ],
        "taskType": "superrag",
    });
    let answer = client.post(&format!("{DOCUMENTS}/batch"), batch).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = answer.body;
    assert_eq!((&body["count"], &body["failed"]), (&json!(2), &json!(2)));
    let results = body["results"].as_array().expect("results");
    assert_eq!(
        (&results[0]["id"], &results[0]["status"]),
        (&json!("a"), &json!("queued"))
    );
    assert_eq!(
        (&results[2]["id"], &results[2]["status"]),
        (&json!("b"), &json!("error"))
    );
    assert_eq!(results[3]["details"], "ValidationError in documents[3]");

    client.run_until_settled().await;
    let document = client.get_document_unchecked("a").await;
    assert_eq!(document["taskType"], "superrag");
    for (body, message) in [
        (json!({"documents": []}), "1 to 600 documents"),
        (json!({}), "missing field `documents`"),
    ] {
        let answer = client.post(&format!("{DOCUMENTS}/batch"), body).await;
        expect_error(&answer, 400, "ValidationError", message);
    }
}

#[tokio::test]
async fn a_list_is_filtered_sorted_and_paged() {
    let client = OrgClient::new().await;
    for (id, year) in [("a", 2024), ("b", 2025), ("c", 2026)] {
        let body = json!({"content": format!("I saw {id}."), "id": id, "metadata": {"year": year}});
        add(&client, body).await;
        client.app.environment.clock.advance_seconds(1);
    }
    let elsewhere = json!({"content": "Elsewhere."});
    client.post("/ns/elsewhere/document", elsewhere).await;
    client.run_until_settled().await;

    let mut item = full_shape(&json!({"url": "string|null"}));
    item.as_object_mut().expect("an object").remove("content");
    let shape = json!({
        "documents": [item], "chunks": [], "memories": [], "pagination": pagination_shape(),
    });
    let page = expect_ok(client.post(LIST, json!({})).await, &shape);
    assert_eq!(collect_field(&page["documents"], "id"), ["c", "b", "a"]);

    let query = format!("{LIST}?page=2&limit=2&order=asc&sort=updatedAt");
    let page = expect_ok(client.post(&query, json!({})).await, &shape);
    assert_eq!(collect_field(&page["documents"], "id"), ["c"]);
    assert_eq!(page["pagination"]["totalPages"], 2);

    let filter = json!({"field": "year", "operator": "gte", "value": 2025});
    let body = json!({"filter": filter, "include": {"content": true, "memoryCount": true}});
    let page = client.post(LIST, body).await.body;
    assert_eq!(collect_field(&page["documents"], "id"), ["c", "b"]);
    assert_eq!(page["documents"][0]["content"], "I saw c.");
    assert!(page["documents"][0]["system"]["memoryCount"].is_number());

    let counts = json!({"ids": ["a", "nothing"]});
    let counts = client.post(&format!("{LIST}/memory-counts"), counts).await;
    let counts = expect_ok(
        counts,
        &json!({"counts": [{"id": "string", "memoryCount": "number"}]}),
    );
    assert_eq!(collect_field(&counts["counts"], "id"), ["a"]);

    let wrong = json!({"filter": {"field": "year", "operator": "like", "value": 1}});
    let answer = client.post(LIST, wrong).await;
    expect_error(&answer, 400, "ValidationError", "filter.operator: one of");
}

#[tokio::test]
async fn errors_name_the_fields_as_the_request_does() {
    let client = OrgClient::new().await;
    let with = |field: &str, value: Value| {
        let mut body = json!({"content": "Words."});
        body[field] = value;
        body
    };
    for (body, message) in [
        (with("date", json!("yesterday")), "date: "),
        (with("id", json!("a b")), "id: "),
        (
            with("supportingContext", json!("x".repeat(1501))),
            "supportingContext: ",
        ),
        (with("group", json!({"a": {"b": 1}})), "group"),
        (
            with("containerTag", json!("x")),
            "this request takes no container tag",
        ),
        (json!({}), "missing field `content`"),
        (json!({"content": " "}), "content"),
    ] {
        let answer = client.post(DOCUMENTS, body).await;
        expect_error(&answer, 400, "ValidationError", message);
    }

    let answer = client
        .post("/ns/no%20spaces/document", json!({"content": "Words."}))
        .await;
    expect_error(&answer, 400, "ValidationError", "namespace: ");
}

#[tokio::test]
async fn other_namespaces_and_organizations_are_out_of_reach() {
    let client = OrgClient::new().await;
    add(&client, json!({"content": "The heron came.", "id": "n"})).await;
    let missing = client.get("/ns/elsewhere/document/n").await;
    expect_error(&missing, 404, "NotFoundError", "Document");

    let foreign = client.app.create_key("rivals").await;
    let answer = client.app.get(&format!("{DOCUMENTS}/n"), &foreign).await;
    expect_error(&answer, 404, "NotFoundError", "Document");

    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["elsewhere"]))
        .await;
    let answer = client.app.get(&format!("{DOCUMENTS}/n"), &scoped).await;
    expect_error(&answer, 403, "PermissionError", "");
    let body = json!({"content": "Mine.", "id": "n"});
    let answer = client.app.post(DOCUMENTS, &scoped, &body).await;
    expect_error(&answer, 403, "PermissionError", "");
    let answer = client
        .app
        .post("/ns/elsewhere/document", &scoped, &body)
        .await;
    expect_ok(answer, &ref_shape());
    assert_eq!(content_of(&client, "n").await, "The heron came.");
}

#[tokio::test]
async fn an_id_that_is_missing_is_reported_and_the_others_are_deleted() {
    let client = OrgClient::new().await;
    for id in ["a", "b"] {
        add(
            &client,
            json!({"content": format!("I saw {id}."), "id": id}),
        )
        .await;
    }
    let delete = |body: Value| async {
        let body = body;
        client
            .app
            .call_json("DELETE", DOCUMENTS, &client.key, &body)
            .await
    };

    let answer = delete(json!({"ids": ["a", "nothing"]})).await;
    let shape = json!({"count": "number", "errors": [{"id": "string", "error": "string"}]});
    let answer = expect_ok(answer, &shape);
    assert_eq!(
        (&answer["count"], &answer["errors"][0]["id"]),
        (&json!(1), &json!("nothing"))
    );
    assert_eq!(client.get(&format!("{DOCUMENTS}/a")).await.status, 404);
    assert_eq!(client.get(&format!("{DOCUMENTS}/b")).await.status, 200);
    expect_error(
        &delete(json!({"ids": []})).await,
        400,
        "ValidationError",
        "1 to 100",
    );
}
