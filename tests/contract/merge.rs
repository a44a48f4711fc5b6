//! `POST /v3/container-tags/merge`: the view of readers and writers before, during and after a
//! merge.

use std::collections::BTreeSet;
use std::pin::pin;

use futures::FutureExt;
use serde_json::{Value, json};
use testkit::TestApp;

use crate::client::{OrgClient, collect_field};
use crate::containers::{field_by_tag, list_tags};
use crate::shape::{assert_shape, expect_error, expect_ok};

pub(crate) const MERGE: &str = "/v3/container-tags/merge";

pub(crate) async fn begin_merge(client: &OrgClient, tags: &[&str], target: &str) -> String {
    let answer = client
        .post(
            MERGE,
            json!({"containerTags": tags, "targetContainerTag": target}),
        )
        .await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let shape = json!({
        "success": "bool", "status": "string", "mergeId": "id", "targetTag": "string", "sourceTags": ["string"],
    });

    assert_shape(&answer.body, &shape);
    assert_eq!(
        (&answer.body["status"], &answer.body["targetTag"]),
        (&json!("queued"), &json!(target))
    );

    answer.body["mergeId"].as_str().expect("an id").to_owned()
}

pub(crate) async fn merge_status(client: &OrgClient, id: &str) -> Value {
    let progress = json!({
        "phase": "string", "currentSourceTag": "string|null", "currentKind": "string|null", "copiedRows": "int",
        "completedSourceTags": ["string"], "inFlightItems": "int", "attempt": "int",
    });
    let mut shape = json!({
        "id": "id", "status": "string", "sourceTags": ["string"], "targetTag": "string", "progress": "null",
        "lastError": "string|null", "createdAt": "time", "updatedAt": "time",
    });
    let answer = client.get(&format!("{MERGE}/{id}")).await;
    if answer.body["progress"].is_object() {
        shape["progress"] = progress;
    }
    expect_ok(answer, &shape)
}

pub(crate) async fn add_document(
    client: &OrgClient,
    tag: &str,
    custom_id: &str,
    content: &str,
) -> String {
    client.add_apart(tag, custom_id, content).await
}

/// Returns the ids in a listing, sorted and with repetitions.
pub(crate) async fn listed_ids(client: &OrgClient, tags: &[&str]) -> Vec<String> {
    let mut found = client.listed_ids(json!({"containerTags": tags})).await;
    found.sort();
    found
}

