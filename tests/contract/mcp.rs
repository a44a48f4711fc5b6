//! The Model Context Protocol: each tool, prompts and resources, and what a key may do with them.

use std::collections::HashSet;

use axum::Router;
use axum::body::Body;
use domain::key::{KeyKind, KeySpec, Permission};
use domain::ports::Connectors;
use domain::{ContainerTag, OrgId};
use edge::{AllowedOrigins, App, LoopbackPeer};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use service::Authenticator;
use testkit::{TestAnswer, TestApp};
use tower::ServiceExt;

use crate::client::OrgClient;

const VERSION: &str = "2025-06-18";

/// Returns a request of the protocol, as a client sends it.
fn mcp_request(key: &str, method: &str, params: &Value) -> Request<Body> {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("host", "recollect.test")
        .header("mcp-protocol-version", VERSION);
    let request = if key.is_empty() {
        request
    } else {
        request.header("authorization", format!("Bearer {key}"))
    };
    request.body(message.to_string().into()).expect("a request")
}

async fn send(app: &TestApp, key: &str, method: &str, params: Value) -> TestAnswer {
    app.send(mcp_request(key, method, &params)).await
}

/// Returns the result of a request of the protocol.
async fn request_result(app: &TestApp, key: &str, method: &str, params: Value) -> Value {
    let answer = send(app, key, method, params).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body["error"].is_null(), "{}", answer.body);
    answer.body["result"].clone()
}

/// Returns the error of a request of the protocol.
async fn request_error(app: &TestApp, key: &str, method: &str, params: Value) -> Value {
    let answer = send(app, key, method, params).await;
    let error = answer.body["error"].clone();
    assert!(error.is_object(), "{}", answer.body);
    error
}

