//! Memories that compaction has stored: cold readers answer from them as if they had computed them,
//! also beside segments that an earlier version or other rules have written.

use std::sync::Arc;

use bytes::Bytes;
use container_index::{CompactionOutcome, rewrite_index};
use domain::{BlobRef, MemoryIndexRef, SegmentRef};
use search_engine::{ContainerIndex, Document, Replacing, Segment};
use serde_json::{Value, json};
use testkit::TestApp;

use crate::client::OrgClient;
use crate::containers::{compact, index_head, physical_container};
use crate::memories::latest_memories;
use crate::memories_forget::forget_memory;

/// Documents of four rounds: answers that replace each other, an inference, extensions, and
/// statements that are taken back.
const ROUNDS: [&[(&str, &str)]; 4] = [
    &[
        ("home", "I live in Rome."),
        ("sister", "My sister is Anna. Anna lives in Bonn."),
        ("debt", "I have a debt of 400 euros. I have a yellow car."),
        ("work", "I work at the bakery."),
        ("music", "Anna plays guitar."),
    ],
    &[
        ("move", "I live in Oslo now."),
        ("band", "Anna plays guitar in a band."),
        ("tea", "I prefer green tea. I am allergic to nuts."),
    ],
    &[
        ("sold", "I sold the car."),
        ("home", "I live in Milan."),
        ("quit", "I quit my job at the bakery."),
    ],
    &[("tea", "I prefer black tea."), ("boat", "I bought a boat.")],
];

/// Starts a process that has read nothing yet.
async fn start_cold(client: &OrgClient) -> OrgClient {
    let app = TestApp::start(&client.app.environment, 0).await;
    OrgClient::of(app.expect("an app"), "acme").await
}

/// Returns everything that a cold process answers about the memories of `box`.
async fn read_cold(client: &OrgClient) -> Vec<Value> {
    let cold = start_cold(client).await;
    let mut answers = vec![json!(latest_memories(&cold).await)];
    for question in [
        "Where do I live?",
        "Anna",
        "yellow car",
        "tea",
        "bakery job",
    ] {
        let search =
            json!({"q": question, "containerTag": "box", "searchMode": "memories", "threshold": 0});
        let found = cold.post("/v4/search", search).await;
        assert!(found.status.is_success(), "{}", found.body);
        answers.push(found.body["results"].clone());
    }
    let profile = cold
        .post("/v4/profile", json!({"containerTag": "box"}))
        .await;
    answers.push(profile.body["profile"].clone());
    assert!(
        answers.iter().all(|answer| !answer.is_null()),
        "{answers:?}"
    );
    answers
}

/// Checks that a cold process counts the memories that are live.
async fn assert_counted(client: &OrgClient) {
    let latest = latest_memories(client).await;
    let live = latest
        .iter()
        .filter(|memory| memory["isForgotten"] == false);
    let tags = start_cold(client)
        .await
        .get("/v3/container-tags/list")
        .await;
    assert_eq!(tags.body[0]["memoryCount"], live.count(), "{}", tags.body);
}

/// Replaces the segments of `box`.
async fn publish(client: &OrgClient, change: impl Fn(&mut SegmentRef)) {
    let head = index_head(client, "box").await;
    let mut segments = head.segments;
    segments.iter_mut().for_each(change);
    let container = physical_container(client, "box").await;
    let index = &client.app.system.ctx.index;
    let published = index
        .publish_segments(
            &client.tenant,
            &container,
            head.generation,
            &segments,
            head.memories.unwrap_or_default(),
        )
        .await;
    assert!(published.expect("an answer"));
}

async fn write_round(client: &OrgClient, documents: &[(&str, &str)]) {
    for (custom_id, text) in documents {
        let body = json!({"content": text, "containerTag": "box", "customId": custom_id});
        client.add_document(body).await;
    }
}

/// Makes the memories of `box` those that other rules have computed, so that they are computed again.
async fn change_rules(client: &OrgClient) {
    publish(client, |segment| {
        if let Some(index) = &mut segment.memory_index {
            index.rules += 1;
        }
    })
    .await;
}

