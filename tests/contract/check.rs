//! `recollect check`, over whole data folders.

use bytes::Bytes;
use cli::check::{CheckReport, check_stored_data};
use cli::transfer::ProgressBar;
use domain::{BlobRef, ContainerId, DocumentId, Revision, SegmentRef};
use serde_json::json;
use testkit::DamageKind;

use crate::client::OrgClient;
use crate::containers::{compact, physical_container};

async fn run_check(client: &OrgClient, repair: bool) -> CheckReport {
    check_stored_data(&client.app.system.ctx, repair, &ProgressBar::hidden())
        .await
        .expect("a check")
}

async fn client_with_data() -> (OrgClient, String) {
    let client = OrgClient::new().await;
    let text = "The canary sings. I prefer tea number 7.";
    let id = client
        .add_document(json!({"content": text, "containerTag": "box", "customId": "note"}))
        .await;
    client
        .add_document(json!({"content": "It rains elsewhere.", "containerTag": "other"}))
        .await;
    compact(&client, "box").await;

    (client, id)
}

#[tokio::test]
async fn a_sound_folder_has_no_findings() {
    let (client, _) = client_with_data().await;
    for repair in [false, true] {
        let checked = run_check(&client, repair).await;
        assert_eq!(checked.findings, []);
        assert_eq!(
            (checked.organizations, checked.containers, checked.documents),
            (1, 2, 2)
        );
        assert!(checked.blobs >= 6);
    }
    assert_eq!(
        embedded::check_databases(client.app.environment.data_folder()).expect("an answer"),
        []
    );
}

#[tokio::test]
async fn every_damaged_blob_is_named_and_what_is_derived_is_made_anew() {
    for part in 0..5 {
        for harm in DamageKind::ALL {
            let (client, id) = client_with_data().await;
            let record = client.stored_record(&id).await.expect("a record");
            let served = record.indexed.clone().expect("served");
            let head = client
                .app
                .system
                .ctx
                .index
                .get_head(&client.tenant, &record.container)
                .await
                .expect("a head");
            let segment: SegmentRef = head.segments[0].clone();
            let blobs = [
                Some(&record.body.blob),
                Some(&served.pack),
                served.statements_blob(),
                Some(&segment.blob),
                segment.memory_index.as_ref().map(|index| &index.blob),
            ];
            let blob = blobs[part].expect("a blob");
            client.app.damage_blob(&client.tenant, blob, harm).await;

            let found = run_check(&client, false).await.findings;
            assert_eq!(found.len(), 1, "{harm:?} {blob:?}: {found:?}");
            let named = if part < 3 {
                id.as_str()
            } else {
                record.container.as_str()
            };
            assert!(
                found[0].to_string().contains(named) && found[0].repair.is_none(),
                "{found:?}"
            );
            let found = run_check(&client, true).await.findings;
            assert_eq!(
                found[0].repair.is_some(),
                part != 0,
                "{harm:?} {blob:?}: {found:?}"
            );
            client.run_until_settled().await;
            let left = run_check(&client, false).await.findings;
            assert_eq!(
                left.len(),
                usize::from(part == 0),
                "{harm:?} {blob:?}: {left:?}"
            );
            assert!(client.search_finds("canary").await && client.search_finds("rains").await);
        }
    }
}

#[tokio::test]
async fn bytes_that_nothing_names_are_found_once_they_are_old_and_deleted() {
    let (client, _) = client_with_data().await;
    let (ctx, id) = (
        &client.app.system.ctx,
        physical_container(&client, "box").await,
    );
    let mut orphans: Vec<BlobRef> = Vec::new();
    for end in ["body", "pack"] {
        let path = format!("{id}/{}/{}/{end}", DocumentId::random(), Revision::random());
        orphans.push(
            ctx.blobs
                .put(&client.tenant, &path, Bytes::from("left behind"))
                .await
                .expect("a blob"),
        );
        orphans.push(
            ctx.blobs
                .put_object(&client.tenant, &path, Bytes::from("left"))
                .await
                .expect("a blob"),
        );
    }

    // A container that is gone, or whose creation was never recorded.
    let (gone, document) = (ContainerId::random(), DocumentId::random());
    let path = format!("{gone}/{document}/{}/body", Revision::random());
    orphans.push(
        ctx.blobs
            .put(&client.tenant, &path, Bytes::from("left behind"))
            .await
            .expect("a blob"),
    );

    let path = format!("{id}/segments/{}", Revision::random());
    orphans.push(
        ctx.blobs
            .put_object(&client.tenant, &path, Bytes::from("left"))
            .await
            .expect("a blob"),
    );
    assert_eq!(run_check(&client, true).await.findings, []);

    client.app.environment.clock.advance_seconds(25 * 3600);
    let found = run_check(&client, true).await.findings;
    assert_eq!(found.len(), orphans.len(), "{found:?}");

    let left = ctx
        .blobs
        .get_intact(&client.tenant, &orphans)
        .await
        .expect("an answer");
    assert!(left.iter().all(Option::is_none));
    assert_eq!(run_check(&client, false).await.findings, []);
    assert!(client.search_finds("canary").await && client.search_finds("rains").await);
}
