//! `DELETE /v3/documents/bulk`.

use std::pin::pin;

use domain::key::Permission;
use futures::FutureExt;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error, expect_ok, merge_shapes};
use crate::steps::{make_long, process_only};

async fn send_bulk(client: &OrgClient, body: Value) -> TestAnswer {
    client
        .send_bytes(
            "DELETE",
            "/v3/documents/bulk",
            "application/json",
            body.to_string(),
        )
        .await
}

/// Deletes documents, checks the shape of the answer, and returns it.
async fn delete(client: &OrgClient, body: Value) -> Value {
    let answer = send_bulk(client, body).await;
    let mut shape = json!({"success": "bool", "deletedCount": "int"});
    if answer.body.get("hasMore").is_some() {
        shape = merge_shapes(shape, &json!({"hasMore": "bool", "cursor": "string"}));
    }
    if answer.body.get("errors").is_some() {
        shape = merge_shapes(
            shape,
            &json!({"errors": [{"id": "string", "error": "string"}]}),
        );
    }
    if answer.body.get("containerTags").is_some() {
        shape = merge_shapes(shape, &json!({"containerTags": ["string"]}));
    }
    expect_ok(answer, &shape)
}

/// Adds a document about a canary.
async fn add_document(client: &OrgClient, tag: &str, custom_id: &str, path: &str) -> String {
    let content = format!("The canary {custom_id} of {tag} sings.");
    let body =
        json!({"content": content, "containerTag": tag, "customId": custom_id, "filepath": path});
    client.add_document(body).await
}

/// Returns the listed customIds in order. Checks that search finds exactly these.
async fn remaining_custom_ids(client: &OrgClient) -> Vec<String> {
    let listed = client
        .post("/v3/documents/list", json!({"limit": 1000, "order": "asc"}))
        .await
        .body;
    let names = crate::client::collect_field(&listed["memories"], "customId");
    assert_eq!(
        client.search_texts("canary").await.len(),
        names.len(),
        "search and listing disagree"
    );
    names
}

