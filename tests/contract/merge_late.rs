//! Merges with late or failing requests: requests and workers that know the containers from before
//! the merge.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use domain::document::DocumentBody;
use domain::key::Permission;
use domain::ports::UploadArrival;
use domain::settings::LogContentMode;
use domain::{Document, DocumentStatus, JobMessage, Revision};
use futures::FutureExt;
use serde_json::{Value, json};
use service::accept_file;
use testkit::TestApp;

use crate::client::OrgClient;
use crate::containers::field_by_tag;
use crate::merge::{add_document, begin_merge, listed_ids, merge_status};
use crate::request_log::{read_log, set_log_content};
use crate::uploads;

async fn list_tags(client: &OrgClient) -> Vec<String> {
    field_by_tag(client, "documentCount")
        .await
        .into_keys()
        .collect()
}

/// Creates a document whose file did not arrive in time, and returns its id.
async fn without_file(client: &OrgClient, tag: &str, custom_id: &str) -> String {
    let body = json!({"fileName": "a.txt", "containerTag": tag, "customId": custom_id});
    let id = uploads::begin_upload(client, body).await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    client.app.environment.clock.advance_seconds(20 * 60);
    client.run_until_settled().await;
    assert_eq!(
        client.get_document_unchecked(&id).await["errorCode"],
        "upload_missing"
    );
    id
}

#[tokio::test]
async fn what_failed_without_content_does_not_win() {
    let client = OrgClient::new().await;
    let served = add_document(&client, "from", "same", "The heron OLD-1 waits.").await;
    let failed = without_file(&client, "to", "same").await;
    begin_merge(&client, &["from"], "to").await;
    assert_eq!(
        client.get_document("same?containerTag=to").await["id"],
        json!(served)
    );

    client.run_until_settled().await;
    assert_eq!(listed_ids(&client, &["to"]).await, [served.as_str()]);
    assert_eq!(
        client.get_document_unchecked(&failed).await["supersededBy"],
        json!(served)
    );
    assert_eq!(
        add_document(&client, "to", "same", "The heron NEW-2 waits.").await,
        served
    );
}

/// Lets `slow` change a document, with a pause before its call number `call` in which `other`
/// happens. Returns whether the request reached that call.
async fn pause_and_run(
    slow: &OrgClient,
    call: u64,
    path: &str,
    body: Value,
    other: impl Future<Output = ()>,
) -> bool {
    let at = slow.app.faults.call_count() + call;
    slow.app.faults.pause_at(at);
    let mut asked = pin!(slow.send_patch(path, body));
    let mut early = (&mut asked).now_or_never();
    while early.is_none() && slow.app.faults.call_count() < at {
        tokio::time::sleep(Duration::from_millis(1)).await;
        early = (&mut asked).now_or_never();
    }

    other.await;
    slow.app.faults.resume_calls();
    let answer = if let Some(answer) = early {
        answer
    } else {
        asked.await
    };

    assert!(answer.status.is_success(), "{}", answer.body);
    slow.app.faults.call_count() > at
}

#[tokio::test]
async fn a_document_that_moves_while_it_changes_does_not_bring_its_old_tag_back() {
    const MOST: u64 = 40;
    let client = OrgClient::new().await;
    let mut ids = Vec::new();
    for call in 0..MOST {
        let body = json!({"content": format!("Heron {call}."), "containerTag": "from", "customId": format!("d{call}")});
        ids.push(client.send_document(body).await);
    }

    add_document(&client, "to", "x", "A crane.").await;
    begin_merge(&client, &["from"], "to").await;
    client.run_until_settled().await;
    let slow = OrgClient::of(
        TestApp::start(&client.app.environment, 3)
            .await
            .expect("an app"),
        "acme",
    )
    .await;
    for (call, id) in ids.iter().enumerate() {
        let path = format!("/v3/documents/{id}");
        // If the move came first, there is nothing left to change.
        let other = async {
            drop(
                client
                    .send_patch(&path, json!({"metadata": {"n": call}}))
                    .await,
            )
        };
        let body = json!({"customId": format!("e{call}")});
        let reached = pause_and_run(&slow, call as u64, &path, body, other).await;
        let document = client.get_document_unchecked(&format!("e{call}")).await;
        assert_eq!(document["containerTags"], json!(["to"]), "{call}");
        assert_eq!(list_tags(&client).await, ["to"], "{call}");
        if !reached {
            assert!(call > 8, "{call}");
            return;
        }
    }

    panic!("it makes more calls than {MOST}");
}

