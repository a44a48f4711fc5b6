//! `/v3/settings`: one setting as an example, and the rules for all of them.

use domain::key::Permission;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::chunks::long_text;
use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const PATH: &str = "/v3/settings";

/// Returns every setting, none of which is set.
pub(crate) fn empty_settings() -> Value {
    let mut settings = json!({
        "chunkSize": -1, "profileBuckets": null, "shouldLLMFilter": null, "filterPrompt": null,
        "includeItems": null, "excludeItems": null, "workspacePrompt": null, "trustedSources": null, "logContent": "redacted",
        "allowedRedirectUrls": null, "picker": null,
    });
    for provider in ["cloudDrive", "googleDrive", "notion", "onedrive", "github"] {
        settings[format!("{provider}ClientId")] = Value::Null;
        settings[format!("{provider}ClientSecret")] = Value::Null;
        settings[format!("{provider}ClientSecretSet")] = json!(false);
        settings[format!("{provider}CustomKeyEnabled")] = Value::Null;
    }
    settings
}

async fn chunk_size(client: &OrgClient) -> Value {
    client.get(PATH).await.body["chunkSize"].clone()
}

async fn change_settings(client: &OrgClient, size: Value) -> Value {
    let shape = json!({
        "orgId": "string", "orgSlug": "string", "chunkSize": "number", "updated": {"chunkSize": "number"},
    });
    expect_ok(
        client.send_patch(PATH, json!({"chunkSize": size})).await,
        &shape,
    )
}

#[tokio::test]
async fn a_setting_is_shown_as_it_was_set() {
    let client = OrgClient::new().await;
    assert_eq!(chunk_size(&client).await, -1, "the service decides");
    for size in [64, 500, 16_000, -1, 500] {
        let answer = change_settings(&client, json!(size)).await;
        let wanted = json!({"orgId": "acme", "orgSlug": "acme", "chunkSize": size, "updated": {"chunkSize": size}});
        assert_eq!(answer, wanted);
        assert_eq!(chunk_size(&client).await, size);
    }

    assert_eq!(
        change_settings(&client, Value::Null).await["chunkSize"],
        -1,
        "null is the default"
    );
    let nothing = expect_ok(
        client.send_patch(PATH, json!({})).await,
        &json!({"orgId": "string", "orgSlug": "string", "updated": {}}),
    );
    assert_eq!(nothing["updated"], json!({}));
    assert_eq!(chunk_size(&client).await, -1);
}

#[tokio::test]
async fn a_wrong_setting_is_named_and_nothing_is_set() {
    let client = OrgClient::new().await;
    change_settings(&client, json!(500)).await;
    let mut faults = ErrorMismatches::default();
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
        let answer = client.send_patch(PATH, json!({"chunkSize": size})).await;
        faults.check_error(
            &size.to_string(),
            &answer,
            400,
            "ValidationError",
            "chunkSize",
        );
    }

    let answer = client
        .send_patch(PATH, json!({"chunkSize": 600, "chunksize": 600}))
        .await;
    faults.check_error(
        "an unknown field",
        &answer,
        400,
        "ValidationError",
        "chunksize",
    );
    faults.check_error(
        "no object",
        &client.send_patch(PATH, json!([1])).await,
        400,
        "ValidationError",
        "object",
    );
    faults.assert_none();
    assert_eq!(chunk_size(&client).await, 500);
}

#[tokio::test]
async fn settings_are_one_organizations_own() {
    let client = OrgClient::new().await;
    change_settings(&client, json!(500)).await;
    let other = client.app.create_key("other").await;
    assert_eq!(client.app.get(PATH, &other).await.body, empty_settings());

    let confined = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine"]))
        .await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    for key in [&confined, &reader] {
        let answer = client
            .app
            .call_json("PATCH", PATH, key, &json!({"chunkSize": 600}))
            .await;
        expect_error(&answer, 403, "PermissionError", "");
    }

    expect_error(
        &client.app.get(PATH, &confined).await,
        403,
        "PermissionError",
        "organization",
    );
    assert_eq!(client.app.get(PATH, &reader).await.body["chunkSize"], 500);
    expect_error(
        &client.app.get(PATH, "").await,
        401,
        "AuthenticationError",
        "key",
    );
}

#[tokio::test]
async fn settings_at_the_same_time_end_in_one_of_them() {
    let client = OrgClient::new().await;
    let sizes: Vec<i64> = (0..6).map(|i| 500 + i).collect();
    join_all(
        sizes
            .iter()
            .map(|size| change_settings(&client, json!(size))),
    )
    .await;
    let last = chunk_size(&client).await;
    assert!(sizes.iter().any(|size| last == *size), "{last}");
}

#[tokio::test]
async fn the_size_of_chunks_holds_for_what_is_processed_from_then_on() {
    let client = OrgClient::new().await;
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
    let before = client.add_document(text("before")).await;
    let standard = total(&before).await;
    change_settings(&client, json!(200)).await;
    assert_eq!(total(&before).await, standard, "what is there stays");

    let small = total(&client.add_document(text("small")).await).await;
    assert!(
        small.0 > 2 * standard.0 && small.1 < standard.1,
        "{small:?} {standard:?}"
    );

    change_settings(&client, json!(4000)).await;
    let large = total(&client.add_document(text("large")).await).await;
    assert!(
        large.0 < standard.0 && large.1 > standard.1,
        "{large:?} {standard:?}"
    );

    change_settings(&client, json!(-1)).await;
    assert_eq!(
        total(&client.add_document(text("again")).await).await.0,
        standard.0
    );
    // Sending the same text again does not process it again, but a new revision does.
    client
        .update_document(&before, json!({"documentDate": "2025-01-01"}))
        .await;
    client.run_until_settled().await;
    assert_eq!(total(&before).await, standard);
}

#[tokio::test]
async fn the_size_of_chunks_holds_for_conversations_too() {
    let client = OrgClient::new().await;
    let turns: Vec<Value> = (0..24)
        .map(|i| json!({"role": "user", "content": format!("Turn {i} tells of the ferry that leaves pier {i} at noon.")}))
        .collect();
    let mut totals = Vec::new();
    for (name, size) in [("standard", -1), ("small", 120)] {
        change_settings(&client, json!(size)).await;
        let body = json!({"conversationId": name, "messages": turns});
        let id = client.post("/v4/conversations", body).await.body["id"].clone();
        client.run_until_settled().await;
        let id = id.as_str().expect("an id");
        totals.push(
            client.get(&format!("/v3/documents/{id}/chunks")).await.body["total"]
                .as_u64()
                .expect("a number"),
        );
    }

    assert!(totals[1] > totals[0], "{totals:?}");
}
