//! Tests of the routes for callers with API keys.

use domain::ConnectionId;
use domain::connection::{ConnectionStatus, RunTrigger};
use domain::key::{KeyKind, Permission};
use domain::ports::ConnectorError;
use serde_json::{Value, json};

use super::world::{Answer, DRIVE, TestWorld};

fn error(answer: &Answer) -> (u16, String) {
    (
        answer.status.as_u16(),
        answer.json()["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

#[tokio::test]
async fn a_request_that_is_wrong_says_where() {
    let world = TestWorld::new().await;
    for (body, message_part) in [
        (json!({"documentLimit": 0}), "documentLimit"),
        (json!({"documentLimit": 10_001}), "documentLimit"),
        (json!({"documentLimit": "many"}), "documentLimit"),
        (json!({"containerTags": ["a", "b"]}), "containerTags"),
        (json!({"containerTag": "a b"}), "containerTag"),
        (
            json!({"metadata": {"syncScope": "all"}}),
            "metadata.syncScope",
        ),
        (json!({"metadata": {"a b": 1}}), "metadata.a b"),
        (json!({"metadata": []}), "metadata"),
        (
            json!({"redirectUrl": "http://app.example.com"}),
            "redirectUrl",
        ),
        (
            json!({"redirectUrl": "https://a:b@app.example.com"}),
            "redirectUrl",
        ),
    ] {
        let (status, message) = error(&world.call_route("POST", DRIVE, body.clone()).await);
        assert!(
            status == 400 && message.starts_with(message_part),
            "{body}: {status} {message}"
        );
    }

    let listed = world
        .call_route("POST", "/v3/connections/list", Value::Null)
        .await;
    assert_eq!(listed.json(), json!([]));
    let created = world
        .call_route(
            "POST",
            DRIVE,
            json!({"documentLimit": "70", "metadata": null}),
        )
        .await;
    assert_eq!(created.status, 200);
    assert_eq!(created.json()["redirectsTo"], Value::Null);
}

#[tokio::test]
async fn what_is_not_supported_says_what_is() {
    let world = TestWorld::new().await;
    for name in [
        "notion", "onedrive", "gmail", "github", "s3", "granola", "floppy",
    ] {
        for (method, path) in [
            ("POST", ""),
            ("POST", "/import"),
            ("POST", "/connection"),
            ("DELETE", ""),
        ] {
            let path = format!("/v3/connections/{name}{path}");
            let answer = world
                .call_route(method, &path, json!({"containerTags": ["a"]}))
                .await;
            let (status, message) = error(&answer);
            assert!(
                status == 501 && message.contains("cloud-drive and web-crawler"),
                "{path}: {message}"
            );
            assert_eq!(answer.headers["x-should-retry"], "false");
        }
    }

    let (status, _) = error(&world.call_route("GET", DRIVE, Value::Null).await);
    assert_eq!(status, 404);
}

#[tokio::test]
async fn connections_are_listed_and_found() {
    let world = TestWorld::new().await;
    let (first, _) = world
        .connect(json!({"containerTag": "a", "metadata": {"team": "north"}}))
        .await;
    let second = world
        .active_connection(json!({"containerTags": ["b"], "documentLimit": 5}))
        .await;
    let (third, _) = world.connect(json!({"containerTag": "a"})).await;

    for (body, expected) in [
        (Value::Null, vec![&first, &second, &third]),
        (json!({"containerTags": ["a"]}), vec![&first, &third]),
        (
            json!({"containerTags": ["a", "b"], "provider": "google-drive"}),
            vec![&first, &second, &third],
        ),
        (json!({"provider": "web-crawler"}), vec![]),
    ] {
        let listed = world
            .call_route("POST", "/v3/connections/list", body.clone())
            .await
            .json();
        let ids: Vec<&str> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{body}");
    }

    let connection = world
        .call_route("GET", &format!("/v3/connections/{first}"), Value::Null)
        .await
        .json();

    assert_eq!(connection["metadata"], json!({"team": "north"}));
    assert_eq!(
        (&connection["containerTags"], &connection["documentLimit"]),
        (&json!(["a"]), &json!(10_000))
    );
    assert_eq!(
        (&connection["provider"], &connection["status"]),
        (&json!("cloud-drive"), &json!("pending_oauth"))
    );

    for (tags, expected) in [
        (json!(["a"]), Some(&third)),
        (json!(["b"]), Some(&second)),
        (json!(["c"]), None),
    ] {
        let path = "/v3/connections/google-drive/connection";
        let answer = world
            .call_route("POST", path, json!({"containerTags": tags}))
            .await;
        match expected {
            Some(id) => assert_eq!(answer.json()["id"], json!(id)),
            None => assert_eq!(answer.status, 404),
        }
    }

    let answer = world
        .call_route("POST", &format!("{DRIVE}/connection"), json!({}))
        .await;
    assert_eq!(answer.status, 400);

    let changed = world
        .call_route(
            "PATCH",
            &format!("/v3/connections/{second}"),
            json!({"documentLimit": 9}),
        )
        .await;

    assert_eq!(changed.json()["documentLimit"], 9);

    for bad in [json!({}), json!({"documentLimit": 0})] {
        assert_eq!(
            world
                .call_route("PATCH", &format!("/v3/connections/{second}"), bad)
                .await
                .status,
            400
        );
    }

    assert_eq!(
        world
            .call_route("POST", &format!("{DRIVE}/documents"), json!({}))
            .await
            .json(),
        json!([])
    );
}

#[tokio::test]
async fn keys_reach_no_further_than_their_tags() {
    let world = TestWorld::new().await;
    let (other, _) = world.connect(json!({"containerTag": "elsewhere"})).await;
    let own_key = world
        .key_with(KeyKind::Agent, Permission::Write, Some(&["home"]))
        .await;
    let created = world
        .call_as(&own_key, "POST", DRIVE, json!({}))
        .await
        .json();
    let id = created["id"].as_str().unwrap();
    let listed = world
        .call_as(&own_key, "POST", "/v3/connections/list", Value::Null)
        .await
        .json();

    assert_eq!(
        (listed[0]["id"].as_str(), &listed[1]),
        (Some(id), &Value::Null)
    );
    assert_eq!(listed[0]["containerTags"], json!(["home"]));

    for (method, path, body, status) in [
        (
            "POST",
            DRIVE.to_owned(),
            json!({"containerTag": "elsewhere"}),
            403,
        ),
        (
            "POST",
            "/v3/connections/list".to_owned(),
            json!({"containerTags": ["elsewhere"]}),
            403,
        ),
        (
            "DELETE",
            DRIVE.to_owned(),
            json!({"containerTags": ["elsewhere"]}),
            403,
        ),
        (
            "POST",
            format!("{DRIVE}/documents"),
            json!({"containerTags": ["elsewhere"]}),
            403,
        ),
        ("GET", format!("/v3/connections/{other}"), Value::Null, 404),
        (
            "DELETE",
            format!("/v3/connections/{other}"),
            Value::Null,
            404,
        ),
        (
            "POST",
            format!("/v3/connections/{other}/import"),
            Value::Null,
            404,
        ),
        (
            "POST",
            format!("/v3/connections/{other}/reconnect"),
            Value::Null,
            404,
        ),
        (
            "GET",
            format!("/v3/connections/{other}/resources"),
            Value::Null,
            404,
        ),
        (
            "GET",
            format!("/v3/connections/{other}/items"),
            Value::Null,
            404,
        ),
        (
            "GET",
            format!("/v3/connections/{other}/sync-runs"),
            Value::Null,
            404,
        ),
        (
            "POST",
            format!("/v3/connections/{id}/cloud-drive/hosted-picker"),
            Value::Null,
            403,
        ),
    ] {
        assert_eq!(
            world.call_as(&own_key, method, &path, body).await.status,
            status,
            "{method} {path}"
        );
    }

    let reader = world.key_with(KeyKind::Full, Permission::Read, None).await;
    let scoped = world
        .key_with(KeyKind::Scoped, Permission::Write, Some(&["home"]))
        .await;

    for key in [&reader, &scoped] {
        assert_eq!(
            world.call_as(key, "POST", DRIVE, json!({})).await.status,
            403
        );
        let resources = format!("/v3/connections/{id}/resources");
        assert_eq!(
            world
                .call_as(key, "GET", &resources, Value::Null)
                .await
                .status,
            403
        );
    }

    assert_eq!(
        world
            .call_as(
                &reader,
                "GET",
                &format!("/v3/connections/{id}"),
                Value::Null
            )
            .await
            .status,
        200
    );
    assert_eq!(
        world
            .call_as(
                &scoped,
                "GET",
                &format!("/v3/connections/{id}"),
                Value::Null
            )
            .await
            .status,
        403
    );
}

#[tokio::test]
async fn deleting_is_answered_at_once_and_again() {
    let world = TestWorld::new().await;
    let id = world.active_connection(json!({"containerTag": "a"})).await;
    let path = format!("/v3/connections/{id}?deleteDocuments=true");
    for _ in 0..2 {
        let answer = world.call_route("DELETE", &path, Value::Null).await;
        assert_eq!(answer.json(), json!({"id": id, "provider": "cloud-drive"}));
    }
    let stored = world.stored(&id).await;
    assert_eq!(
        (stored.status, stored.delete_documents),
        (ConnectionStatus::Deleting, true)
    );
    assert!(
        stored
            .next_run_at
            .is_some_and(|next| next <= world.ctx.clock.now())
    );
    // While a connection is being deleted, a caller may still ask for the deletion of its remaining
    // documents, and that cannot be undone.
    let later = world.active_connection(json!({"containerTag": "d"})).await;
    for (query, with_documents) in [("", false), ("?deleteDocuments=true", true), ("", true)] {
        world
            .call_route(
                "DELETE",
                &format!("/v3/connections/{later}{query}"),
                Value::Null,
            )
            .await;
        assert_eq!(
            world.stored(&later).await.delete_documents,
            with_documents,
            "{query}"
        );
    }
    let connection_path = format!("/v3/connections/{id}");
    assert_eq!(
        world
            .call_route("GET", &connection_path, Value::Null)
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .call_route("POST", &format!("{connection_path}/import"), Value::Null)
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .call_route(
                "POST",
                &format!("{connection_path}/configure"),
                json!({"resources": [{"id": "f1"}]})
            )
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .call_route(
                "DELETE",
                &format!("/v3/connections/{}", "1".repeat(22)),
                Value::Null
            )
            .await
            .status,
        404
    );

    let (b1, _) = world.connect(json!({"containerTag": "b"})).await;
    let (b2, _) = world.connect(json!({"containerTag": "b"})).await;
    let (c, _) = world.connect(json!({"containerTag": "c"})).await;
    assert_eq!(
        world.call_route("DELETE", DRIVE, json!({})).await.status,
        400
    );
    assert_eq!(
        world
            .call_route("DELETE", DRIVE, json!({"containerTags": ["never"]}))
            .await
            .status,
        404
    );
    for _ in 0..2 {
        let answer = world
            .call_route("DELETE", DRIVE, json!({"containerTags": ["b"]}))
            .await
            .json();
        assert_eq!(
            answer,
            json!({"id": b2, "provider": "cloud-drive", "ids": [b1, b2]})
        );
    }
    assert!(!world.stored(&b1).await.delete_documents);
    assert_eq!(
        world.stored(&c).await.status,
        ConnectionStatus::PendingOauth
    );
}

#[tokio::test]
async fn an_import_says_what_runs_and_what_does_not() {
    let world = TestWorld::new().await;
    let path = format!("{DRIVE}/import");
    assert_eq!(
        world.call_route("POST", &path, Value::Null).await.status,
        404
    );

    let active = world.active_connection(json!({"containerTag": "a"})).await;
    world.connected_browser(json!({"containerTag": "b"})).await;
    world
        .change_record(&active, |connection| {
            (connection.requested, connection.next_run_at) = (None, None)
        })
        .await;
    let answer = world.call_route("POST", &path, Value::Null).await;

    assert_eq!(answer.status, 202);

    let message = "Importing cloud-drive: 1 connection asked to sync. Skipped 1 connection: nothing is selected yet.";
    assert_eq!(
        answer.json(),
        json!({"message": message, "provider": "cloud-drive"})
    );

    let stored = world.stored(&active).await;
    assert_eq!(stored.requested, Some(RunTrigger::Manual));

    // A run that is requested twice runs once.
    world
        .call_route("POST", &path, json!({"containerTags": ["a"]}))
        .await;
    assert_eq!(world.stored(&active).await.rev, stored.rev);

    let key = format!("Bearer {}", world.key);
    let import_path = format!("/v3/connections/{active}/import");
    let headers = [("authorization", key.as_str()), ("accept", "text/plain")];
    let text = world
        .send("POST", &import_path, &headers, Value::Null)
        .await;

    assert_eq!(
        (text.status.as_u16(), text.text.as_str()),
        (202, "Importing cloud-drive: 1 connection asked to sync.")
    );

    for (status, runs) in [
        (ConnectionStatus::Suspended, true),
        (ConnectionStatus::Expired, false),
    ] {
        world
            .change_record(&active, |connection| {
                (connection.status, connection.requested) = (status, None)
            })
            .await;
        world.call_route("POST", &import_path, Value::Null).await;
        assert_eq!(
            world.stored(&active).await.requested.is_some(),
            runs,
            "{status:?}"
        );
    }
}

#[tokio::test]
async fn callers_may_build_a_picker_of_their_own() {
    let world = TestWorld::new().await;
    let (pending, _) = world.connect(json!({})).await;
    let resources = |id: &str, query: &str| format!("/v3/connections/{id}/resources{query}");
    let (status, message) = error(
        &world
            .call_route("GET", &resources(&pending, ""), Value::Null)
            .await,
    );
    assert!(
        status == 400 && message.contains("reconnect"),
        "{status} {message}"
    );
    let configure = format!("/v3/connections/{pending}/configure");
    let body = json!({"resources": [{"id": "f1", "name": "Projects", "type": "folder"}]});
    assert_eq!(world.call_route("POST", &configure, body).await.status, 409);

    let (id, _) = world.connected_browser(json!({})).await;
    let all_resources = world
        .call_route("GET", &resources(&id, ""), Value::Null)
        .await
        .json();
    assert_eq!(
        (&all_resources["total_count"], &all_resources["has_more"]),
        (&json!(3), &json!(false))
    );
    assert_eq!(all_resources["resources"][0]["type"], "folder");
    let page = world
        .call_route("GET", &resources(&id, "?page=2&per_page=1"), Value::Null)
        .await
        .json();
    assert_eq!(
        (&page["resources"][0]["id"], &page["has_more"]),
        (&json!("d1"), &json!(true))
    );
    assert_eq!(page["resources"].as_array().unwrap().len(), 1);
    let below = world
        .call_route(
            "GET",
            &resources(&id, "?parent_id=f1&per_page=30"),
            Value::Null,
        )
        .await
        .json();
    assert_eq!(below["resources"][1]["name"], "Notes");
    for bad in ["?page=0", "?per_page=0", "?per_page=101", "?view=bin"] {
        assert_eq!(
            world
                .call_route("GET", &resources(&id, bad), Value::Null)
                .await
                .status,
            400,
            "{bad}"
        );
    }
    let configure = format!("/v3/connections/{id}/configure");
    let unknown = json!({"resources": [{"id": "nowhere", "name": "Nowhere", "type": "folder"}]});
    for bad in [
        json!({}),
        json!({"resources": []}),
        json!({"resources": [{"id": ""}]}),
        unknown,
    ] {
        assert_eq!(
            world
                .call_route("POST", &configure, bad.clone())
                .await
                .status,
            400,
            "{bad}"
        );
    }
    let chosen = json!({"resources": [{"id": "root", "name": "All", "type": "file"}, all_resources["resources"][1], {"id": "f1"}]});
    let answer = world.call_route("POST", &configure, chosen).await.json();
    assert_eq!(
        (&answer["success"], &answer["webhooksRegistered"]),
        (&json!(true), &json!(0))
    );
    let id_of = ConnectionId::parse(&id).unwrap();
    let selection = world
        .ctx
        .sync
        .get_selection(&world.tenant, &id_of)
        .await
        .unwrap();
    let items: Vec<_> = selection
        .items
        .iter()
        .map(|item| (&*item.id, &*item.name, item.folder))
        .collect();
    assert_eq!(
        items,
        [("f1", "Projects", true), ("d1", "Plan <b>2026</b>", false)]
    );
    assert_eq!(world.stored(&id).await.status, ConnectionStatus::Active);
    let selected_resources = world
        .call_route("GET", &resources(&id, ""), Value::Null)
        .await
        .json();
    let selected: Vec<_> = selected_resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["selected"] == true)
        .collect();
    assert_eq!(selected, [true, true, false]);

    for (failure, status) in [
        (ConnectorError::Reauth("invalid_grant".into()), 400),
        (
            ConnectorError::Throttled {
                retry_after: Some(7),
            },
            429,
        ),
        (ConnectorError::Unavailable("down".into()), 503),
        (ConnectorError::PageLost, 400),
    ] {
        world.drive.script().failure = Some(failure);
        assert_eq!(
            world
                .call_route("GET", &resources(&id, ""), Value::Null)
                .await
                .status,
            status
        );
    }
    let full = world.connected_full().await;
    let body = json!({"resources": [{"id": "f1", "name": "Projects", "type": "folder"}]});
    for (path, body) in [
        ("configure", body),
        ("cloud-drive/hosted-picker", json!({})),
    ] {
        assert_eq!(
            world
                .call_route("POST", &format!("/v3/connections/{full}/{path}"), body)
                .await
                .status,
            409,
            "{path}"
        );
    }
}

impl TestWorld {
    async fn connected_full(&self) -> String {
        let full =
            json!({"metadata": {"syncScope": "full"}, "redirectUrl": "https://app.example.com"});
        self.connected_browser(full).await.0
    }
}
