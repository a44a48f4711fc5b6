//! Short texts that are processed and committed together.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use content::{ContentFailure, ExtractedDocument, FailureCode};
use domain::{DeliveryOutcome, JobMessage, QueueDelivery, QueueWorker};
use processor::{ContentReaders, Processor};
use reader::Reader;
use remote::{FetchError, Page, PageFetcher};
use sandbox::SandboxError;
use serde_json::{Value, json};
use testkit::{DamageKind, TestApp};

use crate::client::{OrgClient, collect_field};
use crate::steps::{process_only, process_only_in};

/// Sends texts about canaries with these customIds, and returns their ids.
async fn send_canaries(client: &OrgClient, custom_ids: &[String], tag: &str) -> Vec<String> {
    let texts: Vec<Value> = custom_ids
        .iter()
        .map(|custom_id| {
            json!({"content": format!("The canary {custom_id} sings."), "customId": custom_id})
        })
        .collect();
    let body = json!({"documents": texts, "containerTag": tag});
    let answer = client.post("/v3/documents/batch", body).await;
    collect_field(&answer.body["results"], "id")
}

/// Damages the stored bytes of a document.
async fn damage_body(client: &OrgClient, id: &str) {
    let body = client.stored_record(id).await.expect("a record").body;
    let (app, tenant) = (&client.app, &client.tenant);
    app.damage_blob(tenant, &body.blob, DamageKind::Flipped)
        .await;
}

async fn statuses(client: &OrgClient, ids: &[String]) -> Vec<Value> {
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(client.get_document_unchecked(id).await["status"].clone());
    }
    statuses
}

#[tokio::test]
async fn twenty_texts_share_a_message_and_a_commit() {
    let client = OrgClient::new().await;
    let names: Vec<String> = (0..23).map(|number| format!("n{number}")).collect();
    let ids = send_canaries(&client, &names, "birds").await;
    assert_eq!(process_only(&client).await, 2);
    assert_eq!(statuses(&client, &ids).await, ["done"; 23]);
    let found = json!({"q": "canary", "limit": 50});
    assert_eq!(client.search_texts_with(found).await.len(), 23);

    assert_eq!(count_commits(&client, &ids[0]).await, 2, "one a message");
}

#[tokio::test]
async fn a_text_that_cannot_be_read_leaves_the_others_of_its_message_alone() {
    let client = OrgClient::new().await;
    let names = ["one", "two", "three"].map(str::to_owned);
    let ids = send_canaries(&client, &names, "birds").await;
    damage_body(&client, &ids[1]).await;

    assert_eq!(process_only(&client).await, 1);
    assert_eq!(statuses(&client, &ids).await, ["done", "failed", "done"]);
}

#[tokio::test]
async fn texts_that_are_replaced_or_deleted_meanwhile_do_not_come_back() {
    let client = OrgClient::new().await;
    let names = ["replaced", "deleted", "kept"].map(str::to_owned);
    let ids = send_canaries(&client, &names, "birds").await;
    send_canaries(&client, &["gone", "too"].map(str::to_owned), "past").await;
    client.delete(&format!("/v3/documents/{}", ids[1])).await;
    client.delete("/v3/container-tags/past").await;
    let newer =
        json!({"content": "The heron stands.", "customId": "replaced", "containerTag": "birds"});
    client.send_document(newer).await;

    process_only(&client).await;
    assert_eq!(statuses(&client, &ids[2..]).await, ["done"]);
    client.run_until_settled().await;
    let mut found = client.search_texts("canary heron").await;
    found.sort();
    assert_eq!(found, ["The canary kept sings.", "The heron stands."]);
}

