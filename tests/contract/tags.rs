//! `GET` and `PATCH /v3/container-tags/{tag}`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};

fn tag_path(tag: &str) -> String {
    format!("/v3/container-tags/{tag}")
}

fn updated_at() -> Value {
    json!({
        "containerTag": "string",
        "name": "string|null",
        "entityContext": "string|null",
        "memoryFilesystemPaths": "null",
        "profileBuckets": [{"key": "string", "description": "string"}],
        "updatedAt": "time",
    })
}

fn current() -> Value {
    let additions = json!({
        "createdAt": "time",
        "context": "string|null",
        "documentCount": "int",
        "memoryCount": "int",
        "lastActivityAt": "time",
    });
    merge_shapes(updated_at(), &additions)
}

async fn get(client: &OrgClient, tag: &str) -> Value {
    let mut shape = current();
    let answer = client.get(&tag_path(tag)).await;
    if answer.body["memoryFilesystemPaths"].is_array() {
        shape["memoryFilesystemPaths"] = json!(["string"]);
    }
    expect_ok(answer, &shape)
}

async fn change_tag(client: &OrgClient, tag: &str, body: Value) -> Value {
    let answer = client.send_patch(&tag_path(tag), body).await;
    let mut shape = updated_at();
    if answer.body["memoryFilesystemPaths"].is_array() {
        shape["memoryFilesystemPaths"] = json!(["string"]);
    }
    expect_ok(answer, &shape)
}

#[tokio::test]
async fn a_tag_is_made_by_saying_something_about_it() {
    let client = OrgClient::new().await;
    expect_error(
        &client.get(&tag_path("box")).await,
        404,
        "NotFoundError",
        "Container tag not found",
    );

    // The command-line client sends this request to create a tag.
    let made = change_tag(&client, "box", json!({"entityContext": null})).await;
    assert_eq!(
        (&made["containerTag"], &made["entityContext"]),
        (&json!("box"), &Value::Null)
    );

    let shown = get(&client, "box").await;
    assert_eq!(
        (&shown["profileBuckets"], &shown["createdAt"]),
        (&json!([]), &shown["updatedAt"])
    );

    let id = client
        .add_document(json!({"content": "A heron.", "containerTag": "box"}))
        .await;
    assert_eq!(
        client.listed_ids(json!({"containerTags": ["box"]})).await,
        [id]
    );

    client
        .add_document(
            json!({"content": "A crane.", "containerTag": "by-use", "entityContext": "Birds."}),
        )
        .await;
    assert_eq!(get(&client, "by-use").await["entityContext"], "Birds.");
}

#[tokio::test]
async fn fields_are_kept_cleared_and_replaced_one_by_one() {
    let client = OrgClient::new().await;
    let bucket = |key: &str| json!({"key": key, "description": "Ö \"x\""});
    let all = json!({
        "name": "Box ü",
        "entityContext": "x".repeat(1500),
        "profileBuckets": [bucket("birds"), bucket("boats")],
        "memoryFilesystemPaths": ["/notes/", "log.md"],
    });
    let first = change_tag(&client, "box", all.clone()).await;
    let same = |shown: &Value| {
        all.as_object()
            .unwrap()
            .iter()
            .all(|(name, value)| shown[name] == *value)
    };
    assert!(same(&first), "{first}");

    change_tag(&client, "box", json!({})).await;
    assert!(same(&get(&client, "box").await), "what is absent stays");
    let changes = [
        ("name", json!("Other"), json!("Other")),
        ("name", Value::Null, Value::Null),
        ("entityContext", json!(" "), Value::Null),
        ("entityContext", json!("Boats."), json!("Boats.")),
        ("entityContext", Value::Null, Value::Null),
        (
            "profileBuckets",
            json!([bucket("food")]),
            json!([bucket("food")]),
        ),
        ("profileBuckets", Value::Null, json!([])),
        ("memoryFilesystemPaths", json!([]), json!([])),
        ("memoryFilesystemPaths", Value::Null, Value::Null),
    ];

    for (name, sent, shown) in changes {
        let before = get(&client, "box").await;
        let after = change_tag(&client, "box", json!({name: sent})).await;
        assert_eq!(after[name], shown, "{name}");
        let mut wanted = before.clone();
        wanted[name] = shown;
        wanted["updatedAt"] = after["updatedAt"].clone();
        wanted["lastActivityAt"] = after["updatedAt"].clone();
        wanted["context"] = after["entityContext"].clone();
        assert_eq!(get(&client, "box").await, wanted);
        assert!(
            after["updatedAt"].as_str() > before["updatedAt"].as_str(),
            "{before} {after}"
        );
    }
}

