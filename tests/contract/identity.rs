//! One customId is one document, and a repeated request returns the document that it created
//! before. Both hold whatever other requests send, delete, move or merge between any two calls of a
//! request.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use http::Request;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::OrgClient;
use crate::merge::{add_document, begin_merge, listed_ids};
use crate::pauses::{pause_and_run, two_processes};

/// A request about the document with a customId behind the tag `to`.
type DocumentRequest = for<'a> fn(&'a OrgClient, &'a str) -> LocalBoxFuture<'a, TestAnswer>;

fn send<'a>(client: &'a OrgClient, name: &'a str, words: &str) -> LocalBoxFuture<'a, TestAnswer> {
    let body = json!({"content": words, "containerTag": "to", "customId": name});
    client.post("/v3/documents", body).boxed_local()
}

fn upsert_one<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    send(client, name, "The first heron.")
}

fn upsert_two<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    send(client, name, "The second heron.")
}

fn upload<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    let body = json!({"fileName": "a.txt", "containerTag": "to", "customId": name});
    client
        .post("/v3/documents/file/uploads", body)
        .boxed_local()
}

fn send_conversation<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    let messages = json!([{"role": "user", "content": "I saw a heron."}]);
    let body = json!({"conversationId": name, "messages": messages, "containerTag": "to"});
    client.post("/v4/conversations", body).boxed_local()
}

fn replace_content<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    async move {
        client
            .send_patch(&document_path(name), json!({"content": "The third heron."}))
            .await
    }
    .boxed_local()
}

fn move_away<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    async move {
        client
            .send_patch(
                &document_path(name),
                json!({"customId": format!("{name}-away")}),
            )
            .await
    }
    .boxed_local()
}

/// Gives the customId to another document.
fn move_here<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    async move {
        let other = format!("{name}-other");
        client
            .send_patch(&document_path(&other), json!({"customId": name}))
            .await
    }
    .boxed_local()
}

fn delete<'a>(client: &'a OrgClient, name: &'a str) -> LocalBoxFuture<'a, TestAnswer> {
    async move { client.delete(&document_path(name)).await }.boxed_local()
}

fn document_path(name: &str) -> String {
    format!("/v3/documents/{name}?containerTag=to")
}

/// Returns the existing documents with this customId.
async fn existing_documents(client: &OrgClient, name: &str) -> Vec<Value> {
    let answer = client
        .post(
            "/v3/documents/list",
            json!({"containerTags": ["to"], "limit": 1000}),
        )
        .await;
    let all = answer.body["memories"]
        .as_array()
        .expect("documents")
        .clone();

    all.into_iter()
        .filter(|document| document["customId"] == name)
        .collect()
}

/// The number of documents in the container that was merged. It is larger than the number of calls
/// of all cases together.
const DOCUMENTS: usize = 250;

#[tokio::test]
async fn a_custom_id_behind_a_merged_tag_is_one_document_whatever_happens_between_any_two_calls() {
    let (slow, quick) = two_processes().await;
    add_document(&quick, "to", "first", "A crane.").await;
    let documents: Vec<Value> = (0..DOCUMENTS)
        .map(|n| json!({"content": "Old.", "customId": format!("d{n}")}))
        .collect();
    let batch = json!({"containerTag": "from", "documents": documents, "taskType": "superrag"});
    assert_eq!(
        quick.post("/v3/documents/batch", batch).await.body["success"],
        DOCUMENTS
    );
    quick.run_until_settled().await;
    begin_merge(&quick, &["from"], "to").await;
    quick.run_until_settled().await;

    let cases: [(
        &str,
        &[DocumentRequest],
        DocumentRequest,
        &[DocumentRequest],
    ); 9] = [
        (
            "two upserts and a deletion",
            &[],
            upsert_one,
            &[delete, upsert_two],
        ),
        (
            "an upsert and a move away",
            &[],
            upsert_one,
            &[move_away, upsert_two],
        ),
        (
            "an upsert of what is moved here",
            &[],
            upsert_one,
            &[delete, move_here],
        ),
        (
            "two upserts of a new document",
            &[delete],
            upsert_one,
            &[upsert_two],
        ),
        (
            "a move here and an upsert",
            &[delete],
            move_here,
            &[upsert_two],
        ),
        (
            "an upsert and a move here",
            &[delete],
            upsert_one,
            &[move_here],
        ),
        (
            "a change of what is made anew",
            &[],
            replace_content,
            &[delete, upsert_two],
        ),
        (
            "an upload and an upsert",
            &[],
            upload,
            &[delete, upsert_two],
        ),
        (
            "a conversation and an upsert",
            &[],
            send_conversation,
            &[delete, upsert_two],
        ),
    ];
    let mut names = (0..DOCUMENTS).map(|n| format!("d{n}"));
    for (what, before, first, others) in cases {
        for call in 0.. {
            let name = &names.next().expect("more documents than calls");
            send(&quick, &format!("{name}-other"), "Another heron.").await;
            for act in before {
                act(&quick, name).await;
            }
            let second = async {
                for act in others {
                    let answer = act(&quick, name).await;
                    assert!(
                        !answer.status.is_server_error(),
                        "{what}, call {call}: {}",
                        answer.body
                    );
                }
            };
            let (answer, stood_still) =
                pause_and_run(&slow, call, first(&slow, name), second).await;
            assert!(
                !answer.status.is_server_error(),
                "{what}, call {call}: {}",
                answer.body
            );
            let found = existing_documents(&quick, name).await;
            assert_eq!(found.len(), 1, "{what}, call {call}: {found:?}");
            if !stood_still {
                assert!(call > 2, "{what}: {call} calls");
                break;
            }
        }
    }
}

