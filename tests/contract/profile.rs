//! `POST /v4/profile`.

use domain::key::Permission;
use domain::ports::Connectors;
use edge::App;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const PATH: &str = "/v4/profile";

/// Returns the traits and the recent events of a container.
async fn get_profile(client: &OrgClient, tag: &str) -> Value {
    let shape = json!({"profile": {"static": ["string"], "dynamic": ["string"]}});
    expect_ok(
        client
            .post(
                PATH,
                json!({"containerTag": tag, "include": ["static", "dynamic"]}),
            )
            .await,
        &shape,
    )["profile"]
        .clone()
}

/// Sends a request and returns the answer.
async fn send_profile_request(client: &OrgClient, body: Value) -> Value {
    let answer = client.post(PATH, body).await;
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.body
}

/// Writes memories of a container, which is created if it does not exist, and returns their ids.
async fn write_memories(client: &OrgClient, tag: &str, memories: Value) -> Vec<String> {
    client
        .send_patch(&format!("/v3/container-tags/{tag}"), json!({}))
        .await;
    let answer = client
        .post(
            "/v4/memories",
            json!({"containerTag": tag, "memories": memories}),
        )
        .await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    crate::client::collect_field(&answer.body["memories"], "id")
}

/// Sends a message of the user to the assistant.
async fn send_message(client: &OrgClient, tag: &str, conversation: &str, text: &str) {
    let messages = json!([{"role": "user", "content": text}]);
    let body =
        json!({"conversationId": conversation, "messages": messages, "containerTags": [tag]});
    assert!(
        client
            .post("/v4/conversations", body)
            .await
            .status
            .is_success()
    );
    client.run_until_settled().await;
}

#[tokio::test]
async fn traits_and_what_is_going_on_are_two_lists() {
    let client = OrgClient::new().await;
    let empty = json!({"static": [], "dynamic": []});
    assert_eq!(get_profile(&client, "nobody-was-here").await, empty);

    let memories = json!([
        {"content": "Mara is a ringer of birds.", "isStatic": true},
        {"content": "Mara mends the net.", "temporalContext": {"documentDate": "2025-04-15"}},
        {"content": "The herons came back.", "temporalContext": {"documentDate": "2025-04-16", "eventDate": ["2025-03-02"]}},
    ]);
    write_memories(&client, "box", memories).await;
    let wanted = json!({
        "static": ["Mara is a ringer of birds."],
        "dynamic": ["[2025-03-02] The herons came back.", "[2025-04-15] Mara mends the net."],
    });
    assert_eq!(get_profile(&client, "box").await, wanted);
    assert_eq!(
        send_profile_request(
            &client,
            json!({"containerTags": ["box"], "include": ["static", "dynamic"]})
        )
        .await["profile"],
        wanted
    );
    assert_eq!(get_profile(&client, "other").await, empty);
}

#[tokio::test]
async fn the_parts_that_are_asked_for_are_shown() {
    let client = OrgClient::new().await;
    write_memories(
        &client,
        "box",
        json!([{"content": "Mara booked a flight to Lisbon."}]),
    )
    .await;
    let travel = json!([{"key": "travel", "description": "Trips, flights and hotels."}, {"key": "food", "description": "Meals."}]);
    client
        .send_patch("/v3/settings", json!({"profileBuckets": travel}))
        .await;
    let parts = async |include: Value, buckets: Value| {
        let body = json!({"containerTag": "box", "include": include, "buckets": buckets});
        send_profile_request(&client, body).await["profile"].clone()
    };

    let keys = |profile: &Value| {
        profile
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };

    for (include, buckets, wanted) in [
        (Value::Null, Value::Null, "static dynamic buckets"),
        (json!([]), json!([]), "static dynamic buckets"),
        (json!(["static"]), Value::Null, "static"),
        (json!(["dynamic"]), Value::Null, "dynamic"),
        (json!(["buckets"]), Value::Null, "buckets"),
        (
            json!(["dynamic", "static", "buckets"]),
            Value::Null,
            "static dynamic buckets",
        ),
        (Value::Null, json!(["food"]), "static dynamic buckets"),
        (json!(["static"]), json!(["food"]), "static buckets"),
    ] {
        assert_eq!(
            keys(&parts(include.clone(), buckets.clone()).await),
            wanted,
            "{include} {buckets}"
        );
    }

    let all = parts(json!(["buckets"]), Value::Null).await;
    let line = "[2026-01-01] Mara booked a flight to Lisbon.";
    assert_eq!(all, json!({"buckets": {"food": [], "travel": [line]}}));
    assert_eq!(
        parts(json!(["buckets"]), json!(["food"])).await,
        json!({"buckets": {"food": []}})
    );
    assert_eq!(
        parts(json!(["buckets"]), json!(["travel"])).await["buckets"],
        json!({"travel": [line]})
    );
}

