//! Buckets: of the organization, of a container, and `POST /v4/profile/buckets`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{Client, ids};
use crate::shape::{Faults, ok, refused};

fn bucket(key: &str, description: &str) -> Value {
    json!({"key": key, "description": description})
}

async fn buckets(client: &Client, tag: &str) -> Value {
    let shape = json!({"buckets": [{"key": "string", "description": "string"}]});
    ok(
        client
            .post("/v4/profile/buckets", json!({"containerTag": tag}))
            .await,
        &shape,
    )["buckets"]
        .clone()
}

async fn keys(client: &Client, tag: &str) -> Vec<String> {
    ids(&buckets(client, tag).await, "key")
}

async fn set(client: &Client, sent: &Value) -> Value {
    let body = client
        .patch("/v3/settings", json!({"profileBuckets": sent}))
        .await
        .body;
    assert_eq!(body["updated"]["profileBuckets"], *sent, "{body}");
    assert_eq!(body["profileBuckets"], *sent, "{body}");
    let shown = client.get("/v3/settings").await.body["profileBuckets"].clone();
    assert_eq!(shown, *sent);
    shown
}

#[tokio::test]
async fn a_container_has_the_buckets_of_its_organization_and_its_own() {
    let client = Client::new().await;
    assert_eq!(keys(&client, "nobody-was-here").await, ["preferences"]);
    let own = json!({"profileBuckets": [bucket("food", "of the tag"), bucket("boats", "Boats.")]});
    client.patch("/v3/container-tags/box", own).await;
    assert_eq!(keys(&client, "box").await, ["preferences", "food", "boats"]);

    set(
        &client,
        &json!([
            bucket("work", "Jobs."),
            bucket("food", "of the organization")
        ]),
    )
    .await;
    let all = buckets(&client, "box").await;
    assert_eq!(ids(&all, "key"), ["work", "food", "boats"]);
    assert_eq!(all[1]["description"], "of the organization");
    assert_eq!(keys(&client, "other").await, ["work", "food"]);

    set(&client, &json!([])).await;
    assert_eq!(keys(&client, "box").await, ["food", "boats"]);
    assert_eq!(keys(&client, "other").await, [""; 0]);

    set(&client, &Value::Null).await;
    assert_eq!(keys(&client, "other").await, ["preferences"]);
    let many: Vec<Value> = (0..50)
        .map(|i| bucket(&format!("k-{i}_x"), &"x".repeat(2000)))
        .collect();
    set(&client, &json!(many)).await;
    assert_eq!(keys(&client, "box").await.len(), 52);
}

#[tokio::test]
async fn wrong_buckets_are_named_and_not_set() {
    let client = Client::new().await;
    set(&client, &json!([bucket("food", "Meals.")])).await;
    let mut faults = Faults::default();
    let many: Vec<Value> = (0..51).map(|i| bucket(&format!("k{i}"), "x")).collect();
    for bad in [
        json!(many),
        json!([bucket("static", "x")]),
        json!([bucket("dynamic", "x")]),
        json!([bucket("", "x")]),
        json!([bucket("Food", "x")]),
        json!([bucket("_food", "x")]),
        json!([bucket(&"k".repeat(65), "x")]),
        json!([bucket("food", "")]),
        json!([bucket("food", &"x".repeat(2001))]),
        json!([bucket("food", "x"), bucket("food", "y")]),
        json!([{"key": "food"}]),
        json!(["food"]),
        json!({"food": "x"}),
        json!("food"),
    ] {
        let answer = client
            .patch(
                "/v3/settings",
                json!({"profileBuckets": bad, "chunkSize": 500}),
            )
            .await;
        faults.note(
            &bad.to_string(),
            &answer,
            400,
            "ValidationError",
            "profileBuckets",
        );
    }

    for (body, named) in [
        (json!({}), "containerTag"),
        (json!({"containerTag": "a b"}), "containerTag"),
        (json!({"containerTags": ["a", "b"]}), "containerTag"),
    ] {
        let answer = client.post("/v4/profile/buckets", body.clone()).await;
        faults.note(&body.to_string(), &answer, 400, "ValidationError", named);
    }
    faults.assert_none();

    let settings = client.get("/v3/settings").await.body;
    assert_eq!(settings["chunkSize"], -1);
    assert_eq!(
        settings["profileBuckets"],
        json!([bucket("food", "Meals.")])
    );
}

#[tokio::test]
async fn buckets_are_one_organizations_own() {
    let client = Client::new().await;
    set(&client, &json!([bucket("secret", "Of acme.")])).await;
    let (other, path) = (client.app.key("other").await, "/v4/profile/buckets");
    let theirs = client
        .app
        .post(path, &other, &json!({"containerTag": "box"}))
        .await
        .body;
    assert_eq!(ids(&theirs["buckets"], "key"), ["preferences"]);

    let scoped = client
        .app
        .key_with("acme", Permission::Read, Some(&["box"]))
        .await;
    let mine = client
        .app
        .post(path, &scoped, &json!({"containerTag": "box"}))
        .await
        .body;
    assert_eq!(ids(&mine["buckets"], "key"), ["secret"]);
    refused(
        &client
            .app
            .post(path, &scoped, &json!({"containerTag": "x"}))
            .await,
        403,
        "PermissionError",
        "x",
    );
    refused(
        &client
            .app
            .post(path, "", &json!({"containerTag": "x"}))
            .await,
        401,
        "AuthenticationError",
        "key",
    );
}
