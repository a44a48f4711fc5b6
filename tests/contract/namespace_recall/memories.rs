//! `POST /ns/{namespace}/list/memories` and `/ns/{namespace}/memories*`.

use serde_json::{Value, json};

use super::{LIST, MATCHING, MEMORIES, document_shape, forget, related_shape, times_shape};
use crate::client::{OrgClient, collect_field};
use crate::memories::{
    client_with_box, live_sentences, send_conversation, write_memories, write_memory,
};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;
use crate::shape::{expect_error, expect_ok, merge_shapes, pagination_shape};

fn memory_shape() -> Value {
    json!({
        "id": "id", "memory": "string", "metadata": "object", "isStatic": "bool",
        "isInference": "bool", "isLatest": "bool", "isForgotten": "bool", "version": "int",
        "system": times_shape(),
    })
}

async fn list_memories(client: &OrgClient, query: &str, body: Value) -> Value {
    let shape = json!({
        "documents": [], "chunks": [], "memories": [memory_shape()],
        "pagination": pagination_shape(),
    });
    expect_ok(client.post(&format!("{LIST}?{query}"), body).await, &shape)
}

async fn get_memory(client: &OrgClient, id: &str, query: &str) -> Value {
    let document = json!({"document?": document_shape()});
    let included = json!({"related?": related_shape(&document), "document?": document_shape()});
    let shape = merge_shapes(memory_shape(), &json!({"included?": included}));
    let path = format!("{MEMORIES}/{id}?{query}");
    expect_ok(client.get(&path).await, &shape)
}

#[tokio::test]
async fn memories_are_listed_without_those_that_are_forgotten() {
    let client = client_with_box().await;
    let mut ids = Vec::new();
    for (n, text) in [
        "The mill was sold.",
        "The ferry leaves at eight.",
        "It rains.",
    ]
    .iter()
    .enumerate()
    {
        let body = write_memories(&client, json!([{"content": text, "metadata": {"n": n}}])).await;
        ids.push(
            body["memories"][0]["id"]
                .as_str()
                .expect("an id")
                .to_owned(),
        );
        client.app.environment.clock.advance_seconds(60);
    }
    forget_memory(&client, json!({"id": ids[2]})).await;
    let corrected = json!({"id": ids[1], "newContent": "The ferry leaves at nine."});
    let ferry = correct_memory(&client, corrected).await["id"].clone();
    let ferry = ferry.as_str().expect("an id");

    let page = list_memories(&client, "", json!({})).await;
    assert_eq!(collect_field(&page["memories"], "id"), [ferry, &ids[0]]);
    assert_eq!(page["memories"][0]["version"], 2);
    let ascending = list_memories(&client, "order=asc&sort=updatedAt", json!({})).await;
    assert_eq!(
        collect_field(&ascending["memories"], "id"),
        [&ids[0], ferry]
    );

    let all = list_memories(&client, "", json!({"include": {"forgotten": true}})).await;
    let forgotten = all["memories"].as_array().expect("memories").iter();
    let forgotten: Vec<&Value> = forgotten
        .filter(|memory| memory["isForgotten"] == true)
        .collect();
    assert_eq!((forgotten.len(), &forgotten[0]["id"]), (1, &json!(ids[2])));

    for (number, expected) in [(1, vec![ferry]), (2, vec![&ids[0]]), (3, vec![])] {
        let page = list_memories(&client, &format!("limit=1&page={number}"), json!({})).await;
        assert_eq!(collect_field(&page["memories"], "id"), expected);
        assert_eq!(page["pagination"]["totalItems"], 2);
    }
    let filter = json!({"filter": {"field": "n", "operator": "eq", "value": 0}});
    let page = list_memories(&client, "", filter).await;
    assert_eq!(collect_field(&page["memories"], "id"), [&*ids[0]]);
}

