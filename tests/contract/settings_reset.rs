//! `POST /v3/settings/reset` and `POST /v3/settings/suggest-buckets`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::settings::empty_settings;
use crate::settings_secrets::count_sealed_items;
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const RESET: &str = "/v3/settings/reset";
const SUGGEST: &str = "/v3/settings/suggest-buckets";

fn reset_shape() -> Value {
    json!({
        "success": "bool", "deletedConnections": "int", "deletedDocumentBatches": "int",
        "deletedDocumentsApprox": "int", "deletedMemoryRows": "int", "deletedExtraSpaces": "int",
        "clearedDefaultSpaceContext": "bool", "clearedBrainMemoryRegistry": "bool", "settingsReset": "bool",
    })
}

#[tokio::test]
async fn a_reset_takes_everything_but_keys() {
    let client = OrgClient::new().await;
    let other = client.app.create_key("other").await;
    let kept = client
        .app
        .add_document(&other, &json!({"content": "The heron of others."}))
        .await;

    for tag in ["sm_project_default", "one", "two"] {
        for n in 0..2 {
            client
                .add_document(
                    json!({"content": format!("Heron {n} of {tag}."), "containerTag": tag}),
                )
                .await;
        }
    }

    let secret = json!({"githubClientId": "a", "githubClientSecret": "b", "chunkSize": 500, "logContent": "off"});
    client.send_patch("/v3/settings", secret).await;
    assert_eq!(count_sealed_items(&client).await, 1);

    for confirmation in ["RESET", "acme"] {
        let body = expect_ok(
            client
                .post(RESET, json!({"confirmation": confirmation}))
                .await,
            &reset_shape(),
        );
        let first = confirmation == "RESET";
        let counts = if first { [3, 6, 2] } else { [0, 0, 0] };
        let told = [
            "deletedDocumentBatches",
            "deletedDocumentsApprox",
            "deletedExtraSpaces",
        ];
        assert_eq!(
            told.map(|name| body[name].clone()),
            counts.map(|count| json!(count)),
            "{body}"
        );
        assert_eq!(body["clearedDefaultSpaceContext"], first);
        assert_eq!(client.listed_ids(json!({})).await, [""; 0]);
        assert!(client.search_texts("heron").await.is_empty());
        assert_eq!(client.get("/v3/settings").await.body, empty_settings());
    }

    assert_eq!(count_sealed_items(&client).await, 0);
    client.run_until_settled().await;
    client
        .add_document(json!({"content": "A crane comes after the reset."}))
        .await;
    assert!(client.search_finds("crane").await);

    let listed = client
        .app
        .post("/v3/documents/list", &other, &json!({}))
        .await
        .body;
    assert_eq!(collect_field(&listed["memories"], "id"), [kept]);
}

#[tokio::test]
async fn a_reset_is_confirmed_by_an_administrator() {
    let client = OrgClient::new().await;
    let id = client.add_document(json!({"content": "Words."})).await;
    let mut faults = ErrorMismatches::default();
    for body in [
        json!({}),
        json!({"confirmation": ""}),
        json!({"confirmation": "reset"}),
        json!({"confirmation": "other"}),
        json!({"confirmation": null}),
        json!({"confirmation": true}),
    ] {
        faults.check_error(
            &body.to_string(),
            &client.post(RESET, body.clone()).await,
            400,
            "ValidationError",
            "confirmation",
        );
    }

    let told = client.post(RESET, json!({})).await.body["error"].to_string();
    assert!(told.contains("RESET"), "{told}");
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let confined = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["sm_project_default"]))
        .await;

    for key in [reader, confined] {
        let answer = client
            .app
            .post(RESET, &key, &json!({"confirmation": "RESET"}))
            .await;
        faults.check_error(
            "no administrator",
            &answer,
            403,
            "PermissionError",
            "administrator",
        );
    }

    let nobody = client
        .app
        .post(RESET, "", &json!({"confirmation": "RESET"}))
        .await;
    faults.check_error("nobody", &nobody, 401, "AuthenticationError", "");
    faults.assert_none();
    assert_eq!(client.listed_ids(json!({})).await, [id]);
}

#[tokio::test]
async fn buckets_that_fit_are_suggested_and_none_that_is_set() {
    let client = OrgClient::new().await;
    expect_error(
        &client.post(SUGGEST, json!({})).await,
        400,
        "ValidationError",
        "filterPrompt",
    );

    let filter = json!({"shouldLLMFilter": true, "filterPrompt": "Keep recipes, diets and allergies of our guests."});
    client.send_patch("/v3/settings", filter).await;
    let suggest = async || {
        let shape = json!({"suggestions": [{"key": "string", "description": "string"}]});
        let suggestions =
            expect_ok(client.post(SUGGEST, Value::Null).await, &shape)["suggestions"].clone();
        let keys = collect_field(&suggestions, "key");
        assert!((3..=6).contains(&keys.len()), "{keys:?}");
        (suggestions, keys)
    };
    let (first, keys) = suggest().await;
    assert!(
        keys.contains(&"food".to_owned()) && keys.contains(&"health".to_owned()),
        "{keys:?}"
    );
    assert!(
        !keys.contains(&"preferences".to_owned()),
        "the default is there already"
    );

    // A suggestion can be set as it is, and is not made again.
    let answer = client
        .send_patch("/v3/settings", json!({"profileBuckets": first}))
        .await;
    assert!(answer.status.is_success(), "{}", answer.body);

    let (_, next) = suggest().await;
    assert!(next.iter().all(|key| !keys.contains(key)), "{next:?}");
    let confined = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["box"]))
        .await;
    expect_error(
        &client.app.post(SUGGEST, &confined, &Value::Null).await,
        403,
        "PermissionError",
        "organization",
    );
}
