//! `POST /v3/search`.

use domain::{ContainerId, ContainerTag};
use serde_json::{Value, json};

use crate::chunks::long_text;
use crate::client::{OrgClient, collect_field};
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes, origin_shape};

fn result_shape(more: &Value) -> Value {
    let chunk =
        json!({"content": "string", "isRelevant": "bool", "position": "int", "score": "unit"});
    let result = json!({
        "documentId": "id", "title": "string|null", "type": "string", "score": "unit", "metadata": "object|null",
        "createdAt": "time", "updatedAt": "time", "chunks": [chunk],
        "trust?": "string", "origin?": origin_shape(),
    });
    json!({"results": [merge_shapes(result, more)], "timing": "int", "total": "int", "hint?": "string"})
}

async fn search_documents(client: &OrgClient, body: Value, more: &Value) -> Vec<Value> {
    let answer = expect_ok(client.post("/v3/search", body).await, &result_shape(more));
    let results = answer["results"].as_array().expect("results").clone();
    assert_eq!(answer["total"], results.len());
    results
}

#[tokio::test]
async fn results_are_documents_with_their_chunks() {
    let client = OrgClient::new().await;
    let body = json!({"content": "The heron waits.", "metadata": {"n": 1}, "customId": "heron"});
    let id = client.add_document(body).await;
    let document = client.get_document(&id).await;
    let results = search_documents(&client, json!({"q": "heron"}), &json!({})).await;
    assert_eq!(results.len(), 1);
    for field in ["title", "type", "metadata", "createdAt"] {
        assert_eq!(results[0][field], document[field], "{field}");
    }

    assert_eq!(results[0]["documentId"], id.as_str());
    let chunk = &results[0]["chunks"][0];
    assert_eq!(
        (&chunk["content"], &chunk["isRelevant"]),
        (&json!("The heron waits."), &json!(true))
    );
    assert_eq!(results[0]["score"], chunk["score"]);
}

#[tokio::test]
async fn an_unwritten_container_has_no_results() {
    let client = OrgClient::new().await;
    for body in [
        json!({"q": "a"}),
        json!({"q": "a", "containerTag": "never"}),
        json!({"q": "?!"}),
        json!({"q": "的"}),
    ] {
        assert!(search_documents(&client, body, &json!({})).await.is_empty());
    }
}

#[tokio::test]
async fn neighbours_come_marked_as_not_relevant_when_asked_for() {
    let client = OrgClient::new().await;
    client.add_document(json!({"content": long_text(12)})).await;
    let ask =
        |only: Value| json!({"q": "VOY-0006", "chunkThreshold": 0.6, "onlyMatchingChunks": only});
    let hits = search_documents(&client, ask(json!(true)), &json!({})).await;
    assert_eq!(
        hits,
        search_documents(
            &client,
            json!({"q": "VOY-0006", "chunkThreshold": 0.6}),
            &json!({})
        )
        .await
    );

    let hits = hits[0]["chunks"].as_array().expect("chunks").clone();
    assert!(hits.iter().all(|chunk| chunk["isRelevant"] == true));
    let around =
        search_documents(&client, ask(json!(false)), &json!({})).await[0]["chunks"].clone();
    let around = around.as_array().expect("chunks");
    let position = |chunk: &Value| chunk["position"].as_u64().expect("a position");
    let relevant: Vec<u64> = hits.iter().map(position).collect();
    assert!(
        around.iter().map(position).is_sorted(),
        "in the order of the text"
    );

    for chunk in around {
        let hit = relevant.contains(&position(chunk));
        assert_eq!(chunk["isRelevant"], hit);
        assert!(
            hit || relevant
                .iter()
                .any(|hit| hit.abs_diff(position(chunk)) == 1),
            "{chunk} is no neighbour"
        );
    }

    let missing = relevant
        .iter()
        .find(|hit| !around.iter().any(|chunk| position(chunk) == **hit - 1));
    assert!(
        around.len() > hits.len() && missing.is_none(),
        "{around:#?}"
    );
}

#[tokio::test]
async fn whole_documents_and_summaries_come_when_asked_for() {
    let client = OrgClient::new().await;
    let text = long_text(5);
    client.add_document(json!({"content": text})).await;

    for flag in [json!(true), json!("true")] {
        let body = json!({"q": "voyage", "includeFullDocs": flag, "includeSummary": flag});
        let results = search_documents(
            &client,
            body,
            &json!({"content": "string", "summary": "string|null"}),
        )
        .await;
        assert_eq!(results[0]["content"], text.as_str());
    }
}

