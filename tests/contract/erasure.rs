//! Deleted content disappears from every stored byte within half an hour, without any further
//! request.

use std::io::Read;

use domain::{BlobRef, DocumentId, Revision};
use serde_json::json;
use testkit::list_files;

use crate::client::OrgClient;
use crate::containers::{compact, physical_container};

/// The number of minutes after which deleted content is gone, as promised in docs/security.md.
pub(crate) const WITHIN_MINUTES: u32 = 30;
/// The number of sweeps between two clean-ups of files, the same as in `cli::workers`.
const ERASE_EVERY: u32 = 5;
/// The first bytes of a zstd frame.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

fn contains(bytes: &[u8], needle: &str) -> bool {
    bytes
        .windows(needle.len())
        .any(|window| window == needle.as_bytes())
}

/// Decompresses the data at every position of a file where a compressed frame begins.
fn decompress_all_frames(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for (at, window) in bytes.windows(MAGIC.len()).enumerate() {
        if window == MAGIC
            && let Ok(decoder) = zstd::stream::Decoder::new(&bytes[at..])
        {
            // Bytes after the frame cause an error, but the bytes decoded before them count.
            decoder.take(4 * 1024 * 1024).read_to_end(&mut all).ok();
        }
    }
    all
}

/// Returns the files that contain the words, plain or compressed.
pub(crate) fn files_containing(client: &OrgClient, needle: &str) -> Vec<String> {
    let has = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        contains(&bytes, needle) || contains(&decompress_all_frames(&bytes), needle)
    };
    let found = list_files(client.app.environment.data_folder())
        .into_iter()
        .filter(has);
    found.map(|path| path.display().to_string()).collect()
}

/// Returns a part of a small blob in its stored form.
async fn stored_text(client: &OrgClient, blob: &BlobRef) -> String {
    let BlobRef::Inline(path) = blob else {
        panic!("{blob:?} is not small")
    };

    let key = json!({"pk": {"S": format!("B#{}#{path}", client.tenant.org())}, "sk": {"S": "A"}});
    let table = &client.app.system.names.records;
    let item = client
        .app
        .call_dynamodb("GetItem", &json!({"TableName": table, "Key": key}))
        .await;
    let name = if item["Item"]["z"].is_object() {
        "z"
    } else {
        "b"
    };

    let coded = item["Item"][name]["B"].as_str().expect("bytes");
    coded[coded.len() / 2..coded.len() / 2 + 24].to_owned()
}

/// Simulates `minutes` minutes on a machine that receives no requests.
pub(crate) async fn let_minutes_pass(client: &OrgClient, minutes: u32) {
    let app = &client.app;
    for minute in 1..=minutes {
        app.environment.clock.advance_seconds(60);
        maintenance::sweep_overdue_work(&app.system.ctx, app.system.ctx.clock.now())
            .await
            .expect("a sweep");
        while app.run_workers_once().await > 0 {}
        if minute % ERASE_EVERY == 0 {
            assert!(
                app.environment
                    .services
                    .erase_deleted()
                    .expect("a clean-up"),
                "nobody reads meanwhile"
            );
        }
    }
}

/// Returns content that is large or small, with words that nothing else contains.
fn canary_content(canary: &str, large: bool) -> String {
    let lines = (0..if large { 2500 } else { 1 })
        .map(|i| format!("Line {} of {}.", i * 7919 % 10_007, i * 104_729));
    format!(
        "The {canary} sings. I prefer {canary} tea. {}",
        lines.collect::<Vec<_>>().join(" ")
    )
}

fn document(name: &str, canary: &str, large: bool) -> serde_json::Value {
    json!({"content": canary_content(canary, large), "customId": name, "containerTag": "box",
        "metadata": {"note": format!("{canary}-note")}})
}

