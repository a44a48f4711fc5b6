//! The summaries of documents in the results of searches: `includeSummary` of `/v3/search` and
//! `include.summaries` of `/v4/search`.

use domain::DocumentId;
use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::merge::begin_merge;
use crate::summaries::{TUNNEL, TUNNEL_SUMMARY, summary_of};

const HERONS: &str = "Mara counts the herons at the tunnel every spring. My favourite bird is the \
    grey heron of the harbour.";

/// Returns a client with two documents in one container, and the id of the first.
async fn with_documents() -> (OrgClient, String) {
    let client = OrgClient::new().await;
    let body = json!({"content": TUNNEL, "containerTag": "box", "customId": "news"});
    let id = client.add_document(body).await;
    client
        .add_document(json!({"content": HERONS, "containerTag": "box"}))
        .await;
    client
        .add_document(json!({"content": "The tunnel of Nordby.", "containerTag": "box"}))
        .await;
    (client, id)
}

/// Returns the results of a search in `mode` with these parts.
async fn search(client: &OrgClient, mode: &str, include: Value) -> Vec<Value> {
    let body = json!({
        "q": "Which harbour tunnel replaces the ferry? Who counts herons? What is my favourite bird?",
        "containerTag": "box", "searchMode": mode, "threshold": 0, "limit": 50, "include": include,
    });
    let answer = client.post("/v4/search", body).await;
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.body["results"].as_array().expect("results").clone()
}

/// Returns the documents of all results.
fn documents_of(results: &[Value]) -> Vec<Value> {
    let documents = results
        .iter()
        .filter_map(|result| result["documents"].as_array());
    documents.flatten().cloned().collect()
}

/// Returns the summary of a document in the results of a search for chunks.
async fn found_summary(client: &OrgClient, id: &str) -> Value {
    let results = search(client, "documents", json!({"summaries": true})).await;
    let found = documents_of(&results)
        .into_iter()
        .find(|document| document["id"] == id);
    let found = found.unwrap_or_else(|| panic!("{id} is not found: {results:#?}"));
    assert!(found.get("summary").is_some(), "{found}");
    found["summary"].clone()
}

#[tokio::test]
async fn results_of_every_mode_have_the_summaries_of_their_documents() {
    let (client, _) = with_documents().await;
    for mode in ["memories", "hybrid", "documents"] {
        for include in [
            json!({"summaries": true}),
            json!({"summaries": "true", "documents": true, "chunks": true}),
        ] {
            let results = search(&client, mode, include).await;
            assert!(!results.is_empty(), "{mode}");
            for result in &results {
                let documents = result["documents"].as_array().expect("documents");
                assert!(!documents.is_empty(), "{result}");
                for document in documents {
                    let id = document["id"].as_str().expect("an id");
                    assert_eq!(document["summary"], summary_of(&client, id).await, "{mode}");
                }
            }
        }

        let results = search(&client, mode, json!({"documents": true})).await;
        let documents = documents_of(&results);
        let has_summary = |document: &Value| document.get("summary").is_some();
        assert!(
            !documents.is_empty() && !documents.iter().any(has_summary),
            "{mode}"
        );
        let results = search(&client, mode, json!({})).await;
        assert!(documents_of(&results).is_empty(), "{mode}");
    }
}

#[tokio::test]
async fn results_by_document_have_their_summaries() {
    let (client, id) = with_documents().await;
    for full in [json!(false), json!(true)] {
        let body = json!({
            "q": "harbour tunnel", "containerTag": "box", "includeSummary": true, "includeFullDocs": full,
        });
        let results = client.post("/v3/search", body).await.body["results"].clone();
        let results = results.as_array().expect("results");
        assert_eq!(results.len(), 3);
        for result in results {
            let id = result["documentId"].as_str().expect("an id");
            assert_eq!(result["summary"], summary_of(&client, id).await);
            assert_eq!(result.get("content").is_some(), full == json!(true));
        }
        let named = results
            .iter()
            .find(|result| result["documentId"] == id.as_str());
        assert_eq!(named.expect("the document")["summary"], TUNNEL_SUMMARY);
    }

    let body = json!({"q": "harbour tunnel", "docId": "news", "includeSummary": "false"});
    let results = client.post("/v3/search", body).await.body["results"].clone();
    assert!(results[0].get("summary").is_none(), "{results}");
}

