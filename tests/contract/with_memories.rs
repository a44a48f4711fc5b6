//! `POST /v3/documents/documents` and `/v3/documents/documents/by-ids`.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{
    ErrorMismatches, expect_ok, listed_document_shape, merge_shapes, pagination_shape,
};

fn shape() -> Value {
    let document = merge_shapes(
        listed_document_shape(),
        &json!({"memoryEntries": ["object"]}),
    );
    json!({"documents": [document], "pagination": pagination_shape()})
}

async fn list(client: &OrgClient, body: Value) -> Value {
    expect_ok(client.post("/v3/documents/documents", body).await, &shape())
}

/// Returns the ids in the answer to a request by ids, in its order.
async fn ids_by_ids(client: &OrgClient, body: Value) -> Vec<String> {
    let body = expect_ok(
        client.post("/v3/documents/documents/by-ids", body).await,
        &shape(),
    );
    let found = collect_field(&body["documents"], "id");
    assert_eq!(body["pagination"]["totalItems"], found.len());
    found
}

/// Creates documents with the customIds `n0` to `n4`, the first three in `a` and the others in `b`.
/// Returns their ids.
async fn create_five(client: &OrgClient) -> Vec<String> {
    let mut sent = Vec::new();
    for i in 0..5 {
        let tag = if i < 3 { "a" } else { "b" };
        let body = json!({"content": format!("Number {i}."), "customId": format!("n{i}"), "containerTag": tag});
        sent.push(client.add_document(body).await);
    }
    sent
}

#[tokio::test]
async fn documents_are_listed_with_no_memories() {
    let client = OrgClient::new().await;
    let sent = create_five(&client).await;
    let all = list(&client, json!({})).await;
    let newest_first: Vec<String> = sent.iter().rev().cloned().collect();
    assert_eq!(collect_field(&all["documents"], "id"), newest_first);
    assert_eq!(all["documents"][0]["memoryEntries"], json!([]));
    assert_eq!(
        all["pagination"],
        json!({"currentPage": 1, "limit": 10, "totalItems": 5, "totalPages": 1})
    );

    let asked = json!({"order": "asc", "sort": "createdAt", "containerTags": ["a"]});
    assert_eq!(
        collect_field(&list(&client, asked).await["documents"], "id"),
        sent[..3]
    );

    let asked = json!({"containerTag": "b", "sort": "updatedAt"});
    assert_eq!(
        collect_field(&list(&client, asked).await["documents"], "id"),
        newest_first[..2]
    );

    let of_a_connection = list(&client, json!({"sources": ["notion"]})).await;
    assert_eq!(of_a_connection["pagination"]["totalItems"], 0);
    assert_eq!(
        list(&client, json!({"sources": []})).await["pagination"]["totalItems"],
        5
    );
}

#[tokio::test]
async fn pages_are_disjoint_and_complete() {
    let client = OrgClient::new().await;
    let sent = create_five(&client).await;
    let mut seen = Vec::new();
    for page in 1..=4 {
        let body = list(&client, json!({"page": page, "limit": "2", "order": "asc"})).await;
        assert_eq!(
            body["pagination"],
            json!({"currentPage": page, "limit": 2, "totalItems": 5, "totalPages": 3})
        );
        seen.extend(collect_field(&body["documents"], "id"));
    }
    assert_eq!(seen, sent);
}

#[tokio::test]
async fn names_are_ids_or_custom_ids_and_the_unknown_is_left_out() {
    let client = OrgClient::new().await;
    let sent = create_five(&client).await;
    let names = json!([sent[3], "n1", "never-existed", sent[0], sent[3], "%00", ""]);
    assert_eq!(
        ids_by_ids(&client, json!({"ids": names})).await,
        [sent[3].clone(), sent[0].clone()]
    );
    assert_eq!(
        ids_by_ids(&client, json!({"ids": names, "by": "customId"})).await,
        [sent[1].as_str()]
    );

    let in_a = json!({"ids": names, "by": "id", "containerTags": ["a"]});
    assert_eq!(ids_by_ids(&client, in_a).await, [sent[0].as_str()]);
    let in_b = json!({"ids": ["n4", "n1"], "by": "customId", "containerTags": ["b"]});
    assert_eq!(ids_by_ids(&client, in_b).await, [sent[4].as_str()]);
    assert_eq!(
        ids_by_ids(&client, json!({"ids": ["never-existed"]})).await,
        [""; 0]
    );
}

#[tokio::test]
async fn a_custom_id_of_two_containers_is_told_apart_by_the_tag() {
    let client = OrgClient::new().await;
    let mut sent = Vec::new();
    for tag in ["a", "b"] {
        let body =
            json!({"content": format!("In {tag}."), "customId": "note", "containerTag": tag});
        sent.push(client.add_document(body).await);
    }

    let in_b = json!({"ids": ["note"], "by": "customId", "containerTags": ["b"]});
    assert_eq!(ids_by_ids(&client, in_b).await, [sent[1].as_str()]);
    let by_id = ids_by_ids(&client, json!({"ids": ["note", sent[0]], "by": "id"})).await;
    assert_eq!(
        by_id,
        [sent[0].as_str()],
        "it is no id of anything, so it is left out"
    );
}

#[tokio::test]
async fn a_key_sees_what_it_reaches() {
    let client = OrgClient::new().await;
    let sent = create_five(&client).await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["b"]))
        .await;
    let other = client.app.create_key("other").await;

    for (key, wanted) in [
        (&scoped, vec![sent[4].clone(), sent[3].clone()]),
        (&other, Vec::new()),
    ] {
        let listed = expect_ok(
            client
                .app
                .post("/v3/documents/documents", key, &json!({}))
                .await,
            &shape(),
        );
        assert_eq!(collect_field(&listed["documents"], "id"), wanted);

        for (by, names) in [
            ("id", json!([sent[4], sent[3], sent[0]])),
            ("customId", json!(["n4", "n3", "n0"])),
        ] {
            let body = json!({"ids": names, "by": by});
            let found = expect_ok(
                client
                    .app
                    .post("/v3/documents/documents/by-ids", key, &body)
                    .await,
                &shape(),
            );
            assert_eq!(collect_field(&found["documents"], "id"), wanted, "{by}");
        }
    }
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (path, body, named) in [
        ("", json!({"page": 0}), "page"),
        ("", json!({"limit": 0}), "limit"),
        ("", json!({"limit": 1101}), "limit"),
        ("", json!({"sort": "title"}), "sort"),
        ("", json!({"order": 1}), "order"),
        ("", json!({"containerTags": ["a b"]}), "containerTag"),
        ("/by-ids", json!({}), "ids"),
        ("/by-ids", json!({"ids": []}), "ids"),
        ("/by-ids", json!({"ids": vec!["a"; 201]}), "ids"),
        ("/by-ids", json!({"ids": "a"}), "ids"),
        ("/by-ids", json!({"ids": ["a"], "by": "name"}), "by"),
        (
            "/by-ids",
            json!({"ids": ["a"], "containerTags": ["a b"]}),
            "containerTag",
        ),
    ] {
        let answer = client
            .post(&format!("/v3/documents/documents{path}"), body.clone())
            .await;
        faults.check_error(
            &format!("{path} {body}"),
            &answer,
            400,
            "ValidationError",
            named,
        );
    }

    faults.assert_none();
}
