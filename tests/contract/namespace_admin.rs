//! Namespaces themselves: `/ns` and `/ns/{namespace}`.

use domain::ContainerTag;
use domain::key::{KeyKind, KeySpec, Permission};
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::containers::find_container;
use crate::merge::merge_status;
use crate::shape::{ErrorMismatches, assert_shape, expect_error, expect_ok, pagination_shape};

fn times_shape() -> Value {
    json!({"createdAt": "time", "updatedAt": "time"})
}

fn details_shape() -> Value {
    json!({
        "namespace": "string",
        "supportingContext": "string|null",
        "system": times_shape(),
    })
}

/// Returns a page of the list, and checks its shape.
async fn list(client: &OrgClient, key: &str, query: &str) -> Value {
    let namespace = json!({
        "id": "id",
        "namespace": "string",
        "documentCount": "int",
        "memoryCount": "int",
        "description": "string|null",
        "system": times_shape(),
    });
    let shape = json!({"namespaces": [namespace], "pagination": pagination_shape()});
    expect_ok(client.app.get(&format!("/ns{query}"), key).await, &shape)
}

async fn listed_names(client: &OrgClient, query: &str) -> Vec<String> {
    let page = list(client, &client.key, query).await;
    collect_field(&page["namespaces"], "namespace")
}

/// Adds a document to a namespace, and waits until it is processed.
pub(crate) async fn add(client: &OrgClient, namespace: &str, content: &str) {
    let body = json!({"content": content, "containerTag": namespace});
    client.add_document(body).await;
}

/// Creates a key for the content of one namespace.
pub(crate) async fn scoped_key(client: &OrgClient, namespace: &str) -> String {
    let spec = KeySpec {
        name: "scoped".into(),
        kind: KeyKind::Scoped,
        permission: Permission::Write,
        tags: Some(vec![ContainerTag::parse(namespace).expect("a tag")]),
        expires_at: None,
        rate_limit: None,
    };
    client.app.create_planned_key("acme", spec).await.key_text
}

#[tokio::test]
async fn namespaces_are_listed_page_by_page_with_what_is_in_them() {
    let client = OrgClient::new().await;
    let empty = list(&client, &client.key, "").await;
    let pagination = json!({"currentPage": 1, "limit": 20, "totalItems": 0, "totalPages": 0});
    assert_eq!(empty, json!({"namespaces": [], "pagination": pagination}));

    for (namespace, content) in [
        ("Home", "I live in Bonn."),
        ("Home", "The mill stands."),
        ("birds", "A heron."),
        ("birdhouse", "A box of oak."),
    ] {
        add(&client, namespace, content).await;
    }
    let context = json!({"supportingContext": "Notes about birds."});
    client.send_patch("/ns/birds", context).await;

    let all = list(&client, &client.key, "").await;
    assert_eq!(
        collect_field(&all["namespaces"], "namespace"),
        ["Home", "birdhouse", "birds"]
    );
    let [home, _, birds] = [0, 1, 2].map(|index| all["namespaces"][index].clone());
    assert_eq!(
        (&home["documentCount"], &home["memoryCount"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(home["description"], Value::Null);
    assert_eq!(birds["documentCount"], 1);
    assert_eq!(birds["description"], "Notes about birds.");

    assert_eq!(
        listed_names(&client, "?q=BIRD").await,
        ["birdhouse", "birds"]
    );
    assert_eq!(listed_names(&client, "?q=home").await, ["Home"]);
    assert_eq!(listed_names(&client, "?q=owl").await, [""; 0]);
    assert_eq!(
        listed_names(&client, "?limit=2").await,
        ["Home", "birdhouse"]
    );
    assert_eq!(listed_names(&client, "?limit=2&page=2").await, ["birds"]);
    assert_eq!(listed_names(&client, "?limit=2&page=3").await, [""; 0]);
    let page = list(&client, &client.key, "?limit=1&page=2&q=bird").await;
    assert_eq!(
        page["pagination"],
        json!({"currentPage": 2, "limit": 1, "totalItems": 2, "totalPages": 2})
    );

    let mut faults = ErrorMismatches::default();
    for (query, named) in [
        ("?limit=0", "limit"),
        ("?limit=101", "limit"),
        ("?limit=many", "limit"),
        ("?page=0", "page"),
        ("?page=-1", "page"),
    ] {
        let answer = client.get(&format!("/ns{query}")).await;
        faults.check_error(query, &answer, 400, "ValidationError", named);
    }
    faults.assert_none();
}

#[tokio::test]
async fn a_key_lists_the_namespaces_that_it_reaches() {
    let client = OrgClient::new().await;
    add(&client, "north", "A heron.").await;
    add(&client, "south", "A stork.").await;

    let reads_north = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["north"]))
        .await;
    let page = list(&client, &reads_north, "").await;
    assert_eq!(collect_field(&page["namespaces"], "namespace"), ["north"]);
    assert_eq!(page["pagination"]["totalItems"], 1);

    let other = client.app.create_key("other").await;
    assert_eq!(list(&client, &other, "").await["namespaces"], json!([]));

    let scoped = scoped_key(&client, "north").await;
    for path in ["/ns", "/ns/north"] {
        let answer = client.app.get(path, &scoped).await;
        expect_error(&answer, 403, "PermissionError", "one container tag");
    }
}

#[tokio::test]
async fn a_namespace_has_a_context_that_can_be_changed_and_cleared() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    let got = expect_ok(client.get("/ns/box").await, &details_shape());
    assert_eq!(
        (&got["namespace"], &got["supportingContext"]),
        (&json!("box"), &Value::Null)
    );

    let longest = "ü".repeat(1500);
    for (sent, stored) in [
        (json!("Notes about birds."), json!("Notes about birds.")),
        (json!(longest), json!(longest)),
        (json!("  "), Value::Null),
        (json!("Boats."), json!("Boats.")),
        (Value::Null, Value::Null),
    ] {
        let body = json!({"supportingContext": sent});
        let changed = expect_ok(client.send_patch("/ns/box", body).await, &details_shape());
        assert_eq!(changed["supportingContext"], stored);
        assert_eq!(client.get("/ns/box").await.body, changed);
    }

    client
        .send_patch("/ns/box", json!({"supportingContext": "Boats."}))
        .await;
    let kept = client.send_patch("/ns/box", json!({})).await.body;
    assert_eq!(kept["supportingContext"], "Boats.");
    let tag = client.get("/v3/container-tags/box").await.body;
    assert_eq!(tag["entityContext"], "Boats.");

    let mut faults = ErrorMismatches::default();
    for bad in [json!("ü".repeat(1501)), json!(1), json!(["Boats."])] {
        let answer = client
            .send_patch("/ns/box", json!({"supportingContext": bad}))
            .await;
        faults.check_error(
            &bad.to_string(),
            &answer,
            400,
            "ValidationError",
            "supportingContext",
        );
    }
    let answer = client.send_patch("/ns/a%20b", json!({})).await;
    faults.check_error("a b", &answer, 400, "ValidationError", "namespace");
    let answer = client.get("/ns/a%20b").await;
    faults.check_error("a b", &answer, 400, "ValidationError", "namespace");
    faults.assert_none();
}

