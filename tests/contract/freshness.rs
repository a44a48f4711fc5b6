//! The next search finds everything that is `done`, and nothing that was replaced or deleted.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use testkit::TestApp;

use crate::client::OrgClient;
use crate::containers::{find_container, index_head};

/// The searchable content that the client expects: the canary of each customId.
#[derive(Default)]
struct ExpectedContent {
    alive: BTreeMap<String, String>,
    dead: Vec<String>,
}

/// Makes one change and searches right after it.
async fn change_and_search(
    client: &OrgClient,
    model: &mut ExpectedContent,
    random: &mut StdRng,
    number: usize,
) {
    let name = format!("doc-{}", random.random_range(0..25));
    if random.random_bool(0.25)
        && let Some(canary) = model.alive.remove(&name)
    {
        assert_eq!(
            client.delete(&format!("/v3/documents/{name}")).await.status,
            204
        );
        assert!(
            !client.search_finds(&canary).await,
            "{canary} was deleted a moment ago"
        );
        return model.dead.push(canary);
    }

    let canary = format!("CNR-{number:04}-Z");
    let text = format!("The keeper of the lighthouse wrote {canary} into the log of the day.");
    client
        .add_document(json!({"content": text, "customId": name, "containerTag": "box"}))
        .await;
    assert!(client.search_finds(&canary).await, "{canary} is done");

    if let Some(old) = model.alive.insert(name, canary) {
        assert!(!client.search_finds(&old).await, "{old} was replaced");
        model.dead.push(old);
    }
}

async fn check_all(client: &OrgClient, model: &ExpectedContent) {
    for canary in model.alive.values() {
        assert!(client.search_finds(canary).await, "{canary} is lost");
    }
    // The documents that were removed first are in the oldest segment, and those removed last in
    // the newest.
    let (first, last) = model.dead.split_at(model.dead.len() / 2);
    for canary in first.iter().take(15).chain(last.iter().rev().take(15)) {
        assert!(!client.search_finds(canary).await, "{canary} is back");
    }
}

#[tokio::test]
async fn every_search_sees_every_commit_through_compactions() {
    let client = OrgClient::new().await;
    let (mut model, mut random) = (ExpectedContent::default(), StdRng::seed_from_u64(7));
    let mut number = 0;
    while head_generation(&client).await < 2 {
        number += 1;
        assert!(number < 400, "the log is never compacted");
        change_and_search(&client, &mut model, &mut random, number).await;
    }

    check_all(&client, &model).await;
    for _ in 0..15 {
        number += 1;
        change_and_search(&client, &mut model, &mut random, number).await;
    }

    check_all(&client, &model).await;
    // Replaced segments are purged. A process that starts cold reads the remaining ones.
    client.app.environment.clock.advance_seconds(120);
    client.run_until_settled().await;
    let cold = TestApp::start(&client.app.environment, 0)
        .await
        .expect("a second process");
    let cold = OrgClient {
        app: cold,
        key: client.key.clone(),
        tenant: client.tenant.clone(),
    };

    check_all(&cold, &model).await;
    assert!(
        index_head(&client, "box").await.covered_through() > 60,
        "segments carry most of the log"
    );
}

/// Returns the number of compactions of `box`, or 0 while there is no such container.
async fn head_generation(client: &OrgClient) -> u64 {
    match find_container(client, "box").await {
        Some(_) => index_head(client, "box").await.generation,
        None => 0,
    }
}

#[tokio::test]
async fn two_processes_see_each_others_commits_at_once() {
    let one = OrgClient::new().await;
    let other = TestApp::start(&one.app.environment, 1)
        .await
        .expect("a second process");
    let other = OrgClient {
        app: other,
        key: one.key.clone(),
        tenant: one.tenant.clone(),
    };

    for round in 0..4 {
        let (here, there) = if round % 2 == 0 {
            (&one, &other)
        } else {
            (&other, &one)
        };
        let canary = format!("CNR-{round}-Z");
        here.add_document(json!({"content": format!("The word is {canary}."), "customId": "note"}))
            .await;
        assert!(there.search_finds(&canary).await);
        there.delete("/v3/documents/note").await;
        assert!(!here.search_finds(&canary).await);
    }
}

#[tokio::test]
async fn changed_metadata_is_found_through_compactions() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "The heron stands still.", "customId": "bird", "containerTag": "box"}))
        .await;
    client
        .add_document(json!({"content": "The bittern booms.", "containerTag": "box", "metadata": {"n": "other"}}))
        .await;
    let of = |n: usize| json!({"AND": [{"key": "n", "value": n.to_string()}]});
    let mut last = 0;

    while head_generation(&client).await < 2 {
        last += 1;
        assert!(last < 400, "the log is never compacted");
        client
            .update_document("bird", json!({"metadata": {"n": last.to_string()}}))
            .await;
        let found = client
            .search_texts_with(json!({"q": "heron", "filters": of(last)}))
            .await;
        assert_eq!(found, ["The heron stands still."], "change {last}");
        assert!(
            client
                .search_texts_with(json!({"q": "heron", "filters": of(last - 1)}))
                .await
                .is_empty()
        );

        client.run_until_settled().await;
    }

    client.app.environment.clock.advance_seconds(120);
    client.run_until_settled().await;
    let cold = TestApp::start(&client.app.environment, 0)
        .await
        .expect("a second process");
    let cold = OrgClient {
        app: cold,
        key: client.key.clone(),
        tenant: client.tenant.clone(),
    };

    for client in [&client, &cold] {
        let found = client
            .search_texts_with(json!({"q": "heron", "filters": of(last)}))
            .await;
        assert_eq!(found, ["The heron stands still."]);
        assert_eq!(
            client.search_texts("heron bittern").await.len(),
            2,
            "each once"
        );
    }
}
