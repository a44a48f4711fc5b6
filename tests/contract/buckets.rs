//! Buckets: of the organization, of a container, and `POST /v4/profile/buckets`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

fn bucket(key: &str, description: &str) -> Value {
    json!({"key": key, "description": description})
}

async fn buckets(client: &OrgClient, tag: &str) -> Value {
    let shape = json!({"buckets": [{"key": "string", "description": "string"}]});
    expect_ok(
        client
            .post("/v4/profile/buckets", json!({"containerTag": tag}))
            .await,
        &shape,
    )["buckets"]
        .clone()
}

async fn keys(client: &OrgClient, tag: &str) -> Vec<String> {
    collect_field(&buckets(client, tag).await, "key")
}

async fn set(client: &OrgClient, sent: &Value) -> Value {
    let body = client
        .send_patch("/v3/settings", json!({"profileBuckets": sent}))
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
    let client = OrgClient::new().await;
    assert_eq!(keys(&client, "nobody-was-here").await, ["preferences"]);
    let own = json!({"profileBuckets": [bucket("food", "of the tag"), bucket("boats", "Boats.")]});
    client.send_patch("/v3/container-tags/box", own).await;
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
    assert_eq!(collect_field(&all, "key"), ["work", "food", "boats"]);
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
    let client = OrgClient::new().await;
    set(&client, &json!([bucket("food", "Meals.")])).await;
    let mut faults = ErrorMismatches::default();
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
            .send_patch(
                "/v3/settings",
                json!({"profileBuckets": bad, "chunkSize": 500}),
            )
            .await;
        faults.check_error(
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
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
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
    let client = OrgClient::new().await;
    set(&client, &json!([bucket("secret", "Of acme.")])).await;
    let (other, path) = (client.app.create_key("other").await, "/v4/profile/buckets");
    let theirs = client
        .app
        .post(path, &other, &json!({"containerTag": "box"}))
        .await
        .body;
    assert_eq!(collect_field(&theirs["buckets"], "key"), ["preferences"]);

    let scoped = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["box"]))
        .await;
    let mine = client
        .app
        .post(path, &scoped, &json!({"containerTag": "box"}))
        .await
        .body;
    assert_eq!(collect_field(&mine["buckets"], "key"), ["secret"]);
    expect_error(
        &client
            .app
            .post(path, &scoped, &json!({"containerTag": "x"}))
            .await,
        403,
        "PermissionError",
        "x",
    );
    expect_error(
        &client
            .app
            .post(path, "", &json!({"containerTag": "x"}))
            .await,
        401,
        "AuthenticationError",
        "key",
    );
}