#[tokio::test]
async fn a_memory_comes_with_its_nearest_versions_first() {
    let client = client_with_box().await;
    let first = write_memory(&client, "The ferry leaves at 1.").await;
    let mut ids = vec![first];
    for hour in 2..=6 {
        let new_content = format!("The ferry leaves at {hour}.");
        let body = json!({"id": ids.last(), "newContent": new_content});
        let corrected = correct_memory(&client, body).await;
        ids.push(corrected["id"].as_str().expect("an id").to_owned());
    }

    let plain = get_memory(&client, &ids[0], "").await;
    assert_eq!(plain.get("included"), None);
    assert_eq!(
        (&plain["version"], &plain["isLatest"]),
        (&json!(1), &json!(false))
    );

    let related_ids =
        |memory: &Value, side: &str| collect_field(&memory["included"]["related"][side], "id");
    let latest = get_memory(&client, &ids[5], "include=related").await;
    assert_eq!(
        related_ids(&latest, "parents"),
        [&*ids[4], &ids[3], &ids[2]]
    );
    assert!(related_ids(&latest, "children").is_empty());
    let middle = get_memory(&client, &ids[1], "include=related&relatedLimit=2").await;
    assert_eq!(related_ids(&middle, "parents"), [&*ids[0]]);
    assert_eq!(related_ids(&middle, "children"), [&*ids[2], &ids[3]]);
    let child = &middle["included"]["related"]["children"][1];
    assert_eq!(
        (&child["relation"], &child["version"]),
        (&json!("updates"), &json!(2))
    );
    assert_eq!(middle["included"].get("document"), None);

    forget_memory(&client, json!({"id": ids[5]})).await;
    assert_eq!(get_memory(&client, &ids[5], "").await["isForgotten"], true);
}

