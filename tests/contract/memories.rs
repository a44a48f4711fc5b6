//! `POST /v4/memories` and `POST /v4/memories/list`.

use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::{OrgClient, collect_field};
use crate::shape::{
    ErrorMismatches, assert_shape, expect_ok, memory_version_shape, merge_shapes, pagination_shape,
};

/// Returns a client with a container `box` that has no memories.
pub(crate) async fn client_with_box() -> OrgClient {
    let client = OrgClient::new().await;
    create_box(&client).await;
    client
}

/// Creates the container `box`.
pub(crate) async fn create_box(client: &OrgClient) {
    client
        .add_document(
            json!({"content": "It begins.", "containerTag": "box", "taskType": "superrag"}),
        )
        .await;
}

/// Writes memories into `box` and returns the answer.
pub(crate) async fn write_memories(client: &OrgClient, memories: Value) -> Value {
    check_created(
        client
            .post(
                "/v4/memories",
                json!({"containerTag": "box", "memories": memories}),
            )
            .await,
    )
}

fn check_created(answer: TestAnswer) -> Value {
    assert_eq!(answer.status, 201, "{}", answer.body);
    let memory = json!({
        "id": "id", "memory": "string", "isStatic": "bool", "createdAt": "time", "forgetAfter": "time|null",
        "forgetReason": "string|null", "metadata": "object|null",
    });
    assert_shape(
        &answer.body,
        &json!({"documentId": "id", "memories": [memory]}),
    );
    answer.body
}