#[tokio::test]
async fn what_is_still_processed_learns_as_its_new_tag_says() {
    let client = OrgClient::new().await;
    let folders = json!({"memoryFilesystemPaths": ["/notes"]});
    assert_eq!(
        client
            .send_patch("/v3/container-tags/to", folders)
            .await
            .status,
        200
    );

    let body =
        |path: &str, text: &str| json!({"content": text, "containerTag": "from", "filepath": path});
    client
        .send_document(body("/other/a.md", "I live in Bonn."))
        .await;
    client
        .send_document(body("/notes/b.md", "I prefer tea over coffee."))
        .await;
    begin_merge(&client, &["from"], "to").await;
    client.run_until_settled().await;
    let all = client
        .post("/v4/memories/list", json!({"containerTags": ["to"]}))
        .await
        .body
        .to_string();
    assert!(all.contains("tea") && !all.contains("Bonn"), "{all}");
}

/// Stores the file that a document waits for, and reports its arrival.
async fn deliver_file(client: &OrgClient, id: &str) {
    let ctx = &client.app.system.ctx;
    let path = client
        .stored_record(id)
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
    let arrival = UploadArrival {
        org: client.tenant.org().clone(),
        path,
    };

    accept_file(ctx, &arrival)
        .await
        .expect("nothing to try again");
}

#[tokio::test]
async fn a_late_file_comes_to_the_tag_that_its_document_has_now() {
    let client = OrgClient::new().await;
    let merged = without_file(&client, "from", "a").await;
    let deleted = without_file(&client, "box", "b").await;
    let superseded = without_file(&client, "from", "same").await;
    add_document(&client, "to", "same", "The heron NEW-2 waits.").await;
    begin_merge(&client, &["from"], "to").await;
    client.run_until_settled().await;
    assert_eq!(client.delete("/v3/container-tags/box").await.status, 200);
    for id in [&merged, &deleted, &superseded] {
        deliver_file(&client, id).await;
    }

    let left = client.stored_record(&deleted).await.expect("a record");
    assert_eq!(
        left.status,
        DocumentStatus::Failed,
        "nobody works on it any more"
    );
    client.run_until_settled().await;
    assert_eq!(
        client
            .stored_record(&merged)
            .await
            .expect("a record")
            .tag
            .as_str(),
        "to"
    );
    assert_eq!(client.get_document(&merged).await["status"], "done");
    assert_eq!(
        client
            .stored_record(&superseded)
            .await
            .expect("a record")
            .status,
        DocumentStatus::Failed
    );
    assert_eq!(list_tags(&client).await, ["to"]);
}

#[tokio::test]
async fn whoever_deletes_a_custom_id_deletes_all_of_it() {
    for way in ["id", "older", "customId", "bulk"] {
        let client = OrgClient::new().await;
        let older = add_document(&client, "from", "same", "The heron OLD-1 waits.").await;
        let newer = add_document(&client, "to", "same", "The heron NEW-2 waits.").await;
        let other = add_document(&client, "from", "other", "The heron ALN-3 waits.").await;
        begin_merge(&client, &["from"], "to").await;
        let answer = match way {
            "bulk" => {
                let body = json!({"ids": [newer]});
                client
                    .app
                    .call_json("DELETE", "/v3/documents/bulk", &client.key, &body)
                    .await
            }
            "id" => client.delete(&format!("/v3/documents/{newer}")).await,
            "older" => client.delete(&format!("/v3/documents/{older}")).await,
            _ => client.delete("/v3/documents/same?containerTag=to").await,
        };
        assert!(answer.status.is_success(), "{way}: {}", answer.body);
        assert_eq!(client.get("/v3/documents/same").await.status, 404, "{way}");
        assert!(
            !client.search_finds("OLD-1").await && !client.search_finds("NEW-2").await,
            "{way}"
        );

        client.run_until_settled().await;
        assert_eq!(listed_ids(&client, &["to"]).await, [other], "{way}");
    }
}