#[tokio::test]
async fn a_document_that_is_gone_has_no_summary() {
    let (client, id) = with_documents().await;
    assert_eq!(found_summary(&client, &id).await, TUNNEL_SUMMARY);

    // Another request deletes the document after the index was read.
    let record_id = DocumentId::parse(&id).expect("an id");
    let record = client.stored_record(&id).await.expect("a record");
    let documents = &client.app.system.ctx.documents;
    documents
        .erase_records(&client.tenant, &record.container, &[record_id])
        .await
        .expect("an erased record");
    assert_eq!(found_summary(&client, &id).await, Value::Null);
    let body = json!({"q": "harbour tunnel", "containerTag": "box", "includeSummary": true});
    let results = client.post("/v3/search", body).await.body["results"].clone();
    let results = results.as_array().expect("results");
    let erased = results
        .iter()
        .find(|result| result["documentId"] == id.as_str());
    assert_eq!(erased.expect("the document")["summary"], Value::Null);

    let (client, id) = with_documents().await;
    let answer = client.delete(&format!("/v3/documents/{id}")).await;
    assert!(answer.status.is_success(), "{}", answer.body);
    let results = search(&client, "hybrid", json!({"summaries": true})).await;
    let shown = json!(results).to_string();
    assert!(
        !shown.contains(&id) && !shown.contains("Eastholm"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_document_that_was_moved_elsewhere_since_shows_neither_summary_nor_text() {
    let (client, id) = with_documents().await;

    // The record of the document names another container than the index in which it is found.
    let elsewhere = client
        .add_document(json!({"content": HERONS, "containerTag": "attic"}))
        .await;
    let elsewhere = client.stored_record(&elsewhere).await.expect("a record");
    let mut moved = client.stored_record(&id).await.expect("a record");
    let documents = &client.app.system.ctx.documents;
    documents
        .erase_records(
            &client.tenant,
            &moved.container,
            std::slice::from_ref(&moved.id),
        )
        .await
        .expect("an erased record");
    moved.container = elsewhere.container.clone();
    documents
        .accept_revision(&client.tenant, &moved, None, &[])
        .await
        .expect("a record");

    assert_eq!(found_summary(&client, &id).await, Value::Null);
    let body = json!({
        "q": "harbour tunnel", "containerTag": "box", "includeSummary": true, "includeFullDocs": true,
    });
    let results = client.post("/v3/search", body).await.body["results"].clone();
    let results = results.as_array().expect("results");
    for result in results {
        let is_moved = result["documentId"] == id.as_str();
        assert_eq!(result.get("content").is_none(), is_moved, "{result}");
        assert!(!is_moved || result["summary"].is_null(), "{result}");
    }
    assert!(
        results
            .iter()
            .any(|result| result["documentId"] == id.as_str())
    );
}

#[tokio::test]
async fn a_summary_is_shown_to_those_who_reach_its_document() {
    let (client, _) = with_documents().await;
    client
        .add_document(json!({
            "content": "The attic has two windows and a tunnel. Nobody lives in the attic of the tunnel.",
            "containerTag": "attic",
        }))
        .await;

    let org = client.tenant.org().as_str();
    let key = client
        .app
        .create_key_with(org, Permission::Read, Some(&["box"]))
        .await;
    let stranger = client.app.create_key("other").await;
    for (key, sees_box) in [(&key, true), (&stranger, false)] {
        for (path, body) in [
            ("/v3/search", json!({"q": "tunnel", "includeSummary": true})),
            (
                "/v4/search",
                json!({
                    "q": "tunnel", "searchMode": "hybrid", "threshold": 0,
                    "include": {"summaries": true},
                }),
            ),
        ] {
            let answer = client.app.post(path, key, &body).await;
            let shown = answer.body.to_string();
            assert_eq!(shown.contains(TUNNEL_SUMMARY), sees_box, "{path} {shown}");
            assert!(!shown.contains("attic"), "{path} {shown}");
        }
    }
}

#[tokio::test]
async fn a_merge_keeps_the_summaries() {
    let (client, id) = with_documents().await;
    client
        .add_document(json!({"content": HERONS, "containerTag": "old"}))
        .await;
    begin_merge(&client, &["old"], "box").await;
    client.run_until_settled().await;

    assert_eq!(found_summary(&client, &id).await, TUNNEL_SUMMARY);
    let results = search(&client, "documents", json!({"summaries": true})).await;
    for document in documents_of(&results) {
        let id = document["id"].as_str().expect("an id");
        assert_eq!(document["summary"], summary_of(&client, id).await);
    }
}