#[tokio::test]
async fn nothing_of_what_was_deleted_or_replaced_is_left_in_any_file() {
    let client = OrgClient::new().await;
    let names =
        ["smallgone", "largegone", "smallold", "largeold"].map(|name| format!("{name}quux"));
    let mut small = Vec::new();
    for (i, canary) in names.iter().enumerate() {
        let id = client
            .add_document(document(&format!("d{i}"), canary, i % 2 == 1))
            .await;
        if i % 2 == 0 {
            let record = client.stored_record(&id).await.expect("a record");
            small.push(stored_text(&client, &record.body.blob).await);
            small.push(stored_text(&client, &record.indexed.expect("served").pack).await);
        }
    }

    client
        .add_document(document("kept", "keptquux", true))
        .await;
    compact(&client, "box").await;
    for needle in names.iter().chain(&small) {
        assert!(
            !files_containing(&client, needle).is_empty(),
            "{needle} is stored"
        );
    }

    for name in ["d0", "d1"] {
        assert_eq!(
            client.delete(&format!("/v3/documents/{name}")).await.status,
            204
        );
    }

    for name in ["d2", "d3"] {
        let body = json!({"content": "Something else.", "metadata": {"note": "new"}});
        client.update_document(name, body).await;
    }

    let_minutes_pass(&client, WITHIN_MINUTES).await;
    for needle in names.iter().chain(&small) {
        assert_eq!(
            files_containing(&client, needle),
            [""; 0],
            "{needle} is left"
        );
    }

    assert!(
        !files_containing(&client, "keptquux").is_empty() && client.search_finds("keptquux").await
    );
    assert!(client.search_finds("else").await);
}

#[tokio::test]
async fn nothing_of_a_deleted_container_is_left_in_any_file() {
    let client = OrgClient::new().await;
    client
        .add_document(document("small", "smallquux", false))
        .await;
    client
        .add_document(document("large", "largequux", true))
        .await;
    compact(&client, "box").await;
    assert!(
        client
            .delete("/v3/container-tags/box")
            .await
            .status
            .is_success()
    );
    let_minutes_pass(&client, WITHIN_MINUTES).await;

    for needle in ["smallquux", "largequux"] {
        assert_eq!(
            files_containing(&client, needle),
            [""; 0],
            "{needle} is left"
        );
    }
}

#[tokio::test]
async fn an_index_is_not_written_anew_again_once_it_holds_nothing_deleted() {
    let client = OrgClient::new().await;
    client.add_document(document("a", "firstquux", false)).await;
    client
        .add_document(document("b", "secondquux", false))
        .await;
    assert_eq!(client.delete("/v3/documents/a").await.status, 204);
    let ctx = &client.app.system.ctx;
    let id = physical_container(&client, "box").await;
    let head = async || {
        ctx.index
            .get_head(&client.tenant, &id)
            .await
            .expect("a head")
    };
    assert!(head().await.last_removal.is_some());
    let_minutes_pass(&client, 15).await;
    let written = head().await;
    assert_eq!((written.last_removal, written.generation), (None, 1));
    let_minutes_pass(&client, 60).await;
    assert_eq!(head().await, written);
    assert!(client.search_finds("secondquux").await && !client.search_finds("firstquux").await);
}

#[tokio::test]
async fn objects_that_nothing_names_go_when_they_are_a_day_old() {
    let client = OrgClient::new().await;
    client
        .add_document(document("kept", "keptquux", true))
        .await;
    let ctx = &client.app.system.ctx;
    let path = format!(
        "{}/{}/{}/body",
        physical_container(&client, "box").await,
        DocumentId::random(),
        Revision::random()
    );
    let orphan = ctx
        .blobs
        .put_object(&client.tenant, &path, "left behind".into())
        .await
        .expect("a blob");
    let walk = maintenance::OrphanWalk::default();
    assert_eq!(walk.examine_next_page(ctx).await.expect("a step"), 0);

    client.app.environment.clock.advance_seconds(25 * 3600);
    assert_eq!(walk.examine_next_page(ctx).await.expect("a step"), 1);
    assert_eq!(
        walk.examine_next_page(ctx)
            .await
            .expect("the walk is over for today"),
        0
    );

    let left = ctx
        .blobs
        .get_intact(&client.tenant, &[orphan])
        .await
        .expect("an answer");
    assert_eq!(left, [None]);
    assert!(client.search_finds("keptquux").await);
}
