//! Documents with several container tags.

use std::collections::BTreeSet;

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::delete_container::tag_path;
use crate::merge::begin_merge;
use crate::shape::expect_error;

const TEXT: &str = "I play the cello in the quartet.";

/// Returns a client with a document under `a` and `b`, one under `a` alone and one under `b` alone,
/// and their ids.
async fn client_with_documents() -> (OrgClient, [String; 3]) {
    let client = OrgClient::new().await;
    let both = json!({"content": TEXT, "containerTags": ["b", "a"], "customId": "both"});
    let ids = [
        client.add_document(both).await,
        client
            .add_document(json!({"content": "I live in Oslo.", "containerTag": "a"}))
            .await,
        client
            .add_document(json!({"content": "I work as a baker.", "containerTag": "b"}))
            .await,
    ];
    (client, ids)
}

async fn list_under(client: &OrgClient, tags: &[&str]) -> BTreeSet<String> {
    let ids = client.listed_ids(json!({"containerTags": tags})).await;
    let count = ids.len();
    let ids = BTreeSet::from_iter(ids);
    assert_eq!(ids.len(), count, "every document is listed once");
    ids
}

/// Returns the texts of the memories under the tags, sorted.
async fn memories_under(client: &OrgClient, tags: &[&str]) -> Vec<String> {
    let body = json!({"containerTags": tags, "limit": 100});
    let listed = client.post("/v4/memories/list", body).await.body;
    let mut texts = collect_field(&listed["memoryEntries"], "memory");
    texts.sort();
    texts
}

fn set(ids: &[&String]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).clone()).collect()
}

#[tokio::test]
async fn a_document_is_found_under_each_of_its_tags_and_under_all() {
    let (client, [both, a, b]) = client_with_documents().await;
    let document = client.get_document(&both).await;
    assert_eq!(document["containerTags"], json!(["b", "a"]));
    assert_eq!(document["containerTag"], "b");

    assert_eq!(list_under(&client, &["a"]).await, set(&[&both, &a]));
    assert_eq!(list_under(&client, &["b"]).await, set(&[&both, &b]));
    assert_eq!(
        list_under(&client, &["a", "b"]).await,
        set(&[&both, &a, &b])
    );
    assert_eq!(list_under(&client, &[]).await, set(&[&both, &a, &b]));
    let listed = client
        .post("/v3/documents/list", json!({"containerTags": ["a"]}))
        .await
        .body;
    let listed = listed["memories"].as_array().expect("documents");
    let entry = listed.iter().find(|entry| entry["id"] == json!(both));
    assert_eq!(entry.expect("listed")["containerTags"], json!(["b", "a"]));

    for tags in [json!(["a"]), json!(["b"]), json!(["a", "b"])] {
        let found = client
            .search_texts_with(json!({"q": "cello quartet", "containerTags": tags}))
            .await;
        let count = found.iter().filter(|text| text.as_str() == TEXT).count();
        assert_eq!(count, 1, "{tags}: {found:?}");
    }

    for (tags, expected) in [(&["a"][..], 2), (&["b"], 2), (&["a", "b"], 3)] {
        let texts = memories_under(&client, tags).await;
        assert_eq!(texts.len(), expected, "{tags:?}: {texts:?}");
        let cellos = texts.iter().filter(|text| text.contains("cello")).count();
        assert_eq!(cellos, 1, "{tags:?}: {texts:?}");
    }

    for (tag, count) in [("a", 2), ("b", 2)] {
        let shown = client.get(&tag_path(tag)).await.body;
        assert_eq!(shown["documentCount"], count, "{shown}");
        let body = json!({"containerTag": tag, "q": "cello"});
        let profile = client.post("/v4/profile", body).await.body;
        assert!(profile.to_string().contains("cello"), "{tag}: {profile}");
    }
}

