//! `POST /v4/search` over memories: versions, the past, optional parts, and alternative forms of
//! requests.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::memories::{client_with_box, write_memories, write_memory};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;
use crate::shape::expect_error;

/// Returns the rows of a search in `box`.
async fn search_memories(client: &OrgClient, q: &str, more: Value) -> Vec<Value> {
    let mut body = json!({"q": q, "containerTag": "box"});
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    let answer = client.post("/v4/search", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["results"].as_array().expect("rows").clone()
}

fn row_texts(rows: &[Value]) -> Vec<String> {
    collect_field(&json!(rows), "memory")
}

/// Sends a message on a day, in a conversation of its own.
async fn say_on_day(client: &OrgClient, day: &str, text: &str) {
    let body = json!({
        "conversationId": format!("on {day}"), "containerTag": "box", "documentDate": day,
        "messages": [{"role": "user", "content": text}],
    });
    assert_eq!(client.post("/v4/conversations", body).await.status, 200);
    client.run_until_settled().await;
}

#[tokio::test]
async fn the_newest_answer_is_found_and_the_older_ones_are_its_context() {
    let client = client_with_box().await;
    for (day, text) in [
        ("2025-01-10", "I live in Bonn."),
        ("2025-03-10", "I moved to Lisbon."),
        ("2025-06-10", "I moved to Oslo."),
    ] {
        say_on_day(&client, day, text).await;
    }

    let rows = search_memories(
        &client,
        "Where do I live?",
        json!({"include": {"relatedMemories": true}, "explain": true}),
    )
    .await;
    assert_eq!(row_texts(&rows), ["User moved to Oslo."]);
    let row = &rows[0];
    assert_eq!(row["version"], 3);
    let parents = row["context"]["parents"].as_array().expect("parents");
    let version = |parent: &Value| {
        (
            parent["memory"].clone(),
            parent["version"].clone(),
            parent["relation"].clone(),
        )
    };

    assert_eq!(
        parents.iter().map(version).collect::<Vec<_>>(),
        [
            (json!("User moved to Lisbon."), json!(-1), json!("updates")),
            (json!("User lives in Bonn."), json!(-2), json!("updates")),
        ]
    );
    let history = row["explain"]["history"].as_array().expect("history");
    let until: Vec<&Value> = history
        .iter()
        .map(|version| &version["validUntil"])
        .collect();
    assert_eq!(
        until,
        [
            &json!("2025-03-10T00:00:00.000Z"),
            &json!("2025-06-10T00:00:00.000Z"),
            &Value::Null
        ]
    );
    assert_eq!(row["explain"]["sources"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn newer_documents_take_no_places_of_a_search_of_the_past() {
    let client = client_with_box().await;
    let add = async |number: usize, text: &str| {
        let content = format!("{text} Note {number}.");
        client
            .add_document(json!({"content": content, "containerTag": "box"}))
            .await;
    };
    for number in 0..3 {
        add(number, "The harbour master counted boats.").await;
    }
    client.app.environment.clock.advance_seconds(24 * 3600);
    for number in 3..9 {
        add(number, "Where is the harbour? The harbour is here.").await;
    }

    let body = json!({"q": "Where is the harbour?", "containerTag": "box", "searchMode": "documents",
        "threshold": 0, "limit": 3, "asOf": {"believed": "2026-01-01T12:00:00Z"}});
    let answer = client.post("/v4/search", body).await;
    let found = answer.body["results"].as_array().unwrap();
    assert_eq!(found.len(), 3, "{}", answer.body);
    for row in found {
        assert!(row["chunk"].as_str().unwrap().contains("counted"), "{row}");
    }
}

#[tokio::test]
async fn the_past_is_what_was_believed_and_what_was_true() {
    let client = client_with_box().await;
    say_on_day(&client, "2025-03-10", "I moved to Lisbon.").await;
    client.app.environment.clock.advance_seconds(24 * 3600);
    // This is a late statement about an earlier time.
    say_on_day(&client, "2025-01-10", "I live in Bonn.").await;
    let now = "2026-01-03T00:00:00Z";

    for (as_of, expected) in [
        (json!(null), vec!["User moved to Lisbon."]),
        (
            json!({"believed": now, "true": "2025-02-01"}),
            vec!["User lives in Bonn."],
        ),
        (json!({"true": "2025-02-01"}), vec!["User lives in Bonn."]),
        (
            json!({"believed": "2026-01-01T12:00:00Z", "true": "2025-02-01"}),
            vec![],
        ),
        (
            json!({"believed": "2026-01-01T12:00:00Z"}),
            vec!["User moved to Lisbon."],
        ),
        (json!("2025-02-01"), vec![]),
        (json!(now), vec!["User moved to Lisbon."]),
    ] {
        let rows = search_memories(&client, "Where do I live?", json!({"asOf": as_of})).await;
        assert_eq!(row_texts(&rows), expected, "{as_of}");
    }

    for bad in [json!("yesterday"), json!(7), json!({"believed": "x"})] {
        let body = json!({"q": "x", "containerTag": "box", "asOf": bad});
        expect_error(
            &client.post("/v4/search", body).await,
            400,
            "ValidationError",
            "",
        );
    }
}

#[tokio::test]
async fn what_is_not_asked_for_is_not_shown() {
    let client = client_with_box().await;
    let id = write_memory(&client, "I play the cello.").await;
    let document = write_memories(
        &client,
        json!([{"content": "I keep bees.", "metadata": {"n": 1}}]),
    )
    .await;
    let rows = search_memories(
        &client,
        "Do I keep bees?",
        json!({"include": {"documents": true, "summaries": true, "chunks": true}}),
    )
    .await;
    assert_eq!(rows[0]["documents"][0]["id"], document["documentId"]);
    assert_eq!(
        (&rows[0]["documents"][0]["summary"], &rows[0]["chunks"]),
        (&Value::Null, &json!([]))
    );

    let rows = search_memories(&client, "Do I keep bees?", json!({})).await;
    for part in [
        "documents",
        "chunks",
        "context",
        "explain",
        "isForgotten",
        "isAggregated",
    ] {
        assert!(rows[0].get(part).is_none(), "{part}");
    }

    forget_memory(&client, json!({"id": id})).await;
    assert!(
        search_memories(&client, "Do I play the cello?", json!({"threshold": 0.6}))
            .await
            .is_empty()
    );

    let rows = search_memories(
        &client,
        "Do I play the cello?",
        json!({"include": {"forgottenMemories": true}}),
    )
    .await;
    assert_eq!(
        (&rows[0]["memory"], &rows[0]["isForgotten"]),
        (&json!("I play the cello."), &json!(true))
    );

    let body = json!({"q": "x", "containerTag": "box", "include": {"chunks": "many"}});
    expect_error(
        &client.post("/v4/search", body).await,
        400,
        "ValidationError",
        "include",
    );
}

#[tokio::test]
async fn what_has_expired_is_found_by_nobody_at_once() {
    let client = client_with_box().await;
    write_memories(
        &client,
        json!([{"content": "The gate code is 4471.", "forgetAfter": "2026-01-02T00:00:00Z"}]),
    )
    .await;
    assert_eq!(
        search_memories(&client, "What is the gate code?", json!({}))
            .await
            .len(),
        1
    );

    client.app.environment.clock.advance_seconds(2 * 24 * 3600);
    for mode in ["memories", "hybrid"] {
        assert!(
            search_memories(
                &client,
                "What is the gate code?",
                json!({"searchMode": mode})
            )
            .await
            .is_empty(),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn filters_and_paths_are_those_of_the_documents_behind_a_memory() {
    let client = client_with_box().await;
    for (name, town) in [("a", "Bonn"), ("b", "Rome")] {
        let body = json!({
            "content": format!("Anna lives in {town}."), "containerTag": "box", "customId": name,
            "metadata": {"book": name}, "filepath": format!("/{name}/notes.md"),
        });
        client.add_document(body).await;
    }

    let filter =
        |book: &str| json!({"filters": {"AND": [{"key": "book", "value": book}]}, "threshold": 0});
    assert_eq!(
        row_texts(&search_memories(&client, "Where does Anna live?", filter("b")).await),
        ["Anna lives in Rome."]
    );
    assert!(
        search_memories(&client, "Where does Anna live?", filter("a"))
            .await
            .is_empty(),
        "the older answer is history"
    );
    let path = |path: &str| json!({"filepath": path, "threshold": 0});
    assert_eq!(
        search_memories(&client, "Where does Anna live?", path("/b/"))
            .await
            .len(),
        1
    );
    assert!(
        search_memories(&client, "Where does Anna live?", path("/c/"))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn other_wordings_another_order_and_one_row_a_subject_invent_nothing() {
    let client = client_with_box().await;
    let written = [
        "I prefer tea over coffee.",
        "I play the cello.",
        "I keep bees in the garden.",
    ];
    write_memories(
        &client,
        json!(written.map(|content| json!({"content": content}))),
    )
    .await;
    let all = json!({"threshold": 0, "limit": 10});
    let plain = search_memories(&client, "What do I play?", all.clone()).await;
    for option in ["rerank", "rewriteQuery"] {
        let mut body = all.clone();
        body[option] = json!(true);
        let rows = search_memories(&client, "What do I play?", body).await;
        let sorted = |rows: &[Value]| {
            let mut texts = row_texts(rows);
            texts.sort();
            texts
        };
        assert_eq!(sorted(&rows), sorted(&plain), "{option}");
        assert_eq!(rows[0]["memory"], "I play the cello.", "{option}");
        assert!(
            rows.is_sorted_by(|a, b| a["similarity"].as_f64() >= b["similarity"].as_f64()),
            "{option}"
        );
    }

    let mut body = all;
    body["aggregate"] = json!(true);
    let rows = search_memories(&client, "What do I play?", body).await;
    assert!(rows.len() < plain.len(), "{rows:?}");
    let joined = rows
        .iter()
        .find(|row| row["isAggregated"] == true)
        .expect("a joined row");
    let text = joined["memory"].as_str().expect("its text");
    assert!(
        written
            .iter()
            .filter(|sentence| text.contains(*sentence))
            .count()
            > 1,
        "{text}"
    );
}

#[tokio::test]
async fn a_corrected_memory_is_found_as_it_was_corrected() {
    let client = client_with_box().await;
    let id = write_memory(&client, "My locker is number 12.").await;
    correct_memory(
        &client,
        json!({"id": id, "newContent": "My locker is number 21."}),
    )
    .await;
    let rows = search_memories(
        &client,
        "Which number is my locker?",
        json!({"include": {"relatedMemories": true}}),
    )
    .await;

    assert_eq!(row_texts(&rows), ["My locker is number 21."]);
    assert_eq!(
        rows[0]["context"]["parents"][0]["memory"],
        "My locker is number 12."
    );
    assert_eq!(rows[0]["rootMemoryId"], json!(id));
}

/// compat: the Python client says that the first version is null for memories that were never
/// replaced.
#[tokio::test]
async fn a_memory_without_other_versions_has_no_root() {
    let client = client_with_box().await;
    write_memory(&client, "My locker is number 12.").await;
    let rows = search_memories(&client, "Which number is my locker?", json!({})).await;
    assert_eq!(rows[0]["version"], 1);
    assert_eq!(rows[0].get("rootMemoryId"), Some(&Value::Null));
}