#[tokio::test]
async fn a_source_shows_its_documents_by_id_until_it_ends() {
    let client = OrgClient::new().await;
    let id = add_document(&client, "from", "a", "The heron HRN-1 waits.").await;
    let other = add_document(&client, "to", "b", "The crane CRN-2 flies.").await;
    add_document(&client, "third", "c", "An owl.").await;
    let mut keys = vec![(client.key.clone(), "to")];
    for tag in ["from", "to", "third"] {
        keys.push((
            client
                .app
                .create_key_with("acme", Permission::Write, Some(&[tag]))
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

    let merge = begin_merge(&client, &["from"], "to").await;
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
    client.run_until_settled().await;
    assert_eq!(merge_status(&client, &merge).await["status"], "completed");
    assert_eq!(shown(&keys[1].0, &id).await, json!(404));
    assert_eq!(
        shown(full, &format!("{id}?containerTag=from")).await,
        json!(404)
    );
}

/// Replaces the content of a document like a request that began before a merge. Returns whether the
/// document still existed.
async fn replace_content(client: &OrgClient, id: &str) -> bool {
    let ctx = &client.app.system.ctx;
    let old = client.stored_record(id).await.expect("a record");
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
    let body = DocumentBody {
        blob: blob.expect("stored bytes"),
        hash: path,
        sent_at: Some(ctx.clock.now()),
        ..old.body.clone()
    };

    let expected = old.revision.clone();
    let new = Document {
        revision,
        body,
        status: DocumentStatus::Queued,
        extracted: None,
        ..old
    };

    ctx.documents
        .accept_revision(&client.tenant, &new, Some(&expected), &[])
        .await
        .expect("an accepted document");
    let message = JobMessage::process_document(client.tenant.org(), &new);
    ctx.jobs.send(&[message]).await.expect("a sent message");

    true
}

#[tokio::test]
async fn content_that_changes_while_it_is_looked_at_is_looked_at_again() {
    for call in 0.. {
        let client = OrgClient::new().await;
        let from = add_document(&client, "from", "same", "The heron OLD-1 waits.").await;
        let to = add_document(&client, "to", "same", "The heron OLD-2 waits.").await;
        let id = begin_merge(&client, &["from"], "to").await;
        client.app.run_workers_once().await;
        client.app.environment.clock.advance_seconds(31);
        let slow = TestApp::start(&client.app.environment, 5)
            .await
            .expect("an app");
        let at = slow.faults.call_count() + call;
        slow.faults.pause_at(at);
        let mut turn = pin!(slow.run_workers_once());
        let mut ended = (&mut turn).now_or_never().is_some();
        while !ended && slow.faults.call_count() < at {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ended = (&mut turn).now_or_never().is_some();
        }

        let replaced = replace_content(&client, &from).await;
        slow.faults.resume_calls();
        if !ended {
            turn.await;
        }
        client.run_until_settled().await;
        assert_eq!(
            merge_status(&client, &id).await["status"],
            "completed",
            "{call}"
        );
        assert_eq!(
            listed_ids(&client, &["to"]).await,
            [if replaced { &from } else { &to }.clone()],
            "{call}"
        );
        assert_eq!(client.search_finds("NEW-3").await, replaced, "{call}");

        if ended {
            assert!(call > 10 && !replaced, "{call}");
            return;
        }
    }
}

#[tokio::test]
async fn a_refused_request_is_in_the_log_with_its_container() {
    let client = OrgClient::new().await;
    add_document(&client, "from", "a", "A heron.").await;
    add_document(&client, "to", "b", "A crane.").await;
    set_log_content(&client, LogContentMode::Full).await;
    begin_merge(&client, &["from"], "to").await;
    let refused = client
        .post(
            "/v3/documents",
            json!({"content": "SCR-1", "containerTag": "to"}),
        )
        .await;
    assert_eq!(refused.status, 409, "{}", refused.body);

    let told: Vec<_> = read_log(&client)
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
