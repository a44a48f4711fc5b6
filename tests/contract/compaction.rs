//! Compaction of containers that are too large for one segment: it reads them by pages, as functions do,
//! and writes several segments.

use std::collections::HashSet;

use container_index::{
    CompactionOutcome, compact_index, rebuild_index, rewrite_index, verify_index,
};
use domain::ports::{BlobContent, BlobStore, CompactionLease};
use domain::{BlobRef, ContainerId, IndexHead, Revision, SegmentRef};
use serde_json::json;
use service::collect_orphans;
use testkit::{AS_LARGE_CONTAINERS, BY_PAGES, TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::containers::{compact, index_head, physical_container};
use crate::erasure::{WITHIN_MINUTES, files_containing, let_minutes_pass};
use crate::partial_segments::{answers, assert_answers, damage_segments, fill, restart};

/// Returns a client whose containers are compacted as large ones are.
async fn new_client() -> OrgClient {
    let mut world = TestEnvironment::new().expect("a folder");
    world.compaction = AS_LARGE_CONTAINERS;
    let app = TestApp::start(&world, 0).await.expect("an app");
    OrgClient::of(app, "acme").await
}

/// Compacts a container, and does no other work.
async fn compact_only(client: &OrgClient, tag: &str) {
    let container = physical_container(client, tag).await;
    let (ctx, settings) = (&client.app.system.ctx, client.app.system.compaction);
    let compacted = compact_index(ctx, &client.tenant, &container, None, settings).await;
    let _ = compacted.expect("an answer");
}

/// Fills `box` with a document, and takes its compaction lease for a minute. Returns the container.
async fn lease_box(client: &OrgClient) -> (ContainerId, CompactionLease) {
    client
        .add_document(json!({"content": "One.", "containerTag": "box"}))
        .await;
    let container = physical_container(client, "box").await;
    let ctx = &client.app.system.ctx;
    let now = ctx.clock.now();
    let lease = CompactionLease {
        token: Revision::random(),
        until: now.plus_seconds(60),
    };
    let begun = ctx
        .index
        .begin_compaction(&client.tenant, &container, &lease, now);
    assert!(begun.await.expect("an answer"));
    (container, lease)
}

/// Returns the chunks of all segments, those of replaced documents included.
fn count_chunks(head: &IndexHead) -> u64 {
    head.segments.iter().map(|segment| segment.chunks).sum()
}

#[tokio::test]
async fn large_segments_are_not_merged_and_answer_as_one_segment_does() {
    let client = new_client().await;
    fill(&client).await;
    let head = index_head(&client, "box").await;
    assert!(head.segments.len() >= 2, "{:?}", head.segments);
    let expected = answers(&client).await;
    let reading = client.app.environment.reading;
    assert_answers(&restart(&client, reading).await, &expected, "cold").await;

    let container = physical_container(&client, "box").await;
    let rebuilt = rebuild_index(&client.app.system.ctx, &client.tenant, &container).await;
    rebuilt.expect("an index");
    assert_eq!(index_head(&client, "box").await.segments.len(), 1);
    assert_answers(&restart(&client, reading).await, &expected, "one segment").await;
}

#[tokio::test]
async fn a_segment_that_is_too_large_becomes_several() {
    let client = OrgClient::new().await;
    fill(&client).await;
    compact(&client, "box").await;
    let container = physical_container(&client, "box").await;
    let ctx = &client.app.system.ctx;
    let rebuilt = rebuild_index(ctx, &client.tenant, &container).await;
    rebuilt.expect("an index");
    assert_eq!(index_head(&client, "box").await.segments.len(), 1);
    let expected = answers(&client).await;

    let rewritten = rewrite_index(ctx, &client.tenant, &container, AS_LARGE_CONTAINERS).await;
    assert_eq!(rewritten.expect("an answer"), CompactionOutcome::Done);
    let segments = index_head(&client, "box").await.segments;
    assert!(segments.len() > 2, "{segments:?}");
    let reading = client.app.environment.reading;
    assert_answers(&restart(&client, reading).await, &expected, "pieces").await;
    assert_answers(&restart(&client, BY_PAGES).await, &expected, "by pages").await;
}

#[tokio::test]
async fn segments_do_not_pile_up_when_documents_are_replaced_again_and_again() {
    const DOCUMENTS: usize = 6;
    let client = new_client().await;
    let (mut most, mut chunks) = (0, Vec::new());
    for round in 0..12 {
        for i in 0..DOCUMENTS {
            let lines = (0..80).map(|line| {
                format!("Line {line} of note {i} in round {round} names the harbour. ")
            });
            let document = json!({"content": lines.collect::<String>(), "containerTag": "box",
                "customId": format!("d{i}")});
            client.send_document(document).await;
        }
        // Without a sweep, which would erase what was replaced.
        while client.app.run_workers_once().await > 0 {}
        compact_only(&client, "box").await;
        let head = index_head(&client, "box").await;
        most = most.max(head.segments.len());
        chunks.push(count_chunks(&head));
    }

    assert!(most > 1, "the segments are never too large");
    assert!(
        chunks.iter().all(|count| *count <= 4 * chunks[0]),
        "{chunks:?}"
    );
    let texts = client.search_texts("harbour").await;
    assert!(!texts.is_empty() && texts.iter().all(|text| text.contains("round 11")));
}

#[tokio::test]
async fn what_is_deleted_leaves_each_of_many_segments() {
    let client = new_client().await;
    for i in 0..30 {
        let text =
            format!("Word{i}quux stands in the log. I prefer tea number {i}quux. ").repeat(20);
        let document = json!({"content": text, "containerTag": "box", "customId": format!("d{i}")});
        client.add_document(document).await;
        if i % 10 == 9 {
            compact(&client, "box").await;
        }
    }
    let before = index_head(&client, "box").await;
    assert!(before.segments.len() >= 2, "{:?}", before.segments);
    for id in ["d3", "d17", "d28"] {
        let deleted = client
            .delete(&format!("/v3/documents/{id}?containerTag=box"))
            .await;
        assert_eq!(deleted.status, 204, "{}", deleted.body);
    }
    let_minutes_pass(&client, WITHIN_MINUTES).await;

    let after = index_head(&client, "box").await;
    assert!(after.segments.len() >= 2, "{:?}", after.segments);
    let blobs =
        |head: &IndexHead| -> HashSet<_> { head.segments.iter().map(|s| s.blob.clone()).collect() };
    assert!(blobs(&before).is_disjoint(&blobs(&after)));
    for gone in ["word3quux", "word17quux", "word28quux"] {
        assert_eq!(files_containing(&client, gone), [""; 0], "{gone} is left");
    }
    assert!(client.search_finds("Word4quux").await);
}

#[tokio::test]
async fn a_compaction_that_meets_a_damaged_page_writes_the_index_anew() {
    let client = new_client().await;
    fill(&client).await;
    let expected = answers(&client).await;
    damage_segments(&client, "box").await;
    let before = index_head(&client, "box").await;
    // This process has the segments in memory. Another one has not.
    let reading = client.app.environment.reading;
    compact(&restart(&client, reading).await, "box").await;
    let after = index_head(&client, "box").await;
    assert!(after.generation > before.generation);
    let container = physical_container(&client, "box").await;
    let faults = verify_index(&client.app.system.ctx, &client.tenant, &container).await;
    assert!(faults.expect("an answer").is_clean());
    assert_answers(&restart(&client, reading).await, &expected, "repaired").await;
}

#[tokio::test]
async fn a_compaction_that_is_requested_again_does_nothing() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "One.", "containerTag": "box"}))
        .await;
    compact_only(&client, "box").await;
    client
        .add_document(json!({"content": "Two.", "containerTag": "box"}))
        .await;
    let before = index_head(&client, "box").await;
    assert!(before.uncovered_records() > 0);

    let container = physical_container(&client, "box").await;
    let (ctx, settings) = (&client.app.system.ctx, client.app.system.compaction);
    for (through, generation) in [
        (before.covered_through(), before.generation),
        (before.seq, before.generation + 1),
        (before.seq, before.generation + 1),
        (before.seq + 1, before.generation + 1),
    ] {
        let compacted =
            compact_index(ctx, &client.tenant, &container, Some(through), settings).await;
        assert_eq!(compacted.expect("an answer"), CompactionOutcome::Done);
        assert_eq!(index_head(&client, "box").await.generation, generation);
    }
}

