//! `POST /v4/search`.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::memories::client_with_box;
use crate::memories_forget::forget_memory;
use crate::shape::{ErrorMismatches, expect_ok, merge_shapes, origin_shape};

fn result_shape(more: &Value) -> Value {
    let result = json!({
        "id": "string", "metadata": "object|null", "updatedAt": "time", "similarity": "unit",
        "chunk?": "string", "memory?": "string", "version?": "int", "rootMemoryId?": "id|null",
        "trust?": "string", "origin?": origin_shape(),
        "chunks?": [{"content": "string", "position": "int", "documentId": "id", "score?": "unit"}],
    });
    json!({"results": [merge_shapes(result, more)], "timing": "int", "total": "int", "hint?": "string"})
}

async fn search(client: &OrgClient, body: Value, more: &Value) -> Vec<Value> {
    let answer = expect_ok(client.post("/v4/search", body).await, &result_shape(more));
    let results = answer["results"].as_array().expect("results").clone();
    assert_eq!(answer["total"], results.len());
    results
}

fn search_body(q: &str) -> Value {
    json!({"q": q, "searchMode": "hybrid", "threshold": 0})
}

#[tokio::test]
async fn results_are_chunks_most_similar_first() {
    let client = OrgClient::new().await;
    for text in [
        "The heron waits in the reeds.",
        "A ferry crosses the strait.",
        "Bread needs flour and salt.",
    ] {
        client
            .send_document(json!({"content": text, "metadata": {"n": 1}}))
            .await;
    }

    client.run_until_settled().await;
    for mode in ["hybrid", "documents"] {
        let mut body = search_body("Where does the heron wait?");
        body["searchMode"] = json!(mode);
        let results = search(&client, body, &json!({})).await;
        let text = |result: &Value| result.get("memory").or(result.get("chunk")).cloned();
        assert_eq!(
            text(&results[0]),
            Some(json!("The heron waits in the reeds."))
        );
        assert!(mode == "hybrid" || results.iter().all(|result| result.get("memory").is_none()));
        assert_eq!(results[0]["metadata"], json!({"n": 1}));

        let similarity = |result: &Value| result["similarity"].as_f64().expect("a number");
        assert!(
            results.is_sorted_by(|a, b| similarity(a) >= similarity(b)),
            "{results:#?}"
        );

        let names = collect_field(&json!(results), "id");
        assert_eq!(
            names.len(),
            names.iter().collect::<std::collections::HashSet<_>>().len()
        );
    }
}

#[tokio::test]
async fn memories_alone_are_the_default_and_no_chunk_is_one() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "The heron waits."}))
        .await;
    for body in [
        json!({"q": "heron"}),
        json!({"q": "heron", "searchMode": "memories", "threshold": 0}),
    ] {
        assert!(search(&client, body, &json!({})).await.is_empty());
    }
}

#[tokio::test]
async fn optional_parts_come_when_asked_for() {
    let client = OrgClient::new().await;
    let body = json!({"content": "# Birds\n\nThe heron waits.", "filepath": "/birds.md", "metadata": {"n": 1}});
    let id = client.add_document(body).await;
    let document = json!({
        "id": "id", "title": "string|null", "type": "string", "metadata": "object|null", "summary": "string|null",
        "createdAt": "time", "updatedAt": "time",
    });
    let explain = json!({
        "documentId": "id", "position": "int", "span": {"start": "int", "end": "int"}, "headings": ["string"],
        "scores": {"lexical": "number", "vector": "number", "context": "number", "fused": "number"},
    });

    let mut body = search_body("heron");
    body["include"] = json!({"documents": true, "summaries": true, "relatedMemories": false});
    body["explain"] = json!(true);
    body["rerank"] = json!(false);
    let more = json!({"filepath": "string", "documents": [document], "explain": explain});
    let results = search(&client, body, &more).await;
    assert_eq!(results[0]["documents"][0]["id"], id.as_str());
    assert_eq!(results[0]["documents"][0]["title"], "Birds");
    assert_eq!(results[0]["explain"]["documentId"], id.as_str());
    assert_eq!(results[0]["filepath"], "/birds.md");
    assert_eq!(results[0]["explain"]["headings"], json!(["Birds"]));
}

