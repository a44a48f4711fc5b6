//! Requests that read the cores of segments first and pages of the rest when they need them, as
//! functions read large containers.

use std::time::Duration;

use container_index::{
    CompactionOutcome, CompactionSettings, SegmentReading, rewrite_index, verify_index,
};
use domain::{BlobRef, IndexHead};
use serde_json::{Value, json};
use testkit::{BY_PAGES, TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::containers::{compact, index_head, physical_container};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;

/// The number of documents in the segments.
const DOCUMENTS: usize = 60;

/// Fills two segments with documents of which some were changed and removed, with a corrected memory
/// and a forgotten one, and adds more of each after them.
async fn filled_client() -> OrgClient {
    let client = OrgClient::new().await;
    fill(&client).await;
    client
}

/// Fills a container as that of [`filled_client`].
pub(crate) async fn fill(client: &OrgClient) {
    for i in 0..DOCUMENTS {
        let text = format!(
            "Number{i} stands in the log of ward {}. I prefer tea number {i}. My sister Anna{i} \
             lives in Bonn since {}.",
            i % 7,
            1960 + i
        );
        let document = json!({"content": text, "containerTag": "box", "customId": format!("d{i}"),
            "metadata": {"ward": i % 7}, "filepath": format!("/ward{}/{i}.txt", i % 7)});
        client.add_document(document).await;
        if i == DOCUMENTS / 2 {
            compact(client, "box").await;
        }
    }

    let memories = [
        "The mill was sold.",
        "The barn is red.",
        "The well is deep.",
    ];
    let memories = memories.map(|content| json!({"content": content}));
    let body = json!({"containerTag": "box", "memories": memories});
    let answer = client.post("/v4/memories", body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    forget_memory(client, json!({"content": "The mill was sold."})).await;
    let corrected = json!({"content": "The barn is red.", "newContent": "The barn is blue."});
    correct_memory(client, corrected).await;
    assert_eq!(client.delete("/v3/documents/d0").await.status, 204);
    client
        .send_patch("/v3/documents/d1", json!({"metadata": {"shelf": "top"}}))
        .await;
    client.run_until_settled().await;
    compact(client, "box").await;

    // These are in the log behind the segments, and change memories of the segments.
    forget_memory(client, json!({"content": "The well is deep."})).await;
    for i in [DOCUMENTS, 9] {
        let text = format!("Number{i} stands in the log again. I prefer soup number {i}.");
        let document = json!({"content": text, "containerTag": "box", "customId": format!("d{i}")});
        client.add_document(document).await;
    }
}

/// Starts another process over the same services.
pub(crate) async fn restart(client: &OrgClient, reading: SegmentReading) -> OrgClient {
    let mut environment = client.app.environment.clone();
    environment.reading = reading;
    restart_in(&environment, client).await
}

/// Returns the same process with empty caches.
async fn with_empty_caches(client: &OrgClient) -> OrgClient {
    OrgClient {
        app: client.app.with_empty_caches().await.expect("a process"),
        key: client.key.clone(),
        tenant: client.tenant.clone(),
    }
}

/// Starts another process in this environment.
async fn restart_in(environment: &TestEnvironment, client: &OrgClient) -> OrgClient {
    OrgClient {
        app: TestApp::start(environment, 0).await.expect("a process"),
        key: client.key.clone(),
        tenant: client.tenant.clone(),
    }
}

/// Returns requests of every kind that read segments.
fn requests() -> Vec<(&'static str, Value)> {
    let mut requests = Vec::new();
    let include = json!({"documents": true, "relatedMemories": true, "chunks": true,
        "summaries": true, "forgottenMemories": true});
    let questions = [
        "Which tea do I prefer?",
        "Number7",
        "barn",
        "Where does Anna3 live?",
    ];
    for q in questions {
        for mode in ["hybrid", "memories", "documents"] {
            for extra in [
                json!({}),
                json!({"threshold": 0, "limit": 30, "include": include, "explain": true}),
                json!({"threshold": 0, "filters": {"AND": [{"key": "ward", "value": "3"}]}}),
                json!({"threshold": 0, "filepath": "/ward2/"}),
                json!({"threshold": 0, "rerank": true, "rewriteQuery": true, "aggregate": true}),
                json!({"threshold": 0, "asOf": "2100-01-01"}),
            ] {
                let mut body = json!({"q": q, "containerTag": "box", "searchMode": mode});
                body.as_object_mut()
                    .expect("an object")
                    .extend(extra.as_object().expect("an object").clone());
                requests.push(("/v4/search", body));
            }
        }
        let v3 = json!({"q": q, "containerTag": "box", "onlyMatchingChunks": false,
            "includeFullDocs": true, "includeSummary": true});
        requests.push(("/v3/search", v3));
        requests.push((
            "/v3/search",
            json!({"q": q, "containerTag": "box", "docId": "d9"}),
        ));
        requests.push(("/v4/profile", json!({"q": q, "containerTag": "box"})));
        let namespace =
            json!({"query": q, "threshold": 0, "include": {"documents": true, "related": true}});
        requests.push(("/ns/box/search", namespace));
    }
    for extra in [
        json!({}),
        json!({"maxTokens": 40}),
        json!({"maxTokens": 32_000}),
        json!({"filters": {"AND": [{"key": "ward", "value": "3"}]}}),
    ] {
        let mut body = json!({"containerTag": "box"});
        body.as_object_mut()
            .expect("an object")
            .extend(extra.as_object().expect("an object").clone());
        requests.push(("/v4/profile", body));
    }
    let documents = json!({"containerTags": ["box"], "limit": 100});
    requests.push(("/v3/documents/documents", documents));
    let by_ids = json!({"ids": ["d1", "d9", "d33"], "by": "customId"});
    requests.push(("/v3/documents/documents/by-ids", by_ids));
    requests.push(("/ns/box/list/chunks", json!({})));
    requests
}

/// Returns the answers to all requests without their durations.
pub(crate) async fn answers(client: &OrgClient) -> Vec<Value> {
    let mut answers = Vec::new();
    for (path, body) in requests() {
        let mut answer = client.post(path, body.clone()).await;
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.body);
        for field in ["timing", "searchTime"] {
            if let Some(duration) = answer.body.get_mut(field) {
                *duration = Value::Null;
            }
        }
        if let Some(duration) = answer.body.pointer_mut("/searchResults/timing") {
            *duration = Value::Null;
        }
        answers.push(answer.body);
    }
    answers
}

/// Checks that a process answers all requests like this.
pub(crate) async fn assert_answers(client: &OrgClient, expected: &[Value], name: &str) {
    let found = answers(client).await;
    for ((request, expected), found) in requests().iter().zip(expected).zip(&found) {
        assert_eq!(found, expected, "{name} {request:?}");
    }
}

#[tokio::test]
async fn searches_by_pages_find_what_searches_of_whole_segments_find() {
    let client = filled_client().await;
    let head = index_head(&client, "box").await;
    assert!(
        head.segments
            .iter()
            .all(|segment| segment.core_bytes.is_some())
    );
    let whole = answers(&restart(&client, SegmentReading::Whole).await).await;
    let by_pages = restart(&client, BY_PAGES).await;
    for (round, name) in ["cold", "warm"].into_iter().enumerate() {
        assert_answers(&by_pages, &whole, name).await;
        if round == 0 {
            // The warm views follow the log.
            let added =
                json!({"content": "Number7 is new.", "containerTag": "box", "customId": "n"});
            client.add_document(added).await;
            assert_eq!(client.delete("/v3/documents/n").await.status, 204);
            client.run_until_settled().await;
        }
    }
}

#[tokio::test]
async fn a_search_by_pages_without_results_knows_that_there_are_memories() {
    let client = filled_client().await;
    let body = json!({"q": "xylophone", "containerTag": "box", "searchMode": "memories",
        "threshold": 1});
    let mut hints = Vec::new();
    for reading in [SegmentReading::Whole, BY_PAGES] {
        let cold = restart(&client, reading).await;
        let found = cold.post("/v4/search", body.clone()).await.body;
        assert_eq!(found["results"], json!([]));
        hints.push(found["hint"].as_str().expect("a hint").to_owned());
    }
    assert_eq!(hints[0], hints[1]);
    assert!(!hints[0].contains("No memories"), "{}", hints[0]);
}

#[tokio::test]
async fn memories_are_counted_by_pages() {
    let client = filled_client().await;
    let expected = client.get("/v3/container-tags/list").await.body;
    assert!(expected[0]["memoryCount"].as_u64() > Some(DOCUMENTS as u64));
    let by_pages = restart(&client, BY_PAGES).await;
    let counted = by_pages.get("/v3/container-tags/list").await.body;
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn each_first_request_of_a_process_may_read_by_pages() {
    let client = filled_client().await;
    let whole = answers(&restart(&client, SegmentReading::Whole).await).await;
    for (number, (path, body)) in requests().into_iter().enumerate().step_by(5) {
        let cold = restart(&client, BY_PAGES).await;
        let answer = cold.post(path, body.clone()).await;
        let results = |answer: &Value| {
            let keys = ["results", "profile", "chunks", "documents"];
            keys.map(|key| answer.get(key).cloned())
        };
        assert_eq!(
            results(&answer.body),
            results(&whole[number]),
            "{path} {body}"
        );
    }
}

#[tokio::test]
async fn a_damaged_page_costs_one_answer_and_is_repaired() {
    let client = filled_client().await;
    let expected = client.search_texts("Which tea do I prefer?").await;
    assert!(!expected.is_empty());
    let head = damage_segments(&client, "box").await;

    let by_pages = restart(&client, BY_PAGES).await;
    let body =
        json!({"q": "Which tea do I prefer?", "containerTag": "box", "searchMode": "hybrid"});
    let mut failed = 0;
    while by_pages.post("/v4/search", body.clone()).await.status != 200 {
        failed += 1;
        assert!(failed <= 2, "the segments are never read as a whole");
    }
    assert_eq!(
        by_pages.search_texts("Which tea do I prefer?").await,
        expected
    );

    client.run_until_settled().await;
    let repaired = index_head(&client, "box").await;
    assert!(
        repaired.generation > head.generation,
        "the segments are written again"
    );
    let cold = restart(&client, BY_PAGES).await;
    assert_eq!(cold.search_texts("Which tea do I prefer?").await, expected);
}

#[tokio::test]
async fn views_of_one_process_share_segments_and_a_check_reads_the_files() {
    let client = filled_client().await;
    let first = restart(&client, SegmentReading::Shared).await;
    let expected = answers(&first).await;
    damage_segments(&client, "box").await;

    // The segments are in memory, so nobody notices that the files are damaged.
    let second = with_empty_caches(&first).await;
    assert_answers(&second, &expected, "shared").await;

    let id = physical_container(&client, "box").await;
    let faults = verify_index(&client.app.system.ctx, &client.tenant, &id).await;
    let faults = faults.expect("a check");
    assert!(faults.chunks_unreadable && faults.memories_unreadable);
}

#[tokio::test]
async fn views_of_one_process_share_the_pages_that_were_fetched() {
    let client = filled_client().await;
    let expected = answers(&restart(&client, SegmentReading::Whole).await).await;
    let first = restart(&client, BY_PAGES).await;
    assert_answers(&first, &expected, "first").await;
    damage_segments(&client, "box").await;

    let second = with_empty_caches(&first).await;
    assert_answers(&second, &expected, "shared").await;

    // Another process has to read them.
    let third = restart(&client, BY_PAGES).await;
    let body = json!({"q": "tea", "containerTag": "box", "searchMode": "hybrid"});
    assert_ne!(third.post("/v4/search", body).await.status, 200);
}

/// Returns the number of requests to services in which a process answers a search again.
async fn count_calls(process: &OrgClient) -> u64 {
    let body =
        json!({"q": "Which tea do I prefer?", "containerTag": "box", "searchMode": "hybrid"});
    for _ in 0..2 {
        assert_eq!(process.post("/v4/search", body.clone()).await.status, 200);
    }
    let calls = process.app.faults.call_count();
    assert_eq!(process.post("/v4/search", body).await.status, 200);
    process.app.faults.call_count() - calls
}

#[tokio::test]
async fn pages_leave_the_memory_when_they_take_too_much_of_it() {
    let client = filled_client().await;
    let expected = answers(&restart(&client, SegmentReading::Whole).await).await;
    let with_limit = async |max_page_bytes| {
        let mut environment = client.app.environment.clone();
        environment.cache_bytes = 1024;
        environment.reading = SegmentReading::Beginnings {
            above: 0,
            searches: true,
            completes: false,
            max_page_bytes,
        };
        let process = restart_in(&environment, &client).await;
        let calls = count_calls(&process).await;
        assert_answers(&process, &expected, "with a limit").await;
        calls
    };
    let (warm, read_anew) = (with_limit(u64::MAX).await, with_limit(0).await);
    assert!(read_anew > warm + 2, "{warm} and {read_anew} calls");
}

#[tokio::test]
async fn a_view_by_pages_follows_the_log_for_a_while_after_a_compaction() {
    let client = filled_client().await;
    let sentences = (0..3_000).map(|i| format!("My friend Name{i}x lives in Town{i}x. "));
    let sentences: String = sentences.collect();
    let large = json!({"content": sentences, "containerTag": "box"});
    client.add_document(large).await;
    compact(&client, "box").await;

    // A profile reads few pages, so some are missing afterwards.
    let profile = async |process: &OrgClient| {
        let calls = process.app.faults.call_count();
        let body = json!({"containerTag": "box"});
        assert_eq!(process.post("/v4/profile", body).await.status, 200);
        process.app.faults.call_count() - calls
    };
    let follower = restart(&client, BY_PAGES).await;
    profile(&follower).await;
    let added = json!({"content": "Number99 stands in the log.", "containerTag": "box"});
    client.add_document(added).await;
    profile(&follower).await;
    let warm = profile(&follower).await;

    compact(&client, "box").await;
    assert_eq!(profile(&follower).await, warm);

    // After half a minute, segments that were replaced are not read any more. Another process, which has the
    // new ones, reads only what expires.
    let current = restart(&client, BY_PAGES).await;
    profile(&current).await;
    client.app.environment.clock.advance_seconds(31);
    let (read_anew, expired) = (profile(&follower).await, profile(&current).await);
    assert!(read_anew > expired, "{read_anew} and {expired} calls");
    assert_eq!(profile(&follower).await, warm);
}

#[tokio::test]
async fn a_view_that_reads_a_purged_segment_is_read_anew() {
    let client = filled_client().await;
    let follower = restart(&client, BY_PAGES).await;
    count_calls(&follower).await;
    // The follower has these segments, and not all of their pages.
    let replaced = damage_segments(&client, "box").await;
    let id = physical_container(&client, "box").await;
    let ctx = &client.app.system.ctx;
    let rewritten = rewrite_index(ctx, &client.tenant, &id, CompactionSettings::LOCAL).await;
    assert_eq!(
        rewritten.expect("a rewritten index"),
        CompactionOutcome::Done
    );
    assert!(index_head(&client, "box").await.generation > replaced.generation);

    let mut failed = 0;
    for (path, body) in requests() {
        let answer = follower.post(path, body).await;
        failed += usize::from(answer.status != 200);
    }
    assert!(failed <= 1, "{failed} requests failed");
    let whole = answers(&restart(&client, SegmentReading::Whole).await).await;
    assert_answers(&follower, &whole, "read anew").await;
}

#[tokio::test]
async fn what_a_filtered_list_reads_stays_in_memory_if_it_fits() {
    let client = filled_client().await;
    let mut calls_of_last_list = Vec::new();
    for cache_bytes in [64 * 1024 * 1024, 1024] {
        let mut environment = client.app.environment.clone();
        environment.reading = BY_PAGES;
        environment.cache_bytes = cache_bytes;
        let process = restart_in(&environment, &client).await;
        let mut calls = 0;
        for _ in 0..2 {
            calls = process.app.faults.call_count();
            let filter = json!({"AND": [{"key": "ward", "value": 3, "filterType": "numeric",
                "numericOperator": "="}]});
            let list = json!({"containerTags": ["box"], "filters": filter});
            let listed = process.post("/v4/memories/list", list).await;
            assert_eq!(listed.status, 200, "{}", listed.body);
            assert_ne!(listed.body["memoryEntries"], json!([]));
        }
        calls_of_last_list.push(process.app.faults.call_count() - calls);
    }
    assert!(
        calls_of_last_list[1] > calls_of_last_list[0] + 2,
        "{calls_of_last_list:?}"
    );
}

#[tokio::test]
async fn pages_of_files_on_this_machine_are_read_without_requests() {
    let client = filled_client().await;
    let expected = answers(&restart(&client, SegmentReading::Whole).await).await;
    let mut environment = client.app.environment.clone();
    environment.reading = BY_PAGES;
    environment.reads_object_files = true;
    let process = restart_in(&environment, &client).await;
    let body =
        json!({"q": "Which tea do I prefer?", "containerTag": "box", "searchMode": "hybrid"});
    let mut calls_of_first_search = Vec::new();
    for process in [&process, &restart(&client, BY_PAGES).await] {
        let calls = process.app.faults.call_count();
        assert_eq!(process.post("/v4/search", body.clone()).await.status, 200);
        calls_of_first_search.push(process.app.faults.call_count() - calls);
    }
    assert!(
        calls_of_first_search[0] < calls_of_first_search[1],
        "{calls_of_first_search:?}"
    );
    assert_answers(&process, &expected, "cold").await;

    // The warm views follow the log.
    let added = json!({"content": "Number7 is new. I prefer tea number 7.", "containerTag": "box",
        "customId": "n"});
    client.add_document(added).await;
    let followed = answers(&restart(&client, SegmentReading::Whole).await).await;
    assert_answers(&process, &followed, "followed").await;

    // A damaged page costs one answer.
    let expected = client.search_texts("Which tea do I prefer?").await;
    damage_segments(&client, "box").await;
    let cold = restart_in(&environment, &client).await;
    assert_ne!(cold.post("/v4/search", body.clone()).await.status, 200);
    for _ in 0..2 {
        if cold.post("/v4/search", body.clone()).await.status == 200 {
            break;
        }
    }
    assert_eq!(cold.search_texts("Which tea do I prefer?").await, expected);
}

#[tokio::test]
async fn a_container_that_is_asked_again_is_completed() {
    let client = filled_client().await;
    let whole = answers(&restart(&client, SegmentReading::Whole).await).await;
    let reading = SegmentReading::Beginnings {
        above: 0,
        searches: true,
        completes: true,
        max_page_bytes: u64::MAX,
    };
    let warm = restart(&client, reading).await;
    let body = json!({"q": "tea", "containerTag": "box", "searchMode": "hybrid"});
    for _ in 0..2 {
        assert_eq!(warm.post("/v4/search", body.clone()).await.status, 200);
    }
    // `documents` has a cache of its own.
    let listed = json!({"containerTags": ["box"]});
    for _ in 0..2 {
        let answer = warm.post("/v3/documents/documents", listed.clone()).await;
        assert_eq!(answer.status, 200);
    }
    wait_until_quiet(&warm).await;

    // Everything is in memory, so nobody notices that the files are damaged.
    damage_segments(&client, "box").await;
    assert_answers(&warm, &whole, "completed").await;
}

/// Waits until a process has sent no request to a service for a while.
async fn wait_until_quiet(client: &OrgClient) {
    let faults = &client.app.faults;
    let mut calls = None;
    while calls != Some(faults.call_count()) {
        calls = Some(faults.call_count());
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Damages the files of all segments of a container tag behind their cores. Returns the head.
pub(crate) async fn damage_segments(client: &OrgClient, tag: &str) -> IndexHead {
    let head = index_head(client, tag).await;
    for segment in &head.segments {
        flip_last_bytes(client, &segment.blob, segment.core_bytes).await;
        if let Some(index) = &segment.memory_index {
            flip_last_bytes(client, &index.blob, index.core_bytes).await;
        }
    }
    head
}

/// Stores a file again with other bytes behind its core, as a disk would that loses them.
async fn flip_last_bytes(client: &OrgClient, blob: &BlobRef, core_bytes: Option<u64>) {
    let blobs = &client.app.system.ctx.blobs;
    let stored = blobs
        .get_intact(&client.tenant, std::slice::from_ref(blob))
        .await;
    let bytes = stored
        .expect("an answer")
        .remove(0)
        .expect("the file of a segment");
    let core = usize::try_from(core_bytes.expect("a core")).expect("a size");
    let mut bytes = bytes.to_vec();
    bytes[core..].iter_mut().for_each(|byte| *byte ^= 0x55);
    let put = blobs.put(&client.tenant, blob.path(), bytes.into()).await;
    assert_eq!(put.expect("a stored file"), *blob);
}
