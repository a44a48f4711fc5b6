//! Tests of connectors, the routes below `/connectors` and `/ns/{namespace}/connectors`.

use domain::ConnectionId;
use domain::key::{KeyKind, Permission};
use serde_json::{Value, json};

use super::world::{Answer, BASE, Browser, TestWorld};

pub(super) const BOX: &str = "/ns/box/connectors";

/// Returns the status and the message of an error.
pub(super) fn error(answer: &Answer) -> (u16, String) {
    let message = answer.json()["error"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (answer.status.as_u16(), message)
}

impl TestWorld {
    /// Creates a connector of the namespace `box`, and returns its id and its link.
    pub(super) async fn setup(&self, body: Value) -> (String, String) {
        let answer = self.call_route("POST", BOX, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let created = answer.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&created["id"]), text(&created["authorization"]["url"]))
    }

    /// Creates a connector whose user has given permission.
    pub(super) async fn permitted_connector(&self, body: Value) -> String {
        let (id, link) = self.setup(body).await;
        let answer = Browser::default().run_consent(self, &link).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        id
    }

    /// Returns a connector of `box`.
    pub(super) async fn show(&self, id: &str) -> Value {
        let answer = self
            .call_route("GET", &format!("{BOX}/{id}"), Value::Null)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Returns the body of a successful `GET`.
    pub(super) async fn read(&self, path: &str) -> Value {
        let answer = self.call_route("GET", path, Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

/// Returns the ids on a page.
pub(super) fn ids(page: &Value) -> Vec<&str> {
    let connectors = page["connectors"].as_array().unwrap();
    connectors
        .iter()
        .map(|connector| connector["id"].as_str().unwrap())
        .collect()
}

/// Returns a request for a connector to a drive.
pub(super) fn drive(more: Value) -> Value {
    let mut body = json!({"provider": "google-drive"});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn a_connector_waits_for_permission_and_is_then_listed() {
    let world = TestWorld::new().await;
    let body = drive(json!({
        "redirectUrl": "https://app.example.com/done",
        "documentLimit": 70,
        "config": {"syncScope": "selected"},
    }));
    let answer = world.call_route("POST", BOX, body).await.json();
    let id = answer["id"].as_str().unwrap();
    let link = answer["authorization"]["url"].as_str().unwrap();
    assert!(link.starts_with(&format!("{BASE}/v3/connections/auth/start/rk_t_")));
    let expires_at = answer["authorization"]["expiresAt"].as_str().unwrap();
    assert!(
        expires_at.starts_with("2026-01-01T01:00:00"),
        "{expires_at}"
    );
    let stored = world.stored(id).await;
    assert_eq!(
        stored.redirect_url.as_deref(),
        Some("https://app.example.com/done")
    );

    let mut pending = world.show(id).await;
    let another_link = pending["authorization"]["url"].as_str().unwrap().to_owned();
    assert_ne!(another_link, link);
    pending["authorization"] = Value::Null;
    pending["system"]["createdAt"] = Value::Null;
    assert_eq!(
        pending,
        json!({
            "id": id,
            "provider": "google-drive",
            "authorization": null,
            "namespace": "box",
            "account": null,
            "capabilities": {"selectable": true, "webhooks": false},
            "config": {"syncScope": "selected"},
            "selection": {"files": [], "folders": []},
            "documentLimit": 70,
            "documentCount": 0,
            "latestRun": null,
            "system": {
                "status": "pending_authorization",
                "createdAt": null,
                "lastSuccessfulSyncAt": null,
            },
        })
    );
    assert_eq!(ids(&world.read(BOX).await), [""; 0]);

    let answer = Browser::default().run_consent(&world, &another_link).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let active = world.show(id).await;
    assert_eq!(active["system"]["status"], "active");
    assert_eq!(active["account"], "mara<i>@example.com");
    assert_eq!(active.get("authorization"), None);
    let listed = world.read(BOX).await;
    assert_eq!(listed["connectors"], json!([active]));
}

#[tokio::test]
async fn a_key_that_may_only_read_gets_no_link() {
    let world = TestWorld::new().await;
    let (id, _) = world.setup(drive(json!({}))).await;
    let reader = world.key_with(KeyKind::Full, Permission::Read, None).await;
    let path = format!("{BOX}/{id}");
    let shown = world
        .call_as(&reader, "GET", &path, Value::Null)
        .await
        .json();
    assert_eq!(shown["system"]["status"], "pending_authorization");
    assert_eq!(shown.get("authorization"), None);

    let of_box = world
        .key_with(KeyKind::Agent, Permission::Write, Some(&["box"]))
        .await;
    let scoped = world
        .key_with(KeyKind::Scoped, Permission::Write, Some(&["box"]))
        .await;
    for (key, method, path, body) in [
        (&reader, "POST", BOX.to_owned(), drive(json!({}))),
        (&reader, "PATCH", path.clone(), json!({"documentLimit": 5})),
        (&reader, "POST", format!("{path}/sync"), Value::Null),
        (&reader, "DELETE", path.clone(), Value::Null),
        (
            &reader,
            "GET",
            format!("{path}?include=picker"),
            Value::Null,
        ),
        (
            &of_box,
            "GET",
            format!("{path}?include=syncs,picker"),
            Value::Null,
        ),
        (
            &of_box,
            "GET",
            "/ns/other/connectors".to_owned(),
            Value::Null,
        ),
        (
            &of_box,
            "GET",
            format!("/ns/other/connectors/{id}"),
            Value::Null,
        ),
        (
            &of_box,
            "DELETE",
            format!("/ns/other/connectors/{id}"),
            Value::Null,
        ),
        (
            &of_box,
            "POST",
            "/ns/other/connectors".to_owned(),
            drive(json!({})),
        ),
        (&scoped, "GET", BOX.to_owned(), Value::Null),
        (&scoped, "GET", "/connectors".to_owned(), Value::Null),
        (&scoped, "GET", path.clone(), Value::Null),
    ] {
        let (status, message) = error(&world.call_as(key, method, &path, body).await);
        assert_eq!(status, 403, "{method} {path}: {message}");
    }
    assert!(world.has_record(&id).await);
}

#[tokio::test]
async fn a_request_that_is_wrong_names_its_fields() {
    let world = TestWorld::new().await;
    for (body, message_part) in [
        (json!({}), "missing field `provider`"),
        (json!({"provider": 1}), "provider"),
        (drive(json!({"documentLimit": 0})), "documentLimit"),
        (
            drive(json!({"redirectUrl": "http://app.example.com"})),
            "redirectUrl",
        ),
        (
            drive(json!({"config": {"syncScope": "all"}})),
            "config.syncScope",
        ),
        (
            drive(json!({"config": {"startUrl": "https://a.example"}})),
            "config: ",
        ),
        (drive(json!({"config": []})), "config"),
    ] {
        let (status, message) = error(&world.call_route("POST", BOX, body.clone()).await);
        assert!(
            status == 400 && message.contains(message_part),
            "{body}: {message}"
        );
    }
    let answer = world
        .call_route("POST", "/ns/a%20b/connectors", drive(json!({})))
        .await;
    let (status, message) = error(&answer);
    assert!(
        status == 400 && message.starts_with("namespace"),
        "{message}"
    );

    for provider in [
        "notion", "onedrive", "gmail", "github", "s3", "granola", "floppy",
    ] {
        let body = json!({"provider": provider, "config": {"apiKey": "x"}});
        let (status, _) = error(&world.call_route("POST", BOX, body).await);
        assert_eq!(status, 501, "{provider}");
    }
    assert!(
        world
            .ctx
            .connections
            .list(&world.tenant)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn connectors_are_listed_by_namespace_provider_and_page() {
    let world = TestWorld::new().await;
    let mut of_box = Vec::new();
    for _ in 0..3 {
        of_box.push(world.permitted_connector(drive(json!({}))).await);
    }
    world.setup(drive(json!({}))).await;
    let (elsewhere, _) = world
        .connected_browser(json!({"containerTag": "other"}))
        .await;
    let [first, second, third] = [0, 1, 2].map(|index| of_box[index].as_str());

    for (path, expected) in [
        (BOX.to_owned(), vec![first, second, third]),
        (
            format!("{BOX}?provider=google-drive"),
            vec![first, second, third],
        ),
        (
            format!("{BOX}?provider=cloud-drive"),
            vec![first, second, third],
        ),
        (format!("{BOX}?provider=web-crawler"), vec![]),
        (format!("{BOX}?provider=notion"), vec![]),
        (format!("{BOX}?limit=2"), vec![first, second]),
        (format!("{BOX}?limit=2&page=2"), vec![third]),
        (format!("{BOX}?limit=2&page=3"), vec![]),
        ("/ns/other/connectors".to_owned(), vec![elsewhere.as_str()]),
        ("/ns/nobody/connectors".to_owned(), vec![]),
        (
            "/connectors".to_owned(),
            vec![first, second, third, &elsewhere],
        ),
        (
            "/connectors?page=2&limit=3".to_owned(),
            vec![elsewhere.as_str()],
        ),
    ] {
        let page = world.read(&path).await;
        assert_eq!(ids(&page), expected, "{path}");
    }
    assert_eq!(
        world.read("/connectors?page=2&limit=3").await["pagination"],
        json!({"currentPage": 2, "limit": 3, "totalItems": 4, "totalPages": 2})
    );

    let of_other = world
        .key_with(KeyKind::Agent, Permission::Read, Some(&["other"]))
        .await;
    let page = world
        .call_as(&of_other, "GET", "/connectors", Value::Null)
        .await
        .json();
    assert_eq!(ids(&page), [elsewhere.as_str()]);

    for path in [
        "/connectors?limit=0",
        "/connectors?limit=101",
        "/connectors?page=0",
    ] {
        let (status, _) = error(&world.call_route("GET", path, Value::Null).await);
        assert_eq!(status, 400, "{path}");
    }
}

#[tokio::test]
async fn a_connector_of_another_namespace_is_as_one_that_does_not_exist() {
    let world = TestWorld::new().await;
    let id = world.permitted_connector(drive(json!({}))).await;
    let unknown = ConnectionId::random().to_string();
    for path in [
        format!("/ns/other/connectors/{id}"),
        format!("{BOX}/{unknown}"),
        format!("{BOX}/nonsense"),
    ] {
        for (method, end, body) in [
            ("GET", "", Value::Null),
            ("GET", "?include=picker", Value::Null),
            ("PATCH", "", json!({"documentLimit": 5})),
            ("PATCH", "", json!({"selection": {"folders": ["f1"]}})),
            ("POST", "/sync", Value::Null),
            ("DELETE", "", Value::Null),
        ] {
            let answer = world
                .call_route(method, &format!("{path}{end}"), body)
                .await;
            assert_eq!(
                error(&answer),
                (404, "Connection not found".into()),
                "{method} {path}"
            );
        }
    }
    assert_eq!(world.stored(&id).await.document_limit, 10_000);
}
