//! Conformance tests of [`domain::ports::Vault`].

use bytes::Bytes;
use domain::ports::PortResult;
use domain::{PortError, Secret, Tenant};
use serde_json::{Value, json};

use crate::promises;
use crate::setting::{PortFixture, retry_unavailable};

promises!(
    the_last_secret_under_a_name_is_read_back,
    the_first_of_created_secrets_stays,
    names_and_organizations_are_apart,
    what_is_stored_does_not_show_the_secret,
    a_secret_that_was_moved_or_changed_does_not_open,
);

async fn put(setting: &PortFixture, tenant: &Tenant, name: &str, text: &str) {
    let secret = Secret::new(text);
    retry_unavailable(async || setting.ctx().vault.put(tenant, name, &secret).await)
        .await
        .expect("a stored secret");
}

async fn try_get(setting: &PortFixture, tenant: &Tenant, name: &str) -> PortResult<Option<String>> {
    let found = retry_unavailable(async || setting.ctx().vault.get(tenant, name).await).await?;
    Ok(found.map(|secret| secret.expose().to_owned()))
}

async fn get(setting: &PortFixture, tenant: &Tenant, name: &str) -> Option<String> {
    try_get(setting, tenant, name).await.expect("an answer")
}

async fn the_last_secret_under_a_name_is_read_back(setting: &PortFixture) {
    assert_eq!(get(setting, &setting.alpha, "drive").await, None);
    let largest = "k".repeat(4096);
    for text in ["a", "ä secret – 秘密", largest.as_str()] {
        put(setting, &setting.alpha, "drive", text).await;
        assert_eq!(
            get(setting, &setting.alpha, "drive").await.as_deref(),
            Some(text)
        );
    }

    for _ in 0..2 {
        let delete = async || setting.ctx().vault.delete(&setting.alpha, "drive").await;
        retry_unavailable(delete).await.expect("a deleted secret");
        assert_eq!(get(setting, &setting.alpha, "drive").await, None);
    }
}

async fn the_first_of_created_secrets_stays(setting: &PortFixture) {
    let create = async |tenant: &Tenant, text: &str| {
        let secret = Secret::new(text);
        retry_unavailable(async || setting.ctx().vault.create(tenant, "signing", &secret).await)
            .await
            .expect("an answer")
    };
    // The retry of a write whose answer was lost may find its own secret.
    create(&setting.alpha, "first").await;
    assert!(!create(&setting.alpha, "second").await);
    create(&setting.beta, "another").await;
    assert_eq!(
        get(setting, &setting.alpha, "signing").await.as_deref(),
        Some("first")
    );
    assert_eq!(
        get(setting, &setting.beta, "signing").await.as_deref(),
        Some("another")
    );
}

async fn names_and_organizations_are_apart(setting: &PortFixture) {
    let tenants = [&setting.alpha, &setting.beta];
    let names = ["drive", "Drive", "drive#1", "K#x"];
    let text = |tenant: &Tenant, name: &str| format!("{}-{name}", tenant.org());
    for tenant in tenants {
        for name in names {
            put(setting, tenant, name, &text(tenant, name)).await;
        }
    }

    retry_unavailable(async || setting.ctx().vault.delete(&setting.beta, "drive").await)
        .await
        .expect("a deleted secret");
    for tenant in tenants {
        for name in names {
            let gone = name == "drive" && tenant.org() == setting.beta.org();
            assert_eq!(
                get(setting, tenant, name).await,
                (!gone).then(|| text(tenant, name))
            );
        }
    }

    let keys = retry_unavailable(async || setting.ctx().keys.list(&setting.alpha).await)
        .await
        .expect("a list");
    assert!(keys.is_empty(), "a secret is no key, whatever it is called");
}

/// Sends a request directly to DynamoDB, without the adapters and without faults.
async fn call_dynamodb(setting: &PortFixture, operation: &str, body: Value) -> Value {
    let request =
        http::Request::post("/").header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
    let request = request
        .body(Bytes::from(body.to_string()))
        .expect("a request");
    let answer = setting
        .app
        .environment
        .services
        .handle_request(request)
        .await;
    assert!(answer.status().is_success(), "{answer:?}");
    serde_json::from_slice(answer.body()).expect("JSON")
}

/// Returns the only item of the table of secrets, as stored.
async fn stored_item(setting: &PortFixture) -> Value {
    let found = call_dynamodb(
        setting,
        "Scan",
        json!({"TableName": setting.app.system.names.secrets}),
    )
    .await;
    let [item] = found["Items"].as_array().expect("items").as_slice() else {
        panic!("one item: {found}")
    };
    item.clone()
}

/// Stores an item with one attribute changed.
async fn store_changed_item(setting: &PortFixture, item: &Value, name: &str, value: Value) {
    let mut item = item.clone();
    item[name] = value;
    let body = json!({"TableName": setting.app.system.names.secrets, "Item": item});
    call_dynamodb(setting, "PutItem", body).await;
}

async fn what_is_stored_does_not_show_the_secret(setting: &PortFixture) {
    put(
        setting,
        &setting.alpha,
        "drive",
        "words that nobody may read",
    )
    .await;
    let item = stored_item(setting).await.to_string();
    // The text as it is, and in the encoding of bytes in JSON.
    for text in ["nobody", "d29yZHMgdGhhdCBub2JvZHkgbWF5IHJlYWQ"] {
        assert!(!item.contains(text), "{item}");
    }

    assert!(!format!("{:?}", Secret::new("nobody")).contains("nobody"));
}

async fn a_secret_that_was_moved_or_changed_does_not_open(setting: &PortFixture) {
    put(setting, &setting.alpha, "drive", "secret").await;
    let item = stored_item(setting).await;
    let is_refused = async |tenant: &Tenant, name: &str| {
        matches!(
            try_get(setting, tenant, name).await,
            Err(PortError::Corrupt(_))
        )
    };
    store_changed_item(setting, &item, "pk", json!({"S": "O#beta"})).await;
    assert!(
        is_refused(&setting.beta, "drive").await,
        "of another organization"
    );

    store_changed_item(setting, &item, "sk", json!({"S": "V#other"})).await;
    assert!(is_refused(&setting.alpha, "other").await, "of another name");
    let sealed = item["sealed"]["B"].as_str().expect("bytes");
    for at in [0, 2, 8, 20, 30] {
        let other = if sealed.as_bytes()[at] == b'Q' {
            "R"
        } else {
            "Q"
        };
        let changed = format!("{}{other}{}", &sealed[..at], &sealed[at + 1..]);
        store_changed_item(setting, &item, "sealed", json!({"B": changed})).await;
        assert!(
            is_refused(&setting.alpha, "drive").await,
            "character {at} of {sealed}"
        );
    }

    store_changed_item(setting, &item, "sealed", item["sealed"].clone()).await;
    assert_eq!(
        get(setting, &setting.alpha, "drive").await.as_deref(),
        Some("secret")
    );
}