#[tokio::test]
async fn a_namespace_that_does_not_exist_is_neither_shown_nor_made() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    let other = client.app.create_key("other").await;
    let change = json!({"supportingContext": "Boats."});

    for (key, namespace) in [(&client.key, "nobody-was-here"), (&other, "box")] {
        let path = format!("/ns/{namespace}");
        for (method, body) in [
            ("GET", &Value::Null),
            ("PATCH", &change),
            ("DELETE", &Value::Null),
        ] {
            let answer = client.app.call_json(method, &path, key, body).await;
            expect_error(&answer, 404, "NotFoundError", "Container tag not found");
        }
    }
    assert_eq!(listed_names(&client, "").await, ["box"]);
    let theirs = list(&client, &other, "").await;
    assert_eq!(theirs["pagination"]["totalItems"], 0);
    assert_eq!(
        client.get("/ns/box").await.body["supportingContext"],
        Value::Null
    );
}

#[tokio::test]
async fn only_keys_that_may_change_a_namespace_do() {
    let client = OrgClient::new().await;
    add(&client, "north", "A heron.").await;
    add(&client, "south", "A stork.").await;
    let create = |permission, tags: Option<&'static [&'static str]>| {
        let app = &client.app;
        async move { app.create_key_with("acme", permission, tags).await }
    };
    let (reader, of_north) = (
        create(Permission::Read, None).await,
        create(Permission::Write, Some(&["north"])).await,
    );
    let scoped = scoped_key(&client, "north").await;

    let context = json!({"supportingContext": "Boats."});
    let buckets = json!({"buckets": {"boats": "Boats."}});
    let names = json!({"buckets": ["boats"]});
    let mut faults = ErrorMismatches::default();
    for (key, method, path, body) in [
        (&reader, "PATCH", "/ns/north", &context),
        (&reader, "DELETE", "/ns/north", &Value::Null),
        (&reader, "PUT", "/ns/north/profile/buckets", &buckets),
        (&reader, "DELETE", "/ns/north/profile/buckets", &names),
        (&of_north, "GET", "/ns/south", &Value::Null),
        (&of_north, "PATCH", "/ns/south", &context),
        // Only administrators delete.
        (&of_north, "DELETE", "/ns/north", &Value::Null),
        (&of_north, "GET", "/ns/south/profile/buckets", &Value::Null),
        (&of_north, "PUT", "/ns/south/profile/buckets", &buckets),
        (&of_north, "DELETE", "/ns/nobody/profile/buckets", &names),
        (&scoped, "PATCH", "/ns/north", &context),
        (&scoped, "DELETE", "/ns/north", &Value::Null),
        (&scoped, "PUT", "/ns/north/profile/buckets", &buckets),
        (&scoped, "GET", "/ns/south/profile/buckets", &Value::Null),
    ] {
        let answer = client.app.call_json(method, path, key, body).await;
        faults.check_error(
            &format!("{method} {path}"),
            &answer,
            403,
            "PermissionError",
            "",
        );
    }
    faults.assert_none();

    let own = client.app.get("/ns/north/profile/buckets", &scoped).await;
    assert_eq!(own.status, 200, "{}", own.body);
    let own = client
        .app
        .call_json("PATCH", "/ns/north", &of_north, &context)
        .await;
    assert_eq!(own.body["supportingContext"], "Boats.");
}

