//! Concurrent changes of one document. Every change that was answered with success has happened.

use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::{TestAnswer, TestApp, TestEnvironment};

use crate::client::OrgClient;

const NOTE: &str = "/v3/documents/note";

fn note() -> Value {
    json!({"content": "The old words.", "customId": "note", "containerTag": "a", "metadata": {"n": "old"}})
}

/// Returns clients of two processes in one world, with a document.
async fn two_processes() -> (OrgClient, OrgClient) {
    let world = TestEnvironment::new().expect("a folder");
    let slow = OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await;
    let quick = OrgClient::of(TestApp::start(&world, 1).await.expect("an app"), "acme").await;
    quick.add_document(note()).await;
    // The key is loaded now, so that every later call concerns the document.
    slow.get_document("note").await;
    (slow, quick)
}

/// One client sends `first` and is paused before its call number `call`. In the meantime, the other
/// one sends `second`, with the document's name. Returns both answers, and whether the first
/// request reached that call.
async fn pause_and_patch(
    (slow, quick): (&OrgClient, &OrgClient),
    call: u64,
    first: Value,
    second: Value,
) -> (TestAnswer, TestAnswer, bool) {
    let begun = slow.app.faults.call_count();
    slow.app.faults.pause_at(begun + call);
    let mut asked = std::pin::pin!(slow.send_patch(NOTE, first));
    let mut early = (&mut asked).now_or_never();
    while early.is_none() && slow.app.faults.call_count() < begun + call {
        tokio::time::sleep(Duration::from_millis(1)).await;
        early = (&mut asked).now_or_never();
    }

    let second = quick.send_patch(NOTE, second).await;
    slow.app.faults.resume_calls();
    let first = match early {
        Some(answer) => answer,
        None => asked.await,
    };

    (first, second, slow.app.faults.call_count() > begun + call)
}

/// Returns the only document.
async fn only_document(client: &OrgClient) -> Value {
    client.run_until_settled().await;
    let listed = client.listed_ids(json!({})).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    client.get_document(&listed[0]).await
}

#[tokio::test]
async fn a_change_during_another_change_is_not_lost() {
    for second in [
        json!({"metadata": {"n": "new"}}),
        json!({"content": "The new words."}),
        json!({"filepath": "/b"}),
    ] {
        for call in 0.. {
            let (slow, quick) = two_processes().await;
            let first = json!({"taskType": "superrag"});
            let (one, two, stood_still) =
                pause_and_patch((&slow, &quick), call, first, second.clone()).await;
            assert_eq!(
                (one.status.as_u16(), two.status.as_u16()),
                (200, 200),
                "{call}: {} {}",
                one.body,
                two.body
            );

            let document = only_document(&quick).await;
            assert_eq!(
                document["taskType"], "superrag",
                "call {call} beside {second}"
            );

            for (field, value) in second.as_object().expect("fields") {
                assert_eq!(document[field], *value, "call {call} beside {second}");
            }
            if !stood_still {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_change_during_a_move_is_not_lost() {
    for (field, value) in [
        ("metadata", json!({"n": "new"})),
        ("content", json!("The new words.")),
    ] {
        let mut lost = Vec::new();
        for call in 0.. {
            let (slow, quick) = two_processes().await;
            let first = json!({"containerTag": "b"});
            let (_, second, stood_still) =
                pause_and_patch((&slow, &quick), call, first, json!({field: value})).await;
            // The second client may be told that the document is gone or being moved. It must not
            // be told that its change succeeded if the change is lost.
            quick.run_until_settled().await;

            for id in quick.listed_ids(json!({})).await {
                let document = quick.get_document(&id).await;
                if second.status == 200 && document[field] != value {
                    lost.push(call);
                }
            }

            if !stood_still {
                break;
            }
        }

        assert!(
            lost.is_empty(),
            "{field}: lost when the move stood still before its calls {lost:?}"
        );
    }
}

#[tokio::test]
async fn two_moves_at_the_same_time_leave_one_document() {
    for call in 0.. {
        let (slow, quick) = two_processes().await;
        let moves = (json!({"containerTag": "b"}), json!({"containerTag": "c"}));
        let (_, _, stood_still) = pause_and_patch((&slow, &quick), call, moves.0, moves.1).await;
        quick.run_until_settled().await;
        let listed = quick.listed_ids(json!({})).await;
        assert_eq!(
            listed.len(),
            1,
            "it is in two containers when the first move stands still before call {call}"
        );
        assert_eq!(
            quick.search_texts("words").await,
            ["The old words."],
            "call {call}"
        );

        if !stood_still {
            break;
        }
    }
}

#[tokio::test]
async fn many_changes_at_the_same_time_all_hold_or_say_that_they_do_not() {
    let client = OrgClient::new().await;
    client.add_document(note()).await;
    let contents = (0..4).map(|i| json!({"content": format!("The words {i}.")}));
    let paths = (0..4).map(|i| json!({"filepath": format!("/{i}")}));
    let changes: Vec<Value> = contents
        .chain(paths)
        .chain([json!({"metadata": {"n": "new"}})])
        .collect();
    for answer in join_all(
        changes
            .iter()
            .map(|change| client.send_patch(NOTE, change.clone())),
    )
    .await
    {
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    let document = only_document(&client).await;
    assert_eq!(document["metadata"], json!({"n": "new"}));
    for field in ["content", "filepath"] {
        assert!(
            changes
                .iter()
                .any(|change| change[field] == document[field]),
            "{document}"
        );
    }

    assert_eq!(
        document["latestRevision"], 5,
        "four contents came after the first"
    );
    let filter = json!({"AND": [{"key": "n", "value": "new"}]});
    let found = client
        .search_texts_with(
            json!({"q": "words", "filters": filter, "filepath": document["filepath"]}),
        )
        .await;
    assert_eq!(
        found,
        [document["content"].as_str().expect("text")],
        "search agrees with GET"
    );
}
