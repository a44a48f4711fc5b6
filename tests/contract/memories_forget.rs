//! `DELETE /v4/memories` and `POST /v4/memories/forget-matching`.

use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::{OrgClient, collect_field};
use crate::memories::{
    client_with_box, latest_memories, latest_memory, live_sentences, searched_sentences,
    send_conversation, write_memories, write_memory,
};
use crate::memories_update::correct_memory;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};

async fn send_forget(client: &OrgClient, more: Value) -> TestAnswer {
    let body = merge_shapes(json!({"containerTag": "box"}), &more);
    client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &body)
        .await
}

/// Forgets a memory and returns the answer.
pub(crate) async fn forget_memory(client: &OrgClient, more: Value) -> Value {
    let shape =
        json!({"id": "string", "forgotten": "bool", "forgottenMemories": ["id"], "kind": "string"});
    expect_ok(send_forget(client, more).await, &shape)
}

/// Forgets matching memories and returns the answer.
async fn forget_matching(client: &OrgClient, more: Value) -> Value {
    let answer = client
        .post(
            "/v4/memories/forget-matching",
            merge_shapes(json!({"containerTag": "box"}), &more),
        )
        .await;
    let found = if more["dryRun"] == true {
        "candidates"
    } else {
        "forgotten"
    };

    let mut shape =
        json!({"dryRun": "bool", "count": "int", "forgetBatchId": "id|null", "summary": "string"});
    shape[found] = json!([{"id": "id", "memory": "string", "score": "unit"}]);

    expect_ok(answer, &shape)
}

#[tokio::test]
async fn a_forgotten_memory_is_not_named_as_a_contradiction() {
    let client = client_with_box().await;
    for (content, provenance) in [
        ("Anna lives in Bonn.", "user"),
        ("Anna lives in Rome.", "external"),
    ] {
        let body = json!({"content": content, "containerTag": "box", "provenance": provenance});
        client.add_document(body).await;
    }
    let find = |entries: &[Value], town: &str| {
        let text = format!("Anna lives in {town}.");
        let found = entries.iter().find(|entry| entry["memory"] == text);
        found.unwrap_or_else(|| panic!("no {text}")).clone()
    };
    let search = json!({
        "q": "Where does Anna live?", "containerTag": "box", "searchMode": "memories",
        "threshold": 0, "explain": true,
    });

    let rome = find(&latest_memories(&client).await, "Rome")["id"].clone();
    for contradictions in [json!([rome]), json!([])] {
        let bonn = find(&latest_memories(&client).await, "Bonn");
        assert_eq!(bonn["contradicts"], contradictions);
        let found = client.post("/v4/search", search.clone()).await.body;
        let results = found["results"].as_array().expect("results");
        let bonn = find(results, "Bonn");
        assert_eq!(bonn["explain"]["contradicts"], contradictions);

        if contradictions != json!([]) {
            forget_memory(&client, json!({"id": rome})).await;
        }
    }
}

#[tokio::test]
async fn a_forgotten_memory_is_listed_as_such_and_found_no_more() {
    let client = client_with_box().await;
    let id = write_memory(&client, "The mill was sold.").await;
    write_memory(&client, "The mill stands by the river.").await;
    let gone = forget_memory(&client, json!({"id": id, "reason": "It was bought back."})).await;
    assert_eq!(
        gone,
        json!({"id": id, "forgotten": true, "forgottenMemories": [id], "kind": "memory"})
    );
    assert_eq!(
        live_sentences(&client).await,
        ["The mill stands by the river."]
    );
    assert_eq!(
        searched_sentences(&client, "Who sold the mill?").await,
        ["The mill stands by the river."]
    );

    let shown = latest_memory(&client, &id).await;
    assert_eq!(
        (&shown["isForgotten"], &shown["forgetReason"]),
        (&json!(true), &json!("It was bought back."))
    );

    for again in [json!({"id": id}), json!({"content": "The mill was sold."})] {
        expect_error(
            &send_forget(&client, again).await,
            409,
            "ConflictError",
            "already forgotten",
        );
    }

    let other = forget_memory(
        &client,
        json!({"content": " The mill stands by the river. "}),
    )
    .await;
    assert_eq!(other["forgottenMemories"], json!([other["id"]]));
    assert!(live_sentences(&client).await.is_empty());
}

#[tokio::test]
async fn what_is_dated_in_the_future_is_forgotten_as_well() {
    let client = client_with_box().await;
    for date in ["2031-01-01", "2032-01-01"] {
        let dated =
            json!([{"content": "The mill was sold.", "temporalContext": {"documentDate": date}}]);
        write_memories(&client, dated).await;
    }
    forget_memory(&client, json!({"content": "The mill was sold."})).await;
    assert!(live_sentences(&client).await.is_empty());
}

