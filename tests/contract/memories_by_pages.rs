//! Requests that write, change and forget memories in processes that read segments by pages.

use container_index::SegmentReading;
use serde_json::{Value, json};
use testkit::{BY_PAGES, TestAnswer};

use crate::client::OrgClient;
use crate::containers::compact;
use crate::memories::send_conversation;
use crate::partial_segments::{fill, restart};

/// Sends a request to a process that has read nothing yet.
async fn send_cold(client: &OrgClient, method: &str, path: &str, body: Value) -> TestAnswer {
    let cold = restart(client, BY_PAGES).await;
    cold.app.call_json(method, path, &client.key, &body).await
}

/// Sends a request as [`send_cold`] does. Returns the body of the answer, which has this status.
async fn expect_cold(
    client: &OrgClient,
    method: &str,
    path: &str,
    body: Value,
    status: u16,
) -> Value {
    let answer = send_cold(client, method, path, body).await;
    assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    answer.body
}

/// Lists the latest memories of the container, by pages and as a whole. The lists are the same.
async fn list_memories(client: &OrgClient) -> Vec<Value> {
    let body = json!({"containerTags": ["box"], "limit": 1000});
    let by_pages = expect_cold(client, "POST", "/v4/memories/list", body.clone(), 200).await;
    let whole = restart(client, SegmentReading::Whole).await;
    let whole = whole.post("/v4/memories/list", body).await.body;
    assert_eq!(by_pages, whole);
    whole["memoryEntries"].as_array().expect("a list").clone()
}

/// Returns the latest memory with this text.
async fn find_memory(client: &OrgClient, text: &str) -> Value {
    let memories = list_memories(client).await;
    let found = memories.into_iter().find(|memory| memory["memory"] == text);
    found.unwrap_or_else(|| panic!("there is no memory {text}"))
}

async fn filled_client() -> OrgClient {
    let client = OrgClient::new().await;
    fill(&client).await;
    client
}

#[tokio::test]
async fn memories_are_written_and_corrected_by_pages() {
    let client = filled_client().await;
    let new = json!({"containerTag": "box", "memories": [{"content": "The gate is open."}]});
    let written = expect_cold(&client, "POST", "/v4/memories", new.clone(), 201).await;
    compact(&client, "box").await;
    let repeated = expect_cold(&client, "POST", "/v4/memories", new, 201).await;
    assert_eq!(written["documentId"], repeated["documentId"]);

    let old = find_memory(&client, "User prefers tea number 7.").await;
    let by_id =
        json!({"containerTag": "box", "id": old["id"], "newContent": "User prefers no tea."});
    let new = expect_cold(&client, "PATCH", "/v4/memories", by_id.clone(), 200).await;
    assert_eq!(new["parentMemoryId"], old["id"]);
    let repeated = expect_cold(&client, "PATCH", "/v4/memories", by_id, 200).await;
    assert_eq!(repeated, new);

    let by_content = json!({"containerTag": "box", "content": "The gate is open.",
        "newContent": "The gate is shut."});
    let new = expect_cold(&client, "PATCH", "/v4/memories", by_content, 200).await;
    assert_eq!(
        new["id"],
        find_memory(&client, "The gate is shut.").await["id"]
    );
}

/// Returns a list as the pages of seven memories of which it consists.
async fn walk_pages(process: &OrgClient, list: &Value) -> Vec<Value> {
    let mut walked = Vec::new();
    for page in 1.. {
        let mut body = list.clone();
        (body["page"], body["limit"]) = (json!(page), json!(7));
        let answer = process.post("/v4/memories/list", body).await.body;
        let entries = answer["memoryEntries"].as_array().expect("a list").clone();
        if entries.is_empty() {
            assert_eq!(answer["pagination"]["totalItems"], walked.len());
            return walked;
        }
        walked.extend(entries);
    }
    unreachable!("the loop returns")
}