#[tokio::test]
async fn a_memory_comes_without_relatives_that_are_forgotten() {
    let client = client_with_box().await;
    let first = write_memory(&client, "The ferry leaves at eight.").await;
    let correction = json!({"id": first, "newContent": "The ferry leaves at nine."});
    let second = correct_memory(&client, correction).await;
    let second = second["id"].as_str().expect("an id");
    forget_memory(&client, json!({"id": first})).await;
    let found = get_memory(&client, second, "include=related").await;
    assert_eq!(found["included"]["related"]["parents"], json!([]));

    send_conversation(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    let page = list_memories(&client, "limit=100", json!({})).await;
    let memories = page["memories"].as_array().expect("memories");
    let inference = memories.iter().find(|memory| memory["isInference"] == true);
    let inference = inference.expect("an inference")["id"].as_str();
    let inference = inference.expect("an id");
    let found = get_memory(&client, inference, "include=related").await;
    let source = collect_field(&found["included"]["related"]["siblings"], "id").remove(0);
    let found = get_memory(&client, &source, "include=related").await;
    let siblings = collect_field(&found["included"]["related"]["siblings"], "id");
    assert_eq!(siblings, [inference]);

    forget_memory(&client, json!({"id": inference})).await;
    let found = get_memory(&client, &source, "include=related").await;
    assert_eq!(found["included"]["related"]["siblings"], json!([]));
}

#[tokio::test]
async fn a_memory_comes_with_its_document_and_those_of_its_relatives() {
    let client = client_with_box().await;
    let talk = send_conversation(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    let page = list_memories(&client, "limit=100", json!({})).await;
    let memories = page["memories"].as_array().expect("memories");
    let inference = memories.iter().find(|memory| memory["isInference"] == true);
    let id = inference.expect("an inference")["id"]
        .as_str()
        .expect("an id");

    for query in [
        "include=related,documents",
        "include=related&include=documents",
    ] {
        let found = get_memory(&client, id, query).await;
        let document = &found["included"]["document"];
        assert_eq!(
            document["id"], "talk",
            "the caller's own id, and not {talk}"
        );
        let siblings = &found["included"]["related"]["siblings"];
        assert_eq!(collect_field(siblings, "relation"), ["derives", "derives"]);
        assert_eq!(siblings[0]["document"], *document);
    }
    let found = get_memory(&client, id, "include=related&relatedLimit=1").await;
    let siblings = found["included"]["related"]["siblings"].as_array();
    assert_eq!(siblings.map(Vec::len), Some(1));
    assert_eq!(siblings.expect("siblings")[0].get("document"), None);
    let found = get_memory(&client, id, "include=documents").await;
    assert_eq!(found["included"].get("related"), None);
}

#[tokio::test]
async fn each_id_is_forgotten_by_itself() {
    let client = client_with_box().await;
    let mill = write_memory(&client, "The mill was sold.").await;
    let ferry = write_memory(&client, "The ferry leaves at eight.").await;
    let rain = write_memory(&client, "It rains.").await;
    forget_memory(&client, json!({"id": rain})).await;

    let unknown = "1111111111111111111111";
    let body = json!({"ids": [mill, unknown, "no id", rain, mill]});
    let gone = forget(&client, MEMORIES, body).await;
    assert_eq!(gone["count"], 1);
    let matches = json!([{"id": mill, "memory": "The mill was sold."}]);
    assert_eq!(gone["matches"], matches);
    assert_eq!(
        collect_field(&gone["errors"], "id"),
        [unknown, "no id", &rain]
    );
    let messages = collect_field(&gone["errors"], "error");
    assert_eq!(messages[..2], ["Memory not found", "Memory not found"]);
    assert!(messages[2].contains("already forgotten"), "{messages:?}");
    assert_eq!(
        live_sentences(&client).await,
        ["The ferry leaves at eight."]
    );

    let gone = forget(&client, MEMORIES, json!({"ids": [ferry]})).await;
    assert_eq!(gone["count"], 1);
    assert!(live_sentences(&client).await.is_empty());
}

#[tokio::test]
async fn matches_of_a_question_are_forgotten_or_only_shown() {
    let client = client_with_box().await;
    let mill = write_memory(&client, "The mill was sold.").await;
    write_memory(&client, "Mara plays the violin.").await;
    let matches = json!([{"id": mill, "memory": "The mill was sold."}]);
    let expected = |count: usize| json!({"count": count, "errors": [], "matches": matches});

    let preview = json!({"query": "Who sold the mill?", "dryRun": true});
    assert_eq!(
        forget(&client, MATCHING, preview.clone()).await,
        expected(0)
    );
    assert_eq!(live_sentences(&client).await.len(), 2);
    let body = json!({"query": "Who sold the mill?", "dryRun": false});
    assert_eq!(forget(&client, MATCHING, body).await, expected(1));
    assert_eq!(live_sentences(&client).await, ["Mara plays the violin."]);
    assert_eq!(
        forget(&client, MATCHING, preview).await["matches"],
        json!([])
    );
}

#[tokio::test]
async fn a_memory_of_another_namespace_is_unknown() {
    let client = client_with_box().await;
    let memory = write_memory(&client, "The mill was sold.").await;
    client
        .add_document(json!({"content": "It begins.", "containerTag": "other"}))
        .await;
    let unknown = "1111111111111111111111";
    for id in [&memory, unknown, "no-id"] {
        let answer = client.get(&format!("/ns/other/memories/{id}")).await;
        expect_error(&answer, 404, "NotFoundError", "Memory not found");
        let gone = forget(&client, "/ns/other/memories", json!({"ids": [id]})).await;
        let errors = json!([{"id": id, "error": "Memory not found"}]);
        assert_eq!(gone, json!({"count": 0, "errors": errors, "matches": []}));
    }
    let body = json!({"query": "Who sold the mill?", "dryRun": false});
    let gone = forget(&client, "/ns/other/memories/semantic", body).await;
    assert_eq!(gone["count"], 0);
    assert_eq!(live_sentences(&client).await, ["The mill was sold."]);
}