/// Opens the memory index of a segment.
async fn stored_memory_index(client: &OrgClient, segment: &SegmentRef) -> Segment {
    let index = segment.memory_index.clone().expect("a memory index");
    let blobs = &client.app.system.ctx.blobs;
    let stored = blobs.get_intact(&client.tenant, &[index.blob]).await;
    let file = stored.expect("an answer").pop().flatten();
    Segment::open(file.expect("a memory index")).expect("a segment")
}

/// Opens the memory indexes of all segments that have one.
async fn stored_memories(client: &OrgClient, segments: &[SegmentRef]) -> ContainerIndex {
    let mut index = ContainerIndex::new();
    for segment in segments {
        if segment.memory_index.is_some() {
            let stored = stored_memory_index(client, segment).await;
            index.push_segment(Arc::new(stored)).expect("an index");
        }
    }
    index
}

/// Stores a file of an earlier version for `box`.
async fn put_former(client: &OrgClient, name: &str, bytes: Bytes) -> BlobRef {
    let container = physical_container(client, "box").await;
    let path = format!("{container}/segments/former-{name}");
    let stored = client
        .app
        .system
        .ctx
        .blobs
        .put(&client.tenant, &path, bytes);
    stored.await.expect("a blob")
}

/// Makes the memory index of `box` like one of an earlier version, which has all ids in its core.
async fn make_index_by_id(client: &OrgClient) {
    let segments = index_head(client, "box").await.segments;
    let index = stored_memories(client, &segments).await;
    assert!(index.replaces_by_number());
    let file = index.build_compacted(Replacing::ById).expect("a file");
    let blob = put_former(client, "index", file.into()).await;
    let newest = segments.last().expect("a segment").blob.clone();
    publish(client, |segment| {
        let index = segment.memory_index.take();
        segment.memory_index = index.filter(|_| segment.blob == newest);
        if let Some(index) = &mut segment.memory_index {
            index.blob = blob.clone();
        }
    })
    .await;
}

/// Makes the memory index of `box`, which has one segment, like one of an earlier version, which has no times
/// of memories.
async fn remove_times(client: &OrgClient) {
    let segments = index_head(client, "box").await.segments;
    let [segment] = segments.as_slice() else {
        panic!("{segments:?}");
    };
    let mut index = ContainerIndex::new();
    let mut with_times = 0;
    for record in stored_memory_index(client, segment).await.documents() {
        let record = record.expect("a record");
        with_times += usize::from(record.times.is_some());
        index.upsert_document(Document {
            times: None,
            ..record
        });
    }
    assert!(with_times > 0);
    let file = index.build_compacted(Replacing::ByNumber).expect("a file");
    let (bytes, beginnings) = (
        file.len() as u64,
        Segment::first_reads(&file).expect("a file"),
    );
    let blob = put_former(client, "untimed", file.into()).await;
    publish(client, |segment| {
        if let Some(index) = &mut segment.memory_index {
            index.blob = blob.clone();
            index.bytes = bytes;
            index.core_bytes = Some(beginnings.core as u64);
            index.search_bytes = Some(beginnings.search as u64);
        }
    })
    .await;
}

/// Makes the newest segment of `box`, which is its only one, like one that an earlier version wrote:
/// with the statements in a file of their own, and perhaps with a memory index, which nobody reads.
async fn make_former(client: &OrgClient, has_index: bool) {
    let segments = index_head(client, "box").await.segments;
    let [segment] = segments.as_slice() else {
        panic!("{segments:?}");
    };
    let mut told: Vec<Value> = Vec::new();
    for record in stored_memory_index(client, segment).await.documents() {
        let record = record.expect("a record");
        if record.id.starts_with("documents/") {
            told.push(serde_json::from_slice(&record.attributes).expect("statements"));
        }
    }
    assert!(!told.is_empty());
    let file = json!({"v": 1, "told": told, "gone": [], "actions": []});
    let file = zstd::bulk::compress(file.to_string().as_bytes(), 3).expect("bytes");
    let statements = put_former(client, "memories", file.into()).await;
    let unread = put_former(
        client,
        "index",
        Bytes::from_static(b"of an earlier version"),
    )
    .await;

    publish(client, |segment| {
        segment.memories = Some(statements.clone());
        segment.memory_index = has_index.then(|| MemoryIndexRef {
            blob: unread.clone(),
            rules: 2,
            bytes: 0,
            core_bytes: None,
            search_bytes: None,
        });
    })
    .await;
}

