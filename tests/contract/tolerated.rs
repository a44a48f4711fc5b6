//! Requests that existing clients send and that nothing can be lost by. `docs/clients.md` has the
//! same list.

use serde_json::{Value, json};

use crate::client::OrgClient;

/// Method, path, body, and the status of the answer.
type Request = (&'static str, &'static str, Value, u16);

#[tokio::test]
async fn what_existing_clients_send_is_accepted() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "I live in Oslo.", "containerTag": "home"}))
        .await;

    let condition = json!({"key": "a", "value": "b", "filterType": null, "numericOperator": null});
    let requests: Vec<Request> = vec![
        // The Python and TypeScript clients: what is not set is null.
        (
            "POST",
            "/v4/search",
            json!({"q": "x", "include": null}),
            200,
        ),
        (
            "POST",
            "/v4/search",
            json!({"q": "x", "include": {"foo": true}}),
            200,
        ),
        (
            "POST",
            "/v4/search",
            json!({"q": "x", "filters": {"AND": [condition]}}),
            200,
        ),
        ("POST", "/v3/search", json!({"q": "x", "filters": ""}), 200),
        (
            "POST",
            "/v4/search",
            json!({"q": "x", "filters": "", "limit": 10.0}),
            200,
        ),
        (
            "POST",
            "/v3/documents/list",
            json!({"limit": 10.0, "page": 1.0}),
            200,
        ),
        (
            "POST",
            "/v3/documents/list",
            json!({"status": "unknown"}),
            200,
        ),
        (
            "POST",
            "/v3/documents",
            json!({"content": "x", "metadata": {"a": null}}),
            200,
        ),
        // Python's `datetime.isoformat()`.
        (
            "POST",
            "/v3/documents",
            json!({"content": "y", "documentDate": "2026-04-15T09:30:00"}),
            200,
        ),
        // Newer models and older agent frameworks.
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c", "messages": [
                {"role": "developer", "content": "Be kind."},
                {"role": "function", "content": "42"},
                {"role": "user", "content": [{"type": "input_audio", "data": 1}, {"type": "text", "text": "Hi."}]},
            ]}),
            200,
        ),
        // Tools that name containers after files.
        (
            "POST",
            "/v3/documents",
            json!({"content": "z", "containerTag": "notes.md"}),
            200,
        ),
        // The command line writes memories first.
        (
            "POST",
            "/v4/memories",
            json!({"containerTag": "new", "memories": [{"content": "Tea is good."}]}),
            201,
        ),
        (
            "POST",
            "/v3/connections/list",
            json!({"provider": "notion"}),
            200,
        ),
        (
            "POST",
            "/v4/profile",
            json!({"containerTag": "home", "buckets": ["goals"]}),
            200,
        ),
    ];

    for (method, path, body, status) in requests {
        let answer = client.app.call_json(method, path, &client.key, &body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_status_that_no_document_has_lists_none() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "I live in Oslo."}))
        .await;
    for (status, expected) in [
        (json!("unknown"), vec![]),
        (json!(["unknown", "done"]), vec![id.clone()]),
        (json!([]), vec![id.clone()]),
        (json!(null), vec![id.clone()]),
    ] {
        assert_eq!(
            client.listed_ids(json!({"status": status})).await,
            expected,
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_message_keeps_the_text_of_parts_of_unknown_kinds() {
    let client = OrgClient::new().await;
    let messages = json!([{"role": "user", "content": [
        {"type": "reasoning", "text": "I live in Oslo."},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
    ]}]);
    let body = json!({"conversationId": "c", "messages": messages});
    let id = client.post("/v4/conversations", body).await.body["id"].clone();
    client.run_until_settled().await;
    let document = client.get_document(id.as_str().expect("an id")).await;
    assert_eq!(document["content"], "User: I live in Oslo.\n[input_audio]");
}

#[tokio::test]
async fn text_is_given_back_byte_for_byte() {
    let client = OrgClient::new().await;
    for text in [
        "line one\nline two\n",
        "\n\n  indented\r\nand more\t \n",
        "User: I live in Oslo.\nAssistant: Noted.\n\n",
        "# Title\n\n* a\n* b\n",
        "cafe\u{301} \u{1F600}\n",
    ] {
        let id = client.add_document(json!({"content": text})).await;
        assert_eq!(client.get_document(&id).await["content"], text);
        let listed = client
            .post("/v3/documents/list", json!({"includeContent": true}))
            .await;
        let contents = listed.body["memories"].as_array().expect("documents");
        assert!(
            contents.iter().any(|document| document["content"] == text),
            "{text:?}"
        );
    }
}

#[tokio::test]
async fn an_empty_file_is_a_document_with_a_path() {
    let client = OrgClient::new().await;
    let touched = json!({"content": "", "filepath": "/notes.md", "customId": "notes"});
    let id = client.add_document(touched).await;
    let document = client.get_document(&id).await;
    assert_eq!(document["status"], "done", "{document}");
    assert_eq!(document["content"], "");
    let found = client.post("/v4/search", json!({"q": "notes"})).await.body;
    assert_eq!(found["results"], json!([]), "{found}");

    let path = format!("/v3/documents/{id}");
    for (content, expected) in [("I live in Oslo.", 1), ("", 0), ("I live in Bergen.", 1)] {
        let answer = client.send_patch(&path, json!({"content": content})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        client.run_until_settled().await;
        assert_eq!(client.get_document(&id).await["content"], content);
        let chunks = client.get(&format!("{path}/chunks")).await.body;
        let count = chunks["chunks"].as_array().expect("chunks").len();
        assert_eq!(count, expected, "{chunks}");
    }

    let nothing = client.post("/v3/documents", json!({"content": " "})).await;
    assert_eq!(nothing.status, 400, "{}", nothing.body);
    assert_eq!(nothing.body["issues"][0]["path"], json!(["content"]));
}

#[tokio::test]
async fn a_longer_memory_is_no_repetition_of_a_shorter_one() {
    for (shorter, longer) in [
        ("I play the cello.", "I play the cello and the flute."),
        ("I work at Acme.", "I work at Acme as a designer."),
        ("I like tea.", "I like tea, but only in the morning."),
        (
            "I am allergic to nuts.",
            "I am allergic to nuts and shellfish.",
        ),
    ] {
        let client = OrgClient::new().await;
        for content in [shorter, longer, longer] {
            let body = json!({"containerTag": "home", "memories": [{"content": content}]});
            assert_eq!(client.post("/v4/memories", body).await.status, 201);
        }
        let body = json!({"containerTags": ["home"]});
        let listed = client.post("/v4/memories/list", body).await.body;
        let entries = listed["memoryEntries"].as_array().expect("memories");
        let count = entries
            .iter()
            .filter(|entry| entry["memory"] == longer)
            .count();
        assert_eq!(count, 1, "{longer}: {listed}");
    }
}

#[tokio::test]
async fn a_profile_has_all_buckets_unless_the_request_selects_parts() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "I prefer tea.", "containerTag": "home"}))
        .await;
    let keys = |answer: Value| -> Option<Vec<String>> {
        let buckets = answer["profile"]["buckets"].as_object()?;
        Some(buckets.keys().cloned().collect())
    };
    let some = |keys: &[&str]| Some(keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
    for (body, expected) in [
        (json!({}), some(&["preferences"])),
        (json!({"include": null}), some(&["preferences"])),
        (json!({"include": ["static"]}), None),
        (
            json!({"buckets": ["preferences", "goals"]}),
            some(&["preferences"]),
        ),
        (
            json!({"include": ["buckets"], "buckets": ["goals"]}),
            some(&[]),
        ),
    ] {
        let mut request = body.clone();
        request["containerTag"] = json!("home");
        let answer = client.post("/v4/profile", request).await;
        assert_eq!(answer.status, 200, "{body}");
        assert_eq!(keys(answer.body), expected, "{body}");
    }
}