#[tokio::test]
async fn preferences_are_a_bucket_where_nothing_else_was_said() {
    let client = OrgClient::new().await;
    send_message(&client, "box", "one", "I prefer tea over coffee.").await;
    let found = send_profile_request(
        &client,
        json!({"containerTag": "box", "include": ["buckets"]}),
    )
    .await;
    let lines = found["profile"]["buckets"]["preferences"]
        .as_array()
        .expect("lines")
        .clone();

    assert!(
        lines.len() == 1 && lines[0].as_str().unwrap().contains("tea"),
        "{found}"
    );
}

#[tokio::test]
async fn who_moves_lives_in_the_new_place_alone() {
    let client = OrgClient::new().await;
    for (number, town) in ["Bonn", "Oslo", "Rome"].iter().enumerate() {
        send_message(
            &client,
            "box",
            &format!("talk-{number}"),
            &format!("I live in {town}."),
        )
        .await;
        client.app.environment.clock.advance_seconds(3600);
    }

    let found = get_profile(&client, "box").await;
    let lines: Vec<&str> = ["static", "dynamic"]
        .iter()
        .flat_map(|part| found[part].as_array().unwrap())
        .map(|line| line.as_str().unwrap())
        .collect();
    assert!(lines[0].contains("Rome"), "{found}");
    assert!(
        !found.to_string().contains("Bonn") && !found.to_string().contains("Oslo"),
        "{found}"
    );
}

#[tokio::test]
async fn instructions_and_preferences_are_in_however_much_there_is() {
    let client = OrgClient::new().await;
    send_message(
        &client,
        "box",
        "first",
        "Always answer in one sentence. I prefer tea over coffee.",
    )
    .await;
    for batch in 0..3 {
        let verse = |i| {
            format!("Mara sings verse {i} of ballad {batch}, which tells of a ferry and its bells.")
        };
        let many: Vec<Value> = (0..100)
            .map(|i| json!({"content": verse(i), "isStatic": i % 2 == 0}))
            .collect();
        write_memories(&client, "box", json!(many)).await;
    }

    let found = get_profile(&client, "box").await;
    let statics: Vec<&str> = found["static"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    let everything = found.to_string();
    assert!(
        everything.contains("one sentence") && everything.contains("tea"),
        "{everything}"
    );
    assert!(
        statics.iter().map(|line| line.len()).sum::<usize>() < 4 * 1000 + 100,
        "{}",
        statics.len()
    );
    assert!((20..120).contains(&statics.len()), "{}", statics.len());
    let dynamic = found["dynamic"].as_array().unwrap();
    assert!(
        (10..60).contains(&dynamic.len()) && dynamic[0].as_str().unwrap().contains("ballad 2"),
        "{found}"
    );
}

#[tokio::test]
async fn what_is_forgotten_or_expired_is_never_shown() {
    let client = OrgClient::new().await;
    let memories = json!([
        {"content": "Mara is a ringer of birds.", "isStatic": true},
        {"content": "Mara has guests.", "forgetAfter": "2026-01-02T00:00:00Z"},
        {"content": "Mara wears a red hat.", "isStatic": true},
    ]);
    let ids = write_memories(&client, "box", memories).await;
    let all = json!({"containerTag": "box", "include": ["static", "dynamic", "buckets"]});
    assert!(
        send_profile_request(&client, all.clone())
            .await
            .to_string()
            .contains("guests")
    );

    client.app.environment.clock.advance_seconds(24 * 3600);
    assert!(
        !send_profile_request(&client, all.clone())
            .await
            .to_string()
            .contains("guests")
    );

    let forget = json!({"containerTag": "box", "id": ids[2]});
    let answer = client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &forget)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);

    let wanted = json!({"static": ["Mara is a ringer of birds."], "dynamic": []});
    assert_eq!(get_profile(&client, "box").await, wanted);
    assert!(
        !send_profile_request(&client, all)
            .await
            .to_string()
            .contains("red hat")
    );
}