/// Compacts `box` after each round, and checks that what is stored answers like what is computed.
/// After each round in which `computes_again` is true, the memories have to be computed again.
async fn check_rounds(computes_again: [bool; 4]) {
    let client = OrgClient::new().await;
    for (round, documents) in ROUNDS.iter().enumerate() {
        write_round(&client, documents).await;
        if round == 1 {
            forget_memory(&client, json!({"content": "User is allergic to nuts."})).await;
        }
        if round == 2 {
            let removed = client.delete("/v3/documents/debt?containerTag=box").await;
            assert_eq!(removed.status, 204, "{}", removed.body);
        }
        compact(&client, "box").await;

        let head = index_head(&client, "box").await;
        let newest = head.segments.last().expect("a segment");
        assert!(newest.memory_index.is_some(), "round {round}");
        let latest = latest_memories(&client).await;
        let live = latest
            .iter()
            .filter(|memory| memory["isForgotten"] == false);
        assert_eq!(head.memories, Some(live.count() as u64), "round {round}");
        assert_counted(&client).await;
        let restored = read_cold(&client).await;
        if computes_again[round] {
            change_rules(&client).await;
            assert_eq!(read_cold(&client).await, restored, "round {round}");
        }
    }
}

#[tokio::test]
async fn stored_memories_are_those_that_the_statements_give() {
    check_rounds([false, false, false, true]).await;
}

#[tokio::test]
async fn segments_of_other_rules_get_memories_when_they_are_compacted() {
    check_rounds([true, true, false, true]).await;
}

#[tokio::test]
async fn changes_after_the_segments_apply_to_stored_memories() {
    let client = OrgClient::new().await;
    write_round(&client, ROUNDS[0]).await;
    compact(&client, "box").await;
    write_round(&client, ROUNDS[1]).await;
    write_round(&client, ROUNDS[2]).await;
    forget_memory(&client, json!({"content": "User is allergic to nuts."})).await;

    assert_counted(&client).await;
    let restored = read_cold(&client).await;
    change_rules(&client).await;
    assert_eq!(read_cold(&client).await, restored);
}

#[tokio::test]
async fn memories_that_were_stored_without_times_are_listed() {
    let client = OrgClient::new().await;
    write_round(&client, ROUNDS[0]).await;
    write_round(&client, ROUNDS[1]).await;
    compact(&client, "box").await;
    let restored = read_cold(&client).await;
    remove_times(&client).await;
    assert_eq!(read_cold(&client).await, restored);

    // A merge of segments with and without times has both.
    write_round(&client, ROUNDS[2]).await;
    let computed = read_cold(&client).await;
    compact(&client, "box").await;
    assert_eq!(read_cold(&client).await, computed);
}

#[tokio::test]
async fn segments_of_earlier_versions_are_read_and_converted() {
    for has_index in [true, false] {
        check_former(has_index).await;
    }
}

async fn check_former(has_index: bool) {
    let client = OrgClient::new().await;
    write_round(&client, ROUNDS[0]).await;
    compact(&client, "box").await;
    let restored = read_cold(&client).await;
    make_former(&client, has_index).await;
    assert_eq!(read_cold(&client).await, restored);

    write_round(&client, ROUNDS[1]).await;
    write_round(&client, ROUNDS[2]).await;
    let computed = read_cold(&client).await;
    compact(&client, "box").await;
    assert_eq!(read_cold(&client).await, computed);
    let segments = index_head(&client, "box").await.segments;
    assert!(segments.iter().all(|segment| segment.memories.is_none()));
    let newest = segments.last().expect("a segment");
    assert!(newest.memory_index.is_some());
}

