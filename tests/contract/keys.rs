//! `/v3/auth`: keys are created, shown once, listed, disabled and deleted, and expire.

use domain::key::{KeyKind, KeySpec, Permission};
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const KEYS: &str = "/v3/auth/keys";
const SCOPED: &str = "/v3/auth/scoped-key";
const AGENT: &str = "/v3/auth/agent-key";
const DAY: i64 = 24 * 60 * 60;

fn scoped_shape() -> Value {
    json!({
        "key": "string", "id": "string", "name": "string", "containerTag": "string", "expiresAt": "time|null",
        "allowedEndpoints": ["string"],
    })
}

fn agent_shape(tags: Value) -> Value {
    json!({
        "id": "string", "key": "string", "name": "string", "permission": "string", "containerTags": tags,
        "expiresAt": "time|null",
    })
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

async fn create_scoped_key(client: &OrgClient, body: Value) -> Value {
    expect_ok(client.post(SCOPED, body).await, &scoped_shape())
}

async fn create_agent_key(client: &OrgClient, body: Value) -> Value {
    let tags = if body["containerTags"].is_array() {
        json!(["string"])
    } else {
        json!("null")
    };
    expect_ok(client.post(AGENT, body).await, &agent_shape(tags))
}

async fn list_keys(client: &OrgClient) -> Vec<Value> {
    client.get(KEYS).await.body["keys"]
        .as_array()
        .expect("keys")
        .clone()
}

/// Checks whether the key is still accepted.
async fn key_works(client: &OrgClient, key: &Value) -> bool {
    client
        .app
        .get("/v3/session", text(key))
        .await
        .status
        .is_success()
}

#[tokio::test]
async fn a_scoped_key_is_for_the_content_of_its_container() {
    let client = OrgClient::new().await;
    let key = create_scoped_key(&client, json!({"containerTag": "box"})).await;
    assert_eq!(
        (&key["name"], &key["containerTag"], &key["expiresAt"]),
        (&json!("scoped_box"), &json!("box"), &Value::Null)
    );

    let endpoints = [
        "/v3/documents",
        "/v3/memories",
        "/v4/memories",
        "/v3/search",
        "/v4/search",
        "/v4/profile",
    ];
    assert_eq!(key["allowedEndpoints"], json!(endpoints));

    let id = client
        .app
        .add_document(text(&key["key"]), &json!({"content": "A heron."}))
        .await;
    assert_eq!(
        client.get_document(&id).await["containerTags"],
        json!(["box"]),
        "it goes where the key reaches"
    );

    let mut faults = ErrorMismatches::default();
    for (method, path, body) in [
        (
            "POST",
            "/v3/documents",
            json!({"content": "A heron.", "containerTag": "other"}),
        ),
        (
            "POST",
            "/v4/search",
            json!({"q": "heron", "containerTag": "other"}),
        ),
        ("GET", "/v3/settings", Value::Null),
        ("PATCH", "/v3/settings", json!({"chunkSize": 500})),
        ("GET", KEYS, Value::Null),
        ("POST", SCOPED, json!({"containerTag": "box"})),
        ("GET", "/v3/container-tags/box", Value::Null),
    ] {
        let answer = client
            .app
            .call_json(method, path, text(&key["key"]), &body)
            .await;
        faults.check_error(
            &format!("{method} {path}"),
            &answer,
            403,
            "PermissionError",
            "",
        );
    }
    faults.assert_none();

    let long = create_scoped_key(
        &client,
        json!({"containerTag": "x".repeat(100), "name": "Ada's phone ü"}),
    )
    .await;
    assert_eq!(long["name"], "Ada's phone ü");
    assert_eq!(
        text(&create_scoped_key(&client, json!({"containerTag": "x".repeat(100)})).await["name"])
            .len(),
        100
    );
    assert_eq!(
        create_scoped_key(&client, json!({"containerTags": ["old"]})).await["containerTag"],
        "old"
    );
}

#[tokio::test]
async fn an_agents_key_reaches_what_it_was_made_for_and_administers_nothing() {
    let client = OrgClient::new().await;
    let all = create_agent_key(&client, json!({"name": "all", "permission": "write"})).await;
    let some = json!({"name": "some", "permission": "read", "containerTags": ["a", "b", "a"], "expiresInDays": 1});
    let some = create_agent_key(&client, some).await;
    assert_eq!(
        (&all["containerTags"], &all["permission"]),
        (&Value::Null, &json!("write"))
    );
    assert_eq!(
        (&some["containerTags"], &some["permission"]),
        (&json!(["a", "b"]), &json!("read"))
    );

    client
        .app
        .add_document(
            text(&all["key"]),
            &json!({"content": "A heron.", "containerTag": "c"}),
        )
        .await;
    let mut faults = ErrorMismatches::default();

    for key in [&all, &some] {
        for (method, path) in [
            ("GET", KEYS),
            ("POST", AGENT),
            ("POST", "/v3/settings/reset"),
            ("PATCH", "/v3/settings"),
        ] {
            let body = if method == "GET" {
                Value::Null
            } else {
                json!({})
            };
            let answer = client
                .app
                .call_json(method, path, text(&key["key"]), &body)
                .await;
            faults.check_error(
                &format!("{method} {path}"),
                &answer,
                403,
                "PermissionError",
                "",
            );
        }
    }

    for (path, body, named) in [
        (
            "/v3/documents",
            json!({"content": "x", "containerTag": "a"}),
            "read",
        ),
        (
            "/v4/search",
            json!({"q": "heron", "containerTag": "c"}),
            "c",
        ),
    ] {
        let answer = client.app.post(path, text(&some["key"]), &body).await;
        faults.check_error(
            &format!("{path} {body}"),
            &answer,
            403,
            "PermissionError",
            named,
        );
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_wrong_plan_is_named_and_makes_no_key() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let with = |base: Value, name: &str, value: &Value| {
        let mut body = base;
        body[name] = value.clone();
        body
    };
    let of_scoped = || json!({"containerTag": "box"});
    let of_agent = || json!({"name": "a", "permission": "read"});

    for (name, bad) in [
        (
            "containerTag",
            vec![Value::Null, json!("a b"), json!("x".repeat(101)), json!(1)],
        ),
        (
            "name",
            vec![json!(""), json!(" "), json!("x".repeat(101)), json!(1)],
        ),
        (
            "expiresInDays",
            vec![json!(0), json!(366), json!(-1), json!(1.5), json!("7")],
        ),
        ("rateLimitMax", vec![json!(0), json!(10_001), json!("500")]),
        (
            "rateLimitTimeWindow",
            vec![json!(0), json!(3_600_001), json!(true)],
        ),
    ] {
        for value in bad {
            let answer = client.post(SCOPED, with(of_scoped(), name, &value)).await;
            faults.check_error(
                &format!("scoped {name} {value}"),
                &answer,
                400,
                "ValidationError",
                name,
            );
        }
    }

    let many: Vec<String> = (0..101).map(|n| format!("tag-{n}")).collect();
    for (name, bad) in [
        ("name", vec![Value::Null, json!(""), json!("x".repeat(101))]),
        (
            "permission",
            vec![Value::Null, json!("admin"), json!("Write")],
        ),
        ("containerTag", vec![]),
        (
            "containerTags",
            vec![json!([]), json!(["a b"]), json!("a"), json!(many)],
        ),
        ("expiresInDays", vec![json!(0), json!(366)]),
    ] {
        for value in bad {
            let answer = client.post(AGENT, with(of_agent(), name, &value)).await;
            let named = if value == json!(["a b"]) {
                "containerTag"
            } else {
                name
            };
            faults.check_error(
                &format!("agent {name} {value}"),
                &answer,
                400,
                "ValidationError",
                named,
            );
        }
    }

    faults.check_error(
        "empty",
        &client.post(AGENT, json!({})).await,
        400,
        "ValidationError",
        "name",
    );
    faults.assert_none();
    assert_eq!(list_keys(&client).await.len(), 1, "the key of this test");

    let most = json!({
        "containerTag": "box", "name": "x".repeat(100), "expiresInDays": 365, "rateLimitMax": 10_000,
        "rateLimitTimeWindow": 3_600_000,
    });
    create_scoped_key(&client, most).await;
    create_scoped_key(
        &client,
        json!({"containerTag": "box", "expiresInDays": 1, "rateLimitMax": 1, "rateLimitTimeWindow": 1}),
    )
    .await;
    create_agent_key(
        &client,
        json!({"name": "x", "permission": "read", "containerTags": many[..100]}),
    )
    .await;
}

#[tokio::test]
async fn keys_are_listed_without_their_secrets() {
    let client = OrgClient::new().await;
    client.app.create_key("other").await;
    let one = create_scoped_key(
        &client,
        json!({"containerTag": "box", "rateLimitMax": 7, "expiresInDays": 2}),
    )
    .await;
    client.app.environment.clock.advance_seconds(1);
    let two = create_agent_key(
        &client,
        json!({"name": "two", "permission": "read", "containerTags": ["a", "b"]}),
    )
    .await;
    client.post("/v3/session", Value::Null).await;
    let answer = client.get(KEYS).await;
    for secret in [&one["key"], &two["key"], &json!(client.key)] {
        let secret = text(secret).rsplit('_').next().expect("a part");
        assert!(!format!("{answer:?}").contains(secret));
    }

    let keys = answer.body["keys"].as_array().expect("keys");
    assert_eq!(
        collect_field(&answer.body["keys"], "name"),
        ["test", "scoped_box", "two"],
        "oldest first, no sessions"
    );

    let shown = &keys[1];
    let wanted = json!({
        "id": one["id"], "name": "scoped_box", "kind": "scoped",
        "start": format!("rk_{}", text(&one["id"])), "key": format!("rk_{}", text(&one["id"])),
        "permission": "write", "containerTags": ["box"], "containerTag": "box", "createdAt": shown["createdAt"],
        "expiresAt": one["expiresAt"], "enabled": true, "rateLimitMax": 7, "rateLimitTimeWindow": 60_000,
    });
    assert_eq!(*shown, wanted);
    assert_eq!(
        (&keys[2]["containerTag"], &keys[2]["rateLimitMax"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&keys[0]["kind"], &keys[0]["containerTags"]),
        (&json!("full"), &Value::Null)
    );
}

#[tokio::test]
async fn a_key_that_is_revoked_disabled_or_expired_stops_within_half_a_minute() {
    let client = OrgClient::new().await;
    let clock = &client.app.environment.clock;
    let new = async |days: i64| {
        create_scoped_key(
            &client,
            json!({"containerTag": "box", "expiresInDays": days}),
        )
        .await
    };
    let (deleted, revoked, disabled, expiring) =
        (new(9).await, new(9).await, new(9).await, new(1).await);
    let path = |key: &Value| format!("{KEYS}/{}", text(&key["id"]));
    for key in [&deleted, &revoked, &disabled, &expiring] {
        assert!(key_works(&client, &key["key"]).await);
    }
    assert_eq!(
        client.delete(&path(&deleted)).await.body,
        json!({"success": true})
    );

    let answer = client
        .delete(&format!("{SCOPED}/{}", text(&revoked["id"])))
        .await;
    assert_eq!(answer.body, json!({"success": true}));

    let toggle = async |key: &Value, body: Value| {
        client
            .app
            .call_json("PUT", &format!("{}/toggle", path(key)), &client.key, &body)
            .await
            .body
    };
    assert_eq!(
        toggle(&disabled, Value::Null).await,
        json!({"enabled": false})
    );

    clock.advance_seconds(30);
    for (key, why) in [
        (&deleted, "not valid"),
        (&revoked, "not valid"),
        (&disabled, "disabled"),
    ] {
        expect_error(
            &client.app.get("/v3/session", text(&key["key"])).await,
            401,
            "AuthenticationError",
            why,
        );
    }

    assert!(key_works(&client, &expiring["key"]).await);
    for (body, enabled) in [
        (json!({}), true),
        (json!({"enabled": true}), true),
        (json!({"enabled": false}), false),
        (Value::Null, true),
    ] {
        assert_eq!(toggle(&disabled, body).await, json!({"enabled": enabled}));
    }

    clock.advance_seconds(30);
    assert!(key_works(&client, &disabled["key"]).await);
    // An expiry that was set in advance takes effect to the second.
    clock.advance_seconds(DAY - 61);
    assert!(key_works(&client, &expiring["key"]).await);

    clock.advance_seconds(1);
    expect_error(
        &client.app.get("/v3/session", text(&expiring["key"])).await,
        401,
        "AuthenticationError",
        "expired",
    );
}

#[tokio::test]
async fn a_key_does_nothing_to_itself_nor_to_those_of_others() {
    let client = OrgClient::new().await;
    let own = text(&list_keys(&client).await[0]["id"]).to_owned();
    let plain = create_agent_key(&client, json!({"name": "plain", "permission": "read"})).await;
    let other = client.app.create_key("other").await;
    let theirs = client.app.get(KEYS, &other).await.body["keys"][0]["id"].clone();
    let call = async |method: &str, path: String, body: Value| {
        client
            .app
            .call_json(method, &path, &client.key, &body)
            .await
    };
    let mut faults = ErrorMismatches::default();

    for (method, path, body) in [
        ("DELETE", format!("{KEYS}/{own}"), Value::Null),
        ("PUT", format!("{KEYS}/{own}/toggle"), Value::Null),
        (
            "PUT",
            format!("{KEYS}/{own}/toggle"),
            json!({"enabled": false}),
        ),
    ] {
        faults.check_error(
            &format!("{method} {path} {body}"),
            &call(method, path, body).await,
            409,
            "ConflictError",
            "itself",
        );
    }

    for id in [text(&theirs), "never", "not%20an%20id", &"x".repeat(40)] {
        for (method, path) in [
            ("DELETE", format!("{KEYS}/{id}")),
            ("DELETE", format!("{SCOPED}/{id}")),
            ("PUT", format!("{KEYS}/{id}/toggle")),
        ] {
            let note = format!("{method} {path}");
            faults.check_error(
                &note,
                &call(method, path, Value::Null).await,
                404,
                "NotFoundError",
                "Key not found",
            );
        }

        let enable = call(
            "PUT",
            format!("{KEYS}/{id}/toggle"),
            json!({"enabled": false}),
        )
        .await;
        faults.check_error(
            &format!("disable {id}"),
            &enable,
            404,
            "NotFoundError",
            "Key not found",
        );
    }
    faults.assert_none();

    assert_eq!(
        call(
            "PUT",
            format!("{KEYS}/{own}/toggle"),
            json!({"enabled": true})
        )
        .await
        .body,
        json!({"enabled": true})
    );

    client.app.environment.clock.advance_seconds(31);
    for key in [&plain["key"], &json!(other), &json!(client.key)] {
        assert!(key_works(&client, key).await);
    }
}

#[tokio::test]
async fn a_key_that_is_revoked_by_either_route_works_no_more_whatever_kind_it_is() {
    let client = OrgClient::new().await;
    for route in [KEYS, SCOPED] {
        let agent = json!({"name": "agent", "permission": "write"});
        let agent = client.post(AGENT, agent).await.body;
        let scoped = create_scoped_key(&client, json!({"containerTag": "box"})).await;
        let full = client.app.create_planned_key("acme", full_plan()).await;
        let full = json!({"key": full.key_text, "id": full.record.id});
        for key in [&agent, &scoped, &full] {
            let id = text(&key["id"]);
            assert!(key_works(&client, &key["key"]).await, "{key}");
            let answer = client.delete(&format!("{route}/{id}")).await;
            assert_eq!(
                (answer.status.as_u16(), answer.body),
                (200, json!({"success": true})),
                "{route}"
            );

            client.app.environment.clock.advance_seconds(31);
            assert!(
                !key_works(&client, &key["key"]).await,
                "{route} left the key working: {key}"
            );
        }
    }
}

fn full_plan() -> KeySpec {
    let (kind, permission, name) = (KeyKind::Full, Permission::Read, "full".to_owned());
    KeySpec {
        name,
        kind,
        permission,
        tags: None,
        expires_at: None,
        rate_limit: None,
    }
}

#[tokio::test]
async fn keys_are_an_administrators_affair() {
    let client = OrgClient::new().await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let mut faults = ErrorMismatches::default();
    for (method, path) in [
        ("GET", KEYS.to_owned()),
        ("POST", SCOPED.to_owned()),
        ("POST", AGENT.to_owned()),
        ("DELETE", format!("{KEYS}/x")),
        ("DELETE", format!("{SCOPED}/x")),
        ("PUT", format!("{KEYS}/x/toggle")),
        ("POST", "/v3/session".to_owned()),
    ] {
        let body = json!({"containerTag": "a", "name": "a", "permission": "read"});
        let call = async |key: &str| client.app.call_json(method, &path, key, &body).await;
        faults.check_error(
            &format!("{method} {path}"),
            &call(&reader).await,
            403,
            "PermissionError",
            "administrator",
        );
        faults.check_error(
            &format!("{method} {path}"),
            &call("").await,
            401,
            "AuthenticationError",
            "key",
        );
    }

    faults.assert_none();
}