#[tokio::test]
async fn a_filter_narrows_the_profile() {
    let client = OrgClient::new().await;
    let memories = json!([
        {"content": "Mara mends the net.", "metadata": {"room": "boathouse"}},
        {"content": "Mara oils the stove.", "metadata": {"room": "kitchen"}},
    ]);
    write_memories(&client, "box", memories).await;

    for (room, wanted) in [
        ("boathouse", vec!["net"]),
        ("kitchen", vec!["stove"]),
        ("cellar", vec![]),
    ] {
        let filters = json!({"AND": [{"key": "room", "value": room}]});
        let body = json!({"containerTag": "box", "filters": filters, "q": "Mara", "threshold": 0});
        for filters in [filters.clone(), json!(filters.to_string())] {
            let mut body = body.clone();
            body["filters"] = filters;
            let found = send_profile_request(&client, body).await;
            let lines = found["profile"]["dynamic"].as_array().unwrap();
            assert_eq!(lines.len(), wanted.len(), "{room}: {found}");
            assert!(
                wanted
                    .iter()
                    .all(|word| lines[0].as_str().unwrap().contains(word)),
                "{found}"
            );

            let results = found["searchResults"]["results"].as_array().unwrap();
            assert_eq!(results.len(), wanted.len(), "{room}: {found}");
        }
    }
}

