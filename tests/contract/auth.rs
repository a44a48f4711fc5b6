//! Authentication, and the scope of keys.

use domain::key::{KeyKind, KeySpec, NewKey, Permission};
use http::Request;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{ErrorMismatches, expect_error, expect_ok, listing_shape};

/// Returns every route that needs a key, with a request that a valid key may make.
fn protected_routes() -> Vec<(&'static str, &'static str, Value)> {
    let turn = json!([{"role": "user", "content": "Hello."}]);
    vec![
        ("POST", "/v3/documents", json!({"content": "Words."})),
        ("POST", "/v3/documents/file", json!({})),
        ("POST", "/v3/documents/list", json!({})),
        ("GET", "/v3/documents/processing", Value::Null),
        ("GET", "/v3/documents/abc", Value::Null),
        ("DELETE", "/v3/documents/abc", Value::Null),
        ("GET", "/v3/documents/abc/chunks", Value::Null),
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c", "messages": turn}),
        ),
        ("POST", "/v4/search", json!({"q": "words"})),
        ("POST", "/v3/search", json!({"q": "words"})),
    ]
}

fn never_stored(client: &OrgClient) -> NewKey {
    let (kind, permission) = (KeyKind::Full, Permission::Write);
    let plan = KeySpec {
        name: "test".into(),
        kind,
        permission,
        tags: None,
        expires_at: None,
        rate_limit: None,
    };

    NewKey::generate(
        client.tenant.org().clone(),
        plan,
        client.app.system.ctx.clock.now(),
    )
}

/// Creates a key. `change` may alter any part of its record before it is stored.
async fn create_key(client: &OrgClient, change: impl FnOnce(&mut domain::key::ApiKey)) -> String {
    let mut key = never_stored(client);
    change(&mut key.record);
    client
        .app
        .system
        .ctx
        .keys
        .create(&key.record)
        .await
        .expect("a stored key");
    key.key_text
}