#[tokio::test]
async fn a_reranker_chooses_from_more_candidates_than_the_answer_has() {
    let client = OrgClient::new().await;
    let answer = "The ferry to Ulva leaves from the old slipway.";
    let lines = [
        "The kiosk sells rope and lamps.",
        "The crew sleeps on board.",
        answer,
        "Nobody counts the gulls.",
        "Paint is stored in the blue shed.",
    ];
    for content in [&lines.join("\n"), "Does the ferry leave?"] {
        client.send_document(json!({"content": content})).await;
    }
    client.run_until_settled().await;

    for path in ["/v4/search", "/v3/search"] {
        let mut firsts = Vec::new();
        for (rerank, limit) in [(false, 1), (true, 1), (true, 20)] {
            let body = json!({
                "q": "From where does the ferry to Ulva leave?", "searchMode": "documents",
                "threshold": 0, "limit": limit, "rerank": rerank,
            });
            let answer = client.post(path, body).await;
            let first = &answer.body["results"][0];
            let text = first["chunk"]
                .as_str()
                .or(first["chunks"][0]["content"].as_str());
            firsts.push(text.expect("a chunk").to_owned());
        }
        assert!(!firsts[0].contains(answer), "{path}: {firsts:#?}");
        assert!(firsts[1].contains(answer), "{path}: {firsts:#?}");
        assert_eq!(firsts[1], firsts[2], "{path}");
    }
}

#[tokio::test]
async fn threshold_leaves_out_and_limit_cuts() {
    let client = OrgClient::new().await;
    for i in 0..12 {
        client
            .send_document(json!({"content": format!("Heron {i} waits near the bridge, the mill and the town hall.")}))
            .await;
    }

    client
        .send_document(json!({"content": "Bread needs flour and salt."}))
        .await;
    client.run_until_settled().await;
    let mut previous: Option<Vec<String>> = None;
    for threshold in [0.0, 0.3, 0.6, 0.9, 1.0] {
        let mut body = search_body("heron near the bridge");
        body["threshold"] = json!(threshold);
        body["limit"] = json!(100);
        let results = search(&client, body, &json!({})).await;
        assert!(
            results
                .iter()
                .all(|result| result["similarity"].as_f64() >= Some(threshold - 1e-6))
        );

        let names = collect_field(&json!(results), "id");
        assert!(
            previous.is_none_or(|looser| looser.starts_with(&names)),
            "a stricter search finds the best of a looser"
        );

        previous = Some(names);
    }

    let body = |limit: Value| json!({"q": "heron", "searchMode": "documents", "threshold": 0, "limit": limit});
    let count = async |limit: Value| search(&client, body(limit), &json!({})).await.len();
    assert_eq!(
        (
            count(json!(1)).await,
            count(json!("5")).await,
            count(Value::Null).await
        ),
        (1, 5, 10)
    );

    let default = search(
        &client,
        json!({"q": "heron", "searchMode": "hybrid"}),
        &json!({}),
    )
    .await;
    assert!(
        default
            .iter()
            .all(|result| result["similarity"].as_f64() >= Some(0.6 - 1e-6))
    );
}

#[tokio::test]
async fn a_forgotten_chunk_leaves_its_place_to_the_next() {
    let client = client_with_box().await;
    let first = json!({"content": "Anna lives in Bonn.", "containerTag": "box"});
    let first = client.add_document(first).await;
    let next = json!({
        "content": "Anna lives in Bonn near the station.", "containerTag": "box",
        "taskType": "superrag",
    });
    client.add_document(next).await;
    forget_memory(&client, json!({"id": first})).await;

    let mut body = search_body("Anna lives in Bonn.");
    body["limit"] = json!(1);
    let results = search(&client, body, &json!({})).await;
    assert_eq!(
        collect_field(&json!(results), "chunk"),
        ["Anna lives in Bonn near the station."]
    );
}