#[tokio::test]
async fn ids_and_custom_ids_are_deleted_and_what_is_unknown_is_told() {
    let client = OrgClient::new().await;
    let mut ids = Vec::new();
    for name in ["one", "two", "three", "four"] {
        ids.push(add_document(&client, "a", name, "/a.md").await);
    }
    let body = json!({"ids": [ids[0], "two", "never-existed", ids[0], ids[1], "%00", ""]});
    let answer = delete(&client, body).await;
    assert_eq!(
        (&answer["deletedCount"], &answer["success"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(
        crate::client::collect_field(&answer["errors"], "id"),
        ["never-existed", "%00", ""]
    );
    assert_eq!(remaining_custom_ids(&client).await, ["three", "four"]);

    let answer = delete(&client, json!({"ids": ["three"]})).await;
    assert_eq!(answer, json!({"success": true, "deletedCount": 1}));
    let answer = delete(&client, json!({"ids": ["three", ids[0]]})).await;
    assert_eq!(answer["deletedCount"], 0);

    client.run_until_settled().await;
    assert_eq!(remaining_custom_ids(&client).await, ["four"]);
}

#[tokio::test]
async fn a_container_is_emptied_and_no_other() {
    let client = OrgClient::new().await;
    for (tag, name) in [("a", "one"), ("a", "two"), ("b", "three"), ("c", "four")] {
        add_document(&client, tag, name, "/x.md").await;
    }
    let answer = delete(&client, json!({"containerTags": ["a", "c", "never-used"]})).await;
    assert_eq!(
        answer,
        json!({"success": true, "deletedCount": 3, "containerTags": ["a", "c", "never-used"]})
    );
    assert_eq!(remaining_custom_ids(&client).await, ["three"]);

    let answer = delete(&client, json!({"containerTag": "b"})).await;
    assert_eq!(answer["deletedCount"], 1);
    assert!(remaining_custom_ids(&client).await.is_empty());

    add_document(&client, "a", "again", "/x.md").await;
    assert_eq!(remaining_custom_ids(&client).await, ["again"]);
}

#[tokio::test]
async fn a_path_is_exact_or_a_prefix_that_ends_with_a_slash() {
    let client = OrgClient::new().await;
    let paths = [
        ("a", "/x/1"),
        ("a", "/x/2"),
        ("a", "/x"),
        ("a", "/xy"),
        ("b", "/x/1"),
        ("a", "/x/y/3"),
    ];
    for (i, (tag, path)) in paths.iter().enumerate() {
        add_document(&client, tag, &format!("n{i}"), path).await;
    }

    let of = |path: &str| json!({"containerTags": ["a"], "filepath": path});
    assert_eq!(delete(&client, of("/x")).await["deletedCount"], 1);
    assert_eq!(
        remaining_custom_ids(&client).await,
        ["n0", "n1", "n3", "n4", "n5"]
    );
    assert_eq!(delete(&client, of("/nowhere/")).await["deletedCount"], 0);
    assert_eq!(
        delete(&client, of("")).await["deletedCount"],
        0,
        "no document has an empty path"
    );
    assert_eq!(delete(&client, of("/x/")).await["deletedCount"], 3);
    assert_eq!(remaining_custom_ids(&client).await, ["n3", "n4"]);
}

#[tokio::test]
async fn who_does_not_say_what_deletes_nothing() {
    let client = OrgClient::new().await;
    add_document(&client, "a", "one", "/a.md").await;
    let many = vec!["one"; 101];
    let mut faults = ErrorMismatches::default();
    for (body, named) in [
        (json!({}), "ids"),
        (json!({"filepath": "/a.md"}), "containerTags"),
        (json!({"filepath": "/"}), "containerTags"),
        (json!({"containerTags": []}), "containerTags"),
        (json!({"containerTags": null, "ids": null}), "ids"),
        (json!({"ids": []}), "ids"),
        (json!({"ids": many}), "100"),
        (json!({"ids": "one"}), "ids"),
        (json!({"ids": [1]}), "ids"),
        (json!({"ids": ["one"], "filepath": "/a.md"}), "filepath"),
        (json!({"ids": ["one"], "cursor": "x"}), "cursor"),
        (json!({"containerTags": "a"}), "containerTags"),
        (json!({"containerTags": ["a b"]}), "containerTag"),
    ] {
        faults.check_error(
            &body.to_string(),
            &send_bulk(&client, body).await,
            400,
            "ValidationError",
            named,
        );
    }

    let none = client
        .send_bytes("DELETE", "/v3/documents/bulk", "application/json", "")
        .await;
    faults.check_error("no body", &none, 400, "ValidationError", "ids");
    faults.assert_none();
    assert_eq!(remaining_custom_ids(&client).await, ["one"]);
}

#[tokio::test]
async fn ids_beside_tags_are_looked_for_in_these_alone() {
    let client = OrgClient::new().await;
    let a = client
        .add_apart("a", "note", "The canary of a sings.")
        .await;
    let b = client
        .add_apart("b", "note", "The canary of b sings.")
        .await;
    let answer = delete(&client, json!({"ids": [b], "containerTags": ["a"]})).await;
    assert_eq!(
        answer["deletedCount"], 0,
        "it lies in another container: {answer}"
    );
    assert_eq!(remaining_custom_ids(&client).await.len(), 2);
    assert_eq!(
        delete(&client, json!({"ids": ["note"], "containerTags": ["a"]})).await["deletedCount"],
        1
    );
    assert_eq!(client.listed_ids(json!({})).await, [b]);
    assert_ne!(client.get(&format!("/v3/documents/{a}")).await.status, 200);
}

#[tokio::test]
async fn fifty_documents_go_at_once() {
    let client = OrgClient::new().await;
    let documents: Vec<String> = (0..50)
        .map(|i| format!("The canary number {i} sings."))
        .collect();
    client
        .post(
            "/v3/documents/batch",
            json!({"documents": documents, "containerTag": "a"}),
        )
        .await;
    add_document(&client, "a", "other", "/a.md").await;
    let listed = client.listed_ids(json!({"order": "asc"})).await;
    let (many, other) = listed.split_at(50);
    assert_eq!(
        delete(&client, json!({"ids": many})).await,
        json!({"success": true, "deletedCount": 50})
    );
    assert_eq!(
        client.search_texts("canary").await,
        ["The canary other of a sings."]
    );

    client.run_until_settled().await;
    assert_eq!(client.listed_ids(json!({})).await, other);
    assert_eq!(
        client.search_texts("canary").await,
        ["The canary other of a sings."]
    );
}

#[tokio::test]
async fn a_tag_with_more_documents_than_one_part_is_emptied() {
    let client = OrgClient::new().await;
    let documents: Vec<String> = (0..600).map(|i| format!("The canary {i} sings.")).collect();
    let body = json!({"documents": documents, "containerTag": "a", "filepath": "/x/1"});
    client.post("/v3/documents/batch", body).await;

    let below_x = json!({"containerTags": ["a"], "filepath": "/x/"});
    assert_eq!(delete(&client, below_x).await["deletedCount"], 600);
    assert!(client.listed_ids(json!({})).await.is_empty());
}

/// Sends a deletion, during which the process stands still for a minute before its call number `call`.
/// Returns the answer, and `false` if the request makes fewer calls.
async fn delete_with_pause(client: &OrgClient, body: Value, call: u64) -> (Value, bool) {
    let faults = &client.app.faults;
    let at = faults.call_count() + call;
    faults.pause_at(at);
    let mut request = pin!(delete(client, body));
    loop {
        if let Some(answer) = (&mut request).now_or_never() {
            faults.resume_calls();
            return (answer, false);
        }
        if faults.call_count() >= at {
            break;
        }
        tokio::task::yield_now().await;
    }
    client.app.environment.clock.advance_seconds(60);
    faults.resume_calls();
    (request.await, true)
}

#[tokio::test]
async fn a_deletion_that_takes_too_long_tells_that_more_is_left() {
    let client = OrgClient::new().await;
    let (mut call, mut partial_answers) = (0, 0);
    loop {
        for tag in ["a", "b"] {
            add_document(&client, tag, tag, "/x.md").await;
        }

        let both = json!({"containerTags": ["a", "b"]});
        let (answer, was_paused) = delete_with_pause(&client, both, call).await;
        let is_complete = answer["success"] == true;
        assert_eq!(
            is_complete,
            answer.get("hasMore").is_none(),
            "{call}: {answer}"
        );
        let left = remaining_custom_ids(&client).await;
        let deleted = answer["deletedCount"].as_u64().expect("a number") as usize;
        assert_eq!(deleted + left.len(), 2, "{call}: {answer}");
        assert!(!is_complete || left.is_empty(), "{call}: {answer}");
        partial_answers += usize::from(deleted == 1);

        let mut rest = json!({"containerTags": ["a", "b"]});
        if let Some(cursor) = answer.get("cursor") {
            rest["cursor"] = cursor.clone();
        }
        let rest = delete(&client, rest).await;
        assert_eq!(
            (&rest["success"], &rest["deletedCount"]),
            (&json!(true), &json!(left.len())),
            "{call}"
        );
        if !was_paused {
            break;
        }
        call += 1;
    }
    assert!(call > 5 && partial_answers > 0, "{call} {partial_answers}");
}

/// Deletes documents of the tag `a` by path, and returns the answer.
async fn delete_path(client: &OrgClient, path: &str, cursor: Option<&Value>) -> Value {
    let body = json!({"containerTags": ["a"], "filepath": path, "cursor": cursor});
    delete(client, body).await
}

#[tokio::test]
async fn a_deletion_by_path_continues_where_it_ended() {
    let client = OrgClient::new().await;
    let first = add_document(&client, "a", "first", "/x/1").await;
    let documents: Vec<String> = (0..300).map(|i| format!("The canary {i} sings.")).collect();
    let body = json!({"documents": documents, "containerTag": "a", "filepath": "/x/1"});
    client.post("/v3/documents/batch", body).await;
    client.run_until_settled().await;

    let mut call = 0;
    let cursor = loop {
        let body = json!({"containerTags": ["a"], "filepath": "/z/"});
        let (answer, was_paused) = delete_with_pause(&client, body, call).await;
        match answer["cursor"].as_str() {
            Some(cursor) if !cursor.ends_with(':') => break json!(cursor),
            _ => assert!(was_paused, "no request ended within the list"),
        }
        call += 1;
    };

    // A document that enters the path before the position is found only from the beginning.
    client
        .update_document(&first, json!({"filepath": "/z/1"}))
        .await;
    let answer = delete_path(&client, "/z/", Some(&cursor)).await;
    assert_eq!(
        answer,
        json!({"success": true, "deletedCount": 0, "containerTags": ["a"]})
    );
    let answer = delete_path(&client, "/z/", None).await;
    assert_eq!(answer["deletedCount"], 1);
}

#[tokio::test]
async fn a_merge_between_two_requests_leaves_no_document() {
    let client = OrgClient::new().await;
    let body = json!({"containerTags": ["a", "b"]});
    let (mut call, mut continued) = (0, 0);
    loop {
        for tag in ["a", "b"] {
            add_document(&client, tag, tag, "/x.md").await;
        }
        let (answer, was_paused) = delete_with_pause(&client, body.clone(), call).await;
        if let Some(cursor) = answer.get("cursor") {
            continued += 1;
            let merge = json!({"containerTags": ["a"], "targetContainerTag": "b"});
            client.post("/v3/container-tags/merge", merge).await;
            let rest = json!({"containerTags": ["a", "b"], "cursor": cursor});
            assert_eq!(delete(&client, rest).await["success"], true);
            assert!(client.listed_ids(json!({})).await.is_empty(), "{call}");
            client.app.environment.clock.advance_seconds(60);
            client.run_until_settled().await;
        }
        if !was_paused {
            break;
        }
        call += 1;
    }
    assert!(continued > 2, "{continued}");
}

#[tokio::test]
async fn a_cursor_leads_to_no_other_container() {
    let client = OrgClient::new().await;
    for tag in ["a", "b"] {
        add_document(&client, tag, tag, "/x/1").await;
    }
    let id = client
        .listed_ids(json!({"containerTags": ["b"]}))
        .await
        .remove(0);
    let other = client.stored_record(&id).await.expect("a record").container;
    let cursor = json!(format!("{other}:0:"));
    let answer = delete_path(&client, "/x/", Some(&cursor)).await;
    assert_eq!(answer["deletedCount"], 1);
    assert_eq!(remaining_custom_ids(&client).await, ["b"]);

    let mut faults = ErrorMismatches::default();
    let long = format!("{other}:0:{}", "x".repeat(300));
    for cursor in [
        "",
        "b",
        ":0:",
        &format!("{other}:2:"),
        &format!("{other}:-1:"),
        &long,
    ] {
        let body = json!({"containerTags": ["b"], "cursor": cursor});
        let answer = send_bulk(&client, body).await;
        faults.check_error(cursor, &answer, 400, "ValidationError", "cursor");
    }
    faults.assert_none();
    assert_eq!(remaining_custom_ids(&client).await, ["b"]);
}

#[tokio::test]
async fn documents_go_in_any_state() {
    let client = OrgClient::new().await;
    let done = json!({"content": "The canary is done.", "containerTag": "a", "customId": "done"});
    client.add_document(done).await;
    client
        .app
        .upload_file(
            &client.key,
            "x.bin",
            &[0, 1, 0, 0, 2],
            &[("containerTag", "a")],
        )
        .await;
    client.run_until_settled().await;
    client
        .send_document(
            json!({"content": make_long("The canary is indexing."), "containerTag": "a"}),
        )
        .await;
    process_only(&client).await;
    client
        .send_document(json!({"content": "The canary is queued.", "containerTag": "a"}))
        .await;
    client
        .send_document(
            json!({"content": "The canary is replaced.", "containerTag": "a", "customId": "done"}),
        )
        .await;
    assert_eq!(
        delete(&client, json!({"containerTags": ["a"]})).await["deletedCount"],
        4
    );

    for _ in 0..2 {
        assert!(
            client.search_texts("canary").await.is_empty()
                && client.listed_ids(json!({})).await.is_empty()
        );
        client.run_until_settled().await;
    }
}

#[tokio::test]
async fn a_key_deletes_what_it_reaches_alone() {
    let client = OrgClient::new().await;
    let (mine, theirs) = (
        add_document(&client, "mine", "one", "/a").await,
        add_document(&client, "theirs", "two", "/a").await,
    );
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["mine"]))
        .await;
    let other = client.app.create_key("other").await;
    let call = async |key: &str, body: Value| {
        client
            .app
            .call_json("DELETE", "/v3/documents/bulk", key, &body)
            .await
    };

    for key in [&scoped, &other] {
        let answer = call(key, json!({"ids": [theirs, "two"]})).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["deletedCount"]),
            (200, &json!(0)),
            "{}",
            answer.body
        );
    }

    expect_error(
        &call(&scoped, json!({"containerTags": ["mine", "theirs"]})).await,
        403,
        "PermissionError",
        "theirs",
    );
    assert_eq!(
        call(&other, json!({"containerTags": ["mine", "theirs"]}))
            .await
            .body["deletedCount"],
        0
    );

    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    expect_error(
        &call(&reader, json!({"ids": [mine]})).await,
        403,
        "PermissionError",
        "read",
    );
    assert_eq!(remaining_custom_ids(&client).await, ["one", "two"]);
    assert_eq!(
        call(&scoped, json!({"ids": [mine]})).await.body["deletedCount"],
        1
    );
    assert_eq!(remaining_custom_ids(&client).await, ["two"]);
}
