//! Secrets in settings are sealed, never readable, and deleted when they are removed.

use domain::settings::AppProvider;
use domain::{OrgId, Tenant};
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::{FaultRates, LogCapture};
use tracing::Level;

use crate::client::OrgClient;

const PATH: &str = "/v3/settings";
const CANARY: &str = "GRAUREIHER-7f3e91c2d4";

fn contains_text(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// Returns the tables that contain `part` anywhere, and the number of items in all tables.
async fn tables_containing(client: &OrgClient, part: &str) -> (Vec<String>, usize) {
    let system = &client.app.system;
    let (mut found, mut items) = (Vec::new(), 0);
    for table in [
        &system.names.records,
        &system.names.secrets,
        &system.names.activity,
    ] {
        let page = system
            .clients
            .dynamodb
            .scan()
            .table_name(table)
            .send()
            .await
            .expect("a table");
        for item in page.items() {
            items += 1;
            let seen = item.values().any(|value| match value.as_b() {
                Ok(bytes) => contains_text(bytes.as_ref(), part),
                Err(_) => contains_text(format!("{value:?}").as_bytes(), part),
            });
            if seen {
                found.push(table.clone());
            }
        }
    }

    (found, items)
}

/// Returns the secret of an organization's app with a provider.
async fn unseal_secret_of(
    client: &OrgClient,
    tenant: &Tenant,
    provider: AppProvider,
) -> Option<String> {
    let ctx = &client.app.system.ctx;
    let settings = ctx.settings.get(tenant).await.expect("settings");
    let name = settings.apps.get(&provider)?.secret.as_deref()?;
    let secret = ctx
        .vault
        .get(tenant, name)
        .await
        .expect("a vault")
        .expect("what the settings name");
    Some(secret.expose().to_owned())
}

async fn unseal_secret(client: &OrgClient, provider: AppProvider) -> Option<String> {
    unseal_secret_of(client, &client.tenant, provider).await
}

/// Counts the sealed secrets of all organizations, including those that nothing names.
pub(crate) async fn count_sealed_items(client: &OrgClient) -> usize {
    let system = &client.app.system;
    let page = system
        .clients
        .dynamodb
        .scan()
        .table_name(&system.names.secrets)
        .send()
        .await
        .expect("a table");

    page.items()
        .iter()
        .filter(|item| item.contains_key("sealed"))
        .count()
}

fn with_secret(provider: &str, secret: &str) -> Value {
    json!({
        format!("{provider}ClientId"): "app", format!("{provider}ClientSecret"): secret,
        format!("{provider}CustomKeyEnabled"): true,
    })
}

#[tokio::test]
async fn a_secret_is_shown_nowhere_again() {
    let log = LogCapture::start(Level::TRACE);
    let client = OrgClient::new().await;
    client.get(PATH).await;
    // The request log keeps full contents, the most that it can.
    client.send_patch(PATH, json!({"logContent": "full"})).await;
    let mut answers = Vec::new();
    for provider in ["cloudDrive", "notion", "onedrive", "github", "googleDrive"] {
        answers.push(client.send_patch(PATH, with_secret(provider, CANARY)).await);
        answers.push(
            client
                .send_patch(PATH, json!({format!("{provider}ClientSecret"): [CANARY]}))
                .await,
        );
        answers.push(
            client
                .send_patch(
                    PATH,
                    json!({format!("{provider}ClientSecret"): {"value": CANARY}}),
                )
                .await,
        );
    }

    answers.push(client.get(PATH).await);
    answers.push(client.get("/v3/analytics/logs?limit=100").await);
    for answer in &answers {
        assert!(!format!("{answer:?}").contains(CANARY), "{answer:?}");
    }

    assert_eq!(
        answers.iter().filter(|answer| answer.status == 400).count(),
        10
    );
    assert_eq!(
        unseal_secret(&client, AppProvider::Github).await.as_deref(),
        Some(CANARY),
        "it is there for its use"
    );
    let (found, items) = tables_containing(&client, CANARY).await;
    assert!(found.is_empty() && items > 4, "{found:?} of {items}");
    assert!(
        !tables_containing(&client, "app").await.0.is_empty(),
        "the search finds what is there"
    );
    let logged = log.finish();
    assert!(
        logged.contains("/v3/settings"),
        "the log has what is logged"
    );
    let told: Vec<&str> = logged
        .lines()
        .filter(|line| line.contains(CANARY))
        .collect();
    assert!(told.is_empty(), "{told:#?}");
}

#[tokio::test]
async fn a_secret_is_one_organizations_own_and_replaced_and_deleted() {
    let client = OrgClient::new().await;
    let other = client.app.create_key("other").await;
    client
        .send_patch(PATH, with_secret("notion", "first"))
        .await;
    client
        .app
        .call_json("PATCH", PATH, &other, &with_secret("notion", "theirs"))
        .await;
    client
        .send_patch(PATH, json!({"notionClientSecret": "second"}))
        .await;
    assert_eq!(
        unseal_secret(&client, AppProvider::Notion).await.as_deref(),
        Some("second")
    );

    // A refused request changes no secret either.
    let refused = client
        .send_patch(PATH, json!({"notionClientSecret": "third", "chunkSize": 1}))
        .await;
    assert_eq!(
        (
            refused.status.as_u16(),
            unseal_secret(&client, AppProvider::Notion).await.as_deref()
        ),
        (400, Some("second"))
    );

    client
        .send_patch(
            PATH,
            json!({"notionClientSecret": null, "notionCustomKeyEnabled": false}),
        )
        .await;
    assert_eq!(unseal_secret(&client, AppProvider::Notion).await, None);

    let theirs = Tenant::for_operator(OrgId::parse("other").expect("an id"));
    assert_eq!(
        unseal_secret_of(&client, &theirs, AppProvider::Notion)
            .await
            .as_deref(),
        Some("theirs")
    );

    // A refused secret was not even sealed, and replaced or removed secrets are gone.
    assert_eq!(count_sealed_items(&client).await, 1);
}

#[tokio::test]
async fn settings_that_are_sent_back_as_they_were_read_keep_the_secrets() {
    let client = OrgClient::new().await;
    for provider in ["cloudDrive", "notion"] {
        let answer = client.send_patch(PATH, with_secret(provider, "kept")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    let read = client.get(PATH).await.body;
    let answer = client.send_patch(PATH, read.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(client.get(PATH).await.body, read);
    for provider in [AppProvider::CloudDrive, AppProvider::Notion] {
        assert_eq!(
            unseal_secret(&client, provider).await.as_deref(),
            Some("kept")
        );
    }
}

#[tokio::test]
async fn an_app_has_the_secret_that_was_sent_with_its_id_however_many_change_it() {
    let client = OrgClient::new().await;
    client.app.faults.set_rates(FaultRates {
        yields: 6,
        ..FaultRates::default()
    });

    for round in 0..10 {
        let change = async |number: usize| {
            let (id, secret) = (
                format!("app {round}.{number}"),
                format!("secret {round}.{number}"),
            );
            let body = if number == 0 {
                json!({"githubClientId": null, "githubClientSecret": null})
            } else {
                json!({"githubClientId": id, "githubClientSecret": secret})
            };
            let answer = client.send_patch(PATH, body).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        };
        join_all((0..6).map(change)).await;
        let shown = client.get(PATH).await.body;
        let secret = unseal_secret(&client, AppProvider::Github).await;
        let wanted = shown["githubClientId"]
            .as_str()
            .map(|id| id.replace("app", "secret"));
        assert_eq!(secret, wanted, "{shown}");
        assert_eq!(shown["githubClientSecretSet"], secret.is_some());
        assert_eq!(
            count_sealed_items(&client).await,
            usize::from(secret.is_some()),
            "no other one stays"
        );
    }
}