#[tokio::test]
async fn no_route_answers_without_a_good_key() {
    let client = OrgClient::new().await;
    let soon = client.app.system.ctx.clock.now().plus_seconds(1);
    let mut mistyped = client.key.clone();
    let last = mistyped.pop().expect("a key");
    mistyped.push(if last == '0' { '1' } else { '0' });
    let keys = [
        ("none", String::new()),
        ("garbage", "garbage".into()),
        ("another service's", format!("sm_org_{}", "x".repeat(40))),
        ("local, from elsewhere", "local".into()),
        ("mistyped", mistyped),
        ("cut off", client.key[..client.key.len() - 1].to_owned()),
        ("never stored", never_stored(&client).key_text),
        (
            "disabled",
            create_key(&client, |key| key.enabled = false).await,
        ),
        (
            "expired",
            create_key(&client, |key| key.expires_at = Some(soon)).await,
        ),
    ];
    client.app.environment.clock.advance_seconds(2);
    let mut faults = ErrorMismatches::default();

    for (what, key) in keys {
        for (method, path, body) in protected_routes() {
            let answer = client.app.call_json(method, path, &key, &body).await;
            faults.check_error(
                &format!("{what}: {method} {path}"),
                &answer,
                401,
                "AuthenticationError",
                "",
            );
        }
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_key_comes_in_either_header() {
    let client = OrgClient::new().await;
    let send = |name: &'static str, value: String| {
        let request = Request::builder()
            .method("POST")
            .uri("/v3/documents/list")
            .header(name, value);
        client
            .app
            .send(request.body("{}".into()).expect("a request"))
    };
    let good = [
        ("authorization", format!("Bearer {}", client.key)),
        ("authorization", format!("bearer {}", client.key)),
        ("x-api-key", client.key.clone()),
    ];
    for (name, value) in good {
        expect_ok(send(name, value).await, &listing_shape());
    }

    for (name, value) in [
        ("authorization", client.key.clone()),
        ("authorization", format!("Basic {}", client.key)),
    ] {
        expect_error(&send(name, value).await, 401, "AuthenticationError", "key");
    }
}

#[tokio::test]
async fn a_disabled_key_stops_within_half_a_minute_and_an_enabled_one_works_again() {
    let client = OrgClient::new().await;
    expect_ok(
        client.post("/v3/documents/list", json!({})).await,
        &listing_shape(),
    );
    let ctx = &client.app.system.ctx;
    let id = ctx.keys.list(&client.tenant).await.expect("keys")[0]
        .id
        .clone();
    service::set_key_enabled(ctx, &client.tenant, &id, false)
        .await
        .expect("a disabled key");
    client.app.environment.clock.advance_seconds(30);
    expect_error(
        &client.post("/v3/documents/list", json!({})).await,
        401,
        "AuthenticationError",
        "disabled",
    );

    service::set_key_enabled(ctx, &client.tenant, &id, true)
        .await
        .expect("an enabled key");
    client.app.environment.clock.advance_seconds(30);
    expect_ok(
        client.post("/v3/documents/list", json!({})).await,
        &listing_shape(),
    );
}

#[tokio::test]
async fn a_reading_key_reads_and_changes_nothing() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "The heron stands still.", "customId": "bird"}))
        .await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let mut faults = ErrorMismatches::default();

    for (method, path, body) in [
        (
            "POST",
            "/v3/documents".to_owned(),
            json!({"content": "Changed.", "customId": "bird"}),
        ),
        ("POST", "/v3/documents/file".to_owned(), json!({})),
        (
            "POST",
            "/v4/conversations".to_owned(),
            json!({"conversationId": "c", "messages": []}),
        ),
        (
            "POST",
            "/v3/documents/batch".to_owned(),
            json!({"documents": ["Words."]}),
        ),
        (
            "POST",
            "/v3/documents/file/uploads".to_owned(),
            json!({"fileName": "a.txt"}),
        ),
        (
            "PATCH",
            format!("/v3/documents/{id}"),
            json!({"content": "Changed."}),
        ),
        ("PATCH", format!("/v3/documents/{id}"), json!({})),
        ("POST", format!("/v3/documents/{id}/retry"), Value::Null),
        (
            "DELETE",
            "/v3/documents/bulk".to_owned(),
            json!({"ids": [id]}),
        ),
        (
            "DELETE",
            "/v3/documents/bulk".to_owned(),
            json!({"containerTags": ["sm_project_default"]}),
        ),
        (
            "PATCH",
            "/v3/settings".to_owned(),
            json!({"chunkSize": 500}),
        ),
        (
            "POST",
            "/v3/memories".to_owned(),
            json!({"content": "Changed.", "customId": "bird"}),
        ),
        (
            "POST",
            "/v3/memories/batch".to_owned(),
            json!({"documents": ["Words."]}),
        ),
        ("POST", "/v3/memories/file".to_owned(), json!({})),
        (
            "PATCH",
            format!("/v3/memories/{id}"),
            json!({"content": "Changed."}),
        ),
        ("DELETE", format!("/v3/memories/{id}"), Value::Null),
        (
            "DELETE",
            "/v3/memories/bulk".to_owned(),
            json!({"ids": [id]}),
        ),
        ("DELETE", format!("/v3/documents/{id}"), Value::Null),
        (
            "DELETE",
            "/v3/documents/never-existed".to_owned(),
            Value::Null,
        ),
    ] {
        let answer = client.app.call_json(method, &path, &reader, &body).await;
        faults.check_error(
            &format!("{method} {path}"),
            &answer,
            403,
            "PermissionError",
            "",
        );
    }
    faults.assert_none();

    for (method, path, body) in [
        ("GET", format!("/v3/documents/{id}"), Value::Null),
        ("GET", format!("/v3/documents/{id}/chunks"), Value::Null),
        ("GET", "/v3/documents/processing".to_owned(), Value::Null),
        ("POST", "/v3/documents/list".to_owned(), json!({})),
        ("POST", "/v3/documents/documents".to_owned(), json!({})),
        (
            "POST",
            "/v3/documents/documents/by-ids".to_owned(),
            json!({"ids": [id]}),
        ),
        ("GET", format!("/v3/memories/{id}"), Value::Null),
        ("POST", "/v3/memories/list".to_owned(), json!({})),
        ("GET", "/v3/settings".to_owned(), Value::Null),
        ("POST", "/v4/search".to_owned(), json!({"q": "heron"})),
        ("POST", "/v3/search".to_owned(), json!({"q": "heron"})),
    ] {
        assert!(
            client
                .app
                .call_json(method, &path, &reader, &body)
                .await
                .status
                .is_success(),
            "{method} {path}"
        );
    }

    assert_eq!(
        client.get_document("bird").await["content"],
        "The heron stands still."
    );
}

