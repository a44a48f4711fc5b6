//! `/v3/settings`: one setting as an example, and the rules for all of them.

use domain::key::Permission;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::chunks::long_text;
use crate::client::Client;
use crate::shape::{Faults, ok, refused};

const PATH: &str = "/v3/settings";

/// Returns every setting, none of which is set.
pub(crate) fn nothing_set() -> Value {
    let mut settings = json!({
        "chunkSize": -1, "profileBuckets": null, "shouldLLMFilter": null, "filterPrompt": null,
        "includeItems": null, "excludeItems": null, "workspacePrompt": null, "trustedSources": null, "logContent": "redacted",
        "allowedRedirectUrls": null,
    });
    for provider in ["cloudDrive", "notion", "onedrive", "github"] {
        settings[format!("{provider}ClientId")] = Value::Null;
        settings[format!("{provider}ClientSecret")] = Value::Null;
        settings[format!("{provider}ClientSecretSet")] = json!(false);
        settings[format!("{provider}CustomKeyEnabled")] = Value::Null;
    }
    settings
}

async fn chunk_size(client: &Client) -> Value {
    client.get(PATH).await.body["chunkSize"].clone()
}

async fn set(client: &Client, size: Value) -> Value {
    let shape = json!({
        "orgId": "string", "orgSlug": "string", "chunkSize": "number", "updated": {"chunkSize": "number"},
    });
    ok(client.patch(PATH, json!({"chunkSize": size})).await, &shape)
}

#[tokio::test]
async fn a_setting_is_shown_as_it_was_set() {
    let client = Client::new().await;
    assert_eq!(chunk_size(&client).await, -1, "the service decides");
    for size in [64, 500, 16_000, -1, 500] {
        let answer = set(&client, json!(size)).await;
        let wanted = json!({"orgId": "acme", "orgSlug": "acme", "chunkSize": size, "updated": {"chunkSize": size}});
        assert_eq!(answer, wanted);
        assert_eq!(chunk_size(&client).await, size);
    }

    assert_eq!(
        set(&client, Value::Null).await["chunkSize"],
        -1,
        "null is the default"
    );
    let nothing = ok(
        client.patch(PATH, json!({})).await,
        &json!({"orgId": "string", "orgSlug": "string", "updated": {}}),
    );
    assert_eq!(nothing["updated"], json!({}));
    assert_eq!(chunk_size(&client).await, -1);
}

#[tokio::test]
async fn a_wrong_setting_is_named_and_nothing_is_set() {
    let client = Client::new().await;
    set(&client, json!(500)).await;
    let mut faults = Faults::default();
    for size in [
        json!(0),
        json!(63),
        json!(16_001),
        json!(-2),
        json!(1.5),
        json!("500"),
        json!(true),
        json!([500]),
        json!(1e30),
    ] {
        let answer = client.patch(PATH, json!({"chunkSize": size})).await;
        faults.note(
            &size.to_string(),
            &answer,
            400,
            "ValidationError",
            "chunkSize",
        );
    }

    let answer = client
        .patch(PATH, json!({"chunkSize": 600, "chunksize": 600}))
        .await;
    faults.note(
        "an unknown field",
        &answer,
        400,
        "ValidationError",
        "chunksize",
    );
    faults.note(
        "no object",
        &client.patch(PATH, json!([1])).await,
        400,
        "ValidationError",
        "object",
    );
    faults.assert_none();
    assert_eq!(chunk_size(&client).await, 500);
}

#[tokio::test]
async fn settings_are_one_organizations_own() {
    let client = Client::new().await;
    set(&client, json!(500)).await;
    let other = client.app.key("other").await;
    assert_eq!(client.app.get(PATH, &other).await.body, nothing_set());

    let confined = client
        .app
        .key_with("acme", Permission::Write, Some(&["mine"]))
        .await;
    let reader = client.app.key_with("acme", Permission::Read, None).await;
    for key in [&confined, &reader] {
        let answer = client
            .app
            .call("PATCH", PATH, key, &json!({"chunkSize": 600}))
            .await;
        refused(&answer, 403, "PermissionError", "");
    }

    refused(
        &client.app.get(PATH, &confined).await,
        403,
        "PermissionError",
        "organization",
    );
    assert_eq!(client.app.get(PATH, &reader).await.body["chunkSize"], 500);
    refused(
        &client.app.get(PATH, "").await,
        401,
        "AuthenticationError",
        "key",
    );
}

#[tokio::test]
async fn settings_at_the_same_time_end_in_one_of_them() {
    let client = Client::new().await;
    let sizes: Vec<i64> = (0..6).map(|i| 500 + i).collect();
    join_all(sizes.iter().map(|size| set(&client, json!(size)))).await;
    let last = chunk_size(&client).await;
    assert!(sizes.iter().any(|size| last == *size), "{last}");
}

#[tokio::test]
async fn the_size_of_chunks_holds_for_what_is_processed_from_then_on() {
    let client = Client::new().await;
    let total = async |id: &str| {
        let body = client.get(&format!("/v3/documents/{id}/chunks")).await.body;
        let lengths = body["chunks"].as_array().expect("chunks").iter();
        let longest = lengths
            .map(|chunk| chunk["content"].as_str().expect("text").chars().count())
            .max();
        (
            body["total"].as_u64().expect("a number"),
            longest.expect("a chunk"),
        )
    };
    let text =
        |name: &str| json!({"content": format!("{name}\n\n{}", long_text(20)), "customId": name});
    let before = client.add(text("before")).await;
    let standard = total(&before).await;
    set(&client, json!(200)).await;
    assert_eq!(total(&before).await, standard, "what is there stays");

    let small = total(&client.add(text("small")).await).await;
    assert!(
        small.0 > 2 * standard.0 && small.1 < standard.1,
        "{small:?} {standard:?}"
    );

    set(&client, json!(4000)).await;
    let large = total(&client.add(text("large")).await).await;
    assert!(
        large.0 < standard.0 && large.1 > standard.1,
        "{large:?} {standard:?}"
    );

    set(&client, json!(-1)).await;
    assert_eq!(total(&client.add(text("again")).await).await.0, standard.0);
    // Sending the same text again does not process it again, but a new revision does.
    client
        .update(&before, json!({"documentDate": "2025-01-01"}))
        .await;
    client.settle().await;
    assert_eq!(total(&before).await, standard);
}

#[tokio::test]
async fn the_size_of_chunks_holds_for_conversations_too() {
    let client = Client::new().await;
    let turns: Vec<Value> = (0..24)
        .map(|i| json!({"role": "user", "content": format!("Turn {i} tells of the ferry that leaves pier {i} at noon.")}))
        .collect();
    let mut totals = Vec::new();
    for (name, size) in [("standard", -1), ("small", 120)] {
        set(&client, json!(size)).await;
        let body = json!({"conversationId": name, "messages": turns});
        let id = client.post("/v4/conversations", body).await.body["id"].clone();
        client.settle().await;
        let id = id.as_str().expect("an id");
        totals.push(
            client.get(&format!("/v3/documents/{id}/chunks")).await.body["total"]
                .as_u64()
                .expect("a number"),
        );
    }

    assert!(totals[1] > totals[0], "{totals:?}");
}
