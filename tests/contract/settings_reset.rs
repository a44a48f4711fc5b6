//! `POST /v3/settings/reset` and `POST /v3/settings/suggest-buckets`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{Client, ids};
use crate::settings::nothing_set;
use crate::settings_secrets::sealed_items;
use crate::shape::{Faults, ok, refused};

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
    let client = Client::new().await;
    let other = client.app.key("other").await;
    let kept = client
        .app
        .add(&other, &json!({"content": "The heron of others."}))
        .await;

    for tag in ["sm_project_default", "one", "two"] {
        for n in 0..2 {
            client
                .add(json!({"content": format!("Heron {n} of {tag}."), "containerTag": tag}))
                .await;
        }
    }

    let secret = json!({"githubClientId": "a", "githubClientSecret": "b", "chunkSize": 500, "logContent": "off"});
    client.patch("/v3/settings", secret).await;
    assert_eq!(sealed_items(&client).await, 1);

    for confirmation in ["RESET", "acme"] {
        let body = ok(
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
        assert_eq!(client.listed(json!({})).await, [""; 0]);
        assert!(client.found("heron").await.is_empty());
        assert_eq!(client.get("/v3/settings").await.body, nothing_set());
    }

    assert_eq!(sealed_items(&client).await, 0);
    client.settle().await;
    client
        .add(json!({"content": "A crane comes after the reset."}))
        .await;
    assert!(client.finds("crane").await);

    let listed = client
        .app
        .post("/v3/documents/list", &other, &json!({}))
        .await
        .body;
    assert_eq!(ids(&listed["memories"], "id"), [kept]);
}

#[tokio::test]
async fn a_reset_is_confirmed_by_an_administrator() {
    let client = Client::new().await;
    let id = client.add(json!({"content": "Words."})).await;
    let mut faults = Faults::default();
    for body in [
        json!({}),
        json!({"confirmation": ""}),
        json!({"confirmation": "reset"}),
        json!({"confirmation": "other"}),
        json!({"confirmation": null}),
        json!({"confirmation": true}),
    ] {
        faults.note(
            &body.to_string(),
            &client.post(RESET, body.clone()).await,
            400,
            "ValidationError",
            "confirmation",
        );
    }

    let told = client.post(RESET, json!({})).await.body["error"].to_string();
    assert!(told.contains("RESET"), "{told}");
    let reader = client.app.key_with("acme", Permission::Read, None).await;
    let confined = client
        .app
        .key_with("acme", Permission::Write, Some(&["sm_project_default"]))
        .await;

    for key in [reader, confined] {
        let answer = client
            .app
            .post(RESET, &key, &json!({"confirmation": "RESET"}))
            .await;
        faults.note(
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
    faults.note("nobody", &nobody, 401, "AuthenticationError", "");
    faults.assert_none();
    assert_eq!(client.listed(json!({})).await, [id]);
}

#[tokio::test]
async fn buckets_that_fit_are_suggested_and_none_that_is_set() {
    let client = Client::new().await;
    refused(
        &client.post(SUGGEST, json!({})).await,
        400,
        "ValidationError",
        "filterPrompt",
    );

    let filter = json!({"shouldLLMFilter": true, "filterPrompt": "Keep recipes, diets and allergies of our guests."});
    client.patch("/v3/settings", filter).await;
    let suggest = async || {
        let shape = json!({"suggestions": [{"key": "string", "description": "string"}]});
        let suggestions =
            ok(client.post(SUGGEST, Value::Null).await, &shape)["suggestions"].clone();
        let keys = ids(&suggestions, "key");
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
        .patch("/v3/settings", json!({"profileBuckets": first}))
        .await;
    assert!(answer.status.is_success(), "{}", answer.body);

    let (_, next) = suggest().await;
    assert!(next.iter().all(|key| !keys.contains(key)), "{next:?}");
    let confined = client
        .app
        .key_with("acme", Permission::Write, Some(&["box"]))
        .await;
    refused(
        &client.app.post(SUGGEST, &confined, &Value::Null).await,
        403,
        "PermissionError",
        "organization",
    );
}