#[tokio::test]
async fn a_wrong_field_is_named_and_nothing_is_changed() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let bucket = |key: &str| json!([{"key": key, "description": "x"}]);
    let many: Vec<Value> = (0..51)
        .map(|i| json!({"key": format!("k{i}"), "description": "x"}))
        .collect();

    for (body, named) in [
        (json!({"name": ""}), "name"),
        (json!({"name": "  "}), "name"),
        (json!({"name": "x".repeat(101)}), "name"),
        (json!({"name": 1}), "name"),
        (json!({"entityContext": "x".repeat(1501)}), "entityContext"),
        (json!({"entityContext": ["x"]}), "entityContext"),
        (json!({"profileBuckets": many}), "profileBuckets"),
        (
            json!({"profileBuckets": bucket("static")}),
            "profileBuckets",
        ),
        (json!({"profileBuckets": bucket("Food")}), "profileBuckets"),
        (
            json!({"profileBuckets": [{"key": "food"}]}),
            "profileBuckets",
        ),
        (json!({"profileBuckets": {}}), "profileBuckets"),
        (
            json!({"memoryFilesystemPaths": "/a"}),
            "memoryFilesystemPaths",
        ),
        (
            json!({"memoryFilesystemPaths": [""]}),
            "memoryFilesystemPaths",
        ),
        (
            json!({"memoryFilesystemPaths": vec!["/a"; 101]}),
            "memoryFilesystemPaths",
        ),
        (
            json!({"memoryFilesystemPaths": ["x".repeat(40_000)]}),
            "memoryFilesystemPaths",
        ),
    ] {
        let answer = client.send_patch(&tag_path("box"), body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }

    for bad in ["a%20b", "%C3%BC", &"x".repeat(101), "a%2Fb"] {
        let note = ("ValidationError", "containerTag");
        faults.check_error(bad, &client.get(&tag_path(bad)).await, 400, note.0, note.1);
        faults.check_error(
            bad,
            &client.send_patch(&tag_path(bad), json!({})).await,
            400,
            note.0,
            note.1,
        );
    }
    faults.assert_none();

    expect_error(
        &client.get(&tag_path("box")).await,
        404,
        "NotFoundError",
        "",
    );
}

#[tokio::test]
async fn a_key_changes_what_it_reaches_and_an_organization_sees_its_own() {
    let client = OrgClient::new().await;
    change_tag(&client, "mine", json!({"name": "Mine"})).await;
    change_tag(&client, "theirs", json!({"name": "Theirs"})).await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine", "new"]))
        .await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let other = client.app.create_key("other").await;
    let patch = async |key: &str, tag: &str| {
        client
            .app
            .call_json("PATCH", &tag_path(tag), key, &json!({"name": "Changed"}))
            .await
    };
    expect_error(
        &patch(&scoped, "theirs").await,
        403,
        "PermissionError",
        "theirs",
    );
    expect_error(
        &client.app.get(&tag_path("theirs"), &scoped).await,
        403,
        "PermissionError",
        "theirs",
    );
    expect_error(&patch(&reader, "mine").await, 403, "PermissionError", "");
    expect_error(&patch("", "mine").await, 401, "AuthenticationError", "key");
    expect_error(
        &client.app.get(&tag_path("mine"), &other).await,
        404,
        "NotFoundError",
        "",
    );

    for (key, tag) in [(&scoped, "mine"), (&scoped, "new"), (&other, "mine")] {
        expect_ok(patch(key, tag).await, &updated_at());
    }
    assert_eq!(
        client.app.get(&tag_path("mine"), &reader).await.body["name"],
        "Changed"
    );
    assert_eq!(get(&client, "theirs").await["name"], "Theirs");

    change_tag(&client, "mine", json!({"name": null})).await;
    assert_eq!(
        client.app.get(&tag_path("mine"), &other).await.body["name"],
        "Changed"
    );
}

#[tokio::test]
async fn documents_outside_the_folders_are_searched_and_nothing_is_learned_from_them() {
    let client = OrgClient::new().await;
    change_tag(
        &client,
        "box",
        json!({"memoryFilesystemPaths": ["/diary/"]}),
    )
    .await;
    let add = async |name: &str, filepath: Value| {
        let content = format!("{name} lives in Bonn.");
        client
            .add_document(json!({"content": content, "containerTag": "box", "filepath": filepath}))
            .await;
        assert!(client.search_finds(name).await, "{name}");
    };
    add("Anna", json!("/diary/today.md")).await;

    add("Boris", json!("/diary-old/today.md")).await;
    add("Clara", Value::Null).await;
    let profile = client
        .post("/v4/profile", json!({"containerTag": "box"}))
        .await
        .body["profile"]
        .to_string();
    assert!(
        profile.contains("Anna") && profile.contains("Clara"),
        "{profile}"
    );
    assert!(!profile.contains("Boris"), "{profile}");
}
