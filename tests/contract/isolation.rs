//! Two organizations with equal tags, customIds and texts never see each other, and cannot tell
//! that the other exists.

use domain::key::Permission;
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::read::UNKNOWN;

/// Creates two organizations in one world. Returns the ids of A's documents: one done, one with a
/// customId, one failed, one queued.
async fn two_organizations() -> (OrgClient, OrgClient, Vec<String>) {
    let world = TestEnvironment::new().expect("a folder");
    let mut clients = Vec::new();
    let mut ids = Vec::new();
    for org in ["alpha", "beta"] {
        let client = OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), org).await;
        let canary = format!("CANARY-{org}");
        let shared = json!({"content": "The same text for everybody.", "customId": "note", "containerTag": "box"});
        let own = json!({
            "content": format!("{canary} sings in the box."), "containerTag": "box", "filepath": "/box/a.md",
            "metadata": {"kind": "bird", "owner": canary}, "customId": format!("only-{org}"),
        });
        let mine = vec![
            client.add_document(shared).await,
            client.add_document(own).await,
        ];
        let fields = [("containerTag", "box"), ("customId", canary.as_str())];
        let failed = client
            .app
            .upload_file(&client.key, &canary, &[0, 1, 0, 0, 2], &fields)
            .await;
        client.run_until_settled().await;
        let queued = client
            .send_document(json!({"content": format!("{canary} waits."), "containerTag": "box"}))
            .await;
        let failed = failed.body["id"].as_str().expect("an id").to_owned();
        ids.push([mine, vec![failed, queued]].concat());
        clients.push(client);
    }

    let theirs = ids.swap_remove(0);
    let beta = clients.pop().expect("two");
    (clients.pop().expect("two"), beta, theirs)
}

/// Returns every route with a parameter that names a document.
fn requests_for_document(id: &str) -> Vec<(&'static str, String, Value)> {
    let mut requests = Vec::new();
    for query in ["", "?containerTag=box"] {
        requests.push(("GET", format!("/v3/documents/{id}{query}"), Value::Null));
        requests.push((
            "GET",
            format!("/v3/documents/{id}/chunks{query}"),
            Value::Null,
        ));
        requests.push((
            "GET",
            format!("/v3/documents/{id}/file-url{query}"),
            Value::Null,
        ));
        requests.push((
            "POST",
            format!("/v3/documents/{id}/retry{query}"),
            Value::Null,
        ));
        requests.push(("DELETE", format!("/v3/documents/{id}{query}"), Value::Null));
    }

    requests.push((
        "PATCH",
        format!("/v3/documents/{id}"),
        json!({"metadata": {"stolen": true}}),
    ));
    requests.push((
        "PATCH",
        format!("/v3/memories/{id}"),
        json!({"content": "Stolen."}),
    ));
    for tags in [json!(null), json!(["box"])] {
        let body =
            json!({"q": "canary", "docId": id, "containerTags": tags, "includeFullDocs": true});
        requests.push(("POST", "/v3/search".into(), body));
    }

    requests
}

/// Returns the status and the body of an answer, without the fields that differ between any two
/// answers.
fn comparable_answer(answer: &TestAnswer) -> (u16, Value) {
    let mut body = answer.body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("requestId");
        body.remove("timing");
    }
    (answer.status.as_u16(), body)
}

async fn assert_as_if_never_existed(client: &OrgClient, key: &str, id: &str) {
    for (request, wanted) in requests_for_document(id)
        .into_iter()
        .zip(requests_for_document("2222222222222222222222"))
    {
        let ask = async |(method, path, body): &(&str, String, Value)| {
            comparable_answer(&client.app.call_json(method, path, key, body).await)
        };
        let (found, never) = (ask(&request).await, ask(&wanted).await);
        assert_eq!(never.0, 404, "{}", never.1);
        assert_eq!(found, never, "{request:?}");
    }
}