#[tokio::test]
async fn an_upsert_during_a_merge_is_one_document_or_refused() {
    let (slow, quick) = two_processes().await;
    add_document(&quick, "to", "first", "A crane.").await;

    for call in 0.. {
        let (name, from) = (&format!("d{call}"), &format!("from{call}"));
        add_document(&quick, from, name, "The old heron.").await;
        let second = async {
            begin_merge(&quick, &[from], "to").await;
            let refused = upsert_two(&quick, name).await;
            assert_eq!(refused.status, 409, "{}", refused.body);
        };
        let (answer, stood_still) =
            pause_and_run(&slow, call, upsert_one(&slow, name), second).await;
        quick.run_until_settled().await;
        let found = existing_documents(&quick, name).await;
        assert_eq!(found.len(), 1, "call {call}: {found:?}");
        let now = quick.get_document(&format!("{name}?containerTag=to")).await;
        let expected = if answer.status.is_success() {
            "The first heron."
        } else {
            "The old heron."
        };
        assert_eq!(now["content"], expected, "call {call}: {}", answer.body);
        if !stood_still {
            break;
        }
    }
}

/// Sends content under an `Idempotency-Key`.
async fn send_as(client: &OrgClient, key: &str, body: &Value) -> TestAnswer {
    let request = Request::builder().method("POST").uri("/v3/documents");
    let request = request.header("authorization", format!("Bearer {}", client.key));
    let request = request.header("idempotency-key", key);
    client
        .app
        .send(request.body(body.to_string().into()).expect("a request"))
        .await
}

#[tokio::test]
async fn a_repeat_that_stands_still_anywhere_does_not_bring_a_deleted_document_back() {
    let (mut slow, quick) = two_processes().await;
    // The key must be the same: with another key it would be another client's request.
    slow.key.clone_from(&quick.key);
    let mut refused = 0;
    for call in 0.. {
        let (key, body) = (
            format!("order-{call}"),
            json!({"content": format!("Order {call}."), "containerTag": "box"}),
        );
        let second = async {
            let made = send_as(&quick, &key, &body).await;
            let id = made.body["id"].as_str().expect("an id").to_owned();
            assert_eq!(
                quick.delete(&format!("/v3/documents/{id}")).await.status,
                204
            );
        };
        let (answer, stood_still) =
            pause_and_run(&slow, call, send_as(&slow, &key, &body), second).await;
        let left = listed_ids(&quick, &["box"]).await;
        assert!(
            left.is_empty(),
            "call {call}: {} {}",
            answer.status,
            answer.body
        );
        // A write that comes before the deletion is answered as usual.
        assert!(
            [200, 409].contains(&answer.status.as_u16()),
            "call {call}: {}",
            answer.body
        );
        refused += usize::from(answer.status == 409);
        if !stood_still {
            break;
        }
    }

    assert!(refused > 2, "{refused} repeats came after the deletion");
}

#[tokio::test]
async fn a_change_and_the_same_content_again_are_two_documents_at_any_call() {
    let (mut slow, quick) = two_processes().await;
    slow.key.clone_from(&quick.key);

    for call in 0.. {
        let tag = format!("t{call}");
        let body = json!({"content": "The heron X.", "containerTag": tag});
        let id = quick.send_document(body.clone()).await;
        let second = async {
            quick
                .update_document(&id, json!({"content": "The heron Y."}))
                .await;
        };
        let (answer, stood_still) =
            pause_and_run(&slow, call, slow.post("/v3/documents", body), second).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let again = answer.body["id"].as_str().expect("an id");
        if !stood_still {
            break;
        }
        // The repeated request was answered before the change, or its content is a document of its
        // own.
        assert_eq!(
            quick.get_document_unchecked(&id).await["content"],
            "The heron Y.",
            "call {call}"
        );
        if again != id {
            assert_eq!(
                quick.get_document_unchecked(again).await["content"],
                "The heron X.",
                "call {call}"
            );
        }
    }
}
