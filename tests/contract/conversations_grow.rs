//! `POST /v4/conversations` under an id that already has turns: new turns are added, and none is
//! ever lost.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error};

fn build_turn(text: &str) -> Value {
    let role = if text.starts_with('A') {
        "assistant"
    } else {
        "user"
    };
    json!({"role": role, "content": format!("{text} says something of its own.")})
}

fn build_messages(turns: &[&str]) -> Value {
    let turns: Vec<Value> = turns.iter().map(|text| build_turn(text)).collect();
    json!({"conversationId": "talk", "messages": turns})
}

/// Sends turns and processes them.
async fn send_conversation(client: &OrgClient, body: Value) {
    let answer = client.post("/v4/conversations", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;
}

/// Returns the first words of all turns, and the revision.
async fn stored_turns(client: &OrgClient) -> (Vec<String>, u64) {
    let document = client.get_document("talk").await;
    assert_eq!(document["status"], "done", "{document}");
    let text = document["content"].as_str().expect("text");
    let words = text
        .split("\n\n")
        .filter_map(|turn| turn.split_once(": ")?.1.split(' ').next());
    (
        words.map(str::to_owned).collect(),
        document["latestRevision"].as_u64().expect("a number"),
    )
}

#[tokio::test]
async fn turns_are_added_however_the_client_sends_them() {
    let client = OrgClient::new().await;
    for (sent, wanted, revision) in [
        (vec!["U1", "A1"], vec!["U1", "A1"], 1),
        (
            vec!["U1", "A1", "U2", "A2"],
            vec!["U1", "A1", "U2", "A2"],
            2,
        ), // the full history
        (
            vec!["U3", "A3"],
            vec!["U1", "A1", "U2", "A2", "U3", "A3"],
            3,
        ), // only what is new
        (
            vec!["U3", "A3", "U4"],
            vec!["U1", "A1", "U2", "A2", "U3", "A3", "U4"],
            4,
        ), // the latest part
        (
            vec!["U4"],
            vec!["U1", "A1", "U2", "A2", "U3", "A3", "U4"],
            4,
        ), // a retry
        (
            vec!["U1", "A1"],
            vec!["U1", "A1", "U2", "A2", "U3", "A3", "U4"],
            4,
        ), // an old part that arrives late
        (
            vec!["U1", "A1", "U2b"],
            vec!["U1", "A1", "U2", "A2", "U3", "A3", "U4", "U2b"],
            5,
        ), // a different continuation
    ] {
        send_conversation(&client, build_messages(&sent)).await;
        assert_eq!(
            stored_turns(&client).await,
            (
                wanted.iter().map(|text| (*text).to_owned()).collect(),
                revision
            ),
            "{sent:?}"
        );
    }

    assert_eq!(client.listed_ids(json!({})).await.len(), 1);
    for word in ["U1", "A3", "U2b"] {
        assert!(client.search_finds(&format!("{word} says")).await, "{word}");
    }
}

#[tokio::test]
async fn the_same_turns_again_change_nothing() {
    let client = OrgClient::new().await;
    send_conversation(&client, build_messages(&["U1", "A1"])).await;
    let before = client.get_document("talk").await;
    client.app.environment.clock.advance_seconds(100_000);
    let answer = client
        .post("/v4/conversations", build_messages(&["U1", "A1"]))
        .await
        .body;
    assert_eq!(
        (&answer["status"], &answer["conversationId"]),
        (&json!("done"), &json!("talk"))
    );
    assert_eq!(client.get_document("talk").await, before);
}

#[tokio::test]
async fn concurrent_posts_lose_no_turn() {
    let client = OrgClient::new().await;
    send_conversation(&client, build_messages(&["U0"])).await;
    let names: Vec<String> = (1..=6).map(|i| format!("U{i}")).collect();
    let posts = names
        .iter()
        .map(|name| client.post("/v4/conversations", build_messages(&[name.as_str()])));
    for answer in join_all(posts).await {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    client.run_until_settled().await;
    let (mut found, revision) = stored_turns(&client).await;
    assert_eq!((found.remove(0), revision), ("U0".to_owned(), 7));
    found.sort();
    assert_eq!(found, names);

    for name in &names {
        assert!(client.search_finds(&format!("{name} says")).await, "{name}");
    }
}

#[tokio::test]
async fn every_chunk_has_the_day_of_its_turns() {
    let client = OrgClient::new().await;
    let long = |word: &str| json!({"role": "user", "content": format!("{word} {}", "goes on about the harbour. ".repeat(40))});
    let mut first = json!({"conversationId": "talk", "messages": [long("U1"), long("U2")]});
    first["documentDate"] = json!("2025-04-15");
    send_conversation(&client, first).await;

    // A turn without a date gets the day of its arrival.
    send_conversation(
        &client,
        json!({"conversationId": "talk", "messages": [long("U3"), long("U4")]}),
    )
    .await;
    let body = client.get("/v3/documents/talk/chunks").await.body;
    let chunks = body["chunks"].as_array().expect("chunks");
    assert!(chunks.len() >= 4, "{body}");

    for chunk in chunks {
        let text = chunk["content"].as_str().expect("text");
        let is_old = ["U1", "U2"]
            .iter()
            .any(|word| text.contains(&format!("{word} goes")));
        let is_new = ["U3", "U4"]
            .iter()
            .any(|word| text.contains(&format!("{word} goes")));
        let day = chunk["metadata"]["headings"][0].as_str().expect("a day");
        assert!(
            day == "Tuesday, 15 April 2025" || day == "Thursday, 1 January 2026",
            "{day}"
        );
        assert!(!is_old || day.contains("April"), "{day}: {text}");
        assert!(
            is_old || !is_new || day.contains("January"),
            "{day}: {text}"
        );
    }

    let found = client.search_texts("what did they say in April").await;
    assert!(
        found[0].contains("U1 goes")
            || found[0].contains("U2 goes")
            || found[0].contains("harbour"),
        "{found:?}"
    );
}

#[tokio::test]
async fn tool_calls_are_found_by_their_name_and_arguments() {
    let client = OrgClient::new().await;
    let call = |name: &str, arguments: Value| json!({"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}});
    let messages = json!([
        {"role": "user", "content": "When does the ferry leave?"},
        {"role": "assistant", "content": null, "tool_calls": [
            call("find_ferry", json!(r#"{"pier":"PIER-909"}"#)), call("look_up", json!({"port": "PORT-808"})),
        ]},
        {"role": "assistant", "content": "One moment.", "tool_calls": [{"broken": true}, call("no_arguments", Value::Null)]},
        {"role": "tool", "tool_call_id": "1", "content": "At noon."},
    ]);
    send_conversation(
        &client,
        json!({"conversationId": "talk", "messages": messages}),
    )
    .await;

    for word in [
        "find_ferry",
        "PIER-909",
        "look_up",
        "PORT-808",
        "no_arguments",
        "At noon",
    ] {
        assert!(client.search_finds(word).await, "{word}");
    }

    let text = client.get_document("talk").await["content"].to_string();
    let long =
        json!([{"role": "assistant", "tool_calls": [call("write", json!("x".repeat(5000)))]}]);
    send_conversation(&client, json!({"conversationId": "talk", "messages": long})).await;
    let more = client.get_document("talk").await["content"]
        .to_string()
        .len()
        - text.len();
    assert!((400..800).contains(&more), "long arguments are cut: {more}");
}

#[tokio::test]
async fn the_turns_around_a_found_one_come_with_it_when_asked_for() {
    let client = OrgClient::new().await;
    let filler =
        "The weather at sea is calm and nobody has anything to report from the deck. ".repeat(12);
    let mut messages: Vec<Value> = (0..9)
        .map(|i| json!({"role": "user", "content": format!("TURN-{i} {filler}")}))
        .collect();
    messages[4] =
        json!({"role": "user", "content": format!("TURN-4 The password is OSPREY-11. {filler}")});
    send_conversation(
        &client,
        json!({"conversationId": "talk", "messages": messages}),
    )
    .await;
    let ask = |only: bool| json!({"q": "OSPREY-11 password", "onlyMatchingChunks": only, "chunkThreshold": 0.5});
    let found = client.post("/v3/search", ask(false)).await.body;
    let chunks = found["results"][0]["chunks"]
        .as_array()
        .expect("chunks")
        .clone();
    let place = chunks.iter().position(|chunk| {
        chunk["content"]
            .as_str()
            .is_some_and(|text| text.contains("OSPREY-11"))
    });
    let place = place.expect("the turn");
    assert_eq!(chunks[place]["isRelevant"], true);

    let position = |i: usize| chunks[i]["position"].as_u64().expect("a place");
    assert!(
        place > 0 && place + 1 < chunks.len(),
        "it has neighbours: {found}"
    );
    assert_eq!(
        (position(place - 1) + 1, position(place + 1)),
        (position(place), position(place) + 1)
    );
    assert!(
        chunks.iter().any(|chunk| chunk["isRelevant"] == false),
        "{found}"
    );

    let alone = client.post("/v3/search", ask(true)).await.body;
    let chunks = alone["results"][0]["chunks"].as_array().expect("chunks");
    assert!(
        chunks.iter().all(|chunk| chunk["isRelevant"] == true),
        "{alone}"
    );
}

#[tokio::test]
async fn a_conversation_grows_to_eight_megabytes_and_no_further() {
    let client = OrgClient::new().await;
    let part = |i: usize| json!({"conversationId": "talk", "messages": [{"role": "user", "content": format!("{i}{}", "x".repeat(1_048_000))}]});
    for i in 0..8 {
        let answer = client.post("/v4/conversations", part(i)).await;
        assert_eq!(answer.status, 200, "{i}: {}", answer.body);
    }

    let before = client
        .stored_record(
            client.post("/v4/conversations", part(7)).await.body["id"]
                .as_str()
                .expect("an id"),
        )
        .await;
    expect_error(
        &client.post("/v4/conversations", part(8)).await,
        413,
        "PayloadTooLargeError",
        "conversationId",
    );

    let id = before.as_ref().expect("a record").id.to_string();
    assert_eq!(client.stored_record(&id).await, before, "what it has stays");
}

#[tokio::test]
async fn an_id_of_something_else_becomes_a_conversation_and_back() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "A text.", "customId": "talk"}))
        .await;
    send_conversation(&client, build_messages(&["U1"])).await;
    assert_eq!(stored_turns(&client).await.0, ["U1"]);

    client
        .update_document("talk", json!({"content": "A text again."}))
        .await;
    client.run_until_settled().await;
    send_conversation(&client, build_messages(&["U2"])).await;
    assert_eq!(
        (
            stored_turns(&client).await.0,
            client.listed_ids(json!({})).await
        ),
        (vec!["U2".to_owned()], vec![id])
    );

    let mut faults = ErrorMismatches::default();
    let reader = client
        .app
        .create_key_with("acme", domain::key::Permission::Read, None)
        .await;
    let answer = client
        .app
        .post("/v4/conversations", &reader, &build_messages(&["U3"]))
        .await;
    faults.check_error("a reading key", &answer, 403, "PermissionError", "read");
    faults.assert_none();
}