#[tokio::test]
async fn an_index_that_is_written_anew_has_the_memories_of_earlier_versions_and_other_rules() {
    for former in [Former::Statements, Former::UnreadIndex, Former::OtherRules] {
        let client = OrgClient::new().await;
        write_round(&client, ROUNDS[0]).await;
        compact(&client, "box").await;
        let restored = read_cold(&client).await;
        match former {
            Former::Statements => make_former(&client, false).await,
            Former::UnreadIndex => make_former(&client, true).await,
            Former::OtherRules => change_rules(&client).await,
        }

        assert_eq!(index_head(&client, "box").await.uncovered_records(), 0);
        let container = physical_container(&client, "box").await;
        let (ctx, settings) = (&client.app.system.ctx, client.app.system.compaction);
        let rewritten = rewrite_index(ctx, &client.tenant, &container, settings).await;
        assert_eq!(rewritten.expect("an answer"), CompactionOutcome::Done);
        assert_eq!(read_cold(&client).await, restored, "{former:?}");
        let segments = index_head(&client, "box").await.segments;
        assert!(segments.iter().all(|segment| segment.memories.is_none()));
        let index = stored_memories(&client, &segments).await;
        assert!(index.replaces_by_number() && index.len_documents() > 0);
    }
}

/// The form in which an earlier version has stored memories.
#[derive(Debug, Clone, Copy)]
enum Former {
    Statements,
    UnreadIndex,
    OtherRules,
}

#[tokio::test]
async fn memory_indexes_with_all_ids_in_their_cores_are_read_and_converted() {
    let client = OrgClient::new().await;
    write_round(&client, ROUNDS[0]).await;
    compact(&client, "box").await;
    write_round(&client, ROUNDS[1]).await;
    forget_memory(&client, json!({"content": "User is allergic to nuts."})).await;
    compact(&client, "box").await;
    let restored = read_cold(&client).await;
    make_index_by_id(&client).await;
    assert_eq!(read_cold(&client).await, restored);

    write_round(&client, ROUNDS[2]).await;
    forget_memory(&client, json!({"content": "User prefers green tea."})).await;
    let followed = read_cold(&client).await;
    assert_ne!(followed, restored);
    compact(&client, "box").await;
    assert_eq!(read_cold(&client).await, followed);
    let segments = index_head(&client, "box").await.segments;
    let index = stored_memories(&client, &segments).await;
    assert!(index.replaces_by_number());

    // The edits are stored a second time.
    change_rules(&client).await;
    assert_eq!(read_cold(&client).await, followed);
}

#[tokio::test]
async fn memories_that_other_rules_have_stored_are_computed_again() {
    let client = OrgClient::new().await;
    write_round(&client, ROUNDS[0]).await;
    compact(&client, "box").await;
    let restored = read_cold(&client).await;
    let stored = index_head(&client, "box").await.segments;
    let present_rules = stored[0]
        .memory_index
        .as_ref()
        .expect("a memory index")
        .rules;

    change_rules(&client).await;
    assert_eq!(read_cold(&client).await, restored);

    write_round(&client, ROUNDS[1]).await;
    compact(&client, "box").await;
    let segments = index_head(&client, "box").await.segments;
    let rules: Vec<u32> = segments
        .iter()
        .filter_map(|segment| Some(segment.memory_index.as_ref()?.rules))
        .collect();
    assert_eq!(rules, [present_rules]);
}

#[tokio::test]
async fn what_was_forgotten_stays_forgotten_after_all_documents_were_deleted() {
    let client = OrgClient::new().await;
    // With a date of its own, the document says the same at the same time when it is added again.
    let document = json!({"content": "I live in Rome.", "containerTag": "box",
        "customId": "home", "documentDate": "2025-01-05"});
    client.add_document(document.clone()).await;
    assert_eq!(latest_memories(&client).await.len(), 1);
    forget_memory(&client, json!({"content": "User lives in Rome."})).await;
    let deleted = client.delete("/v3/documents/home?containerTag=box").await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    client.run_until_settled().await;
    let container = physical_container(&client, "box").await;
    let ctx = &client.app.system.ctx;
    let compaction = client.app.system.compaction;
    let rewritten = rewrite_index(ctx, &client.tenant, &container, compaction).await;
    assert_eq!(rewritten.expect("an answer"), CompactionOutcome::Done);

    client.add_document(document).await;
    compact(&client, "box").await;
    for reader in [&client, &start_cold(&client).await] {
        let memories = latest_memories(reader).await;
        assert!(
            memories.iter().all(|memory| memory["isForgotten"] == true),
            "{memories:?}"
        );
    }
}
