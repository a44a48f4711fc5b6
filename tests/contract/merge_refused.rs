//! Refused merges, and requests that are refused while a merge runs.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::containers::{find_container, list_tags};
use crate::merge::{MERGE, add_document, begin_merge, listed_ids};
use crate::shape::expect_error;

#[tokio::test]
async fn writes_are_refused_while_it_runs_and_taken_afterwards() {
    let client = OrgClient::new().await;
    let id = add_document(&client, "from", "a", "I live in Bonn.").await;
    add_document(&client, "to", "b", "I prefer tea over coffee.").await;
    let memories = client
        .post("/v4/memories/list", json!({"containerTags": ["from"]}))
        .await
        .body;
    let memory = collect_field(&memories["memoryEntries"], "id").remove(0);
    begin_merge(&client, &["from"], "to").await;
    let shown = list_tags(&client).await;
    let roles: Vec<&Value> = shown.iter().map(|tag| &tag["mergeStatus"]).collect();
    assert_eq!(
        (roles, &shown[0]["mergeTargetTag"]),
        (vec![&json!("source"), &json!("target")], &json!("to"))
    );

    for tag in ["from", "to"] {
        for (method, path, body) in [
            (
                "POST",
                "/v3/documents".to_owned(),
                json!({"content": "A heron.", "containerTag": tag}),
            ),
            (
                "POST",
                "/v4/memories".into(),
                json!({"containerTag": tag, "memories": [{"content": "A heron."}]}),
            ),
            (
                "DELETE",
                "/v4/memories".into(),
                json!({"containerTag": tag, "id": memory}),
            ),
            (
                "PATCH",
                "/v4/memories".into(),
                json!({"containerTag": tag, "id": memory, "newContent": "x"}),
            ),
            (
                "POST",
                "/v4/memories/forget-matching".into(),
                json!({"containerTag": tag, "query": "Bonn"}),
            ),
            (
                "PATCH",
                format!("/v3/documents/{id}"),
                json!({"metadata": {"a": 1}}),
            ),
            (
                "PATCH",
                format!("/v3/container-tags/{tag}"),
                json!({"name": "x"}),
            ),
            ("DELETE", format!("/v3/container-tags/{tag}"), Value::Null),
            (
                "POST",
                MERGE.into(),
                json!({"containerTags": [tag, "third"], "targetContainerTag": tag}),
            ),
        ] {
            if path == MERGE {
                client
                    .app
                    .call_json("PATCH", "/v3/container-tags/third", &client.key, &json!({}))
                    .await;
            }
            let answer = client
                .app
                .call_json(method, &path, &client.key, &body)
                .await;
            expect_error(&answer, 409, "ConflictError", "merge");
        }
    }

    client.run_until_settled().await;
    let again = add_document(&client, "to", "a", "The heron HRN-1 waits.").await;
    assert_eq!((again, client.search_finds("HRN-1").await), (id, true));

    // The old name is free, and names a new container.
    let fresh = client
        .add_document(json!({"content": "A crane.", "containerTag": "from"}))
        .await;
    assert_eq!(listed_ids(&client, &["from"]).await, [fresh]);
    assert_eq!(
        find_container(&client, "to")
            .await
            .expect("a container")
            .ids
            .len(),
        2
    );
}

#[tokio::test]
async fn a_wrong_merge_is_refused_and_changes_nothing() {
    let client = OrgClient::new().await;
    for tag in ["from", "to"] {
        client
            .send_patch(&format!("/v3/container-tags/{tag}"), json!({}))
            .await;
    }

    let many: Vec<String> = (0..50).map(|i| format!("t{i}")).collect();
    for (body, status, kind, named) in [
        (json!({}), 400, "ValidationError", "targetContainerTag"),
        (
            json!({"targetContainerTag": "to"}),
            400,
            "ValidationError",
            "containerTags",
        ),
        (
            json!({"containerTags": ["to", "to"], "targetContainerTag": "to"}),
            400,
            "ValidationError",
            "containerTags",
        ),
        (
            json!({"containerTags": ["a b"], "targetContainerTag": "to"}),
            400,
            "ValidationError",
            "containerTag",
        ),
        (
            json!({"containerTags": ["from"], "targetContainerTag": "a b"}),
            400,
            "ValidationError",
            "targetContainerTag",
        ),
        (
            json!({"containerTags": many, "targetContainerTag": "to"}),
            400,
            "ValidationError",
            "containerTags",
        ),
        (
            json!({"containerTags": ["nowhere"], "targetContainerTag": "to"}),
            404,
            "NotFoundError",
            "Container tag",
        ),
        (
            json!({"containerTags": ["from"], "targetContainerTag": "nowhere"}),
            404,
            "NotFoundError",
            "Container tag",
        ),
    ] {
        expect_error(&client.post(MERGE, body).await, status, kind, named);
    }

    let body = json!({"containerTags": ["from"], "targetContainerTag": "to"});
    let agent = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["from", "to"]))
        .await;
    expect_error(
        &client.app.post(MERGE, &agent, &body).await,
        403,
        "PermissionError",
        "administrator",
    );

    let other = client.app.create_key("other").await;
    expect_error(
        &client.app.post(MERGE, &other, &body).await,
        404,
        "NotFoundError",
        "Container tag",
    );

    for id in ["x", "1111111111111111111111"] {
        expect_error(
            &client.get(&format!("{MERGE}/{id}")).await,
            404,
            "NotFoundError",
            "Merge",
        );
    }

    let id = begin_merge(&client, &["from"], "to").await;
    expect_error(
        &client.app.get(&format!("{MERGE}/{id}"), &other).await,
        404,
        "NotFoundError",
        "Merge",
    );
    assert_eq!(
        collect_field(&json!(list_tags(&client).await), "containerTag"),
        ["from", "to"]
    );
}
