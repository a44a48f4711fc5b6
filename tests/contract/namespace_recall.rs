//! What a namespace recalls: `/ns/{namespace}/search`, `/profile`, `/list/chunks`, `/list/memories`
//! and `/memories*`, which version 5 of the Python client calls.

mod chunks;
mod memories;

use domain::key::Permission;
use domain::ports::Connectors;
use edge::App;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use testkit::TestAnswer;
use tower::ServiceExt;

use crate::client::{OrgClient, collect_field};
use crate::memories::{
    client_with_box, live_sentences, send_conversation, write_memories, write_memory,
};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};

const SEARCH: &str = "/ns/box/search";
const PROFILE: &str = "/ns/box/profile";
const CHUNKS: &str = "/ns/box/list/chunks";
const LIST: &str = "/ns/box/list/memories";
const MEMORIES: &str = "/ns/box/memories";
const MATCHING: &str = "/ns/box/memories/semantic";

fn times_shape() -> Value {
    json!({"createdAt": "time", "updatedAt": "time"})
}

fn document_shape() -> Value {
    json!({
        "id": "string", "title": "string|null", "type": "string", "metadata": "object",
        "system": times_shape(),
    })
}

/// Returns the shape of lists of related memories, whose items have `more`.
fn related_shape(more: &Value) -> Value {
    let related = json!({
        "id": "id", "relation": "string", "version?": "number", "memory": "string",
        "metadata": "object", "system": {"updatedAt": "time"},
    });
    let list = json!([merge_shapes(related, more)]);
    json!({"parents": list, "children": list, "siblings": list})
}

/// Searches in `box` and returns the answer.
async fn search(client: &OrgClient, body: Value) -> Value {
    let included = json!({"related?": related_shape(&json!({})), "document?": document_shape()});
    let result = json!({
        "id": "string", "memory?": "string", "chunk?": "string", "metadata": "object",
        "similarity": "unit", "isLatest": "bool", "isInference": "bool", "system": times_shape(),
        "included?": included,
    });
    let shape = json!({"results": [result], "searchTime": "int", "hint?": "string"});
    expect_ok(client.post(SEARCH, body).await, &shape)
}

/// Returns the texts of results, whether they are memories or chunks.
fn result_texts(answer: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    for result in answer["results"].as_array().expect("results") {
        let text = result["memory"].as_str().or(result["chunk"].as_str());
        texts.push(text.expect("a text"));
    }
    texts
}

async fn send_delete(client: &OrgClient, path: &str, body: Value) -> TestAnswer {
    let app = &client.app;
    app.call_json("DELETE", path, &client.key, &body).await
}

async fn forget(client: &OrgClient, path: &str, body: Value) -> Value {
    let shape = json!({
        "count": "int", "errors": [{"id": "string", "error": "string"}],
        "matches": [{"id": "id", "memory": "string"}],
    });
    expect_ok(send_delete(client, path, body).await, &shape)
}

