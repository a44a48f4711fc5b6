//! `/v3/session`, and the description of the interface.

use domain::key::Permission;
use http::Request;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const PATH: &str = "/v3/session";

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

async fn session(client: &OrgClient, key: &str) -> Value {
    let scope = json!({
        "type": "string", "permission": "string", "tag?": "string", "tags?": ["string"],
        "rateLimit?": {"max": "int", "timeWindow": "int"}, "expires?": "time",
    });
    let answer = client.app.get(PATH, key).await;
    let tags = if answer.body["containerTags"].is_null() {
        json!("null")
    } else {
        json!([{"containerTag": "string", "permission": "string"}])
    };
    let shape = json!({
        "user": {"id": "string", "email": "string", "name": "string"},
        "org": {"id": "string", "name": "string", "slug": "string"},
        "role": "string", "accessType": "string", "containerTags": tags, "scope": scope,
    });

    expect_ok(answer, &shape)
}

#[tokio::test]
async fn a_key_is_told_who_it_is_and_how_far_it_reaches() {
    let client = OrgClient::new().await;
    let own = session(&client, &client.key).await;
    assert_eq!(
        own["org"],
        json!({"id": "acme", "name": "acme", "slug": "acme"})
    );
    assert_eq!(own["user"]["name"], "test");
    assert!(
        client
            .key
            .starts_with(&format!("rk_{}_", text(&own["user"]["id"])))
    );

    let wide = (
        "full",
        Value::Null,
        json!({"type": "full", "permission": "write"}),
    );
    assert_eq!(
        (text(&own["role"]), text(&own["accessType"])),
        ("owner", wide.0)
    );
    assert_eq!((&own["containerTags"], &own["scope"]), (&wide.1, &wide.2));

    let reader = session(
        &client,
        &client
            .app
            .create_key_with("acme", Permission::Read, None)
            .await,
    )
    .await;
    assert_eq!(
        (text(&reader["role"]), text(&reader["accessType"])),
        ("viewer", "full")
    );

    let agent = client
        .post(
            "/v3/auth/agent-key",
            json!({"name": "a", "permission": "write"}),
        )
        .await
        .body;
    assert_eq!(
        text(&session(&client, text(&agent["key"])).await["role"]),
        "editor"
    );

    let two = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["a", "b"]))
        .await;
    let two = session(&client, &two).await;
    let access =
        |tag: &str, permission: &str| json!({"containerTag": tag, "permission": permission});
    assert_eq!(
        two["containerTags"],
        json!([access("a", "read"), access("b", "read")])
    );
    assert_eq!(
        (text(&two["role"]), text(&two["accessType"])),
        ("viewer", "restricted")
    );
    assert_eq!(
        two["scope"],
        json!({"type": "scoped", "permission": "read", "tags": ["a", "b"]})
    );

    let body = json!({"containerTag": "box", "rateLimitMax": 9, "rateLimitTimeWindow": 1000, "expiresInDays": 1});
    let made = client.post("/v3/auth/scoped-key", body).await.body;
    let scoped = session(&client, text(&made["key"])).await;
    assert_eq!(
        scoped["user"],
        json!({"id": made["id"], "email": "scoped_box", "name": "scoped_box"})
    );

    let scope = json!({
        "type": "scoped", "permission": "write", "tags": ["box"], "tag": "box",
        "rateLimit": {"max": 9, "timeWindow": 1000}, "expires": made["expiresAt"],
    });
    assert_eq!(
        (text(&scoped["role"]), &scoped["scope"]),
        ("editor", &scope)
    );

    for key in ["", "garbage"] {
        expect_error(
            &client.app.get(PATH, key).await,
            401,
            "AuthenticationError",
            "key",
        );
    }
}

