//! `GET` and `PATCH /v3/container-tags/{tag}`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::Client;
use crate::shape::{Faults, ok, refused, with};

fn path(tag: &str) -> String {
    format!("/v3/container-tags/{tag}")
}

fn updated() -> Value {
    json!({
        "containerTag": "string",
        "name": "string|null",
        "entityContext": "string|null",
        "memoryFilesystemPaths": "null",
        "profileBuckets": [{"key": "string", "description": "string"}],
        "updatedAt": "time",
    })
}

async fn get(client: &Client, tag: &str) -> Value {
    let mut shape = with(updated(), &json!({"createdAt": "time"}));
    let answer = client.get(&path(tag)).await;
    if answer.body["memoryFilesystemPaths"].is_array() {
        shape["memoryFilesystemPaths"] = json!(["string"]);
    }
    ok(answer, &shape)
}

async fn set(client: &Client, tag: &str, body: Value) -> Value {
    let answer = client.patch(&path(tag), body).await;
    let mut shape = updated();
    if answer.body["memoryFilesystemPaths"].is_array() {
        shape["memoryFilesystemPaths"] = json!(["string"]);
    }
    ok(answer, &shape)
}

#[tokio::test]
async fn a_tag_is_made_by_saying_something_about_it() {
    let client = Client::new().await;
    refused(
        &client.get(&path("box")).await,
        404,
        "NotFoundError",
        "Container tag not found",
    );

    // The command-line client sends this request to create a tag.
    let made = set(&client, "box", json!({"entityContext": null})).await;
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
        .add(json!({"content": "A heron.", "containerTag": "box"}))
        .await;
    assert_eq!(client.listed(json!({"containerTags": ["box"]})).await, [id]);

    client
        .add(json!({"content": "A crane.", "containerTag": "by-use", "entityContext": "Birds."}))
        .await;
    assert_eq!(get(&client, "by-use").await["entityContext"], "Birds.");
}

#[tokio::test]
async fn fields_are_kept_cleared_and_replaced_one_by_one() {
    let client = Client::new().await;
    let bucket = |key: &str| json!({"key": key, "description": "Ö \"x\""});
    let all = json!({
        "name": "Box ü",
        "entityContext": "x".repeat(1500),
        "profileBuckets": [bucket("birds"), bucket("boats")],
        "memoryFilesystemPaths": ["/notes/", "log.md"],
    });
    let first = set(&client, "box", all.clone()).await;
    let same = |shown: &Value| {
        all.as_object()
            .unwrap()
            .iter()
            .all(|(name, value)| shown[name] == *value)
    };
    assert!(same(&first), "{first}");

    set(&client, "box", json!({})).await;
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
        let after = set(&client, "box", json!({name: sent})).await;
        assert_eq!(after[name], shown, "{name}");
        let mut wanted = before.clone();
        wanted[name] = shown;
        wanted["updatedAt"] = after["updatedAt"].clone();
        assert_eq!(get(&client, "box").await, wanted);
        assert!(
            after["updatedAt"].as_str() > before["updatedAt"].as_str(),
            "{before} {after}"
        );
    }
}

#[tokio::test]
async fn a_wrong_field_is_named_and_nothing_is_changed() {
    let client = Client::new().await;
    let mut faults = Faults::default();
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
        let answer = client.patch(&path("box"), body.clone()).await;
        faults.note(&body.to_string(), &answer, 400, "ValidationError", named);
    }

    for bad in ["a%20b", "%C3%BC", &"x".repeat(101), "a.b"] {
        let note = ("ValidationError", "containerTag");
        faults.note(bad, &client.get(&path(bad)).await, 400, note.0, note.1);
        faults.note(
            bad,
            &client.patch(&path(bad), json!({})).await,
            400,
            note.0,
            note.1,
        );
    }
    faults.assert_none();

    refused(&client.get(&path("box")).await, 404, "NotFoundError", "");
}

#[tokio::test]
async fn a_key_changes_what_it_reaches_and_an_organization_sees_its_own() {
    let client = Client::new().await;
    set(&client, "mine", json!({"name": "Mine"})).await;
    set(&client, "theirs", json!({"name": "Theirs"})).await;
    let scoped = client
        .app
        .key_with("acme", Permission::Write, Some(&["mine", "new"]))
        .await;
    let reader = client.app.key_with("acme", Permission::Read, None).await;
    let other = client.app.key("other").await;
    let patch = async |key: &str, tag: &str| {
        client
            .app
            .call("PATCH", &path(tag), key, &json!({"name": "Changed"}))
            .await
    };
    refused(
        &patch(&scoped, "theirs").await,
        403,
        "PermissionError",
        "theirs",
    );
    refused(
        &client.app.get(&path("theirs"), &scoped).await,
        403,
        "PermissionError",
        "theirs",
    );
    refused(&patch(&reader, "mine").await, 403, "PermissionError", "");
    refused(&patch("", "mine").await, 401, "AuthenticationError", "key");
    refused(
        &client.app.get(&path("mine"), &other).await,
        404,
        "NotFoundError",
        "",
    );

    for (key, tag) in [(&scoped, "mine"), (&scoped, "new"), (&other, "mine")] {
        ok(patch(key, tag).await, &updated());
    }
    assert_eq!(
        client.app.get(&path("mine"), &reader).await.body["name"],
        "Changed"
    );
    assert_eq!(get(&client, "theirs").await["name"], "Theirs");

    set(&client, "mine", json!({"name": null})).await;
    assert_eq!(
        client.app.get(&path("mine"), &other).await.body["name"],
        "Changed"
    );
}

#[tokio::test]
async fn documents_outside_the_folders_are_searched_and_nothing_is_learned_from_them() {
    let client = Client::new().await;
    set(
        &client,
        "box",
        json!({"memoryFilesystemPaths": ["/diary/"]}),
    )
    .await;
    let add = async |name: &str, filepath: Value| {
        let content = format!("{name} lives in Bonn.");
        client
            .add(json!({"content": content, "containerTag": "box", "filepath": filepath}))
            .await;
        assert!(client.finds(name).await, "{name}");
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