/// Writes one memory and returns its id.
pub(crate) async fn write_memory(client: &OrgClient, content: &str) -> String {
    let body = write_memories(client, json!([{"content": content}])).await;
    body["memories"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// Sends a conversation to `box`, processes it, and returns the id of its document.
pub(crate) async fn send_conversation(client: &OrgClient, turns: &[&str]) -> String {
    let turns: Vec<Value> = turns
        .iter()
        .map(|turn| json!({"role": "user", "content": turn}))
        .collect();
    let body = json!({"conversationId": "talk", "containerTags": ["box"], "messages": turns});
    let answer = client.post("/v4/conversations", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;
    answer.body["id"].as_str().expect("an id").to_owned()
}

fn entry_shape() -> Value {
    let more = json!({
        "spaceId": "id", "orgId": "string", "forgetAfter": "time|null", "forgetReason": "string|null",
        "temporalContext": {"documentDate": "time", "eventDate": ["time"]}, "memoryRelations": "object",
        "history": [memory_version_shape()], "documentIds": ["id"], "kind": "string", "confidence": "unit", "trust": "string",
        "speaker": "string|null", "eventDate": "object|null",
        "sources": [{"documentId": "id", "start": "int", "end": "int"}], "contradicts": ["id"],
        "reviewStatus": "string|null",
    });
    merge_shapes(memory_version_shape(), &more)
}

/// Returns an answer of the listing.
pub(crate) async fn list_memories(client: &OrgClient, mut body: Value) -> Value {
    if body.get("containerTags").is_none() {
        body["containerTags"] = json!(["box"]);
    }
    let shape = json!({"memoryEntries": [entry_shape()], "pagination": pagination_shape(), "hint?": "string"});
    expect_ok(client.post("/v4/memories/list", body).await, &shape)
}

/// Returns every latest memory of `box`.
pub(crate) async fn latest_memories(client: &OrgClient) -> Vec<Value> {
    let body = list_memories(client, json!({"limit": 1000})).await;
    body["memoryEntries"].as_array().expect("an array").clone()
}

/// Returns the latest memory with this id.
pub(crate) async fn latest_memory(client: &OrgClient, id: &str) -> Value {
    latest_memories(client)
        .await
        .into_iter()
        .find(|entry| entry["id"] == id)
        .expect("a memory with this id")
}

/// Returns the sentences of the latest memories that are not forgotten, sorted.
pub(crate) async fn live_sentences(client: &OrgClient) -> Vec<String> {
    let live: Vec<Value> = latest_memories(client)
        .await
        .into_iter()
        .filter(|entry| entry["isForgotten"] == false)
        .collect();
    let mut texts = collect_field(&json!(live), "memory");
    texts.sort();
    texts
}

/// Returns the sentences of the memories that a search in `box` finds.
pub(crate) async fn searched_sentences(client: &OrgClient, q: &str) -> Vec<String> {
    let body = json!({"q": q, "containerTag": "box", "searchMode": "memories", "threshold": 0, "limit": 100});
    let answer = client.post("/v4/search", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    collect_field(&answer.body["results"], "memory")
}

#[tokio::test]
async fn what_is_written_is_there_at_once() {
    let client = client_with_box().await;
    let sent = json!([
        {"content": "  The heron nests in the reeds.  ", "isStatic": "true", "metadata": {"source": "diary"}},
        {"content": "The ferry is being painted.", "forgetAfter": "2027-01-01", "forgetReason": "It is done then."},
        {"content": "The heron nests in the reeds."},
        {"content": "The mill was sold.", "temporalContext": {
            "documentDate": "2025-04-15", "eventDate": ["2025-04-03T10:00:00+02:00", "2025-04-01"],
        }},
    ]);
    let body = write_memories(&client, sent).await;
    let memories = body["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 4);
    assert_eq!(memories[2], memories[0], "equal words are one memory");
    assert_eq!(memories[0]["memory"], "The heron nests in the reeds.");
    assert_eq!(
        (&memories[0]["isStatic"], &memories[0]["metadata"]),
        (&json!(true), &json!({"source": "diary"}))
    );
    assert_eq!(memories[1]["forgetAfter"], "2027-01-01T00:00:00.000Z");
    assert_eq!(memories[1]["forgetReason"], "It is done then.");

    assert_eq!(latest_memories(&client).await.len(), 3);
    let heron = latest_memory(&client, memories[0]["id"].as_str().unwrap()).await;
    assert_eq!(
        (&heron["trust"], &heron["confidence"], &heron["orgId"]),
        (&json!("client"), &json!(0.99), &json!("acme"))
    );
    assert_eq!(
        (&heron["version"], &heron["parentMemoryId"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(
        (&heron["rootMemoryId"], &heron["history"]),
        (&heron["id"], &json!([]))
    );
    assert_eq!(heron["documentIds"], json!([body["documentId"]]));
    let mill = latest_memory(&client, memories[3]["id"].as_str().unwrap()).await;
    let dates = json!(["2025-04-01T00:00:00.000Z", "2025-04-03T08:00:00.000Z"]);
    assert_eq!(
        mill["temporalContext"],
        json!({"documentDate": "2025-04-15T00:00:00.000Z", "eventDate": dates})
    );
    assert_eq!(
        mill["eventDate"],
        json!({"start": dates[0], "end": dates[1]})
    );
    assert_eq!(
        searched_sentences(&client, "Which bird nests in the reeds?").await[0],
        "The heron nests in the reeds."
    );

    let document = client
        .get_document(body["documentId"].as_str().unwrap())
        .await;
    assert_eq!(
        (&document["status"], &document["containerTags"]),
        (&json!("done"), &json!(["box"]))
    );
    assert_eq!(
        document["memoryExtraction"],
        json!({"extractor": "client", "count": 3})
    );
    let content: Vec<char> = document["content"].as_str().unwrap().chars().collect();
    for entry in latest_memories(&client).await {
        let place = |field: &str| entry["sources"][0][field].as_u64().unwrap() as usize;
        let text: String = content[place("start")..place("end")].iter().collect();
        assert_eq!(entry["memory"], text);
    }
}

#[tokio::test]
async fn a_later_answer_takes_the_place_of_an_earlier_one() {
    let client = client_with_box().await;
    let old = write_memory(&client, "I live in Berlin.").await;
    let new = write_memory(&client, "I live in Oslo.").await;
    assert_eq!(latest_memories(&client).await.len(), 1);

    let entry = latest_memory(&client, &new).await;
    assert_eq!(
        (
            &entry["version"],
            &entry["parentMemoryId"],
            &entry["rootMemoryId"]
        ),
        (&json!(2), &json!(old), &json!(old))
    );
    assert_eq!(entry["memoryRelations"], json!({old.as_str(): "updates"}));
    assert_eq!(
        (&entry["history"][0]["id"], &entry["history"][0]["isLatest"]),
        (&json!(old), &json!(false))
    );

    let long = "I live in Rome. The tram to the harbour is late on most days, and nobody seems to know why.";
    write_memory(&client, long).await;
    assert_eq!(
        live_sentences(&client).await,
        ["I live in Oslo.", long],
        "a text of several sentences stands beside it"
    );
}

#[tokio::test]
async fn a_retry_is_the_same_request() {
    let client = client_with_box().await;
    let sent = json!([{"content": "I live in Berlin.", "metadata": {"b": 1, "a": 2}}, {"content": "The mill was sold."}]);
    let first = write_memories(&client, sent.clone()).await;
    client.app.environment.clock.advance_seconds(60);
    assert_eq!(write_memories(&client, sent.clone()).await, first);
    assert_eq!(
        client.listed_ids(json!({})).await.len(),
        2,
        "one document beside the first"
    );

    let mut other = sent.clone();
    other[0]["metadata"] = json!({"b": 2});
    assert_ne!(
        write_memories(&client, other).await["documentId"],
        first["documentId"]
    );

    client.app.environment.clock.advance_seconds(180);
    let later = write_memories(&client, sent).await;
    assert_ne!(
        later["documentId"], first["documentId"],
        "said again later it is another source"
    );
    assert_eq!(
        later["memories"][1]["id"], first["memories"][1]["id"],
        "of the same memory"
    );
    assert_eq!(
        latest_memory(&client, later["memories"][1]["id"].as_str().unwrap()).await["sourceCount"],
        3
    );
}

#[tokio::test]
async fn what_was_forgotten_can_be_written_again_at_once() {
    let client = client_with_box().await;
    let id = write_memory(&client, "The mill was sold.").await;
    let gone = client.send_bytes(
        "DELETE",
        "/v4/memories",
        "application/json",
        json!({"containerTag": "box", "id": id}).to_string(),
    );
    assert_eq!(gone.await.status, 200);
    assert!(live_sentences(&client).await.is_empty());
    let again = write_memory(&client, "The mill was sold.").await;
    assert_ne!(again, id);
    assert_eq!(live_sentences(&client).await, ["The mill was sold."]);
}

#[tokio::test]
async fn pages_sorting_and_filters() {
    let client = client_with_box().await;
    let mut sent = Vec::new();
    for n in 0..5 {
        let body = write_memories(
            &client,
            json!([{"content": format!("Fact number {n} holds."), "metadata": {"n": n}}]),
        )
        .await;
        sent.push(body["memories"][0]["id"].as_str().unwrap().to_owned());
    }

    let mut seen = Vec::new();
    for page in 1..=4 {
        let body =
            list_memories(&client, json!({"page": page, "limit": "2", "order": "asc"})).await;
        assert_eq!(
            body["pagination"],
            json!({"currentPage": page, "limit": 2, "totalItems": 5, "totalPages": 3})
        );
        seen.extend(collect_field(&body["memoryEntries"], "id"));
    }

    assert_eq!(seen, sent);
    let newest: Vec<String> = sent.iter().rev().cloned().collect();
    assert_eq!(
        collect_field(
            &list_memories(&client, json!({})).await["memoryEntries"],
            "id"
        ),
        newest
    );

    let patch = json!({"containerTag": "box", "id": sent[0], "newContent": "Fact number 0 does hold.", "metadata": {"n": 9}});
    let changed = client.send_patch("/v4/memories", patch).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let updated = list_memories(&client, json!({"sort": "updatedAt", "limit": 1})).await;
    assert_eq!(
        collect_field(&updated["memoryEntries"], "id"),
        [changed.as_str()]
    );

    let filter = |value: &str, operator: &str| json!({"filters": {"AND": [{"key": "n", "value": value, "filterType": "numeric", "numericOperator": operator}]}});
    assert_eq!(
        collect_field(
            &list_memories(&client, filter("9", "=")).await["memoryEntries"],
            "id"
        ),
        [changed.as_str()]
    );
    assert_eq!(
        list_memories(&client, filter("3", ">=")).await["pagination"]["totalItems"],
        3
    );

    let nowhere = list_memories(&client, json!({"containerTags": ["nowhere"]})).await;
    assert_eq!(nowhere["pagination"]["totalItems"], 0);
}

#[tokio::test]
async fn wrong_requests_are_refused_and_the_place_named() {
    let client = client_with_box().await;
    let mut faults = ErrorMismatches::default();
    let memory = |more: Value| json!({"containerTag": "box", "memories": [{"content": "Fine."}, merge_shapes(json!({"content": "Words."}), &more)]});
    let long = "x".repeat(10_001);
    for (body, named) in [
        (json!({"memories": [{"content": "Words."}]}), "containerTag"),
        (
            json!({"containerTag": "a b", "memories": [{"content": "Words."}]}),
            "containerTag",
        ),
        (
            json!({"containerTags": ["a", "b"], "memories": [{"content": "Words."}]}),
            "containerTags",
        ),
        (json!({"containerTag": "box"}), "memories"),
        (json!({"containerTag": "box", "memories": []}), "memories"),
        (
            json!({"containerTag": "box", "memories": vec![json!({"content": "Words."}); 101]}),
            "1 to 100",
        ),
        (
            json!({"containerTag": "box", "memories": ["Words."]}),
            "memories[0]",
        ),
        (json!({"containerTag": "box", "memories": [{}]}), "content"),
        (memory(json!({"content": " \n "})), "memories[1].content"),
        (memory(json!({"content": long})), "memories[1].content"),
        (memory(json!({"content": null})), "memories[1].content"),
        (memory(json!({"isStatic": "maybe"})), "isStatic"),
        (
            memory(json!({"metadata": {"bad key": 1}})),
            "memories[1].metadata",
        ),
        (
            memory(json!({"metadata": {"deep": {"x": 1}}})),
            "memories[1].metadata",
        ),
        (
            memory(json!({"forgetAfter": "soon"})),
            "memories[1].forgetAfter",
        ),
        (memory(json!({"forgetAfter": "2020-01-01"})), "in the past"),
        (
            memory(json!({"forgetReason": "x".repeat(1001)})),
            "memories[1].forgetReason",
        ),
        (
            memory(json!({"temporalContext": {"documentDate": "2025-13-01"}})),
            "temporalContext.documentDate",
        ),
        (
            memory(json!({"temporalContext": {"eventDate": ["2025-01-01", "then"]}})),
            "temporalContext.eventDate",
        ),
        (
            memory(json!({"temporalContext": {"eventDate": "2025-01-01"}})),
            "eventDate",
        ),
    ] {
        let answer = client.post("/v4/memories", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }

    for (body, named) in [
        (json!({}), "containerTags"),
        (json!({"containerTags": []}), "containerTags"),
        (json!({"containerTags": ["a b"]}), "containerTag"),
        (json!({"containerTag": "box", "page": 0}), "page"),
        (json!({"containerTag": "box", "limit": 0}), "limit"),
        (json!({"containerTag": "box", "limit": 1101}), "limit"),
        (json!({"containerTag": "box", "sort": "size"}), "sort"),
        (json!({"containerTag": "box", "order": "up"}), "order"),
        (
            json!({"containerTag": "box", "filters": {"key": 1}}),
            "filter",
        ),
    ] {
        let answer = client.post("/v4/memories/list", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }
    faults.assert_none();

    assert!(latest_memories(&client).await.is_empty());
}