/// Checks that every document is seen exactly once, whichever route is asked.
async fn check_each_once(client: &OrgClient, source: &[String], all: &[String], began: bool) {
    let sorted = |ids: &[String]| {
        ids.iter()
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    let (source, all) = (sorted(source), sorted(all));

    let of_source = listed_ids(client, &["from"]).await;
    assert!(of_source == source || of_source.is_empty(), "{of_source:?}");
    assert_eq!(listed_ids(client, &["from", "to"]).await, all);
    assert_eq!(listed_ids(client, &[]).await, all);
    if began {
        assert_eq!(listed_ids(client, &["to"]).await, all);
        // While a source exists, the target from which it is read must not be deletable.
        let parts = field_by_tag(client, "mergeStatus").await;
        assert!(
            !parts.contains_key("from") || parts["to"] == "target",
            "{parts:?}"
        );
    }

    for body in [
        json!({"q": "heron"}),
        json!({"q": "heron", "containerTags": ["from", "to"]}),
    ] {
        let texts = client.search_texts_with(body).await;
        let once: BTreeSet<&String> = texts.iter().collect();
        assert_eq!(
            (texts.len(), once.len()),
            (all.len(), all.len()),
            "{texts:?}"
        );
    }
}

#[tokio::test]
async fn at_every_moment_each_document_is_seen_exactly_once() {
    let client = OrgClient::new().await;
    let mut source = Vec::new();
    for name in ["a", "b"] {
        source.push(
            add_document(
                &client,
                "from",
                name,
                &format!("The heron of {name} waits in the reeds."),
            )
            .await,
        );
    }

    let mut all = source.clone();
    all.push(add_document(&client, "to", "c", "The heron of c waits in the reeds.").await);
    check_each_once(&client, &source, &all, false).await;
    let id = begin_merge(&client, &["from"], "to").await;
    let slow = TestApp::start(&client.app.environment, 5)
        .await
        .expect("an app");
    let (mut seen, mut reads) = (vec!["queued".to_owned()], 0);

    while seen.last().is_some_and(|last| last != "completed") {
        let mut turn = pin!(slow.run_workers_once());
        let mut at = slow.faults.call_count();
        loop {
            slow.faults.pause_at(at);
            let ended = loop {
                if (&mut turn).now_or_never().is_some() {
                    break true;
                }
                if slow.faults.call_count() >= at {
                    break false;
                }
                tokio::task::yield_now().await;
            };
            check_each_once(&client, &source, &all, true).await;
            reads += 1;
            slow.faults.resume_calls();
            if ended {
                break;
            }
            at = slow.faults.call_count() + 1;
        }

        let now = merge_status(&client, &id).await["status"]
            .as_str()
            .expect("a status")
            .to_owned();
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        client.app.environment.clock.advance_seconds(5);
        assert!(reads < 2_000, "{seen:?}");
    }

    assert!(reads > 20, "{reads}");
    let order = [
        "queued",
        "waiting_for_ingest",
        "copying_vectors",
        "db_committing",
        "cleanup_pending",
        "completed",
    ];
    let places: Vec<_> = seen
        .iter()
        .map(|status| order.iter().position(|known| known == status))
        .collect();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{seen:?}"
    );
    assert_eq!(listed_ids(&client, &["from"]).await, Vec::<String>::new());
    assert_eq!(
        collect_field(&json!(list_tags(&client).await), "containerTag"),
        ["to"]
    );
    assert_eq!(field_by_tag(&client, "documentCount").await["to"], 3);

    for (document, name) in source.iter().zip(["a", "b"]) {
        assert_eq!(
            client.get_document(document).await["containerTags"],
            json!(["to"])
        );
        assert_eq!(client.get_document(name).await["id"], json!(document));
    }

    expect_error(
        &client.get("/v3/container-tags/from").await,
        404,
        "NotFoundError",
        "",
    );
}

#[tokio::test]
async fn of_equal_custom_ids_the_newest_content_stays() {
    let client = OrgClient::new().await;
    let older = add_document(&client, "from", "same", "The heron OLD-1 waits.").await;
    let alone = add_document(&client, "from", "alone", "The heron ALN-2 waits.").await;
    let newest = add_document(&client, "to", "same", "The heron NEW-3 waits.").await;
    let other_newest = add_document(&client, "from", "late", "The crane NEW-4 flies.").await;
    let other_older = add_document(&client, "to", "late", "The crane OLD-5 flies.").await;
    add_document(&client, "from", "late", "The crane NEW-6 flies.").await;
    let body = json!({"containerTags": ["from", "to"], "targetContainerTag": "to", "dryRun": true});
    let preview = expect_ok(
        client.post(MERGE, body).await,
        &json!({
            "success": "bool", "dryRun": "bool", "targetTag": "string", "sourceTags": ["string"], "sources": [{
                "containerTag": "string", "documents": "int", "equalCustomIds": "int", "superseded": "int", "kept": "int",
            }],
        }),
    );
    let found = json!([{"containerTag": "from", "documents": 3, "equalCustomIds": 2, "superseded": 1, "kept": 2}]);
    assert_eq!(preview["sources"], found);
    assert_eq!(
        field_by_tag(&client, "mergeStatus").await["from"],
        Value::Null
    );

    let id = begin_merge(&client, &["from", "to"], "to").await;
    // The newest document is already the one that stays.
    assert_eq!(
        client.get_document("same?containerTag=to").await["id"],
        json!(newest)
    );

    client.run_until_settled().await;
    let ended = merge_status(&client, &id).await;
    assert_eq!(
        (&ended["status"], &ended["progress"]),
        (&json!("completed"), &Value::Null),
        "{ended}"
    );

    let mut left = vec![alone.clone(), newest.clone(), other_newest.clone()];
    left.sort();
    assert_eq!(listed_ids(&client, &["to"]).await, left);
    assert_eq!(field_by_tag(&client, "documentCount").await["to"], 3);

    for (loser, winner) in [(&older, &newest), (&other_older, &other_newest)] {
        let kept = client.get_document_unchecked(loser).await;
        assert_eq!(kept["supersededBy"], json!(winner), "{kept}");
        let change = client
            .send_patch(
                &format!("/v3/documents/{loser}"),
                json!({"metadata": {"a": 1}}),
            )
            .await;
        expect_error(&change, 409, "ConflictError", "superseded");
    }

    for (gone, there) in [("OLD-1", "NEW-3"), ("OLD-5", "NEW-6")] {
        assert!(
            !client.search_finds(gone).await && client.search_finds(there).await,
            "{gone}"
        );
    }

    for (name, winner) in [
        ("same", &newest),
        ("late", &other_newest),
        ("alone", &alone),
    ] {
        let body = json!({"content": format!("The owl of {name} sees."), "containerTag": "to", "customId": name});
        assert_eq!(client.add_document(body).await, *winner);
    }

    assert_eq!(listed_ids(&client, &["to"]).await, left);
    let cold = OrgClient::of(
        TestApp::start(&client.app.environment, 1)
            .await
            .expect("an app"),
        "acme",
    )
    .await;
    assert_eq!(listed_ids(&cold, &["to"]).await, left);
    assert!(!cold.search_finds("OLD-1").await);

    // A selection by tag includes all documents of the merge.
    let body = json!({"containerTags": ["to"]});
    let bulk = client
        .app
        .call_json("DELETE", "/v3/documents/bulk", &client.key, &body)
        .await;
    assert_eq!(bulk.body["deletedCount"], 5, "{}", bulk.body);
    assert_eq!(
        client.get(&format!("/v3/documents/{older}")).await.status,
        404
    );
}

