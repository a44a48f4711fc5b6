//! Limits on the length of lists in requests, and their error messages.

use domain::{ContainerId, ContainerTag};
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::ErrorMismatches;

fn tags(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("t{number}")).collect()
}

#[tokio::test]
async fn more_than_a_hundred_container_tags_are_refused_everywhere() {
    let client = OrgClient::new().await;
    let many = tags(101);
    let with = |mut body: Value| {
        body["containerTags"] = json!(many);
        body
    };
    let turn = json!([{"role": "user", "content": "Hello."}]);
    let requests = [
        ("POST", "/v3/documents", json!({"content": "a"})),
        ("POST", "/v3/documents/list", json!({})),
        ("POST", "/v3/documents/documents", json!({})),
        (
            "POST",
            "/v3/documents/documents/by-ids",
            json!({"ids": ["a"]}),
        ),
        ("POST", "/v3/documents/file/uploads", json!({})),
        ("DELETE", "/v3/documents/bulk", json!({})),
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c", "messages": turn}),
        ),
        ("POST", "/v4/search", json!({"q": "a"})),
        ("POST", "/v3/search", json!({"q": "a"})),
        ("POST", "/v4/profile", json!({})),
        ("POST", "/v4/profile/buckets", json!({})),
        (
            "POST",
            "/v4/memories",
            json!({"memories": [{"content": "a"}]}),
        ),
        (
            "PATCH",
            "/v4/memories",
            json!({"id": "a", "newContent": "b"}),
        ),
        ("DELETE", "/v4/memories", json!({"id": "a"})),
        ("POST", "/v4/memories/list", json!({})),
        (
            "POST",
            "/v4/memories/forget-matching",
            json!({"ids": ["a"]}),
        ),
        (
            "POST",
            "/v3/container-tags/merge",
            json!({"targetContainerTag": "t0"}),
        ),
        ("POST", "/v3/connections/list", json!({})),
        ("POST", "/v3/connections/web-crawler/connection", json!({})),
        ("POST", "/v3/connections/web-crawler/documents", json!({})),
        ("POST", "/v3/connections/web-crawler/import", json!({})),
        ("DELETE", "/v3/connections/web-crawler", json!({})),
        (
            "POST",
            "/v3/auth/agent-key",
            json!({"name": "a", "permission": "read"}),
        ),
        ("POST", "/v3/auth/scoped-key", json!({})),
    ];
    let mut faults = ErrorMismatches::default();

    for (method, path, body) in requests {
        let answer = client
            .app
            .call_json(method, path, &client.key, &with(body))
            .await;
        faults.check_error(
            &format!("{method} {path}"),
            &answer,
            400,
            "ValidationError",
            "containerTags",
        );
    }

    let path = format!("/v3/documents/processing?containerTags={}", many.join(","));
    faults.check_error(
        &path[..26],
        &client.get(&path).await,
        400,
        "ValidationError",
        "containerTags",
    );

    let patch = json!({"containerTags": many});
    let id = client.add_document(json!({"content": "a"})).await;
    let answer = client
        .send_patch(&format!("/v3/documents/{id}"), patch)
        .await;
    faults.check_error(
        "PATCH /v3/documents/{id}",
        &answer,
        400,
        "ValidationError",
        "containerTags",
    );
    faults.assert_none();
}

#[tokio::test]
async fn a_hundred_thousand_container_tags_are_refused_without_a_read_for_each() {
    let client = OrgClient::new().await;
    let before = client.app.faults.call_count();
    let mut faults = ErrorMismatches::default();
    for path in ["/v4/search", "/v3/search", "/v3/documents/list"] {
        let answer = client
            .post(path, json!({"q": "a", "containerTags": tags(100_000)}))
            .await;
        faults.check_error(path, &answer, 400, "ValidationError", "containerTags");
    }
    faults.assert_none();

    let calls = client.app.faults.call_count() - before;
    assert!(
        calls <= 9,
        "{calls} calls of the services for the key and the request log of three requests"
    );
}