#[tokio::test]
async fn every_way_of_adding_takes_several_tags() {
    let client = OrgClient::new().await;
    let tags = json!(["sm_project_x", "claude_memory"]);
    let batch = json!({"documents": [
        {"content": "The first note.", "containerTags": tags},
        {"content": "The second note."},
    ], "containerTags": tags});
    let batch = client.post("/v3/documents/batch", batch).await.body;
    let mut ids = collect_field(&batch["results"], "id");

    let conversation = json!({
        "conversationId": "c", "containerTags": tags,
        "messages": [{"role": "user", "content": "I live in Oslo."}],
    });
    let conversation = client.post("/v4/conversations", conversation).await.body;
    ids.push(conversation["id"].as_str().expect("an id").to_owned());
    let fields = [("containerTags", tags.to_string())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let file = client
        .app
        .upload_file(&client.key, "mill.txt", b"The mill stands.", &fields)
        .await;
    ids.push(file.body["id"].as_str().expect("an id").to_owned());

    client.run_until_settled().await;
    assert_eq!(ids.len(), 4);
    for id in &ids {
        let document = client.get_document(id).await;
        assert_eq!(document["containerTags"], tags, "{document}");
        assert_eq!(document["status"], "done");
    }
    for tag in ["sm_project_x", "claude_memory"] {
        assert_eq!(list_under(&client, &[tag]).await.len(), 4, "{tag}");
    }
}

#[tokio::test]
async fn a_deletion_of_a_container_removes_the_tag_and_the_last_one_the_document() {
    let (client, [both, a, b]) = client_with_documents().await;
    let deleted = client.delete(&tag_path("b")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    client.run_until_settled().await;
    assert_eq!(client.get(&format!("/v3/documents/{b}")).await.status, 404);
    assert_eq!(list_under(&client, &[]).await, set(&[&both, &a]));
    let document = client.get_document(&both).await;
    assert_eq!(document["containerTags"], json!(["a"]));
    assert!(client.search_finds("cello").await);

    // A new container under the same tag has none of the old documents.
    let new = client
        .add_document(json!({"content": "I like tea.", "containerTag": "b"}))
        .await;
    assert_eq!(list_under(&client, &["b"]).await, set(&[&new]));
    assert_eq!(
        client.get_document(&both).await["containerTags"],
        json!(["a"])
    );

    client.delete(&tag_path("a")).await;
    client.run_until_settled().await;
    assert_eq!(
        client.get(&format!("/v3/documents/{both}")).await.status,
        404
    );
    assert_eq!(list_under(&client, &[]).await, set(&[&new]));
    assert!(!client.search_finds("cello").await);
}

#[tokio::test]
async fn a_merge_gives_the_target_the_place_of_its_sources() {
    let (client, [both, a, b]) = client_with_documents().await;
    let c = client.add_apart("c", "both", "I like tea.").await;
    begin_merge(&client, &["a"], "c").await;
    client.run_until_settled().await;
    let document = client.get_document(&both).await;
    assert_eq!(document["containerTags"], json!(["b", "c"]));
    assert_eq!(list_under(&client, &["b"]).await, set(&[&both, &b]));
    let under_c = list_under(&client, &["c"]).await;
    assert!(under_c.is_superset(&set(&[&a, &c])), "{under_c:?}");

    // Both tags of the document are merged into one.
    begin_merge(&client, &["b"], "c").await;
    client.run_until_settled().await;
    let under_c = list_under(&client, &["c"]).await;
    assert!(under_c.is_superset(&set(&[&a, &b])), "{under_c:?}");
    assert_eq!(list_under(&client, &[]).await, under_c);
    for id in under_c {
        let document = client.get_document(&id).await;
        assert_eq!(document["containerTags"], json!(["c"]));
    }
}

#[tokio::test]
async fn a_scoped_key_sees_only_its_own_tag_and_changes_nothing_that_is_shared() {
    let (client, [both, a, _]) = client_with_documents().await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["a"]))
        .await;
    let path = format!("/v3/documents/{both}");
    let seen = client.app.get(&path, &scoped).await.body;
    assert_eq!(seen["containerTags"], json!(["a"]), "{seen}");
    assert_eq!(seen["containerTag"], "a");
    let listed = client
        .app
        .post("/v3/documents/list", &scoped, &json!({}))
        .await
        .body;
    assert_eq!(listed["pagination"]["totalItems"], 2);
    for entry in listed["memories"].as_array().expect("documents") {
        assert_eq!(entry["containerTags"], json!(["a"]), "{entry}");
    }
    let named = client.app.get("/v3/documents/both", &scoped).await.body;
    assert_eq!(named["containerTags"], json!(["a"]));

    let memory = client
        .post("/v4/memories/list", json!({"containerTags": ["b"]}))
        .await
        .body;
    let memories = memory["memoryEntries"]
        .as_array()
        .expect("memories")
        .clone();
    let shared = memories
        .iter()
        .find(|entry| {
            entry["memory"]
                .as_str()
                .is_some_and(|text| text.contains("cello"))
        })
        .expect("a memory")["id"]
        .clone();
    let refused: Vec<(&str, &str, Value)> = vec![
        ("PATCH", &path, json!({"metadata": {"n": 1}})),
        ("DELETE", &path, Value::Null),
        ("DELETE", "/v3/documents/bulk", json!({"ids": [both]})),
        (
            "DELETE",
            "/v3/documents/bulk",
            json!({"containerTags": ["a"]}),
        ),
        (
            "POST",
            "/v3/documents",
            json!({"content": "x", "customId": "both"}),
        ),
        (
            "POST",
            "/v3/documents",
            json!({"content": "x", "containerTags": ["a", "b"]}),
        ),
        (
            "PATCH",
            "/v4/memories",
            json!({"containerTag": "a", "id": shared, "newContent": "I sing."}),
        ),
        (
            "DELETE",
            "/v4/memories",
            json!({"containerTag": "a", "id": shared}),
        ),
    ];
    for (method, path, body) in refused {
        let answer = client.app.call_json(method, path, &scoped, &body).await;
        expect_error(&answer, 403, "PermissionError", "container tag");
    }

    client.run_until_settled().await;
    assert_eq!(client.get_document(&both).await["content"], TEXT);
    let own = client
        .app
        .delete(&format!("/v3/documents/{a}"), &scoped)
        .await;
    assert_eq!(own.status, 204, "{}", own.body);

    let other = client
        .app
        .create_key_with("acme", Permission::Read, Some(&["c"]))
        .await;
    assert_eq!(client.app.get(&path, &other).await.status, 404);
}