#[tokio::test]
async fn a_search_finds_what_the_same_search_finds_elsewhere() {
    let client = client_with_box().await;
    for (text, year) in [
        ("Anna lives in Bonn. She feeds the herons.", 2024),
        ("Ben lives in Kiel. He feeds nobody.", 2025),
    ] {
        client
            .add_document(json!({
                "content": text, "containerTag": "box", "customId": format!("note-{year}"),
                "metadata": {"year": year},
            }))
            .await;
    }

    let modes = [
        (json!(null), "hybrid"),
        (json!("hybrid"), "hybrid"),
        (json!("memories"), "memories"),
        (json!("chunks"), "documents"),
    ];
    let options = [
        (json!({}), json!({})),
        (json!({"rerank": "order"}), json!({"rerank": true})),
        (json!({"rerank": "none", "limit": 1}), json!({"limit": 1})),
        (
            json!({"rerank": "aggregate", "rewriteQuery": true}),
            json!({"rerank": true, "aggregate": true, "rewriteQuery": true}),
        ),
        (
            json!({"filter": {"field": "year", "operator": "gt", "value": 2024}, "threshold": 0.1}),
            json!({
                "filters": {"AND": [{
                    "key": "year", "value": "2024", "filterType": "numeric", "numericOperator": ">",
                }]},
                "threshold": 0.1,
            }),
        ),
    ];
    for (mode, mode_elsewhere) in modes {
        for (option, option_elsewhere) in &options {
            let body =
                json!({"query": "Who feeds the herons?", "searchMode": mode, "threshold": 0});
            let found = search(&client, merge_shapes(body, option)).await;
            let body = json!({
                "q": "Who feeds the herons?", "searchMode": mode_elsewhere, "threshold": 0,
                "containerTag": "box",
            });
            let elsewhere = client
                .post("/v4/search", merge_shapes(body, option_elsewhere))
                .await;
            assert_eq!(elsewhere.status, 200, "{}", elsewhere.body);
            assert_eq!(result_texts(&found), result_texts(&elsewhere.body));
            for field in ["id", "similarity"] {
                let values = |answer: &Value| -> Vec<Value> {
                    let results = answer["results"].as_array().expect("results");
                    results.iter().map(|result| result[field].clone()).collect()
                };
                assert_eq!(values(&found), values(&elsewhere.body), "{mode} {option}");
            }
        }
    }
}

#[tokio::test]
async fn results_come_with_their_document_under_the_callers_id() {
    let client = client_with_box().await;
    client
        .add_document(json!({
            "content": "Anna lives in Bonn.", "containerTag": "box", "customId": "note-1",
            "metadata": {"source": "diary"},
        }))
        .await;
    for (mode, question) in [("chunks", "Anna"), ("memories", "Where does Anna live?")] {
        let body = json!({"query": question, "searchMode": mode, "include": {"documents": true}});
        let found = search(&client, body).await;
        let result = &found["results"][0];
        assert_eq!(result["isLatest"], true);
        assert_eq!(result["isInference"], false);
        assert_eq!(result["metadata"], json!({"source": "diary"}));
        let document = &result["included"]["document"];
        assert_eq!(document["id"], "note-1");
        assert_eq!(document["metadata"], json!({"source": "diary"}));
        assert_eq!(result["included"].get("related"), None);

        let plain = search(&client, json!({"query": question, "searchMode": mode})).await;
        assert_eq!(plain["results"][0].get("included"), None);
    }
}