#[tokio::test]
async fn a_hundred_container_tags_are_searched() {
    let client = OrgClient::new().await;
    let answer = client
        .post("/v4/search", json!({"q": "a", "containerTags": tags(100)}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test]
async fn without_a_tag_a_custom_id_is_looked_for_in_a_thousand_containers_at_most() {
    let client = OrgClient::new().await;
    let ctx = &client.app.system.ctx;
    for tag in tags(1001) {
        let tag = ContainerTag::parse(&tag).expect("a tag");
        let (id, now) = (ContainerId::random(), ctx.clock.now());
        let created = ctx.containers.create_tag(&client.tenant, &tag, id, now);
        created.await.expect("a tag");
    }
    let id = client
        .add_document(json!({"content": "a", "containerTag": "t7"}))
        .await;

    let mut faults = ErrorMismatches::default();
    let before = client.app.faults.call_count();
    let answer = client.get("/v3/documents/unknown").await;
    faults.check_error(
        "a name",
        &answer,
        400,
        "ValidationError",
        "add containerTag",
    );
    let answer = client.get("/v3/documents/Vt3mE9xq6mVb2P8hZc1KRe").await;
    faults.check_error("an id", &answer, 404, "NotFoundError", "not found");
    let answer = client.get("/v3/documents/unknown?containerTag=t7").await;
    faults.check_error("a tag", &answer, 404, "NotFoundError", "not found");
    faults.assert_none();
    let calls = client.app.faults.call_count() - before;
    assert!(
        calls <= 24,
        "{calls} calls of the services for three requests"
    );

    let body = json!({"ids": [id, "unknown"]});
    let answer = client
        .app
        .call_json("DELETE", "/v3/documents/bulk", &client.key, &body)
        .await;
    assert_eq!(answer.body["deletedCount"], 1, "{}", answer.body);
    assert_eq!(answer.body["errors"][0]["id"], "unknown", "{}", answer.body);
}

#[tokio::test]
async fn every_other_list_has_its_most_as_well() {
    let client = OrgClient::new().await;
    let message = json!({"role": "user", "content": "a"});
    let part = json!({"type": "text", "text": "a"});
    let talk = |messages: Value| json!({"conversationId": "c", "messages": messages});
    let group = json!({"AND": []});
    let deep = (0..9).fold(
        json!({"key": "k", "value": "v"}),
        |inner, _| json!({"AND": [inner]}),
    );
    let when = json!({"eventDate": vec!["2025-01-01"; 101]});
    let requests = [
        (
            "/v3/documents/list",
            json!({"status": vec!["done"; 101]}),
            "status",
        ),
        (
            "/v3/documents/list",
            json!({"type": vec!["text"; 101]}),
            "type",
        ),
        (
            "/v3/documents/list",
            json!({"filters": {"AND": vec![group.clone(); 201]}}),
            "filters",
        ),
        (
            "/v4/search",
            json!({"q": "a", "filters": {"OR": vec![group; 100_000]}}),
            "filters",
        ),
        ("/v4/search", json!({"q": "a", "filters": deep}), "filters"),
        (
            "/v3/documents/documents",
            json!({"sources": vec!["web"; 101]}),
            "sources",
        ),
        (
            "/v4/profile",
            json!({"containerTag": "a", "include": vec!["static"; 101]}),
            "include",
        ),
        (
            "/v4/profile",
            json!({"containerTag": "a", "buckets": vec!["b"; 101]}),
            "buckets",
        ),
        (
            "/v4/conversations",
            talk(json!(vec![message; 10_001])),
            "messages",
        ),
        (
            "/v4/conversations",
            talk(json!([{"role": "user", "content": vec![part; 1001]}])),
            "content",
        ),
        (
            "/v4/conversations",
            talk(json!([{"role": "assistant", "tool_calls": vec![1; 1001]}])),
            "tool_calls",
        ),
        (
            "/v4/memories",
            json!({"containerTag": "a", "memories": [{"content": "a", "temporalContext": when}]}),
            "eventDate",
        ),
        (
            "/v3/documents",
            json!({"content": "a", "metadata": {"k": vec![""; 5462]}}),
            "metadata",
        ),
    ];
    let mut faults = ErrorMismatches::default();

    for (path, body, field) in requests {
        faults.check_error(
            &format!("{path} {field}"),
            &client.post(path, body).await,
            400,
            "ValidationError",
            field,
        );
    }

    faults.assert_none();
}