#[tokio::test]
async fn words_that_stand_twice_are_forgotten_twice() {
    let client = client_with_box().await;
    write_memory(&client, "The mill was sold.").await;
    write_memory(&client, "Somebody has bought it.").await;
    correct_memory(
        &client,
        json!({"content": "Somebody has bought it.", "newContent": "The mill was sold."}),
    )
    .await;
    assert_eq!(live_sentences(&client).await, ["The mill was sold."; 2]);
    let gone = forget_memory(&client, json!({"content": "The mill was sold."})).await;
    assert_eq!(gone["forgottenMemories"].as_array().unwrap().len(), 2);
    assert!(live_sentences(&client).await.is_empty());
}

#[tokio::test]
async fn what_has_expired_is_forgotten_already() {
    let client = client_with_box().await;
    let short = json!([{"content": "The shop is shut.", "forgetAfter": "2026-01-02", "forgetReason": "Holidays."}]);
    let id = write_memories(&client, short).await["memories"][0]["id"].clone();
    assert_eq!(live_sentences(&client).await, ["The shop is shut."]);
    client.app.environment.clock.advance_seconds(2 * 86_400);
    assert!(
        live_sentences(&client).await.is_empty()
            && searched_sentences(&client, "shop").await.is_empty()
    );
    expect_error(
        &send_forget(&client, json!({"id": id})).await,
        409,
        "ConflictError",
        "already forgotten",
    );
}

#[tokio::test]
async fn forgetting_the_present_answer_does_not_bring_back_the_one_before() {
    let client = client_with_box().await;
    let old = write_memory(&client, "I live in Bonn.").await;
    let new = write_memory(&client, "I live in Oslo.").await;
    forget_memory(&client, json!({"id": new})).await;
    assert!(live_sentences(&client).await.is_empty());

    let before = forget_memory(&client, json!({"id": old})).await;
    assert_eq!(
        before["forgottenMemories"],
        json!([old]),
        "an old version can be forgotten as well"
    );
    assert_eq!(
        latest_memory(&client, &new).await["history"][0]["isForgotten"],
        true
    );
}