#[tokio::test]
async fn a_profile_has_no_more_tokens_than_asked_for() {
    let client = OrgClient::new().await;
    let memories: Vec<Value> = (0..20)
        .map(|number| json!({"content": format!("Mara mends net number {number:02}."), "isStatic": number % 2 == 0}))
        .collect();
    write_memories(&client, "box", json!(memories)).await;

    let lines = |found: &Value| -> Vec<String> {
        let parts = ["static", "dynamic"].map(|part| found["profile"][part].clone());
        let texts = parts.iter().flat_map(|part| part.as_array().unwrap());
        texts
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    let whole = send_profile_request(&client, json!({"containerTag": "box"})).await;
    assert_eq!(lines(&whole).len(), 20);

    let body = json!({"containerTag": "box", "maxTokens": 40});
    let found = lines(&send_profile_request(&client, body).await);
    let letters: usize = found.iter().map(|line| line.len()).sum();
    assert!((1..=160).contains(&letters), "{found:?}");
}

#[tokio::test]
async fn a_question_is_searched_for_beside_the_profile() {
    let client = OrgClient::new().await;
    write_memories(
        &client,
        "box",
        json!([{"content": "Mara mends the net."}, {"content": "The stove is cold."}]),
    )
    .await;
    write_memories(
        &client,
        "other",
        json!([{"content": "Somebody else mends the net."}]),
    )
    .await;
    let found = send_profile_request(
        &client,
        json!({"containerTag": "box", "q": "Who mends the net?", "threshold": 0.2}),
    )
    .await;
    let results = &found["searchResults"];
    assert_eq!(
        results["results"][0]["memory"], "Mara mends the net.",
        "{found}"
    );
    assert_eq!(
        results["total"],
        results["results"].as_array().unwrap().len()
    );
    assert!(
        results["timing"].is_u64() && !found.to_string().contains("Somebody"),
        "{found}"
    );

    for nothing in [json!(""), json!("  "), Value::Null] {
        let found =
            send_profile_request(&client, json!({"containerTag": "box", "q": nothing})).await;
        assert!(found.get("searchResults").is_none(), "{found}");
    }
}

#[tokio::test]
async fn markdown_is_sent_to_those_who_ask_for_it() {
    let client = OrgClient::new().await;
    write_memories(
        &client,
        "box",
        json!([{"content": "Mara is a ringer.", "isStatic": true}, {"content": "Mara sings."}]),
    )
    .await;
    let request = |accept: &str, key: &str, body: Value| {
        let request = http::Request::post(PATH).header("authorization", format!("Bearer {key}"));
        request
            .header("accept", accept)
            .body(axum::body::Body::from(body.to_string()))
            .unwrap()
    };
    let body = json!({"containerTag": "box"});

    // This request goes through the same checks as in every test, which validate the answer against
    // the document.
    let answer = client
        .app
        .send(request("text/markdown", &client.key, body.clone()))
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["content-type"]),
        (200, &"text/markdown; charset=utf-8".parse().unwrap())
    );

    let ctx = client.app.system.ctx.clone();
    let authenticator = service::Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let routes = cli::all_routes(
        &App::new(ctx, authenticator),
        1024 * 1024,
        Connectors::default(),
        None,
        false,
    );
    let response = routes
        .oneshot(request("text/markdown", &client.key, body.clone()))
        .await
        .unwrap();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let wanted = "# Profile\n\n## Static\n\n- Mara is a ringer.\n\n## Dynamic\n\n- [2026-01-01] Mara sings.\n";
    assert_eq!(String::from_utf8_lossy(&text), wanted);

    let json = client
        .app
        .send(request(
            "application/json, text/markdown;q=0.5",
            &client.key,
            body,
        ))
        .await;
    assert_eq!(json.body["profile"]["static"], json!(["Mara is a ringer."]));

    let refusal = client
        .app
        .send(request("text/markdown", &client.key, json!({})))
        .await;
    expect_error(&refusal, 400, "ValidationError", "containerTag");
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let client = OrgClient::new().await;
    write_memories(&client, "box", json!([{"content": "Mara sings."}])).await;
    let mut faults = ErrorMismatches::default();
    for (more, named) in [
        (json!({"containerTag": null}), "containerTag"),
        (json!({"containerTag": "a b"}), "containerTag"),
        (json!({"containerTag": 1}), "containerTag"),
        (json!({"containerTags": ["a"]}), "containerTags"),
        (json!({"include": ["all"]}), "include"),
        (json!({"include": "static"}), "include"),
        (json!({"buckets": "preferences"}), "buckets"),
        (json!({"threshold": 1.1}), "threshold"),
        (json!({"threshold": "high"}), "threshold"),
        (json!({"maxTokens": 0}), "maxTokens"),
        (json!({"maxTokens": 32_001}), "maxTokens"),
        (json!({"maxTokens": "few"}), "maxTokens"),
        (json!({"q": 5}), "q"),
        (json!({"q": "x".repeat(10_001)}), "q"),
        (json!({"filters": {"AND": "b"}}), "filters"),
        (json!({"filters": "["}), "filters"),
    ] {
        let mut body = json!({"containerTag": "box"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        faults.check_error(
            &body.to_string(),
            &client.post(PATH, body).await,
            400,
            "ValidationError",
            named,
        );
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_profile_is_one_containers_of_one_organization() {
    let client = OrgClient::new().await;
    write_memories(
        &client,
        "box",
        json!([{"content": "Mara keeps a secret.", "isStatic": true}]),
    )
    .await;
    let all = json!({"containerTag": "box", "q": "secret", "threshold": 0, "include": ["static", "dynamic", "buckets"]});
    let other = client.app.create_key("other").await;
    let theirs = client.app.post(PATH, &other, &all).await.body;
    assert!(!theirs.to_string().contains("Mara"), "{theirs}");
    assert!(
        !send_profile_request(
            &client,
            json!({"containerTag": "crate", "q": "secret", "threshold": 0})
        )
        .await
        .to_string()
        .contains("Mara")
    );

    let scoped = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["box"]))
        .await;
    assert!(
        client
            .app
            .post(PATH, &scoped, &all)
            .await
            .body
            .to_string()
            .contains("Mara")
    );

    let elsewhere = json!({"containerTag": "crate"});
    expect_error(
        &client.app.post(PATH, &scoped, &elsewhere).await,
        403,
        "PermissionError",
        "crate",
    );
    expect_error(
        &client.app.post(PATH, "", &all).await,
        401,
        "AuthenticationError",
        "key",
    );
}