#[tokio::test]
async fn one_document_is_searched_by_id_or_custom_id() {
    let client = OrgClient::new().await;
    let first = client
        .add_document(json!({"content": "The heron waits.", "customId": "one"}))
        .await;
    client
        .add_document(json!({"content": "The heron flies.", "customId": "two"}))
        .await;

    for id in [first.as_str(), "one"] {
        let results = search_documents(
            &client,
            json!({"q": "heron flies", "docId": id}),
            &json!({}),
        )
        .await;
        assert_eq!(
            collect_field(&json!(results), "documentId"),
            [first.as_str()]
        );
    }

    let wrong_tag = json!({"q": "heron", "docId": "one", "containerTag": "elsewhere"});
    expect_error(
        &client.post("/v3/search", wrong_tag).await,
        404,
        "NotFoundError",
        "Document not found",
    );

    let unknown = json!({"q": "heron", "docId": "x".repeat(300)});
    expect_error(
        &client.post("/v3/search", unknown).await,
        404,
        "NotFoundError",
        "Document not found",
    );
}

#[tokio::test]
async fn limit_counts_documents_and_threshold_leaves_out_chunks() {
    let client = OrgClient::new().await;
    for i in 0..6 {
        client
            .send_document(
                json!({"content": format!("Heron number {i} waits.\n\n{}", long_text(3))}),
            )
            .await;
    }

    client.run_until_settled().await;
    for limit in [1, 3, 6, 100] {
        for limit in [json!(limit), json!(limit.to_string())] {
            let results =
                search_documents(&client, json!({"q": "heron", "limit": limit}), &json!({})).await;
            let wanted = limit
                .as_u64()
                .or(limit.as_str().and_then(|text| text.parse().ok()))
                .expect("a number");
            assert_eq!(results.len() as u64, wanted.min(6));
        }
    }

    let mut before = usize::MAX;
    for threshold in [0.0, 0.4, 0.7, 1.0] {
        let results = search_documents(
            &client,
            json!({"q": "heron waits", "chunkThreshold": threshold}),
            &json!({}),
        )
        .await;
        let chunks: Vec<Value> = results
            .iter()
            .flat_map(|result| result["chunks"].as_array().expect("chunks").clone())
            .collect();
        assert!(
            chunks
                .iter()
                .all(|chunk| chunk["score"].as_f64() >= Some(threshold - 1e-6))
        );
        assert!(chunks.len() <= before);

        before = chunks.len();
    }

    let results = search_documents(
        &client,
        json!({"q": "heron", "documentThreshold": 1}),
        &json!({}),
    )
    .await;
    assert!(!results.is_empty(), "the deprecated threshold is ignored");
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (field, value) in [
        ("q", json!("")),
        ("q", json!("  ")),
        ("q", json!(7)),
        ("q", json!(null)),
        ("q", json!("x".repeat(10_001))),
        ("limit", json!(0)),
        ("limit", json!(101)),
        ("limit", json!("many")),
        ("limit", json!(-1)),
        ("chunkThreshold", json!(1.1)),
        ("chunkThreshold", json!(-0.1)),
        ("chunkThreshold", json!("high")),
        ("docId", json!(7)),
        ("containerTag", json!("a b")),
        ("containerTags", json!("a")),
        ("filepath", json!(7)),
        ("includeFullDocs", json!("perhaps")),
        ("onlyMatchingChunks", json!("perhaps")),
    ] {
        let mut body = json!({"q": "heron"});
        body[field] = value;
        let answer = client.post("/v3/search", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", field);
    }

    faults.check_error(
        "no q",
        &client.post("/v3/search", json!({})).await,
        400,
        "ValidationError",
        "q",
    );
    faults.assert_none();
}

#[tokio::test]
async fn a_search_without_a_tag_reaches_a_limited_number_of_containers() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "The heron stands in the pond.", "containerTag": "pond"}))
        .await;
    let ctx = &client.app.system.ctx;
    let create_tags = async |numbers: std::ops::Range<usize>| {
        for number in numbers {
            let tag = ContainerTag::parse(&format!("shelf-{number}")).expect("a tag");
            let id = ContainerId::random();
            let created = ctx
                .containers
                .create_tag(&client.tenant, &tag, id, ctx.clock.now());
            created.await.expect("a container");
        }
    };

    create_tags(0..999).await;
    assert!(client.search_finds("heron").await);
    let everywhere = json!({"q": "heron"});
    let found = client.post("/v3/search", everywhere.clone()).await;
    assert_eq!(found.body["total"], 1, "{}", found.body);

    create_tags(999..1_000).await;
    for path in ["/v3/search", "/v4/search"] {
        let refused = client.post(path, everywhere.clone()).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        let message = refused.body["error"].as_str().unwrap_or_default();
        assert!(message.contains("Name the containers"), "{path}: {message}");
    }
    let named = json!({"q": "heron", "containerTags": ["pond"]});
    let found = client.post("/v3/search", named).await;
    assert_eq!(found.body["total"], 1, "{}", found.body);
}