/// compat: the command line of the TypeScript client prints these fields.
#[tokio::test]
async fn the_command_line_finds_the_fields_that_it_prints() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "I prefer tea.", "containerTag": "home"}))
        .await;
    client
        .send_patch(
            "/v3/container-tags/home",
            json!({"entityContext": "Notes about drinks."}),
        )
        .await;

    let document = client.get_document(&id).await;
    assert_eq!(document["containerTag"], "home");

    let tag = client.get("/v3/container-tags/home").await.body;
    assert_eq!(tag["documentCount"], 1);
    assert_eq!(tag["memoryCount"], 1);
    assert_eq!(tag["context"], "Notes about drinks.");
    assert!(tag["lastActivityAt"].is_string(), "{tag}");

    let keys = client.get("/v3/auth/keys").await.body;
    let shown = keys["keys"][0]["key"].as_str().expect("a beginning");
    assert!(client.key.starts_with(shown), "{shown}");
    assert!(shown.len() < client.key.len() / 2, "{shown}");
}

/// compat: the command line ends every key under the path of scoped keys.
#[tokio::test]
async fn a_key_of_any_kind_is_deleted_under_the_path_of_scoped_keys() {
    let client = OrgClient::new().await;
    let request = json!({"name": "agent", "permission": "write"});
    let created = client.post("/v3/auth/agent-key", request).await.body;
    let id = created["id"].as_str().expect("an id");
    let answer = client.delete(&format!("/v3/auth/scoped-key/{id}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);

    let key = created["key"].as_str().expect("a key");
    let answer = client.app.get("/v3/documents/processing", key).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn a_wrong_or_missing_field_is_named_in_the_issues() {
    let client = OrgClient::new().await;
    for (method, path, body, field) in [
        ("POST", "/v3/documents", json!({}), json!(["content"])),
        (
            "POST",
            "/v3/documents",
            json!({"content": 7}),
            json!(["content"]),
        ),
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c"}),
            json!(["messages"]),
        ),
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c", "messages": [{"content": "Hi."}]}),
            json!(["messages", "0", "role"]),
        ),
        ("POST", "/v4/search", json!({}), json!(["q"])),
        (
            "GET",
            "/v3/documents/processing?limit=x",
            json!(null),
            json!(["limit"]),
        ),
    ] {
        let answer = client.app.call_json(method, path, &client.key, &body).await;
        assert_eq!(answer.status, 400, "{path} {body}");
        assert_eq!(
            answer.body["issues"][0]["path"], field,
            "{path} {body}: {}",
            answer.body
        );
    }
}
