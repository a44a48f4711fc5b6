//! Unreadable segments: everything is still found, and the segments are written again.

use domain::{BlobRef, SegmentRef};
use serde_json::json;
use testkit::{DamageKind, TestApp};

use crate::client::OrgClient;
use crate::containers::{compact, index_head};
use crate::memories_forget::forget_memory;

/// The number of documents that make a segment too large to be stored in DynamoDB.
const MANY: usize = 40;

/// Compacts the index of `box`.
async fn compact_box(client: &OrgClient) {
    let before = index_head(client, "box").await.generation;
    compact(client, "box").await;
    assert_eq!(
        index_head(client, "box").await.generation,
        before + 1,
        "the log was compacted"
    );
}

/// Fills a segment with documents, one of which is removed and one described again, and with a
/// forgotten memory. Adds two documents after it.
async fn fill_segment(client: &OrgClient, documents: usize) {
    for i in 0..documents {
        let text = format!("Number{i}x stands in the log. I prefer tea number {i}.");
        client
            .add_document(
                json!({"content": text, "containerTag": "box", "customId": format!("d{i}")}),
            )
            .await;
    }

    let memories = json!({"containerTag": "box", "memories": [{"content": "The mill was sold."}]});
    let answer = client.post("/v4/memories", memories).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    forget_memory(client, json!({"content": "The mill was sold."})).await;
    client
        .send_patch("/v3/documents/d1", json!({"metadata": {"shelf": "top"}}))
        .await;
    assert_eq!(client.delete("/v3/documents/d0").await.status, 204);
    client.run_until_settled().await;
    compact_box(client).await;
    // The next compaction trims the log of everything that this one has covered, so only the
    // segments hold it.
    for i in documents..documents + 2 {
        let text = format!("Number{i}x stands in the log.");
        client
            .add_document(
                json!({"content": text, "containerTag": "box", "customId": format!("d{i}")}),
            )
            .await;
    }

    compact_box(client).await;
}

async fn check_contents(client: &OrgClient, documents: usize, case: &str) {
    for i in 0..documents + 2 {
        assert_eq!(
            client.search_finds(&format!("Number{i}x")).await,
            i != 0,
            "{case}: {i}"
        );
    }

    let filters = json!({"AND": [{"key": "shelf", "value": "top"}]});
    let found = client
        .search_texts_with(json!({"q": "log", "containerTag": "box", "filters": filters}))
        .await;
    assert_eq!(found.len(), 1, "{case}: {found:?}");
    let body = json!({"q": "Who sold the mill?", "containerTag": "box", "searchMode": "memories", "threshold": 0});
    let answer = client.post("/v4/search", body).await;
    assert!(answer.status.is_success(), "{case}: {}", answer.body);
    assert!(
        !answer.body.to_string().contains("The mill was sold"),
        "{case}: it was forgotten"
    );
    let tea = json!({"q": "tea number 1", "containerTag": "box", "searchMode": "memories", "threshold": 0});
    let found = client.post("/v4/search", tea).await.body.to_string();
    assert!(found.contains("tea number 1"), "{case}: {found}");
    let profile = client
        .post("/v4/profile", json!({"containerTag": "box"}))
        .await;
    assert!(profile.status.is_success(), "{case}: {}", profile.body);
}

/// Returns a client of a program that starts with the data of another one.
async fn restart(client: &OrgClient) -> OrgClient {
    let app = TestApp::start(&client.app.environment, 0).await;
    OrgClient::of(app.expect("an app"), "acme").await
}

/// Checks that all blobs of the segments can be read.
async fn check_all_intact(client: &OrgClient, case: &str) {
    let head = index_head(client, "box").await;
    let blobs = head.segments.iter().flat_map(SegmentRef::blobs);
    let blobs: Vec<BlobRef> = blobs.cloned().collect();
    let store = &client.app.system.ctx.blobs;
    let read = store.get_intact(&client.tenant, &blobs).await;
    let read = read.expect("intact blobs");
    assert!(read.iter().all(Option::is_some), "{case}");
}

/// Damages blobs of the first segment that has them, and checks that nothing is lost and that they are
/// written anew.
async fn check_damage(which: fn(SegmentRef) -> Vec<BlobRef>, documents: usize) {
    for harm in DamageKind::ALL {
        let client = OrgClient::new().await;
        fill_segment(&client, documents).await;
        let damaged = index_head(&client, "box").await;
        let mut blobs = damaged.segments.iter().cloned().map(which);
        let blobs = blobs.find(|blobs| !blobs.is_empty()).expect("blobs");
        let case = format!("{harm:?} {blobs:?}");
        for blob in &blobs {
            client.app.damage_blob(&client.tenant, blob, harm).await;
        }
        let cold = restart(&client).await;
        check_contents(&cold, documents, &case).await;

        cold.run_until_settled().await;
        let healed = index_head(&cold, "box").await;
        assert!(healed.generation > damaged.generation, "{case}");

        check_all_intact(&cold, &case).await;
        let cold = restart(&client).await;
        check_contents(&cold, documents, &case).await;
    }
}

#[tokio::test]
async fn a_small_segment_that_cannot_be_read_is_served_from_packs_and_written_anew() {
    check_damage(|segment| vec![segment.blob], 3).await;
}

#[tokio::test]
async fn a_large_segment_that_cannot_be_read_is_served_from_packs_and_written_anew() {
    check_damage(|segment| vec![segment.blob], MANY).await;
}

#[tokio::test]
async fn memories_that_cannot_be_read_are_found_in_documents_and_stay_forgotten() {
    let memory_index = |segment: SegmentRef| {
        let index = segment.memory_index.map(|index| index.blob);
        index.into_iter().collect()
    };
    check_damage(memory_index, 3).await;
    check_damage(memory_index, MANY).await;
}

#[tokio::test]
async fn edits_that_cannot_be_read_are_written_anew_from_the_stored_ledger() {
    for harm in DamageKind::ALL {
        let client = OrgClient::new().await;
        fill_segment(&client, MANY).await;
        let damaged = index_head(&client, "box").await;
        let mut edits = damaged.segments.iter();
        let blob = edits.find_map(|segment| segment.edits.clone());
        let blob = blob.expect("edits");
        client.app.damage_blob(&client.tenant, &blob, harm).await;

        // Enough documents that the damaged segment is merged with theirs.
        for i in 0..MANY {
            let text = format!("Page {i} of the diary says that I like soup.");
            let document = json!({"content": text, "containerTag": "box"});
            client.add_document(document).await;
        }
        compact_box(&client).await;

        let case = format!("{harm:?} {blob:?}");
        check_all_intact(&client, &case).await;
        let cold = restart(&client).await;
        check_contents(&cold, MANY, &case).await;
    }
}