/// Calls a tool and returns its structured answer.
async fn call(app: &TestApp, key: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let result = request_result(app, key, "tools/call", params).await;
    assert_eq!(result["isError"], false, "{tool}: {result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(!text.is_empty(), "{tool}: {result}");
    result["structuredContent"].clone()
}

/// Calls a tool that fails, and returns what a model reads.
async fn call_failing(app: &TestApp, key: &str, tool: &str, arguments: Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    let result = request_result(app, key, "tools/call", params).await;
    assert_eq!(result["isError"], true, "{tool}: {result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    text.to_owned()
}

/// Adds a text through the tool and processes it.
async fn add(client: &OrgClient, container: &str, content: &str) -> String {
    let arguments = json!({"content": content, "container": container});
    let added = call(&client.app, &client.key, "add", arguments).await;
    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    added["documentId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_client_learns_what_there_is() {
    let client = OrgClient::new().await;
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let result = request_result(&client.app, &client.key, "initialize", params).await;
    assert_eq!(result["protocolVersion"], VERSION);
    assert_eq!(result["serverInfo"]["name"], "recollect");
    let instructions = result["instructions"].as_str().expect("instructions");
    assert!(instructions.contains("`search`") && instructions.contains("`add`"));
    for capability in ["tools", "prompts", "resources"] {
        assert!(result["capabilities"][capability].is_object(), "{result}");
    }

    let tools = request_result(&client.app, &client.key, "tools/list", json!({})).await;
    let tools = tools["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "search",
            "add",
            "forget",
            "list_documents",
            "list_memories",
            "get_document",
            "list_containers",
            "whoami"
        ]
    );
}

#[tokio::test]
async fn what_is_added_is_found_listed_read_and_forgotten() {
    let client = OrgClient::new().await;
    let (app, key) = (&client.app, &client.key);
    let id = add(&client, "nora", "I prefer green tea in the morning.").await;

    let found = call(
        app,
        key,
        "search",
        json!({"query": "Which tea do I prefer in the morning?", "container": "nora"}),
    )
    .await;
    let results = found["results"].as_array().expect("results");
    let memory = results.iter().find(|result| result["kind"] == "memory");
    let memory = memory.unwrap_or_else(|| panic!("{found}"));
    assert!(
        memory["text"]
            .as_str()
            .expect("a text")
            .contains("green tea")
    );
    assert_eq!(memory["documentId"], id.as_str());

    let document = call(app, key, "get_document", json!({"id": id})).await;
    assert_eq!(document["text"], "I prefer green tea in the morning.");
    assert_eq!(document["status"], "done");

    let documents = call(app, key, "list_documents", json!({"container": "nora"})).await;
    assert_eq!(documents["total"], 1);
    assert_eq!(documents["documents"][0]["id"], id.as_str());

    let containers = call(app, key, "list_containers", json!({})).await;
    assert_eq!(containers["containers"][0]["tag"], "nora");

    let memories = call(app, key, "list_memories", json!({"container": "nora"})).await;
    let memory_id = memories["memories"][0]["id"].clone();
    let forgotten = call(
        app,
        key,
        "forget",
        json!({"id": memory_id, "container": "nora"}),
    )
    .await;
    assert!(
        forgotten["memory"]
            .as_str()
            .expect("a text")
            .contains("green tea")
    );

    let left = call(app, key, "list_memories", json!({"container": "nora"})).await;
    assert_eq!(left["memories"], json!([]));
    let arguments = json!({"query": "Which tea do I prefer in the morning?", "container": "nora", "mode": "memories"});
    let found = call(app, key, "search", arguments).await;
    assert_eq!(found["results"], json!([]));
}

#[tokio::test]
async fn forgetting_takes_the_id_of_a_memory_only() {
    let client = OrgClient::new().await;
    let id = add(&client, "nora", "I prefer green tea in the morning.").await;
    let arguments = json!({"id": id, "container": "nora"});
    let text = call_failing(&client.app, &client.key, "forget", arguments).await;
    assert!(text.contains("no memory with this id"), "{text}");

    let arguments = json!({"container": "nora"});
    let memories = call(&client.app, &client.key, "list_memories", arguments).await;
    assert_eq!(memories["memories"].as_array().expect("memories").len(), 1);
}

#[tokio::test]
async fn an_argument_that_is_not_known_or_not_valid_is_refused() {
    let client = OrgClient::new().await;
    let (app, key) = (&client.app, &client.key);
    let cases = [
        (
            "search",
            json!({"query": "tea", "containerTag": "nora"}),
            "`container`",
        ),
        ("search", json!({"query": "tea", "limit": 500}), "1 to 20"),
        ("search", json!({"query": " "}), "`query`"),
        ("search", json!({}), "`query`"),
        ("search", json!({"query": "tea", "mode": "all"}), "`hybrid`"),
        (
            "search",
            json!({"query": "tea", "cursor": "5"}),
            "`nextCursor`",
        ),
        (
            "search",
            json!({"query": "tea", "container": ""}),
            "container",
        ),
        (
            "add",
            json!({"content": "tea", "tag": "nora"}),
            "`container`",
        ),
        ("forget", json!({"id": "x"}), "`list_containers`"),
        ("list_memories", json!({}), "`container`"),
        ("get_document", json!({"id": "nothing"}), "`list_documents`"),
        (
            "search",
            json!({"query": "tea", "threshold": 2}),
            "threshold",
        ),
        ("whoami", json!({"who": 1}), "`who`"),
    ];
    for (tool, arguments, expected) in cases {
        let text = call_failing(app, key, tool, arguments.clone()).await;
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
    }
}

#[tokio::test]
async fn a_document_may_have_the_name_of_a_route() {
    let client = OrgClient::new().await;
    let arguments = json!({"id": "processing", "container": "nora"});
    let text = call_failing(&client.app, &client.key, "get_document", arguments.clone()).await;
    assert!(text.contains("no such document"), "{text}");
    let body = json!({"content": "Tea.", "customId": "processing", "containerTag": "nora"});
    let id = client.add_document(body).await;
    let document = call(&client.app, &client.key, "get_document", arguments).await;
    assert_eq!(document["id"], id.as_str());
}

#[tokio::test]
async fn a_hint_names_tools_and_not_requests() {
    let client = OrgClient::new().await;
    let (app, key) = (&client.app, &client.key);
    let arguments = json!({"query": "tea", "container": "nobody"});
    let found = call(app, key, "search", arguments).await;
    let hint = found["hint"].as_str().expect("a hint");
    assert!(hint.contains("`list_containers`"), "{hint}");

    let arguments = json!({"content": "I prefer green tea.", "container": "nora"});
    call(app, key, "add", arguments).await;
    for (tool, arguments) in [
        ("search", json!({"query": "tea", "container": "nora"})),
        ("list_memories", json!({"container": "nora"})),
    ] {
        let answer = call(app, key, tool, arguments).await;
        let hint = answer["hint"].as_str().expect("a hint");
        assert!(!hint.contains("GET") && !hint.contains("POST"), "{hint}");
    }
}

#[tokio::test]
async fn errors_of_the_protocol_stay_errors_of_the_protocol() {
    let client = OrgClient::new().await;
    let (app, key) = (&client.app, &client.key);
    for (method, params, code) in [
        ("tools/call", json!({"name": "nothing"}), -32602),
        ("nothing", json!({}), -32601),
        ("prompts/get", json!({"name": "nothing"}), -32602),
        (
            "resources/read",
            json!({"uri": "recollect://nothing"}),
            -32002,
        ),
    ] {
        let error = request_error(app, key, method, params).await;
        assert_eq!(error["code"], code, "{method}: {error}");
    }
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_told_where_to_look() {
    let client = OrgClient::new().await;
    for key in ["", "wrong", "local"] {
        let answer = send(&client.app, key, "tools/list", json!({})).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{key}");
        let challenge = answer.headers["www-authenticate"].to_str().expect("text");
        assert_eq!(
            challenge,
            "Bearer resource_metadata=\"http://recollect.test/.well-known/oauth-protected-resource/mcp\""
        );
        assert!(
            !answer.body["error"]
                .as_str()
                .expect("a sentence")
                .is_empty()
        );
    }

    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        let metadata = client.app.get(path, "").await;
        assert_eq!(metadata.status, StatusCode::OK);
        assert_eq!(metadata.body["resource"], "http://recollect.test/mcp");
        // There is no authorization server whose tokens are accepted.
        assert!(metadata.body["authorization_servers"].is_null());
    }
}

#[tokio::test]
async fn the_key_local_works_from_this_machine_only() {
    let client = OrgClient::new().await;
    let ctx = client.app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone())
        .with_local_key(OrgId::parse("acme").expect("an organization id"));
    let app = App::new(ctx, authenticator);
    let routes = cli::all_routes(&app, 1024 * 1024, Connectors::default(), None, false);

    let params = json!({"name": "whoami", "arguments": {}});
    let mut request = mcp_request("local", "tools/call", &params);
    let (status, _) = send_to(&routes, mcp_request("local", "tools/call", &params)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);

    request.extensions_mut().insert(LoopbackPeer);
    let (status, body) = send_to(&routes, request).await;
    assert_eq!(status, StatusCode::OK);
    let identity = &body["result"]["structuredContent"];
    assert_eq!(identity["organization"], "acme", "{body}");
    assert_eq!(identity["key"], "local");
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let client = OrgClient::new().await;
    let ctx = client.app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let origins: AllowedOrigins = "https://app.example.com".parse().expect("an origin");
    let app = App::new(ctx, authenticator).with_allowed_origins(origins);
    let routes = cli::all_routes(&app, 1024 * 1024, Connectors::default(), None, false);

    for (origin, expected) in [
        ("https://app.example.com", StatusCode::OK),
        ("https://evil.example", StatusCode::FORBIDDEN),
        ("null", StatusCode::FORBIDDEN),
    ] {
        let mut request = mcp_request(&client.key, "tools/list", &json!({}));
        let value = origin.parse().expect("a header");
        request.headers_mut().insert("origin", value);
        let (status, _) = send_to(&routes, request).await;
        assert_eq!(status, expected, "{origin}");
    }
}

async fn send_to(routes: &Router, request: Request<Body>) -> (StatusCode, Value) {
    let response = routes.clone().oneshot(request).await.expect("an answer");
    let status = response.status();
    let bytes = response.into_body().collect().await.expect("a body");
    let body = serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default();
    (status, body)
}

#[tokio::test]
async fn a_key_that_may_only_read_changes_nothing() {
    let client = OrgClient::new().await;
    let app = &client.app;
    add(&client, "nora", "I prefer green tea in the morning.").await;
    let reader = app.create_key_with("acme", Permission::Read, None).await;

    let found = call(
        app,
        &reader,
        "search",
        json!({"query": "Which tea do I prefer in the morning?"}),
    )
    .await;
    assert_ne!(found["results"], json!([]));
    let text = call_failing(app, &reader, "add", json!({"content": "tea"})).await;
    assert!(
        text.contains("only read") && text.contains("`whoami`"),
        "{text}"
    );

    let memories = call(app, &reader, "list_memories", json!({"container": "nora"})).await;
    let id = memories["memories"][0]["id"].clone();
    let arguments = json!({"id": id, "container": "nora"});
    let text = call_failing(app, &reader, "forget", arguments).await;
    assert!(text.contains("only read"), "{text}");
    let identity = call(app, &reader, "whoami", json!({})).await;
    assert_eq!(identity["canWrite"], false);
}

/// Creates a scoped key for one container.
async fn create_scoped_key(app: &TestApp, tag: &str) -> String {
    let spec = KeySpec {
        name: "scoped".into(),
        kind: KeyKind::Scoped,
        permission: Permission::Write,
        tags: Some(vec![ContainerTag::parse(tag).expect("a tag")]),
        expires_at: None,
        rate_limit: None,
    };
    app.create_planned_key("acme", spec).await.key_text
}

#[tokio::test]
async fn a_key_of_one_container_needs_no_container_and_reaches_no_other() {
    let client = OrgClient::new().await;
    let app = &client.app;
    let secret = add(&client, "otto", "I prefer black coffee at night.").await;
    let key = create_scoped_key(app, "nora").await;

    call(
        app,
        &key,
        "add",
        json!({"content": "I prefer green tea in the morning."}),
    )
    .await;
    app.run_until_settled().await.expect("work that ends");
    let found = call(
        app,
        &key,
        "search",
        json!({"query": "What is the favourite drink?"}),
    )
    .await;
    assert!(found.to_string().contains("green tea"), "{found}");
    assert!(!found.to_string().contains("coffee"), "{found}");

    let containers = call(app, &key, "list_containers", json!({})).await;
    assert_eq!(containers["containers"], json!([{"tag": "nora"}]));
    let memories = call(app, &key, "list_memories", json!({})).await;
    let id = memories["memories"][0]["id"].clone();

    // Every tool, with the other container and its ids.
    for (tool, arguments) in [
        ("search", json!({"query": "drink", "container": "otto"})),
        ("add", json!({"content": "tea", "container": "otto"})),
        ("list_documents", json!({"container": "otto"})),
        ("list_memories", json!({"container": "otto"})),
        ("forget", json!({"id": id, "container": "otto"})),
        ("get_document", json!({"id": secret})),
    ] {
        let text = call_failing(app, &key, tool, arguments).await;
        assert!(!text.contains("coffee"), "{tool}: {text}");
    }
    let documents = call(app, &key, "list_documents", json!({})).await;
    assert_eq!(documents["total"], 1);
    let uri = "recollect://containers/otto/profile";
    request_error(app, &key, "resources/read", json!({"uri": uri})).await;
    let params = json!({"name": "profile", "arguments": {"container": "otto"}});
    request_error(app, &key, "prompts/get", params).await;

    let params = json!({"name": "profile", "arguments": {}});
    let prompt = request_result(app, &key, "prompts/get", params).await;
    assert!(prompt.to_string().contains("green tea"), "{prompt}");
    call(app, &key, "forget", json!({"id": id})).await;
}

#[tokio::test]
async fn nothing_of_another_organization_is_reached() {
    let client = OrgClient::new().await;
    let app = &client.app;
    let id = add(&client, "nora", "I prefer green tea in the morning.").await;
    let memories = call(
        app,
        &client.key,
        "list_memories",
        json!({"container": "nora"}),
    )
    .await;
    let memory = memories["memories"][0]["id"].clone();
    let stranger = app.create_key("umbrella").await;

    for (tool, arguments) in [
        (
            "search",
            json!({"query": "Which tea do I prefer in the morning?"}),
        ),
        (
            "search",
            json!({"query": "Which tea do I prefer in the morning?", "container": "nora"}),
        ),
        ("list_documents", json!({})),
        ("list_documents", json!({"container": "nora"})),
        ("list_memories", json!({"container": "nora"})),
        ("list_containers", json!({})),
    ] {
        let answer = call(app, &stranger, tool, arguments).await;
        assert!(
            !answer.to_string().contains("green tea"),
            "{tool}: {answer}"
        );
    }
    for (tool, arguments) in [
        ("get_document", json!({"id": id})),
        ("forget", json!({"id": memory, "container": "nora"})),
    ] {
        let text = call_failing(app, &stranger, tool, arguments).await;
        assert!(!text.contains("tea"), "{tool}: {text}");
    }
    let uri = "recollect://containers/nora/profile";
    let profile = request_result(app, &stranger, "resources/read", json!({"uri": uri})).await;
    assert!(!profile.to_string().contains("tea"), "{profile}");
}

#[tokio::test]
async fn a_huge_document_comes_in_parts() {
    let client = OrgClient::new().await;
    let sentence = "The ferry leaves the harbour at dawn. ";
    let text = sentence.repeat(2_000);
    let id = add(&client, "nora", &text).await;

    let (mut read, mut cursor, mut parts) = (String::new(), Value::Null, 0);
    loop {
        let arguments = match &cursor {
            Value::Null => json!({"id": id}),
            cursor => json!({"id": id, "cursor": cursor}),
        };
        let part = call(&client.app, &client.key, "get_document", arguments).await;
        let part_text = part["text"].as_str().expect("a text");
        assert!(part_text.chars().count() <= 20_000);
        read.push_str(part_text);
        parts += 1;
        cursor = part["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(parts, 4);
    assert_eq!(read.trim_end(), text.trim_end());

    let found = call(
        &client.app,
        &client.key,
        "search",
        json!({"query": "When does the ferry leave?"}),
    )
    .await;
    assert!(found.to_string().len() < 60_000);
}

#[tokio::test]
async fn lists_and_results_come_in_pages_without_gaps() {
    let client = OrgClient::new().await;
    for number in 0..5 {
        let text = format!("Note {number} tells that the ferry leaves pier {number} at dawn.");
        add(&client, "nora", &text).await;
    }

    for (tool, list, arguments) in [
        (
            "list_documents",
            "documents",
            json!({"container": "nora", "limit": 2}),
        ),
        (
            "search",
            "results",
            json!({"query": "When does the ferry leave?", "mode": "documents", "limit": 2}),
        ),
    ] {
        let (mut seen, mut arguments) = (Vec::new(), arguments);
        loop {
            let page = call(&client.app, &client.key, tool, arguments.clone()).await;
            let entries = page[list].as_array().expect("entries");
            assert!(entries.len() <= 2, "{page}");
            seen.extend(entries.iter().map(|entry| entry["id"].to_string()));
            match page["nextCursor"].as_str() {
                Some(cursor) => arguments["cursor"] = cursor.into(),
                None => break,
            }
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((count, seen.len()), (5, 5), "{tool}");
    }
}

#[tokio::test]
async fn pages_of_both_kinds_show_each_result_once() {
    let client = OrgClient::new().await;
    for pier in ["first", "second", "third", "fourth", "fifth", "sixth"] {
        let text = format!("I like the {pier} pier. The ferry leaves the {pier} pier at dawn.");
        add(&client, "nora", &text).await;
    }
    let search = async |limit: u32, cursor: Option<&str>| {
        let mut arguments =
            json!({"query": "Which pier do I like?", "threshold": 0, "limit": limit});
        if let Some(cursor) = cursor {
            arguments["cursor"] = cursor.into();
        }
        call(&client.app, &client.key, "search", arguments).await
    };

    let mut pages = Vec::new();
    let mut page = search(3, None).await;
    loop {
        pages.extend(page["results"].as_array().expect("results").clone());
        let Some(cursor) = page["nextCursor"].as_str().map(str::to_owned) else {
            break;
        };
        page = search(3, Some(&cursor)).await;
    }
    let kinds: HashSet<String> = pages.iter().map(|page| page["kind"].to_string()).collect();
    assert_eq!(kinds.len(), 2, "{pages:?}");

    let ids = |results: &[Value]| {
        let mut ids: Vec<String> = results
            .iter()
            .map(|result| result["id"].to_string())
            .collect();
        ids.sort();
        ids
    };
    let whole = search(20, None).await;
    let whole = whole["results"].as_array().expect("results");
    assert!(whole.len() > 6, "{whole:?}");
    assert_eq!(ids(&pages), ids(whole));

    let after = search(3, Some("from-100")).await;
    assert_eq!(after["results"], json!([]));
    assert_eq!(after["hint"], "There are no more results.");
}

#[tokio::test]
async fn prompts_and_resources_show_the_profile() {
    let client = OrgClient::new().await;
    let (app, key) = (&client.app, &client.key);
    add(&client, "nora", "I prefer green tea in the morning.").await;

    let prompts = request_result(app, key, "prompts/list", json!({})).await;
    assert_eq!(prompts["prompts"][0]["name"], "profile");
    let arguments = json!({"container": "nora", "query": "Which tea do I prefer in the morning?"});
    let params = json!({"name": "profile", "arguments": arguments});
    let prompt = request_result(app, key, "prompts/get", params).await;
    let text = prompt["messages"][0]["content"]["text"]
        .as_str()
        .expect("a text");
    assert!(
        text.contains("green tea") && text.contains("About the question"),
        "{text}"
    );

    let resources = request_result(app, key, "resources/list", json!({})).await;
    let uris: Vec<&str> = resources["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|resource| resource["uri"].as_str())
        .collect();
    assert_eq!(
        uris,
        [
            "recollect://containers",
            "recollect://containers/nora/profile"
        ]
    );
    for (uri, expected) in [(uris[0], "nora"), (uris[1], "green tea")] {
        let contents = request_result(app, key, "resources/read", json!({"uri": uri})).await;
        let text = contents["contents"][0]["text"].as_str().expect("a text");
        assert!(text.contains(expected), "{uri}: {text}");
    }

    let templates = request_result(app, key, "resources/templates/list", json!({})).await;
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "recollect://containers/{tag}/profile"
    );
}

#[tokio::test]
async fn the_request_log_shows_what_a_tool_asked_for_once() {
    let client = OrgClient::new().await;
    add(&client, "nora", "I prefer green tea in the morning.").await;
    call(&client.app, &client.key, "search", json!({"query": "tea"})).await;
    let log = client.get("/v3/analytics/logs?period=24h").await;
    assert_eq!(log.status, StatusCode::OK, "{}", log.body);
    let text = log.body.to_string();
    assert!(!text.contains("\"/mcp\""), "{text}");
    assert!(text.contains("search"), "{text}");
}