#[tokio::test]
async fn a_deleted_namespace_is_gone_and_counted() {
    let client = OrgClient::new().await;
    add(&client, "box", "I live in Bonn.").await;
    add(&client, "box", "The mill stands.").await;
    add(&client, "other", "A heron.").await;

    let shape = json!({
        "status": "string",
        "namespace": "string",
        "deletedDocumentsCount": "int",
        "deletedMemoriesCount": "int",
    });
    let deleted = expect_ok(client.delete("/ns/box").await, &shape);
    assert_eq!(
        deleted,
        json!({
            "status": "deleted",
            "namespace": "box",
            "deletedDocumentsCount": 2,
            "deletedMemoriesCount": 1,
        })
    );
    assert_eq!(listed_names(&client, "").await, ["other"]);
    assert_eq!(client.get("/ns/box").await.status, 404);
    let again = client.delete("/ns/box").await;
    expect_error(&again, 404, "NotFoundError", "Container tag not found");
}

#[tokio::test]
async fn an_option_that_is_misspelled_deletes_nothing() {
    let client = OrgClient::new().await;
    add(&client, "box", "A heron.").await;
    add(&client, "other", "A stork.").await;

    let mut faults = ErrorMismatches::default();
    for (query, named) in [
        ("?move_to=other", "move_to"),
        ("?moveto=other", "moveto"),
        ("?MoveTo=other", "MoveTo"),
        ("?target=other", "target"),
        ("?moveTo=other&dryRun=true", "dryRun"),
        ("?moveTo=", "moveTo"),
        ("?moveTo=a%20b", "moveTo"),
        ("?moveTo=box", "moveTo"),
        ("?moveTo=other&moveTo=box", "moveTo"),
    ] {
        let answer = client.delete(&format!("/ns/box{query}")).await;
        faults.check_error(query, &answer, 400, "ValidationError", named);
    }
    let body = json!({"moveTo": "other"});
    let answer = client
        .app
        .call_json("DELETE", "/ns/box", &client.key, &body)
        .await;
    faults.check_error("a body", &answer, 400, "ValidationError", "moveTo");
    faults.assert_none();

    for (path, missing) in [
        ("/ns/box?moveTo=nobody", "nobody"),
        ("/ns/nobody?moveTo=box", "nobody"),
    ] {
        let answer = client.delete(path).await;
        expect_error(&answer, 404, "NotFoundError", "Container tag not found");
        assert!(find_container(&client, missing).await.is_none());
    }
    assert_eq!(listed_names(&client, "").await, ["box", "other"]);
    assert!(
        find_container(&client, "box")
            .await
            .expect("a tag")
            .merge
            .is_none()
    );
}

#[tokio::test]
async fn the_content_of_a_namespace_is_moved_to_another() {
    let client = OrgClient::new().await;
    add(&client, "from", "The heron waits in the reeds.").await;
    add(&client, "to", "The stork waits on the roof.").await;

    let answer = client.delete("/ns/from?moveTo=to").await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let shape = json!({
        "status": "string", "operationId": "id", "namespace": "string", "moveTo": "string",
    });
    assert_shape(&answer.body, &shape);
    assert_eq!(
        (
            &answer.body["status"],
            &answer.body["namespace"],
            &answer.body["moveTo"]
        ),
        (&json!("queued"), &json!("from"), &json!("to"))
    );
    let id = answer.body["operationId"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(
        client
            .listed_ids(json!({"containerTags": ["to"]}))
            .await
            .len(),
        2
    );

    let context = json!({"supportingContext": "Boats."});
    let buckets = json!({"buckets": {"boats": "Boats."}});
    for (method, path, body) in [
        ("PATCH", "/ns/to", &context),
        ("PUT", "/ns/to/profile/buckets", &buckets),
        ("DELETE", "/ns/from", &Value::Null),
        ("DELETE", "/ns/from?moveTo=to", &Value::Null),
    ] {
        let answer = client.app.call_json(method, path, &client.key, body).await;
        expect_error(&answer, 409, "ConflictError", "merge");
    }

    client.run_until_settled().await;
    assert_eq!(merge_status(&client, &id).await["status"], "completed");
    assert_eq!(listed_names(&client, "").await, ["to"]);
    let page = list(&client, &client.key, "").await;
    assert_eq!(page["namespaces"][0]["documentCount"], 2);
    assert!(client.search_finds("reeds").await);
}