#[tokio::test]
async fn what_is_forgotten_is_not_shown_beside_results() {
    let client = client_with_box().await;
    let old = write_memory(&client, "I live in Bonn.").await;
    write_memory(&client, "I live in Oslo.").await;
    forget_memory(&client, json!({"id": old})).await;

    for (forgotten, parents) in [(false, vec![]), (true, vec!["I live in Bonn."])] {
        let body = json!({
            "q": "Where do I live?", "containerTag": "box", "threshold": 0, "explain": true,
            "include": {"relatedMemories": true, "forgottenMemories": forgotten},
        });
        let answer = client.post("/v4/search", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let rows = answer.body["results"].as_array().expect("rows");
        let mut rows = rows.iter();
        let row = rows.find(|row| row["memory"] == "I live in Oslo.");
        let row = row.expect("the present answer");

        let shown = collect_field(&row["context"]["parents"], "memory");
        assert_eq!(shown, parents);
        let shown = collect_field(&row["explain"]["history"], "memory");
        assert_eq!(shown, [parents, vec!["I live in Oslo."]].concat());
    }
}

#[tokio::test]
async fn a_document_or_a_chunk_of_it_names_the_memories_that_it_supports() {
    let client = client_with_box().await;
    let filler =
        "The quarterly figures are kept in the usual folder on the shared drive of the office. "
            .repeat(30);
    let content = format!("Anna lives in Bonn.\n\n{filler}\n\nBen lives in Kiel.");
    let document = client
        .add_document(json!({"content": content, "containerTag": "box"}))
        .await;
    write_memory(&client, "Cara lives in Graz.").await;
    let ours = ["Anna lives in Bonn.", "Ben lives in Kiel."];
    let before = live_sentences(&client).await;
    assert!(
        ours.iter().all(|text| before.contains(&(*text).to_owned())),
        "{before:?}"
    );

    let chunks = client
        .get(&format!("/v3/documents/{document}/chunks"))
        .await
        .body["chunks"]
        .clone();
    let chunks = chunks.as_array().unwrap();
    let last = chunks
        .iter()
        .find(|chunk| chunk["content"].as_str().unwrap().contains("Ben lives"))
        .unwrap();
    assert!(
        !last["content"].as_str().unwrap().contains("Anna"),
        "the filler parts them"
    );

    let gone = forget_memory(&client, json!({"id": last["id"]})).await;
    assert_eq!((&gone["kind"], &gone["id"]), (&json!("chunk"), &last["id"]));
    assert!(!live_sentences(&client).await.contains(&ours[1].to_owned()));
    assert!(live_sentences(&client).await.contains(&ours[0].to_owned()));
    expect_error(
        &send_forget(&client, json!({"id": last["id"]})).await,
        409,
        "ConflictError",
        "chunk",
    );

    let gone = forget_memory(&client, json!({"id": document})).await;
    assert_eq!(
        (&gone["kind"], &gone["id"]),
        (&json!("document"), &json!(document))
    );
    assert_eq!(live_sentences(&client).await, ["Cara lives in Graz."]);
    expect_error(
        &send_forget(&client, json!({"id": document})).await,
        409,
        "ConflictError",
        "document",
    );
    assert_eq!(
        client.get_document(&document).await["status"],
        "done",
        "the document itself stays"
    );

    for unknown in [
        format!("{document}-999"),
        format!("{document}-x"),
        format!("{document}-"),
        "-0".into(),
    ] {
        expect_error(
            &send_forget(&client, json!({"id": unknown})).await,
            404,
            "NotFoundError",
            "not found",
        );
    }

    let silent = client
        .add_document(
            json!({"content": "It begins.", "containerTag": "box", "taskType": "superrag"}),
        )
        .await;
    for id in [silent.clone(), format!("{silent}-0")] {
        expect_error(
            &send_forget(&client, json!({"id": id})).await,
            404,
            "NotFoundError",
            "not found",
        );
    }
}

#[tokio::test]
async fn what_is_forgotten_stays_so_when_its_document_is_processed_again() {
    let client = client_with_box().await;
    let document = client
        .add_document(json!({"content": "Anna lives in Bonn.", "containerTag": "box"}))
        .await;
    forget_memory(&client, json!({"content": "Anna lives in Bonn."})).await;
    for content in [
        "Anna lives in Bonn. ",
        "Anna lives in Bonn.\n\nBen lives in Kiel.",
    ] {
        client
            .update_document(&document, json!({"content": content}))
            .await;
        client.run_until_settled().await;
        assert!(
            !live_sentences(&client)
                .await
                .contains(&"Anna lives in Bonn.".to_owned()),
            "{content}"
        );
    }

    assert_eq!(live_sentences(&client).await, ["Ben lives in Kiel."]);
    send_conversation(&client, &["Anna lives in Bonn."]).await;
    assert!(
        live_sentences(&client)
            .await
            .contains(&"Anna lives in Bonn.".to_owned()),
        "it was said anew"
    );
}

#[tokio::test]
async fn a_question_forgets_what_it_finds_and_nothing_before_that() {
    let client = client_with_box().await;
    for text in [
        "The ferry leaves at eight.",
        "The ferry is painted blue.",
        "Mara likes quiet rooms.",
    ] {
        write_memory(&client, text).await;
    }

    let asked = json!({"query": "When does the ferry leave?", "dryRun": true, "threshold": 0.3});
    let dry = forget_matching(&client, asked.clone()).await;
    assert_eq!(
        (&dry["dryRun"], &dry["forgetBatchId"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(dry["count"], dry["candidates"].as_array().unwrap().len());
    assert_eq!(dry["candidates"][0]["memory"], "The ferry leaves at eight.");
    assert!(
        !collect_field(&dry["candidates"], "memory")
            .contains(&"Mara likes quiet rooms.".to_owned())
    );
    assert_eq!(
        live_sentences(&client).await.len(),
        3,
        "nothing has happened yet"
    );

    let one = forget_matching(
        &client,
        merge_shapes(
            asked.clone(),
            &json!({"dryRun": "false", "maxForget": "1", "reason": "Old."}),
        ),
    )
    .await;
    assert_eq!(
        (&one["count"], &one["summary"]),
        (&json!(1), &json!("1 memory forgotten."))
    );
    assert!(one["forgetBatchId"].is_string());
    assert_eq!(
        live_sentences(&client).await,
        ["Mara likes quiet rooms.", "The ferry is painted blue."]
    );
    let shown = latest_memories(&client)
        .await
        .into_iter()
        .find(|entry| entry["isForgotten"] == true)
        .unwrap();
    assert_eq!(
        (&shown["id"], &shown["forgetReason"]),
        (&one["forgotten"][0]["id"], &json!("Old."))
    );
    let none = forget_matching(
        &client,
        json!({"query": "volcanoes of Iceland", "threshold": 0.95}),
    )
    .await;
    assert_eq!(
        (&none["count"], &none["forgetBatchId"], &none["forgotten"]),
        (&json!(0), &Value::Null, &json!([]))
    );
}

#[tokio::test]
async fn many_are_forgotten_by_their_ids() {
    let client = client_with_box().await;
    let mut all = Vec::new();
    let sent: Vec<Value> = (0..45)
        .map(|n| json!({"content": format!("Fact number {n} holds.")}))
        .collect();
    all.extend(collect_field(
        &write_memories(&client, json!(sent)).await["memories"],
        "id",
    ));
    let kept = write_memory(&client, "This one stays.").await;
    let corrected = correct_memory(
        &client,
        json!({"id": kept, "newContent": "This one stays here."}),
    )
    .await;
    forget_memory(&client, json!({"id": all[0]})).await;
    let mut named = all.clone();
    named.extend(["1111111111111111111111".into(), "x".into(), all[3].clone()]);
    let dry = forget_matching(&client, json!({"ids": named, "dryRun": true})).await;
    assert_eq!(
        dry["count"], 44,
        "known ones that are not forgotten, each once"
    );

    let gone = forget_matching(&client, json!({"ids": named})).await;
    assert_eq!(
        (&gone["count"], &gone["forgotten"][0]["score"]),
        (&json!(44), &json!(1.0))
    );
    assert_eq!(live_sentences(&client).await, ["This one stays here."]);

    let again = json!({"containerTag": "box", "ids": all});
    expect_error(
        &client.post("/v4/memories/forget-matching", again).await,
        409,
        "ConflictError",
        "already forgotten",
    );

    let unknown = json!({"containerTag": "box", "ids": ["1111111111111111111111", ""]});
    expect_error(
        &client.post("/v4/memories/forget-matching", unknown).await,
        404,
        "NotFoundError",
        "Memory",
    );
    assert_eq!(
        latest_memory(&client, corrected["id"].as_str().unwrap()).await["isForgotten"],
        false
    );
}

#[tokio::test]
async fn wrong_requests_are_refused_and_the_place_named() {
    let client = client_with_box().await;
    write_memory(&client, "The mill was sold.").await;
    let mut faults = ErrorMismatches::default();
    for (body, named) in [
        (json!({"id": "x"}), "containerTag"),
        (json!({"containerTag": "box"}), "id"),
        (
            json!({"containerTag": "box", "id": "x", "content": "y"}),
            "not both",
        ),
        (json!({"containerTag": "box", "id": ""}), "id"),
        (json!({"containerTag": "box", "content": " "}), "content"),
        (json!({"containerTag": "box", "id": 7}), "id"),
        (
            json!({"containerTag": "box", "id": "x", "reason": "x".repeat(1001)}),
            "reason",
        ),
    ] {
        let answer = client
            .app
            .call_json("DELETE", "/v4/memories", &client.key, &body)
            .await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }

    let query = |more: Value| merge_shapes(json!({"containerTag": "box", "query": "mill"}), &more);
    for (body, named) in [
        (json!({"query": "mill"}), "containerTag"),
        (json!({"containerTag": "box"}), "query"),
        (query(json!({"ids": ["x"]})), "not both"),
        (query(json!({"query": " "})), "query"),
        (query(json!({"query": "x".repeat(2001)})), "query"),
        (query(json!({"threshold": 1.5})), "threshold"),
        (query(json!({"threshold": "high"})), "threshold"),
        (query(json!({"maxForget": 0})), "maxForget"),
        (query(json!({"maxForget": 501})), "maxForget"),
        (query(json!({"dryRun": "perhaps"})), "dryRun"),
        (json!({"containerTag": "box", "ids": []}), "ids"),
        (json!({"containerTag": "box", "ids": vec!["x"; 501]}), "ids"),
    ] {
        let answer = client
            .post("/v4/memories/forget-matching", body.clone())
            .await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }
    faults.assert_none();

    for id in [
        "1111111111111111111111",
        "x",
        "../../etc",
        "1111111111111111111111-0",
        "é-0",
    ] {
        expect_error(
            &send_forget(&client, json!({"id": id})).await,
            404,
            "NotFoundError",
            "not found",
        );
    }

    expect_error(
        &send_forget(&client, json!({"content": "Never written."})).await,
        404,
        "NotFoundError",
        "Memory",
    );

    for path in ["/v4/memories", "/v4/memories/forget-matching"] {
        let body = json!({"containerTag": "nowhere", "id": "x", "query": "mill"});
        let body = if path == "/v4/memories" {
            body
        } else {
            json!({"containerTag": "nowhere", "query": "mill"})
        };
        let method = if path == "/v4/memories" {
            "DELETE"
        } else {
            "POST"
        };
        let answer = client.app.call_json(method, path, &client.key, &body).await;
        expect_error(&answer, 404, "NotFoundError", "Container tag");
    }

    assert_eq!(live_sentences(&client).await, ["The mill was sold."]);
}