#[tokio::test]
async fn a_reader_of_a_long_log_requests_its_compaction() {
    const LONG_LOG: usize = 16;
    let client = OrgClient::new().await;
    for i in 1..=LONG_LOG {
        let document = json!({"content": format!("Note {i}."), "containerTag": "box"});
        client.add_document(document).await;
        if i < LONG_LOG - 1 {
            continue;
        }

        let reader = restart(&client, client.app.environment.reading).await;
        let question = json!({"q": "note", "containerTag": "box"});
        reader.search_texts_with(question).await;
        client.app.environment.clock.advance_seconds(60);
        while client.app.run_workers_once().await > 0 {}
        let head = index_head(&client, "box").await;
        let expected = if i < LONG_LOG { 0 } else { LONG_LOG as u64 };
        assert_eq!(head.covered_through(), expected, "{i} documents");
    }
}

#[tokio::test]
async fn one_compaction_works_on_a_container_at_a_time() {
    let client = OrgClient::new().await;
    let (container, _) = lease_box(&client).await;
    let ctx = &client.app.system.ctx;
    compact_only(&client, "box").await;
    assert_eq!(index_head(&client, "box").await.generation, 0);
    let settings = client.app.system.compaction;
    let refused = rewrite_index(ctx, &client.tenant, &container, settings).await;
    assert_eq!(refused.expect("an answer"), CompactionOutcome::Busy);

    client.app.environment.clock.advance_seconds(60);
    compact_only(&client, "box").await;
    assert_eq!(index_head(&client, "box").await.generation, 1);
    let rewritten = rewrite_index(ctx, &client.tenant, &container, settings).await;
    assert_eq!(rewritten.expect("an answer"), CompactionOutcome::Done);
    assert_eq!(index_head(&client, "box").await.generation, 2);
}