#[tokio::test]
async fn versions_and_links_of_a_result_are_its_relatives() {
    let client = client_with_box().await;
    let first = write_memory(&client, "The ferry leaves at eight.").await;
    let second = correct_memory(
        &client,
        json!({"id": first, "newContent": "The ferry leaves at nine."}),
    )
    .await;
    let body = json!({"query": "When does the ferry leave?", "include": {"related": true}});
    let found = search(&client, body).await;
    let result = &found["results"][0];
    assert_eq!(result["id"], second["id"]);
    let related = &result["included"]["related"];
    let parent = &related["parents"][0];
    assert_eq!(parent["id"], json!(first));
    assert_eq!(parent["relation"], "updates");
    assert_eq!(parent["version"], -1);
    assert_eq!(
        (&related["children"], &related["siblings"]),
        (&json!([]), &json!([]))
    );

    send_conversation(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    let body = json!({
        "query": "Where does my sister live?", "searchMode": "memories", "threshold": 0,
        "include": {"related": true}, "limit": 100,
    });
    let found = search(&client, body).await;
    let results = found["results"].as_array().expect("results");
    let inference = results.iter().find(|result| result["isInference"] == true);
    let siblings = &inference.expect("an inference")["included"]["related"]["siblings"];
    let relations = collect_field(siblings, "relation");
    assert_eq!(relations, ["derives", "derives"]);
    let fact = results
        .iter()
        .find(|result| result["id"] == siblings[0]["id"]);
    let back = &fact.expect("a source")["included"]["related"]["siblings"];
    assert_eq!(back[0]["id"], inference.expect("an inference")["id"]);
}

#[tokio::test]
async fn a_forgotten_memory_is_a_result_only_where_it_is_asked_for() {
    let client = client_with_box().await;
    let id = write_memory(&client, "I play the cello.").await;
    forget_memory(&client, json!({"id": id})).await;
    let body = json!({"query": "Do I play the cello?", "searchMode": "memories"});
    let found = search(&client, body.clone()).await;
    assert_eq!(found["results"], json!([]));

    let body = merge_shapes(body, &json!({"include": {"forgotten": true}}));
    let found = search(&client, body).await;
    assert_eq!(result_texts(&found), ["I play the cello."]);
    assert_eq!(found["results"][0]["isLatest"], false);
}

#[tokio::test]
async fn a_forgotten_relative_is_shown_only_where_it_is_asked_for() {
    let client = client_with_box().await;
    let first = write_memory(&client, "The ferry leaves at eight.").await;
    let correction = json!({"id": first, "newContent": "The ferry leaves at nine."});
    let second = correct_memory(&client, correction).await;
    forget_memory(&client, json!({"id": first})).await;

    for (forgotten, parents) in [(false, vec![]), (true, vec![first.clone()])] {
        let body = json!({
            "query": "When does the ferry leave?", "searchMode": "memories", "threshold": 0,
            "include": {"related": true, "forgotten": forgotten},
        });
        let found = search(&client, body).await;
        let mut results = found["results"].as_array().expect("results").iter();
        let present = results.find(|result| result["id"] == second["id"]);
        let related = &present.expect("the correction")["included"]["related"];
        assert_eq!(collect_field(&related["parents"], "id"), parents);
    }
}

#[tokio::test]
async fn a_namespace_that_does_not_exist_is_empty() {
    let client = client_with_box().await;
    let answer = client
        .post("/ns/nowhere/search", json!({"query": "x"}))
        .await;
    assert_eq!(answer.body["results"], json!([]));
    let hint = answer.body["hint"].as_str().expect("a hint");
    assert!(
        hint.starts_with("There is no container `nowhere`."),
        "{hint}"
    );

    let answer = client.post("/ns/nowhere/profile", json!({})).await;
    let empty = json!({"static": [], "dynamic": [], "buckets": {"preferences": []}});
    assert_eq!(answer.body, json!({"profile": empty}));
    for list in ["chunks", "memories"] {
        let answer = client
            .post(&format!("/ns/nowhere/list/{list}"), json!({}))
            .await;
        assert_eq!(answer.body[list], json!([]));
        assert_eq!(answer.body["pagination"]["totalItems"], 0);
    }

    let id = write_memory(&client, "The mill was sold.").await;
    let gone = forget(&client, "/ns/nowhere/memories", json!({"ids": [id]})).await;
    let errors = json!([{"id": id, "error": "Memory not found"}]);
    assert_eq!(gone, json!({"count": 0, "errors": errors, "matches": []}));

    let path = format!("/ns/nowhere/memories/{id}");
    expect_error(&client.get(&path).await, 404, "NotFoundError", "not found");
    let body = json!({"query": "the mill", "dryRun": true});
    let answer = send_delete(&client, "/ns/nowhere/memories/semantic", body).await;
    expect_error(&answer, 404, "NotFoundError", "not found");
}

#[tokio::test]
async fn facts_of_a_profile_are_its_lines_with_their_memories() {
    let client = client_with_box().await;
    let written = write_memories(
        &client,
        json!([
            {"content": "Mara is a ringer of birds.", "isStatic": true, "metadata": {"n": 1}},
            {"content": "I prefer tea over coffee."},
        ]),
    )
    .await;
    let fact = json!([{"id": "id", "memory": "string"}]);
    let shape = json!({
        "profile": {"static": fact, "dynamic": fact, "buckets": {"preferences?": fact}},
    });
    let found = expect_ok(client.post(PROFILE, json!({})).await, &shape);
    let elsewhere = client
        .post("/v4/profile", json!({"containerTag": "box"}))
        .await;
    for part in ["static", "dynamic"] {
        let texts = collect_field(&found["profile"][part], "memory");
        assert_eq!(json!(texts), elsewhere.body["profile"][part]);
    }
    let preferences = &found["profile"]["buckets"]["preferences"];
    let texts = collect_field(preferences, "memory");
    assert_eq!(
        json!(texts),
        elsewhere.body["profile"]["buckets"]["preferences"]
    );
    assert_eq!(
        found["profile"]["static"][0]["id"],
        written["memories"][0]["id"]
    );
    assert_eq!(preferences[0]["id"], written["memories"][1]["id"]);

    let body = json!({
        "filter": {"field": "n", "operator": "eq", "value": 1}, "buckets": ["unknown"],
    });
    let narrow = expect_ok(client.post(PROFILE, body).await, &shape);
    let texts = collect_field(&narrow["profile"]["static"], "memory");
    assert_eq!(texts, ["Mara is a ringer of birds."]);
    assert_eq!(narrow["profile"]["dynamic"], json!([]));
    assert_eq!(narrow["profile"]["buckets"], json!({}));
}

#[tokio::test]
async fn a_profile_in_markdown_is_the_same_as_elsewhere() {
    let client = client_with_box().await;
    write_memory(&client, "I prefer tea over coffee.").await;
    let request = |path: &str, body: Value| {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {}", client.key))
            .header("accept", "text/markdown");
        let body = axum::body::Body::from(body.to_string());
        request.body(body).expect("a request")
    };
    // This request goes through the checks of every test, the next ones do not.
    let answer = client.app.send(request(PROFILE, json!({}))).await;
    let media_type = answer.headers.get("content-type").expect("a media type");
    assert_eq!(media_type, "text/markdown; charset=utf-8");

    let ctx = client.app.system.ctx.clone();
    let authenticator = service::Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let app = App::new(ctx, authenticator);
    let routes = cli::all_routes(&app, 1024 * 1024, Connectors::default(), None, false);
    let get_text = async |path: &str, body: Value| {
        let response = routes.clone().oneshot(request(path, body)).await;
        let body = response.expect("an answer").into_body().collect().await;
        let bytes = body.expect("a body").to_bytes();
        String::from_utf8(bytes.to_vec()).expect("text")
    };
    let found = get_text(PROFILE, json!({})).await;
    assert!(found.contains("\n## Bucket: preferences\n"), "{found}");
    let elsewhere = get_text("/v4/profile", json!({"containerTag": "box"})).await;
    assert_eq!(found, elsewhere);
}

#[tokio::test]
async fn wrong_requests_name_their_fields() {
    let client = client_with_box().await;
    let mut faults = ErrorMismatches::default();
    let long = "x".repeat(10_001);
    let ids = vec!["x"; 101];
    let posts = [
        (SEARCH, json!({}), "query"),
        (SEARCH, json!({"query": " "}), "query"),
        (SEARCH, json!({"query": long}), "query"),
        (SEARCH, json!({"query": "x", "limit": 0}), "limit"),
        (SEARCH, json!({"query": "x", "limit": 101}), "limit"),
        (SEARCH, json!({"query": "x", "threshold": 1.5}), "threshold"),
        (
            SEARCH,
            json!({"query": "x", "searchMode": "documents"}),
            "searchMode",
        ),
        (SEARCH, json!({"query": "x", "rerank": true}), "rerank"),
        (SEARCH, json!({"query": "x", "include": [true]}), "include"),
        (
            SEARCH,
            json!({"query": "x", "filter": {"AND": []}}),
            "filter",
        ),
        (
            SEARCH,
            json!({"query": "x", "containerTag": "other"}),
            "containerTag",
        ),
        ("/ns/no%20spaces/search", json!({"query": "x"}), "namespace"),
        (PROFILE, json!({"filter": "text"}), "filter"),
        (PROFILE, json!({"buckets": ids}), "buckets"),
        ("/ns/box/list/chunks?page=0", json!({}), "page"),
        ("/ns/box/list/chunks?limit=1101", json!({}), "limit"),
        ("/ns/box/list/chunks?sort=size", json!({}), "sort"),
        ("/ns/box/list/chunks?order=up", json!({}), "order"),
        (CHUNKS, json!({"filter": {"field": "a"}}), "filter"),
        ("/ns/box/list/memories?page=x", json!({}), "page"),
        ("/ns/box/list/memories?limit=0", json!({}), "limit"),
        ("/ns/box/list/memories?sort=position", json!({}), "sort"),
        (
            LIST,
            json!({"include": {"forgotten": "maybe"}}),
            "forgotten",
        ),
    ];
    for (path, body, field) in posts {
        let answer = client.post(path, body.clone()).await;
        let request = format!("{path} {body}");
        faults.check_error(&request, &answer, 400, "ValidationError", field);
    }

    let deletions = [
        (MEMORIES, json!({}), "ids"),
        (MEMORIES, json!({"ids": []}), "ids"),
        (MEMORIES, json!({"ids": ids}), "ids"),
        (MATCHING, json!({"dryRun": true}), "query"),
        (MATCHING, json!({"query": "x"}), "dryRun"),
        (MATCHING, json!({"query": "x", "dryRun": null}), "dryRun"),
        (MATCHING, json!({"query": "", "dryRun": true}), "query"),
        (
            MATCHING,
            json!({"query": "x".repeat(2001), "dryRun": true}),
            "query",
        ),
    ];
    for (path, body, field) in deletions {
        let answer = send_delete(&client, path, body.clone()).await;
        let request = format!("DELETE {path} {body}");
        faults.check_error(&request, &answer, 400, "ValidationError", field);
    }

    let id = write_memory(&client, "It rains.").await;
    for limit in ["0", "101", "x"] {
        let path = format!("{MEMORIES}/{id}?relatedLimit={limit}");
        let answer = client.get(&path).await;
        faults.check_error(&path, &answer, 400, "ValidationError", "relatedLimit");
    }
    faults.assert_none();
}

/// Returns a request to every operation, about this memory of `box`.
fn all_requests(memory: &str) -> Vec<(&'static str, String, Value)> {
    let search = json!({"query": "Who sold the mill?", "threshold": 0});
    let matching = json!({"query": "Who sold the mill?", "dryRun": false});
    vec![
        ("POST", SEARCH.to_owned(), search),
        ("POST", PROFILE.to_owned(), json!({})),
        ("POST", CHUNKS.to_owned(), json!({})),
        ("POST", LIST.to_owned(), json!({})),
        ("GET", format!("{MEMORIES}/{memory}"), json!({})),
        ("DELETE", MEMORIES.to_owned(), json!({"ids": [memory]})),
        ("DELETE", MATCHING.to_owned(), matching),
    ]
}

#[tokio::test]
async fn keys_reach_their_own_namespaces() {
    let client = client_with_box().await;
    let memory = write_memory(&client, "The mill was sold.").await;
    let app = &client.app;
    let elsewhere = app
        .create_key_with("acme", Permission::Write, Some(&["other"]))
        .await;
    let reader = app
        .create_key_with("acme", Permission::Read, Some(&["box"]))
        .await;
    let foreign = app.create_key("beta").await;

    for (method, path, body) in all_requests(&memory) {
        let answer = app.call_json(method, &path, &elsewhere, &body).await;
        expect_error(&answer, 403, "PermissionError", "box");
        let missing = path.replace("/box/", "/nowhere/");
        let answer = app.call_json(method, &missing, &elsewhere, &body).await;
        expect_error(&answer, 403, "PermissionError", "nowhere");

        let answer = app.call_json(method, &path, &reader, &body).await;
        let expected = if method == "DELETE" { 403 } else { 200 };
        assert_eq!(answer.status, expected, "{method} {path} {}", answer.body);

        let answer = app.call_json(method, &path, &foreign, &body).await;
        assert!(!answer.body.to_string().contains("sold"), "{}", answer.body);
        let missing = app.call_json(method, &missing, &foreign, &body).await;
        assert_eq!(answer.status, missing.status, "{method} {path}");
    }
    assert_eq!(live_sentences(&client).await, ["The mill was sold."]);
}
