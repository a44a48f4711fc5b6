//! Merges with late or failing requests: requests and workers that know the containers from before
//! the merge.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use domain::document::Body;
use domain::key::Permission;
use domain::ports::Arrival;
use domain::settings::LogContent;
use domain::usecase::file_arrived;
use domain::{Document, Envelope, Revision, Status};
use futures::FutureExt;
use serde_json::{Value, json};
use testkit::TestApp;

use crate::client::Client;
use crate::containers::by_tag;
use crate::merge::{add, begin, listed, status};
use crate::request_log::{keep, log};
use crate::uploads;

async fn tags(client: &Client) -> Vec<String> {
    by_tag(client, "documentCount").await.into_keys().collect()
}

/// Creates a document whose file did not arrive in time, and returns its id.
async fn without_file(client: &Client, tag: &str, custom_id: &str) -> String {
    let body = json!({"fileName": "a.txt", "containerTag": tag, "customId": custom_id});
    let id = uploads::begin(client, body).await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    client.app.world.clock.advance_seconds(20 * 60);
    client.settle().await;
    assert_eq!(
        client.document_or_failure(&id).await["errorCode"],
        "upload_missing"
    );
    id
}

#[tokio::test]
async fn what_failed_without_content_does_not_win() {
    let client = Client::new().await;
    let served = add(&client, "from", "same", "The heron OLD-1 waits.").await;
    let failed = without_file(&client, "to", "same").await;
    begin(&client, &["from"], "to").await;
    assert_eq!(
        client.document("same?containerTag=to").await["id"],
        json!(served)
    );

    client.settle().await;
    assert_eq!(listed(&client, &["to"]).await, [served.as_str()]);
    assert_eq!(
        client.document_or_failure(&failed).await["supersededBy"],
        json!(served)
    );
    assert_eq!(
        add(&client, "to", "same", "The heron NEW-2 waits.").await,
        served
    );
}

/// Lets `slow` change a document, with a pause before its call number `call` in which `other`
/// happens. Returns whether the request reached that call.
async fn meanwhile(
    slow: &Client,
    call: u64,
    path: &str,
    body: Value,
    other: impl Future<Output = ()>,
) -> bool {
    let at = slow.app.faults.calls() + call;
    slow.app.faults.pause_at(at);
    let mut asked = pin!(slow.patch(path, body));
    let mut early = (&mut asked).now_or_never();
    while early.is_none() && slow.app.faults.calls() < at {
        tokio::time::sleep(Duration::from_millis(1)).await;
        early = (&mut asked).now_or_never();
    }

    other.await;
    slow.app.faults.resume();
    let answer = if let Some(answer) = early {
        answer
    } else {
        asked.await
    };

    assert!(answer.status.is_success(), "{}", answer.body);
    slow.app.faults.calls() > at
}

#[tokio::test]
async fn a_document_that_moves_while_it_changes_does_not_bring_its_old_tag_back() {
    const MOST: u64 = 40;
    let client = Client::new().await;
    let mut ids = Vec::new();
    for call in 0..MOST {
        let body = json!({"content": format!("Heron {call}."), "containerTag": "from", "customId": format!("d{call}")});
        ids.push(client.send(body).await);
    }

    add(&client, "to", "x", "A crane.").await;
    begin(&client, &["from"], "to").await;
    client.settle().await;
    let slow = Client::of(
        TestApp::start(&client.app.world, 3).await.expect("an app"),
        "acme",
    )
    .await;
    for (call, id) in ids.iter().enumerate() {
        let path = format!("/v3/documents/{id}");
        // If the move came first, there is nothing left to change.
        let other = async { drop(client.patch(&path, json!({"metadata": {"n": call}})).await) };
        let body = json!({"customId": format!("e{call}")});
        let reached = meanwhile(&slow, call as u64, &path, body, other).await;
        let document = client.document_or_failure(&format!("e{call}")).await;
        assert_eq!(document["containerTags"], json!(["to"]), "{call}");
        assert_eq!(tags(&client).await, ["to"], "{call}");
        if !reached {
            assert!(call > 8, "{call}");
            return;
        }
    }

    panic!("it makes more calls than {MOST}");
}