#[tokio::test]
async fn a_session_administers_for_a_quarter_of_an_hour() {
    let client = OrgClient::new().await;
    let open = async || {
        expect_ok(
            client.post(PATH, Value::Null).await,
            &json!({"token": "string", "expiresAt": "time"}),
        )
    };
    let (one, two) = (open().await, open().await);
    assert_ne!(one["token"], two["token"]);

    let who = session(&client, text(&one["token"])).await;
    assert_eq!(
        (text(&who["role"]), text(&who["user"]["name"])),
        ("owner", "session of test")
    );
    assert_eq!(who["scope"]["expires"], one["expiresAt"]);

    let token = text(&one["token"]);
    let patched = client
        .app
        .call_json("PATCH", "/v3/settings", token, &json!({"chunkSize": 500}))
        .await;
    assert!(patched.status.is_success(), "{}", patched.body);

    let mut faults = ErrorMismatches::default();
    faults.check_error(
        "prolonged",
        &client.app.post(PATH, token, &Value::Null).await,
        403,
        "PermissionError",
        "session",
    );

    // The end of one session does not end another.
    assert_eq!(
        client.app.delete(PATH, token).await.body,
        json!({"success": true})
    );

    client.app.environment.clock.advance_seconds(30);
    faults.check_error(
        "ended",
        &client.app.get(PATH, token).await,
        401,
        "AuthenticationError",
        "key",
    );

    client.app.environment.clock.advance_seconds(15 * 60 - 31);
    session(&client, text(&two["token"])).await;
    client.app.environment.clock.advance_seconds(1);
    faults.check_error(
        "over",
        &client.app.get(PATH, text(&two["token"])).await,
        401,
        "AuthenticationError",
        "expired",
    );
    faults.check_error(
        "no session",
        &client.delete(PATH).await,
        400,
        "ValidationError",
        "session",
    );
    faults.assert_none();

    session(&client, &client.key).await;
}

#[tokio::test]
async fn a_session_ends_with_disabling_and_deletes_the_key_that_opened_it() {
    let client = OrgClient::new().await;
    let token = client.post(PATH, Value::Null).await.body["token"].clone();
    let id = session(&client, &client.key).await["user"]["id"].clone();
    let path = format!("/v3/auth/keys/{}", text(&id));
    let answer = client.app.delete(&path, text(&token)).await;
    assert_eq!(answer.body, json!({"success": true}));

    client.app.environment.clock.advance_seconds(30);
    expect_error(&client.get(PATH).await, 401, "AuthenticationError", "");
    let own = session(&client, text(&token)).await["user"]["id"].clone();
    let path = format!("/v3/auth/keys/{}", text(&own));
    expect_error(
        &client.app.delete(&path, text(&token)).await,
        409,
        "ConflictError",
        "itself",
    );
}

#[tokio::test]
async fn the_page_of_the_description_is_served_to_everybody_under_a_strict_policy() {
    let client = OrgClient::new().await;
    let files = [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/app.js", "text/javascript; charset=utf-8"),
        ("/docs/app.css", "text/css; charset=utf-8"),
    ];

    for (path, media_type) in files {
        for key in ["", "garbage", &client.key] {
            let answer = client.app.get(path, key).await;
            let header = |name: &str| {
                let value = answer.headers.get(name);
                value
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or("none")
            };
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(header("content-type"), media_type, "{path}");
            assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(header("x-frame-options"), "DENY", "{path}");

            let policy = header("content-security-policy");
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; "),
                "{policy}"
            );
            assert!(
                !policy.contains("unsafe") && !policy.contains("http"),
                "{policy}"
            );
        }
    }
}

#[tokio::test]
async fn the_description_is_served_to_everybody() {
    let client = OrgClient::new().await;
    let written: Value = serde_norway::from_str(include_str!("../../openapi.yaml")).expect("YAML");
    for path in ["/v3/openapi", "/v4/openapi"] {
        for key in ["", "garbage", &client.key] {
            let answer = client.app.get(path, key).await;
            assert_eq!(answer.body, written);
            assert_eq!(answer.body["info"]["version"], "3.0.0");
            let header = |name: &str| {
                answer
                    .headers
                    .get(name)
                    .and_then(|value| value.to_str().ok())
            };
            assert_eq!(header("cache-control"), Some("public, max-age=300"));
            assert_eq!(header("content-type"), Some("application/json"));
        }
    }

    let request = Request::post("/v3/openapi")
        .body("".into())
        .expect("a request");
    assert_eq!(client.app.send(request).await.status, 405);
}