#[tokio::test]
async fn a_scoped_key_is_refused_outside_its_tags() {
    let client = OrgClient::new().await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine", "ours"]))
        .await;
    let mut faults = ErrorMismatches::default();
    let turn = json!([{"role": "user", "content": "Hello."}]);

    for (method, path, body) in [
        (
            "POST",
            "/v3/documents",
            json!({"content": "a", "containerTag": "theirs"}),
        ),
        // A key with two tags has no default tag, so nothing is written to a third one.
        ("POST", "/v3/documents", json!({"content": "a"})),
        (
            "POST",
            "/v3/documents/list",
            json!({"containerTags": ["mine", "theirs"]}),
        ),
        (
            "GET",
            "/v3/documents/processing?containerTags=theirs",
            Value::Null,
        ),
        ("GET", "/v3/documents/note?containerTag=theirs", Value::Null),
        (
            "DELETE",
            "/v3/documents/note?containerTag=theirs",
            Value::Null,
        ),
        (
            "POST",
            "/v4/conversations",
            json!({"conversationId": "c", "messages": turn, "containerTag": "theirs"}),
        ),
        (
            "POST",
            "/v3/documents/file/uploads",
            json!({"fileName": "a.txt", "containerTag": "theirs"}),
        ),
        (
            "DELETE",
            "/v3/documents/bulk",
            json!({"containerTags": ["mine", "theirs"]}),
        ),
        (
            "POST",
            "/v3/documents/documents",
            json!({"containerTags": ["theirs"]}),
        ),
        (
            "POST",
            "/v3/documents/documents/by-ids",
            json!({"ids": ["a"], "containerTags": ["theirs"]}),
        ),
        (
            "POST",
            "/v3/documents/note/retry?containerTag=theirs",
            Value::Null,
        ),
        (
            "GET",
            "/v3/documents/note/file-url?containerTag=theirs",
            Value::Null,
        ),
        ("PATCH", "/v3/settings", json!({"chunkSize": 500})),
        (
            "POST",
            "/v4/search",
            json!({"q": "a", "containerTag": "theirs"}),
        ),
        (
            "POST",
            "/v3/search",
            json!({"q": "a", "containerTags": ["theirs"]}),
        ),
    ] {
        let answer = client.app.call_json(method, path, &scoped, &body).await;
        faults.check_error(
            &format!("{method} {path} {body}"),
            &answer,
            403,
            "PermissionError",
            "",
        );
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_key_with_several_tags_is_told_to_name_one() {
    let client = OrgClient::new().await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine", "ours"]))
        .await;
    let answer = client
        .app
        .post("/v3/documents", &scoped, &json!({"content": "a"}))
        .await;
    let message = answer.body["error"].as_str().unwrap_or_default();
    assert!(
        message.contains("containerTag") && message.contains("mine, ours"),
        "{message}"
    );
}

#[tokio::test]
async fn a_scoped_key_sees_its_tags_alone() {
    let client = OrgClient::new().await;
    for tag in ["mine", "theirs"] {
        client
            .add_document(
                json!({"content": format!("The {tag} canary sings."), "containerTag": tag}),
            )
            .await;
    }

    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine"]))
        .await;
    let listed = expect_ok(
        client
            .app
            .post("/v3/documents/list", &scoped, &json!({}))
            .await,
        &listing_shape(),
    );
    assert_eq!(listed["pagination"]["totalItems"], 1);
    assert_eq!(listed["memories"][0]["containerTags"], json!(["mine"]));
    let body = json!({"q": "canary", "searchMode": "documents", "threshold": 0});
    let found = client.app.post("/v4/search", &scoped, &body).await.body;
    assert_eq!(
        collect_field(&found["results"], "chunk"),
        ["The mine canary sings."]
    );
    let added = client
        .app
        .add_document(&scoped, &json!({"content": "No tag was sent."}))
        .await;
    assert_eq!(
        client.get_document(&added).await["containerTags"],
        json!(["mine"]),
        "the only tag it reaches"
    );
}