#[tokio::test]
async fn a_custom_id_names_one_document_under_all_of_its_tags() {
    let (client, [both, ..]) = client_with_documents().await;
    for tags in [
        json!(["b", "a"]),
        json!(["a", "b"]),
        json!(["a"]),
        json!(["b"]),
    ] {
        let body = json!({"content": format!("Sent to {tags}."), "customId": "both", "containerTags": tags});
        assert_eq!(client.add_document(body).await, both, "{tags}");
        let document = client.get_document("both").await;
        assert_eq!(document["containerTags"], json!(["b", "a"]), "{tags}");
        assert_eq!(document["content"], format!("Sent to {tags}."));
    }

    let body =
        json!({"content": "Sent to three.", "customId": "both", "containerTags": ["a", "b", "c"]});
    client.add_document(body).await;
    let document = client.get_document("both").await;
    assert_eq!(document["containerTags"], json!(["a", "b", "c"]));
    assert_eq!(list_under(&client, &[]).await.len(), 3);
    assert_eq!(document["content"], "Sent to three.");

    let id = document["id"].as_str().expect("an id");
    client
        .update_document(id, json!({"containerTags": ["c"]}))
        .await;
    client.run_until_settled().await;
    let document = client.get_document("both").await;
    assert_eq!(document["containerTags"], json!(["c"]));
    assert_eq!(document["content"], "Sent to three.");
    assert_eq!(list_under(&client, &["a", "b"]).await.len(), 2);
}

