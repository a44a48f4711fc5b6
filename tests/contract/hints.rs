//! The hint beside an empty answer: why nothing was found, and what to do.

use serde_json::{Value, json};

use crate::client::OrgClient;

/// Sends a request and returns the hint of its answer.
async fn hint(client: &OrgClient, path: &str, body: Value) -> String {
    let answer = client.post(path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["hint"].as_str().unwrap_or_default().to_owned()
}

const LISTS: [&str; 4] = [
    "/v4/search",
    "/v3/search",
    "/v3/documents/list",
    "/v4/memories/list",
];

fn request(tag: &str) -> Value {
    json!({"q": "Where does the heron wait?", "containerTags": [tag]})
}

#[tokio::test]
async fn a_wrong_tag_is_named_and_documents_in_processing_are_counted() {
    let client = OrgClient::new().await;
    for path in LISTS {
        let body = json!({"q": "x", "containerTags": ["nowhere"]});
        let hint = hint(&client, path, body).await;
        assert!(
            hint.starts_with("There is no container `nowhere`."),
            "{path}: {hint}"
        );
    }

    client
        .send_document(json!({"content": "The heron waits at the weir.", "containerTag": "birds"}))
        .await;
    for path in ["/v4/search", "/v3/search", "/v4/memories/list"] {
        let hint = hint(&client, path, request("birds")).await;
        assert!(
            hint.starts_with("1 document is still being processed."),
            "{path}: {hint}"
        );
    }
    client.run_until_settled().await;
    let answer = client.post("/v3/search", request("birds")).await;
    assert_eq!(answer.body.get("hint"), None, "there are results");
}

#[tokio::test]
async fn a_search_says_what_the_threshold_or_the_mode_hides() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({
            "content": "The heron waits at the weir.", "containerTag": "birds", "taskType": "superrag",
        }))
        .await;
    let without_memories = hint(&client, "/v4/search", request("birds")).await;
    assert!(
        without_memories.contains("`searchMode`: `hybrid`"),
        "{without_memories}"
    );

    let mut strict = request("birds");
    strict["searchMode"] = json!("documents");
    strict["threshold"] = json!(1);
    let below = hint(&client, "/v4/search", strict).await;
    assert!(below.contains("below the `threshold` of 1.00"), "{below}");
    let mut strict = request("birds");
    strict["chunkThreshold"] = json!(1);
    let below = hint(&client, "/v3/search", strict).await;
    assert!(
        below.contains("below the `chunkThreshold` of 1.00"),
        "{below}"
    );

    let profile = json!({"containerTag": "birds", "q": "Where does the heron wait?"});
    let answer = client.post("/v4/profile", profile).await;
    let hint = answer.body["searchResults"]["hint"].as_str();
    assert!(
        hint.is_some_and(|hint| hint.contains("`hybrid`")),
        "{}",
        answer.body
    );
}