/// Processes texts, and makes a change before the call number `at` of the worker. Several texts share a
/// message. Returns the number of calls, and whether the texts were left to the queue of commits.
async fn process_texts_beside(
    client: &OrgClient,
    at: u64,
    names: &[String],
    change: impl AsyncFn(),
) -> (u64, bool) {
    let ids = send_canaries(client, names, "birds").await;
    let slow = TestApp::start(&client.app.environment, at)
        .await
        .expect("an app");
    let begun = slow.faults.call_count();
    slow.faults.pause_at(begun + at);

    let is_processed = Cell::new(false);
    let process = async {
        process_only_in(&slow).await;
        is_processed.set(true);
    };
    let change_meanwhile = async {
        while !is_processed.get() && slow.faults.call_count() < begun + at {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        change().await;
        slow.faults.resume_calls();
    };
    tokio::join!(process, change_meanwhile);

    let is_left = statuses(client, &ids).await == vec!["indexing"; ids.len()];
    client.run_until_settled().await;
    assert_eq!(
        statuses(client, &ids).await,
        vec!["done"; ids.len()],
        "at {at}"
    );
    (slow.faults.call_count() - begun, is_left)
}

/// Adds another text to the container and commits it.
async fn commit_another(client: &OrgClient, number: u64) {
    let content = format!("The heron {number} stands.");
    let other = json!({"content": content, "containerTag": "birds"});
    client.send_document(other).await;
    while client.app.run_workers_once().await > 0 {}
}

#[tokio::test]
async fn texts_are_committed_whenever_another_commit_comes_first() {
    let client = OrgClient::new().await;
    // The first call receives the message.
    let (mut at, mut calls) = (1, 2);
    while at < calls {
        let names = ["one", "two"].map(|name| format!("{name}-{at}"));
        let change = async || commit_another(&client, at).await;
        let (made, is_left) = process_texts_beside(&client, at, &names, change).await;
        assert!(!is_left, "one more attempt is enough at {at}");
        (at, calls) = (at + 1, made);
    }
    assert!(calls > 8, "only {calls} calls");
}

#[tokio::test]
async fn texts_of_which_one_changes_meanwhile_are_left_to_the_queue() {
    let client = OrgClient::new().await;
    let (mut at, mut calls, mut left_to_queue) = (1, 2, 0);
    while at < calls {
        let names = ["one", "two"].map(|name| format!("{name}-{at}"));
        let path = format!("/v3/documents/{}", names[1]);
        let change_metadata = async || {
            let body = json!({"metadata": {"at": at}});
            let (app, key) = (&client.app, &client.key);
            let answer = app.call_json("PATCH", &path, key, &body).await;
            assert!(answer.status.is_success(), "{}", answer.body);
        };
        let (made, is_left) = process_texts_beside(&client, at, &names, change_metadata).await;
        left_to_queue += usize::from(is_left);
        let changed = client.get_document(&names[1]).await;
        assert_eq!(changed["metadata"]["at"], at);
        (at, calls) = (at + 1, made);
    }
    assert!(left_to_queue > 0, "of {calls} positions");
}

/// Adds texts about canaries one by one, and returns their ids.
async fn add_canaries_alone(client: &OrgClient, custom_ids: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for custom_id in custom_ids {
        let content = format!("The canary {custom_id} sings.");
        let body = json!({"content": content, "customId": custom_id, "containerTag": "birds"});
        ids.push(client.send_document(body).await);
    }
    ids
}

/// Returns the number of commits to the container of a document.
async fn count_commits(client: &OrgClient, id: &str) -> u64 {
    let record = client.stored_record(id).await.expect("a record");
    let index = &client.app.system.ctx.index;
    let head = index.get_head(&client.tenant, &record.container).await;
    head.expect("a head").seq
}

#[tokio::test]
async fn texts_that_wait_share_a_commit_with_those_of_their_organization() {
    let client = OrgClient::new().await;
    let other_key = client.app.create_key("other").await;
    let ids = add_canaries_alone(&client, &["one", "two", "three"]).await;
    let body = json!({"content": "The canary of another sings.", "containerTag": "birds"});
    let of_other = client.app.post("/v3/documents", &other_key, &body).await;

    assert_eq!(process_only(&client).await, 4);
    assert_eq!(statuses(&client, &ids).await, ["done"; 3]);
    assert_eq!(count_commits(&client, &ids[0]).await, 1);
    assert_eq!(client.search_texts("canary").await.len(), 3);
    let path = format!(
        "/v3/documents/{}",
        of_other.body["id"].as_str().expect("an id")
    );
    let read = client.app.get(&path, &other_key).await.body;
    assert_eq!(read["status"], "done");
    let query = json!({"q": "canary"});
    let found = client.app.post("/v3/search", &other_key, &query).await.body;
    assert_eq!(found["total"], 1, "{found}");
}

#[tokio::test]
async fn a_text_that_cannot_be_read_leaves_others_that_wait_alone() {
    let client = OrgClient::new().await;
    let ids = add_canaries_alone(&client, &["one", "two", "three"]).await;
    damage_body(&client, &ids[1]).await;

    assert_eq!(process_only(&client).await, 3);
    assert_eq!(statuses(&client, &ids).await, ["done", "failed", "done"]);
}

#[tokio::test]
async fn a_text_with_a_filter_is_committed_by_the_queue() {
    let client = OrgClient::new().await;
    let mut ids = add_canaries_alone(&client, &["one"]).await;
    let body = json!({
        "content": "The heron stands.", "filterByMetadata": {"a": "b"}, "containerTag": "birds",
    });
    ids.push(client.send_document(body).await);

    assert_eq!(process_only(&client).await, 2);
    assert_eq!(statuses(&client, &ids).await, ["done", "indexing"]);
    client.run_until_settled().await;
    assert_eq!(statuses(&client, &ids).await, ["done"; 2]);
}

#[tokio::test]
async fn a_single_text_is_left_to_the_queue_when_another_commit_comes_first() {
    let client = OrgClient::new().await;
    let (mut at, mut calls, mut left_to_queue) = (1, 2, 0);
    while at < calls {
        let change = async || commit_another(&client, at).await;
        let names = [format!("one-{at}")];
        let (made, is_left) = process_texts_beside(&client, at, &names, change).await;
        left_to_queue += usize::from(is_left);
        (at, calls) = (at + 1, made);
    }
    assert!(left_to_queue > 0, "of {calls} positions");
}

/// A reader of pages and files that can read no document, and counts its calls.
#[derive(Debug)]
struct FailingReader {
    inner: Arc<dyn Reader>,
    error: fn() -> SandboxError,
    calls: AtomicUsize,
}

#[async_trait]
impl PageFetcher for FailingReader {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        self.inner.fetch_page(url).await
    }
}