#[tokio::test]
async fn a_request_meanwhile_is_done_later() {
    let client = OrgClient::new().await;
    let (container, lease) = lease_box(&client).await;
    let ctx = &client.app.system.ctx;
    compact(&client, "box").await;
    assert_eq!(index_head(&client, "box").await.generation, 0);

    let ended = ctx.index.end_compaction(&client.tenant, &container, &lease);
    ended.await.expect("an answer");
    client.app.environment.clock.advance_seconds(30);
    while client.app.run_workers_once().await > 0 {}
    assert_eq!(index_head(&client, "box").await.generation, 1);
}

#[tokio::test]
async fn a_compaction_that_fails_gives_its_lease_back() {
    let client = OrgClient::new().await;
    client
        .add_document(json!({"content": "One.", "containerTag": "box"}))
        .await;
    let container = physical_container(&client, "box").await;
    let (ctx, settings) = (&client.app.system.ctx, client.app.system.compaction);
    client.app.faults.refuse_operation(Some("Query"));
    let failed = compact_index(ctx, &client.tenant, &container, None, settings).await;
    assert!(failed.is_err());
    let failed = rewrite_index(ctx, &client.tenant, &container, settings).await;
    assert!(failed.is_err());
    client.app.faults.refuse_operation(None);
    compact_only(&client, "box").await;
    assert_eq!(index_head(&client, "box").await.generation, 1);
}

#[tokio::test]
async fn a_segment_that_was_just_replaced_is_no_orphan() {
    let client = OrgClient::new().await;
    fill(&client).await;
    compact(&client, "box").await;
    client.app.environment.clock.advance_seconds(25 * 3600);
    let before = index_head(&client, "box").await;
    let container = physical_container(&client, "box").await;
    let ctx = &client.app.system.ctx;
    let rebuilt = rebuild_index(ctx, &client.tenant, &container).await;
    rebuilt.expect("an index");

    let replaced: Vec<BlobRef> = before
        .segments
        .iter()
        .flat_map(SegmentRef::blobs)
        .cloned()
        .collect();
    for store in [BlobStore::Inline, BlobStore::Objects] {
        let mut after: Option<String> = None;
        loop {
            let page = collect_orphans(ctx, store, after.as_deref(), 1000).await;
            let (deleted, next) = page.expect("a page");
            assert_eq!(deleted, 0);
            after = next;
            if after.is_none() {
                break;
            }
        }
    }
    let contents = ctx.blobs.read(&client.tenant, &replaced).await;
    assert!(!contents.expect("blobs").contains(&BlobContent::Missing));

    let_minutes_pass(&client, 2).await;
    let contents = ctx.blobs.read(&client.tenant, &replaced).await;
    let contents = contents.expect("blobs");
    assert!(
        contents
            .iter()
            .all(|content| *content == BlobContent::Missing)
    );
}