#[tokio::test]
async fn what_is_still_processed_learns_as_its_new_tag_says() {
    let client = Client::new().await;
    let folders = json!({"memoryFilesystemPaths": ["/notes"]});
    assert_eq!(
        client.patch("/v3/container-tags/to", folders).await.status,
        200
    );

    let body =
        |path: &str, text: &str| json!({"content": text, "containerTag": "from", "filepath": path});
    client.send(body("/other/a.md", "I live in Bonn.")).await;
    client
        .send(body("/notes/b.md", "I prefer tea over coffee."))
        .await;
    begin(&client, &["from"], "to").await;
    client.settle().await;
    let all = client
        .post("/v4/memories/list", json!({"containerTags": ["to"]}))
        .await
        .body
        .to_string();
    assert!(all.contains("tea") && !all.contains("Bonn"), "{all}");
}

/// Stores the file that a document waits for, and reports its arrival.
async fn arrive(client: &Client, id: &str) {
    let ctx = &client.app.system.ctx;
    let path = client
        .record(id)
        .await
        .expect("a record")
        .body
        .blob
        .path()
        .to_owned();
    let bytes = Bytes::from_static(b"The mill MLL-2 stands.");
    ctx.blobs
        .put_object(&client.tenant, &path, bytes)
        .await
        .expect("a stored file");
    let arrival = Arrival {
        org: client.tenant.org().clone(),
        path,
    };

    file_arrived(ctx, &arrival)
        .await
        .expect("nothing to try again");
}

#[tokio::test]
async fn a_late_file_comes_to_the_tag_that_its_document_has_now() {
    let client = Client::new().await;
    let merged = without_file(&client, "from", "a").await;
    let deleted = without_file(&client, "box", "b").await;
    let superseded = without_file(&client, "from", "same").await;
    add(&client, "to", "same", "The heron NEW-2 waits.").await;
    begin(&client, &["from"], "to").await;
    client.settle().await;
    assert_eq!(client.delete("/v3/container-tags/box").await.status, 200);
    for id in [&merged, &deleted, &superseded] {
        arrive(&client, id).await;
    }

    let left = client.record(&deleted).await.expect("a record");
    assert_eq!(left.status, Status::Failed, "nobody works on it any more");
    client.settle().await;
    assert_eq!(
        client.record(&merged).await.expect("a record").tag.as_str(),
        "to"
    );
    assert_eq!(client.document(&merged).await["status"], "done");
    assert_eq!(
        client.record(&superseded).await.expect("a record").status,
        Status::Failed
    );
    assert_eq!(tags(&client).await, ["to"]);
}

#[tokio::test]
async fn whoever_deletes_a_custom_id_deletes_all_of_it() {
    for way in ["id", "older", "customId", "bulk"] {
        let client = Client::new().await;
        let older = add(&client, "from", "same", "The heron OLD-1 waits.").await;
        let newer = add(&client, "to", "same", "The heron NEW-2 waits.").await;
        let other = add(&client, "from", "other", "The heron ALN-3 waits.").await;
        begin(&client, &["from"], "to").await;
        let answer = match way {
            "bulk" => {
                let body = json!({"ids": [newer]});
                client
                    .app
                    .call("DELETE", "/v3/documents/bulk", &client.key, &body)
                    .await
            }
            "id" => client.delete(&format!("/v3/documents/{newer}")).await,
            "older" => client.delete(&format!("/v3/documents/{older}")).await,
            _ => client.delete("/v3/documents/same?containerTag=to").await,
        };
        assert!(answer.status.is_success(), "{way}: {}", answer.body);
        assert_eq!(client.get("/v3/documents/same").await.status, 404, "{way}");
        assert!(
            !client.finds("OLD-1").await && !client.finds("NEW-2").await,
            "{way}"
        );

        client.settle().await;
        assert_eq!(listed(&client, &["to"]).await, [other], "{way}");
    }
}