#[tokio::test]
async fn memories_of_the_target_are_those_of_all() {
    let client = OrgClient::new().await;
    let tell = async |tag: &str, name: &str, text: &str, date: &str| {
        let body =
            json!({"content": text, "containerTag": tag, "customId": name, "documentDate": date});
        client.add_document(body).await;
    };

    tell(
        "from",
        "a",
        "I live in Bonn. I prefer tea over coffee.",
        "2025-01-01",
    )
    .await;
    tell(
        "to",
        "b",
        "I live in Berlin. I prefer tea over coffee.",
        "2025-02-01",
    )
    .await;
    begin_merge(&client, &["from"], "to").await;
    for settled in [false, true] {
        if settled {
            client.run_until_settled().await;
        }
        let path = "/v3/container-tags/to/profile";
        let shape = json!({"profile": {"static": ["string"], "dynamic": ["string"]}});
        let profile = expect_ok(client.get(path).await, &shape)["profile"].to_string();
        assert!(
            profile.contains("Berlin") && !profile.contains("Bonn"),
            "{profile}"
        );
        assert_eq!(profile.matches("tea").count(), 1, "{profile}");
    }

    let all = client
        .post(
            "/v4/memories/list",
            json!({"containerTags": ["to"], "limit": 50}),
        )
        .await
        .body;
    let old = all["memoryEntries"].as_array().expect("memories");
    let old = old.iter().find(|entry| {
        entry["memory"]
            .as_str()
            .is_some_and(|text| text.contains("Bonn"))
    });

    let body = json!({"containerTag": "to", "id": old.expect("a memory")["id"]});
    let forgotten = client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &body)
        .await;
    assert_eq!(forgotten.status, 200, "{}", forgotten.body);
    let search = client
        .post(
            "/v4/search",
            json!({"q": "Bonn", "containerTag": "to", "threshold": 0}),
        )
        .await;
    assert!(!search.body.to_string().contains("Bonn"), "{}", search.body);
}

#[tokio::test]
async fn it_waits_for_what_is_still_processed() {
    let client = OrgClient::new().await;
    add_document(&client, "to", "same", "The heron OLD-1 waits.").await;
    let newest = client
        .send_document(
            json!({"content": "NEW-2 waits.", "containerTag": "from", "customId": "same"}),
        )
        .await;
    let id = begin_merge(&client, &["from"], "to").await;
    client.run_until_settled().await;
    assert_eq!(merge_status(&client, &id).await["status"], "completed");
    assert_eq!(listed_ids(&client, &["to"]).await, [newest]);
    assert!(client.search_finds("NEW-2").await && !client.search_finds("OLD-1").await);
}