#[tokio::test]
async fn ids_of_another_organization_deleted_ids_and_nonsense_are_all_unknown() {
    let (alpha, beta, theirs) = two_organizations().await;
    let deleted = beta
        .add_document(
            json!({"content": "To be deleted.", "containerTag": "box", "customId": "gone"}),
        )
        .await;
    assert_eq!(
        beta.delete(&format!("/v3/documents/{deleted}"))
            .await
            .status,
        204
    );
    let others = ["only-alpha", "CANARY-alpha", "gone", deleted.as_str()];
    let names = theirs
        .iter()
        .map(String::as_str)
        .chain(others)
        .chain(UNKNOWN);
    for name in names {
        assert_as_if_never_existed(&beta, &beta.key, name).await;
    }

    alpha.run_until_settled().await;
    for id in &theirs {
        assert_eq!(
            alpha.get(&format!("/v3/documents/{id}")).await.status,
            200,
            "nothing of theirs was deleted"
        );
    }

    assert!(alpha.search_finds("CANARY-alpha").await);
}

#[tokio::test]
async fn documents_outside_a_scoped_keys_tags_are_unknown_to_it() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(
            json!({"content": "Not for you.", "containerTag": "other", "customId": "note"}),
        )
        .await;
    client
        .send_document(json!({"content": "For you.", "containerTag": "box"}))
        .await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["box"]))
        .await;
    for name in [id.as_str(), "note"] {
        assert_as_if_never_existed(&client, &scoped, name).await;
    }

    assert_eq!(client.get_document("note").await["id"], id.as_str());
}

#[tokio::test]
async fn no_answer_to_one_organization_has_a_word_of_the_other() {
    let (alpha, beta, _) = two_organizations().await;
    let filter = json!({"OR": [{"key": "kind", "value": "bird"}, {"key": "owner", "value": "CANARY-alpha"}]});
    for (client, own, other) in [
        (&beta, "CANARY-beta", "CANARY-alpha"),
        (&alpha, "CANARY-alpha", "CANARY-beta"),
    ] {
        let mut all = String::new();
        for q in [
            "CANARY-alpha",
            "CANARY-beta",
            "sings in the box",
            "the same text",
            "waits",
        ] {
            for scope in [
                json!({}),
                json!({"containerTag": "box"}),
                json!({"filters": filter}),
                json!({"filepath": "/box/"}),
            ] {
                let body = json!({
                    "q": q, "threshold": 0, "limit": 100, "includeContent": true, "includeFullDocs": true,
                    "onlyMatchingChunks": false, "include": {"documents": true}, "explain": true,
                    "searchMode": "hybrid",
                });
                let body = crate::shape::merge_shapes(body, &scope);
                for path in ["/v4/search", "/v3/search", "/v3/documents/list"] {
                    // An answer never contains the question.
                    all += &client.post(path, body.clone()).await.body.to_string();
                }
            }
        }

        for view in ["active", "pending", "all"] {
            all += &client
                .get(&format!("/v3/documents/processing?view={view}"))
                .await
                .body
                .to_string();
        }

        for path in ["note", "note/chunks", "note?containerTag=box"] {
            all += &client
                .get(&format!("/v3/documents/{path}"))
                .await
                .body
                .to_string();
        }

        assert!(all.contains(own), "the requests see something");
        assert!(
            !all.contains(other),
            "{other} was shown to the owner of {own}"
        );
    }
}

#[tokio::test]
async fn equal_names_are_separate_things() {
    let (alpha, beta, _) = two_organizations().await;
    assert_ne!(
        alpha.get_document("note").await["id"],
        beta.get_document("note").await["id"]
    );
    assert_eq!(alpha.delete("/v3/documents/note").await.status, 204);
    assert_eq!(beta.get_document("note").await["status"], "done");
    assert!(!alpha.search_finds("same text for everybody").await);
    assert!(beta.search_finds("same text for everybody").await);
    let body = json!({"content": "Within two minutes.", "containerTag": "box"});
    assert_ne!(
        alpha.send_document(body.clone()).await,
        beta.send_document(body).await
    );
}