#[tokio::test]
async fn a_source_shows_its_documents_by_id_until_it_ends() {
    let client = Client::new().await;
    let id = add(&client, "from", "a", "The heron HRN-1 waits.").await;
    let other = add(&client, "to", "b", "The crane CRN-2 flies.").await;
    add(&client, "third", "c", "An owl.").await;
    let mut keys = vec![(client.key.clone(), "to")];
    for tag in ["from", "to", "third"] {
        keys.push((
            client
                .app
                .key_with("acme", Permission::Write, Some(&[tag]))
                .await,
            tag,
        ));
    }

    let shown = async |key: &str, path: &str| {
        let answer = client.app.get(&format!("/v3/documents/{path}"), key).await;
        if answer.status == 200 {
            answer.body["containerTags"].clone()
        } else {
            json!(answer.status.as_u16())
        }
    };

    let merge = begin(&client, &["from"], "to").await;
    for (key, tag) in &keys {
        let own = if *tag == "third" {
            json!(404)
        } else {
            json!([tag])
        };
        assert_eq!(shown(key, &id).await, own, "{tag}");
    }

    let full = &client.key;
    assert_eq!(
        shown(full, &format!("{id}?containerTag=from")).await,
        json!(["from"])
    );
    assert_eq!(
        shown(full, &format!("{id}?containerTag=to")).await,
        json!(["to"])
    );
    assert_eq!(
        shown(full, &format!("{id}?containerTag=third")).await,
        json!(404)
    );
    assert_eq!(
        shown(full, &format!("{other}?containerTag=from")).await,
        json!(404)
    );
    assert_eq!(shown(&keys[1].0, &other).await, json!(404));
    client.settle().await;
    assert_eq!(status(&client, &merge).await["status"], "completed");
    assert_eq!(shown(&keys[1].0, &id).await, json!(404));
    assert_eq!(
        shown(full, &format!("{id}?containerTag=from")).await,
        json!(404)
    );
}

/// Replaces the content of a document like a request that began before a merge. Returns whether the
/// document still existed.
async fn replace(client: &Client, id: &str) -> bool {
    let ctx = &client.app.system.ctx;
    let old = client.record(id).await.expect("a record");
    if old.superseded_by.is_some() {
        return false;
    }

    let revision = Revision::random();
    let path = format!("{}/{id}/{revision}/body", old.container);
    let blob = ctx
        .blobs
        .put(
            &client.tenant,
            &path,
            Bytes::from_static(b"The heron NEW-3 waits."),
        )
        .await;
    let body = Body {
        blob: blob.expect("stored bytes"),
        hash: path,
        sent_at: Some(ctx.clock.now()),
        ..old.body.clone()
    };

    let expected = old.revision.clone();
    let new = Document {
        revision,
        body,
        status: Status::Queued,
        extracted: None,
        ..old
    };

    ctx.documents
        .accept(&client.tenant, &new, Some(&expected), &[])
        .await
        .expect("an accepted document");
    let message = Envelope::to_process(client.tenant.org(), &new);
    ctx.jobs.send(&[message]).await.expect("a sent message");

    true
}

#[tokio::test]
async fn content_that_changes_while_it_is_looked_at_is_looked_at_again() {
    for call in 0.. {
        let client = Client::new().await;
        let from = add(&client, "from", "same", "The heron OLD-1 waits.").await;
        let to = add(&client, "to", "same", "The heron OLD-2 waits.").await;
        let id = begin(&client, &["from"], "to").await;
        client.app.turn().await;
        client.app.world.clock.advance_seconds(31);
        let slow = TestApp::start(&client.app.world, 5).await.expect("an app");
        let at = slow.faults.calls() + call;
        slow.faults.pause_at(at);
        let mut turn = pin!(slow.turn());
        let mut ended = (&mut turn).now_or_never().is_some();
        while !ended && slow.faults.calls() < at {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ended = (&mut turn).now_or_never().is_some();
        }

        let replaced = replace(&client, &from).await;
        slow.faults.resume();
        if !ended {
            turn.await;
        }
        client.settle().await;
        assert_eq!(status(&client, &id).await["status"], "completed", "{call}");
        assert_eq!(
            listed(&client, &["to"]).await,
            [if replaced { &from } else { &to }.clone()],
            "{call}"
        );
        assert_eq!(client.finds("NEW-3").await, replaced, "{call}");

        if ended {
            assert!(call > 10 && !replaced, "{call}");
            return;
        }
    }
}

#[tokio::test]
async fn a_refused_request_is_in_the_log_with_its_container() {
    let client = Client::new().await;
    add(&client, "from", "a", "A heron.").await;
    add(&client, "to", "b", "A crane.").await;
    keep(&client, LogContent::Full).await;
    begin(&client, &["from"], "to").await;
    let refused = client
        .post(
            "/v3/documents",
            json!({"content": "SCR-1", "containerTag": "to"}),
        )
        .await;
    assert_eq!(refused.status, 409, "{}", refused.body);

    let told: Vec<_> = log(&client)
        .await
        .into_iter()
        .filter(|record| record.status == 409)
        .collect();
    assert_eq!(
        told.iter()
            .map(|record| record.containers.len())
            .collect::<Vec<_>>(),
        [2]
    );
}