#[tokio::test]
async fn documents_with_one_custom_id_are_not_joined_by_several_tags() {
    let client = OrgClient::new().await;
    for tag in ["a", "b"] {
        client.add_apart(tag, "note", &format!("In {tag}.")).await;
    }
    let message = json!([{"role": "user", "content": "I live in Oslo."}]);
    for (path, body) in [
        ("/v3/documents", json!({"content": "x", "customId": "note"})),
        (
            "/v4/conversations",
            json!({"conversationId": "note", "messages": message}),
        ),
    ] {
        let mut body = body;
        body["containerTags"] = json!(["a", "b"]);
        let answer = client.post(path, body).await;
        expect_error(&answer, 409, "ConflictError", "has this customId too");
    }
    assert_eq!(list_under(&client, &["a", "b"]).await.len(), 2);
}

#[tokio::test]
async fn a_tag_in_common_does_not_make_two_documents_one() {
    let client = OrgClient::new().await;
    let file = |project: &str, text: &str| json!({"content": text, "customId": "memories_notes_txt", "containerTags": [project, "claude_memory"]});
    let x = client.add_document(file("x", "The weir of x.")).await;
    let y = client.add_document(file("y", "The weir of y.")).await;
    assert_ne!(x, y);
    assert_eq!(client.add_document(file("x", "The mill of x.")).await, x);
    for (id, text, project) in [(&x, "The mill of x.", "x"), (&y, "The weir of y.", "y")] {
        let document = client.get_document(id).await;
        assert_eq!(document["content"], text);
        assert_eq!(document["containerTags"], json!([project, "claude_memory"]));
    }
    assert_eq!(
        list_under(&client, &["claude_memory"]).await,
        set(&[&x, &y])
    );

    let talk = |project: &str, text: &str| {
        json!({
            "conversationId": "talk", "containerTags": [project, "claude_memory"],
            "messages": [{"role": "user", "content": text}],
        })
    };
    for (project, text) in [("x", "I live in Oslo."), ("y", "I live in Bonn.")] {
        let answer = client.post("/v4/conversations", talk(project, text)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        client.run_until_settled().await;
        let path = format!("/v3/documents/talk?containerTag={project}");
        let content = client.get(&path).await.body["content"].to_string();
        assert!(
            content.contains(text) && content.matches("live in").count() == 1,
            "{content}"
        );
    }
}

#[tokio::test]
async fn a_deletion_leaves_documents_of_other_tags_with_the_same_custom_id() {
    let client = OrgClient::new().await;
    let notes = |app: &str| json!({"content": format!("The notes of {app}."), "customId": "notes", "containerTags": ["nora", app]});
    let slack = client.add_document(notes("slack")).await;
    let mail = client.add_document(notes("mail")).await;

    let answer = client.delete(&format!("/v3/documents/{slack}")).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert_eq!(client.get_document(&mail).await["status"], "done");
    assert_eq!(list_under(&client, &["nora"]).await, set(&[&mail]));
}

#[tokio::test]
async fn too_many_tags_or_combinations_are_refused() {
    let client = OrgClient::new().await;
    let many: Vec<String> = (0..51).map(|n| format!("t{n}")).collect();
    let answer = client
        .post(
            "/v3/documents",
            json!({"content": "x", "containerTags": many}),
        )
        .await;
    expect_error(&answer, 400, "ValidationError", "at most 50 tags");
    assert_eq!(list_under(&client, &[]).await.len(), 0);

    for n in 0..49 {
        let body =
            json!({"content": format!("Number {n}."), "containerTags": ["home", format!("s{n}")]});
        let answer = client.post("/v3/documents", body).await;
        assert_eq!(answer.status, 200, "{n}: {}", answer.body);
    }
    let body = json!({"content": "One more.", "containerTags": ["home", "s49"]});
    let answer = client.post("/v3/documents", body).await;
    expect_error(&answer, 400, "ValidationError", "home is combined");
    client.run_until_settled().await;
    assert_eq!(list_under(&client, &["home"]).await.len(), 49);
    let body = json!({"content": "Another.", "containerTags": ["home", "s7"]});
    client.add_document(body).await;
    assert_eq!(list_under(&client, &["home"]).await.len(), 50);
}