#[async_trait]
impl Reader for FailingReader {
    async fn extract_document(
        &self,
        _: &[u8],
        _: Option<&str>,
        _: Option<&str>,
    ) -> Result<ExtractedDocument, SandboxError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err((self.error)())
    }

    async fn log_isolation(&self) {}
}

#[tokio::test]
async fn a_text_that_a_parser_cannot_read_is_read_once() {
    let limit = || ContentFailure::new(FailureCode::ContentLimit, "It takes too long.").into();
    let unavailable = || SandboxError::Unavailable(io::Error::other("no process"));
    let cases: [(fn() -> SandboxError, _, _); 2] = [
        (limit, DeliveryOutcome::Done, "failed"),
        (unavailable, DeliveryOutcome::Retry, "queued"),
    ];
    for (error, outcome, status) in cases {
        let client = OrgClient::new().await;
        let ids = add_canaries_alone(&client, &["one"]).await;
        let readers = client.app.environment.content_readers();
        let failing = Arc::new(FailingReader {
            inner: readers.pages_and_files.clone(),
            error,
            calls: AtomicUsize::new(0),
        });
        let readers = ContentReaders {
            pages_and_files: failing.clone(),
            ..readers
        };
        let document = client.stored_record(&ids[0]).await.expect("a record");
        let message = JobMessage::process_document(client.tenant.org(), &document);
        let delivery = QueueDelivery {
            body: message.to_json(),
            is_dead_letter: false,
            trace_parent: None,
        };

        let processor = Processor::new(client.app.system.ctx.clone(), readers);
        assert_eq!(processor.handle_batch(&[delivery]).await, [outcome]);
        assert_eq!(failing.calls.load(Ordering::Relaxed), 1, "{status}");
        assert_eq!(statuses(&client, &ids).await, [status]);
    }
}
