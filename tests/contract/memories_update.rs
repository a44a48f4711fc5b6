//! `PATCH /v4/memories`.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::memories::{
    client_with_box, latest_memories, latest_memory, live_sentences, searched_sentences,
    send_conversation, write_memories, write_memory,
};
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};

/// Corrects a memory and returns the answer.
pub(crate) async fn correct_memory(client: &OrgClient, more: Value) -> Value {
    let shape = json!({
        "id": "id", "memory": "string", "version": "int", "parentMemoryId": "id|null", "rootMemoryId": "id",
        "createdAt": "time", "forgetAfter": "time|null", "forgetReason": "string|null", "metadata": "object|null",
    });
    expect_ok(
        client
            .send_patch(
                "/v4/memories",
                merge_shapes(json!({"containerTag": "box"}), &more),
            )
            .await,
        &shape,
    )
}

#[tokio::test]
async fn a_correction_is_the_next_version_and_the_old_one_its_history() {
    let client = client_with_box().await;
    let first = write_memory(&client, "The ferry leaves at eight.").await;
    let second = correct_memory(
        &client,
        json!({"id": first, "newContent": " The ferry leaves at nine. "}),
    )
    .await;
    assert_eq!(
        (&second["memory"], &second["version"]),
        (&json!("The ferry leaves at nine."), &json!(2))
    );
    assert_eq!(
        (&second["parentMemoryId"], &second["rootMemoryId"]),
        (&json!(first), &json!(first))
    );

    let by_content =
        json!({"content": "The ferry leaves at nine.", "newContent": "The ferry leaves at ten."});
    let third = correct_memory(&client, by_content).await;
    assert_eq!(
        (
            &third["version"],
            &third["parentMemoryId"],
            &third["rootMemoryId"]
        ),
        (&json!(3), &second["id"], &json!(first))
    );

    let shown = latest_memory(&client, third["id"].as_str().unwrap()).await;
    let history: Vec<(&Value, &Value)> = shown["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|old| (&old["id"], &old["isLatest"]))
        .collect();
    assert_eq!(
        history,
        [
            (&second["id"], &json!(false)),
            (&json!(first), &json!(false))
        ],
        "newest first"
    );
    assert_eq!(latest_memories(&client).await.len(), 1);
    assert_eq!(
        searched_sentences(&client, "When does the ferry leave?").await,
        ["The ferry leaves at ten."]
    );
}

#[tokio::test]
async fn what_is_not_named_is_taken_over() {
    let client = client_with_box().await;
    let sent = json!([{
        "content": "The ferry leaves at eight.", "isStatic": true, "metadata": {"a": 1}, "forgetAfter": "2027-01-01",
        "forgetReason": "The summer is over.", "temporalContext": {"eventDate": ["2026-07-01"]},
    }]);
    let old = write_memories(&client, sent).await["memories"][0]["id"].clone();
    let kept = correct_memory(
        &client,
        json!({"id": old, "newContent": "It leaves at nine."}),
    )
    .await;
    assert_eq!(
        (&kept["metadata"], &kept["forgetAfter"]),
        (&json!({"a": 1}), &json!("2027-01-01T00:00:00.000Z"))
    );
    assert_eq!(kept["forgetReason"], "The summer is over.");

    let shown = latest_memory(&client, kept["id"].as_str().unwrap()).await;
    assert_eq!(
        shown["temporalContext"]["eventDate"],
        json!(["2026-07-01T00:00:00.000Z"])
    );
    assert_eq!(
        (&shown["isStatic"], &shown["trust"]),
        (&json!(true), &json!("client"))
    );

    let cleared = json!({
        "id": kept["id"], "newContent": "It leaves at ten.", "metadata": null, "forgetAfter": null, "forgetReason": null,
        "temporalContext": null,
    });
    let cleared = correct_memory(&client, cleared).await;
    assert_eq!(
        [
            &cleared["metadata"],
            &cleared["forgetAfter"],
            &cleared["forgetReason"]
        ],
        [&Value::Null; 3]
    );

    let set = json!({"id": cleared["id"], "newContent": "It leaves.", "metadata": {"b": 2}, "forgetAfter": "2028-02-03"});
    let set = correct_memory(&client, set).await;
    assert_eq!(
        (&set["metadata"], &set["forgetAfter"]),
        (&json!({"b": 2}), &json!("2028-02-03T00:00:00.000Z"))
    );
}

#[tokio::test]
async fn a_correction_stays_when_its_document_is_processed_again_and_when_it_is_deleted() {
    let client = client_with_box().await;
    let document = client
        .add_document(json!({"content": "Anna lives in Bonn.", "containerTag": "box"}))
        .await;
    assert_eq!(live_sentences(&client).await, ["Anna lives in Bonn."]);
    correct_memory(
        &client,
        json!({"content": "Anna lives in Bonn.", "newContent": "Anna lives in Kiel."}),
    )
    .await;
    for content in [
        "Anna lives in Bonn. ",
        "Anna lives in Bonn.\n\nAnna's employer is Rheinwerft.",
    ] {
        client
            .update_document(&document, json!({"content": content}))
            .await;
        client.run_until_settled().await;
        let live = live_sentences(&client).await;
        assert!(live.contains(&"Anna lives in Kiel.".to_owned()), "{live:?}");
        assert!(
            !live.contains(&"Anna lives in Bonn.".to_owned()),
            "{live:?}"
        );
    }

    assert_eq!(
        client
            .delete(&format!("/v3/documents/{document}"))
            .await
            .status,
        204
    );
    assert_eq!(live_sentences(&client).await, ["Anna lives in Kiel."]);
}

#[tokio::test]
async fn a_correction_counts_as_said_after_what_it_corrects() {
    let client = client_with_box().await;
    let dated = |date: &str| json!([{"content": "I live in Bonn.", "temporalContext": {"documentDate": date}}]);
    write_memories(&client, dated("2031-01-01")).await;
    write_memories(&client, dated("2032-01-01")).await;
    let early = json!({
        "content": "I live in Bonn.", "newContent": "I live in Kiel.", "temporalContext": {"documentDate": "2020-01-01"},
    });

    correct_memory(&client, early).await;
    assert_eq!(live_sentences(&client).await, ["I live in Kiel."]);
    let new = write_memory(&client, "I live in Rome.").await;
    assert_eq!(
        live_sentences(&client).await,
        ["I live in Kiel."],
        "what was said earlier than 2032 is history: {new}"
    );
}

#[tokio::test]
async fn the_same_correction_again_is_a_retry() {
    let client = client_with_box().await;
    let id = write_memory(&client, "The ferry leaves at eight.").await;
    let body = json!({"id": id, "newContent": "The ferry leaves at nine.", "metadata": {"a": 1}});
    let first = correct_memory(&client, body.clone()).await;
    client.app.environment.clock.advance_seconds(60);
    assert_eq!(correct_memory(&client, body.clone()).await, first);
    client.app.environment.clock.advance_seconds(120);
    let late = client
        .send_patch(
            "/v4/memories",
            merge_shapes(body, &json!({"containerTag": "box"})),
        )
        .await;
    let newest = first["id"].as_str().expect("an id");
    expect_error(&late, 409, "ConflictError", "newer version");
    expect_error(&late, 409, "ConflictError", newest);
    assert_eq!(latest_memories(&client).await[0]["version"], 2);
}

#[tokio::test]
async fn the_same_correction_of_a_content_again_is_a_retry() {
    let client = client_with_box().await;
    write_memory(&client, "The ferry leaves at eight.").await;
    let body =
        json!({"content": "The ferry leaves at eight.", "newContent": "The ferry leaves at nine."});
    let first = correct_memory(&client, body.clone()).await;
    client.app.environment.clock.advance_seconds(60);
    assert_eq!(correct_memory(&client, body.clone()).await, first);

    let send = |body: Value| {
        client.send_patch(
            "/v4/memories",
            merge_shapes(body, &json!({"containerTag": "box"})),
        )
    };
    let other =
        json!({"content": "The ferry leaves at ten.", "newContent": "The ferry leaves at nine."});
    expect_error(&send(other).await, 404, "NotFoundError", "Memory");
    client.app.environment.clock.advance_seconds(120);
    expect_error(&send(body).await, 404, "NotFoundError", "Memory");
    assert_eq!(latest_memories(&client).await[0]["version"], 2);

    let nine = "The ferry leaves at nine.";
    let same = json!({"content": nine, "newContent": nine, "metadata": {"quay": 7}});
    let first = correct_memory(&client, same.clone()).await;
    assert_eq!(
        (&first["version"], &first["memory"]),
        (&json!(3), &json!(nine))
    );
    assert_eq!(correct_memory(&client, same).await, first);
}

#[tokio::test]
async fn only_the_latest_version_that_is_not_forgotten_can_be_corrected() {
    let client = client_with_box().await;
    let old = write_memory(&client, "The ferry leaves at eight.").await;
    let new = correct_memory(
        &client,
        json!({"id": old, "newContent": "The ferry leaves at nine."}),
    )
    .await;
    let document = send_conversation(&client, &["I live in Bonn."]).await;
    let send = |more: Value| {
        let body = merge_shapes(
            json!({"containerTag": "box", "newContent": "Other words."}),
            &more,
        );
        client.send_patch("/v4/memories", body)
    };
    expect_error(
        &send(json!({"id": old})).await,
        409,
        "ConflictError",
        "newer version",
    );

    for unknown in [
        json!({"id": "1111111111111111111111"}),
        json!({"id": "x"}),
        json!({"id": document}),
        json!({"content": "The ferry leaves at eight."}),
        json!({"content": "the ferry leaves at nine."}),
    ] {
        expect_error(&send(unknown).await, 404, "NotFoundError", "Memory");
    }

    let gone = json!({"containerTag": "box", "id": new["id"]}).to_string();
    assert_eq!(
        client
            .send_bytes("DELETE", "/v4/memories", "application/json", gone)
            .await
            .status,
        200
    );

    for named in [
        json!({"id": new["id"]}),
        json!({"content": "The ferry leaves at nine."}),
    ] {
        expect_error(&send(named).await, 409, "ConflictError", "forgotten");
    }

    let short = json!([{"content": "The shop is shut.", "forgetAfter": "2026-01-02"}]);
    let short = write_memories(&client, short).await["memories"][0]["id"].clone();
    client.app.environment.clock.advance_seconds(2 * 86_400);
    expect_error(
        &send(json!({"id": short})).await,
        409,
        "ConflictError",
        "forgotten",
    );

    let nowhere = json!({"containerTag": "nowhere", "id": new["id"], "newContent": "Words."});
    expect_error(
        &client.send_patch("/v4/memories", nowhere).await,
        404,
        "NotFoundError",
        "Container tag",
    );
}

#[tokio::test]
async fn wrong_requests_are_refused_and_the_place_named() {
    let client = client_with_box().await;
    let id = write_memory(&client, "The ferry leaves at eight.").await;
    let mut faults = ErrorMismatches::default();
    let new = |more: Value| {
        merge_shapes(
            json!({"containerTag": "box", "id": id, "newContent": "Words."}),
            &more,
        )
    };

    for (body, named) in [
        (json!({"id": id, "newContent": "Words."}), "containerTag"),
        (json!({"containerTag": "box", "newContent": "Words."}), "id"),
        (
            new(json!({"content": "The ferry leaves at eight."})),
            "not both",
        ),
        (new(json!({"id": ""})), "id"),
        (new(json!({"id": null, "content": " "})), "content"),
        (json!({"containerTag": "box", "id": id}), "newContent"),
        (new(json!({"newContent": " "})), "newContent"),
        (new(json!({"newContent": "x".repeat(10_001)})), "newContent"),
        (new(json!({"newContent": 1})), "newContent"),
        (new(json!({"metadata": {"bad key": 1}})), "metadata"),
        (new(json!({"forgetAfter": "2020-01-01"})), "in the past"),
        (new(json!({"forgetAfter": "soon"})), "forgetAfter"),
        (
            new(json!({"forgetReason": "x".repeat(1001)})),
            "forgetReason",
        ),
        (
            new(json!({"temporalContext": {"documentDate": "soon"}})),
            "documentDate",
        ),
        (
            new(json!({"temporalContext": {"eventDate": ["soon"]}})),
            "eventDate",
        ),
    ] {
        let answer = client.send_patch("/v4/memories", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }
    faults.assert_none();

    assert_eq!(
        live_sentences(&client).await,
        ["The ferry leaves at eight."]
    );
}