#[tokio::test]
async fn tags_and_paths_choose_and_no_tag_is_the_whole_organization() {
    let client = OrgClient::new().await;
    for (tag, path) in [("a", "/x/1"), ("b", "/x/2"), ("c", "/y/3")] {
        client
            .add_document(json!({"content": format!("Heron of {tag}."), "containerTag": tag, "filepath": path}))
            .await;
    }

    let cases: [(Value, &[&str]); 8] = [
        (json!({}), &["a", "b", "c"]),
        (json!({"containerTag": "a"}), &["a"]),
        (json!({"containerTags": ["a", "c"]}), &["a", "c"]),
        (
            json!({"containerTag": "b", "containerTags": ["a", "b"]}),
            &["a", "b"],
        ),
        (json!({"containerTags": ["never-used"]}), &[]),
        (json!({"filepath": "/x/"}), &["a", "b"]),
        (json!({"filepath": "/y/3"}), &["c"]),
        (json!({"filepath": "/x/", "containerTag": "b"}), &["b"]),
    ];
    for (scope, wanted) in cases {
        let mut texts = client
            .search_texts_with(merge_shapes(json!({"q": "heron"}), &scope))
            .await;
        texts.sort();
        let wanted: Vec<String> = wanted
            .iter()
            .map(|tag| format!("Heron of {tag}."))
            .collect();
        assert_eq!(texts, wanted, "{scope}");
    }
}

#[tokio::test]
async fn an_exact_identifier_is_found_among_many_like_it() {
    let client = OrgClient::new().await;
    for i in 0..40 {
        let text = format!(
            "Order RK-2026-{i:05}-Q failed with error E{i:04}X and was shipped again on a Tuesday."
        );
        client.send_document(json!({"content": text})).await;
    }

    client.run_until_settled().await;
    for q in [
        "RK-2026-00017-Q",
        "rk-2026-00017-q",
        "E0017X",
        "what happened to order RK-2026-00017-Q?",
    ] {
        let results = search(
            &client,
            json!({"q": q, "searchMode": "documents"}),
            &json!({}),
        )
        .await;
        let first = results
            .first()
            .map(|result| result["chunk"].to_string())
            .unwrap_or_default();
        assert!(first.contains("RK-2026-00017-Q"), "{q}: {results:#?}");
    }
}

#[tokio::test]
async fn every_script_is_found() {
    let client = OrgClient::new().await;
    let texts = [
        ("東京の桜は三月の終わりに咲きます。", "桜"),
        ("长城有两千多年的历史。", "长城"),
        ("서울의 겨울은 춥고 건조하다.", "겨울은"),
        ("แม่น้ำเจ้าพระยาไหลผ่านกรุงเทพ", "เจ้าพระยา"),
        ("Маяк стоит на краю утёса.", "маяк"),
        ("المنارة تقف على حافة الجرف", "المنارة"),
        ("Die Straßenbahn fährt über die Brücke.", "Strassenbahn"),
        ("El niño pequeño comió piñones.", "nino"),
    ];
    for (text, _) in texts {
        client.send_document(json!({"content": text})).await;
    }

    client.run_until_settled().await;
    for (text, q) in texts {
        let found = client.search_texts(q).await;
        assert_eq!(
            found.first().map(String::as_str),
            Some(text),
            "{q} finds {found:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (field, value) in [
        ("q", json!("")),
        ("q", json!("\n")),
        ("q", json!(["a"])),
        ("q", json!("x".repeat(10_001))),
        ("limit", json!(0)),
        ("limit", json!(101)),
        ("limit", json!(2.5)),
        ("threshold", json!(1.01)),
        ("threshold", json!(-1)),
        ("threshold", json!("high")),
        ("searchMode", json!("everything")),
        ("searchMode", json!(1)),
        ("containerTag", json!("a/b")),
        ("containerTags", json!([1])),
        ("filepath", json!([])),
        ("include", json!("documents")),
        ("include", json!({"documents": "yes"})),
        ("explain", json!("yes")),
    ] {
        let mut body = json!({"q": "heron"});
        body[field] = value;
        let answer = client.post("/v4/search", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", field);
    }

    faults.check_error(
        "no q",
        &client.post("/v4/search", json!({})).await,
        400,
        "ValidationError",
        "q",
    );
    faults.assert_none();
}

/// compat: clients of the mode `documents` read `chunks` of every result, and the TypeScript client
/// declares a score for each.
#[tokio::test]
async fn the_mode_documents_answers_with_the_chunks_as_a_list_too() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "The heron waits in the reeds."}))
        .await;
    let body = json!({"q": "heron", "searchMode": "documents", "threshold": 0});
    let results = search(&client, body, &json!({})).await;
    assert_eq!(
        results[0]["chunks"],
        json!([{
            "content": results[0]["chunk"], "position": 0, "documentId": id,
            "score": results[0]["similarity"],
        }])
    );
}