#[tokio::test]
async fn a_list_consists_of_its_pages() {
    let client = filled_client().await;
    let by_pages = restart(&client, BY_PAGES).await;
    let whole = restart(&client, SegmentReading::Whole).await;
    let filter = json!({"AND": [{"key": "ward", "value": 3, "filterType": "numeric",
        "numericOperator": "="}]});
    let mut lengths = Vec::new();
    for filters in [Value::Null, filter] {
        for (sort, order) in [
            ("createdAt", "asc"),
            ("createdAt", "desc"),
            ("updatedAt", "asc"),
            ("updatedAt", "desc"),
        ] {
            let list = json!({"containerTags": ["box"], "filters": filters, "sort": sort,
                "order": order, "limit": 1000});
            let listed = whole.post("/v4/memories/list", list.clone()).await.body;
            let listed = listed["memoryEntries"].as_array().expect("a list").clone();
            assert_eq!(walk_pages(&by_pages, &list).await, listed);
            assert_eq!(walk_pages(&whole, &list).await, listed);

            let time = |memory: &Value| memory[sort].as_str().expect("a time").to_owned();
            assert!(listed.is_sorted_by(|a, b| match order {
                "asc" => time(a) <= time(b),
                _ => time(a) >= time(b),
            }));
            lengths.push(listed.len());
        }
    }
    assert!(lengths[0] > 100 && lengths[4] > 10, "{lengths:?}");
    assert!(lengths.iter().all(|length| lengths.contains(length)));
}

#[tokio::test]
async fn inferences_are_listed_and_reviewed_by_pages() {
    let client = filled_client().await;
    send_conversation(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    compact(&client, "box").await;
    let path = "/v3/container-tags/box/inferred";
    let by_pages = expect_cold(&client, "GET", path, Value::Null, 200).await;
    let whole = restart(&client, SegmentReading::Whole).await;
    assert_eq!(by_pages, whole.get(path).await.body);

    let id = by_pages["memories"][0]["id"]
        .as_str()
        .expect("an inference");
    let review = json!({"action": "decline"});
    let path = format!("{path}/{id}/review");
    let reviewed = expect_cold(&client, "POST", &path, review, 200).await;
    assert_eq!(reviewed["isForgotten"], json!(true));
}

#[tokio::test]
async fn memories_are_forgotten_by_pages() {
    let client = filled_client().await;
    let forget = |more: Value| {
        let mut body = json!({"containerTag": "box"});
        let fields = body.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        expect_cold(&client, "DELETE", "/v4/memories", body, 200)
    };
    let is_forgotten =
        async |text: &str| find_memory(&client, text).await["isForgotten"] == json!(true);

    let id = find_memory(&client, "User prefers tea number 11.").await["id"].clone();
    assert_eq!(forget(json!({"id": id})).await["kind"], "memory");
    assert!(is_forgotten("User prefers tea number 11.").await);
    forget(json!({"content": "The barn is blue."})).await;
    assert!(is_forgotten("The barn is blue.").await);

    let document = client.get_document("d12").await["id"].clone();
    let forgotten = forget(json!({"id": document})).await;
    assert_eq!(forgotten["kind"], "document");
    assert!(is_forgotten("User prefers tea number 12.").await);

    let matching = json!({"containerTag": "box", "query": "Which tea number 13 is preferred?",
        "threshold": 0.9, "maxForget": 1});
    let path = "/v4/memories/forget-matching";
    let found = expect_cold(&client, "POST", path, matching, 200).await;
    assert_eq!(
        found["forgotten"][0]["memory"],
        "User prefers tea number 13."
    );
    let id = find_memory(&client, "User prefers tea number 14.").await["id"].clone();
    let named = json!({"containerTag": "box", "ids": [id]});
    assert_eq!(
        expect_cold(&client, "POST", path, named, 200).await["count"],
        1
    );

    let id = find_memory(&client, "User prefers tea number 15.").await["id"].clone();
    let details = format!(
        "/ns/box/memories/{}?include=documents",
        id.as_str().expect("an id")
    );
    let found = expect_cold(&client, "GET", &details, Value::Null, 200).await;
    assert!(found["included"]["document"]["id"].is_string(), "{found}");
    let named = json!({"ids": [id, "unknown"]});
    let found = expect_cold(&client, "DELETE", "/ns/box/memories", named, 200).await;
    assert_eq!(
        (&found["count"], found["errors"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    assert!(is_forgotten("User prefers tea number 15.").await);
}
