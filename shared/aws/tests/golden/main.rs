//! The stored form of every kind of item, as golden files.
//!
//! Each test writes items through the ports at a fixed time, with attributes that are absent, empty
//! and as large as their types allow. It compares the tables with a file in `items`, byte for byte,
//! and reads everything back. Then it puts the items of the file into new tables and reads these as
//! well: a data folder of an earlier version opens only if this holds.
//!
//! `items/former` has items of earlier versions that lack attributes which are written now.
//!
//! A file may gain items. An item that a released version wrote is never changed here. A test that
//! fails names a file with the items as they are stored now. It is copied into `items` if the
//! change is an addition. A new version of zstd may compress to other bytes, which is no change.

mod activity;
mod blobs;
mod connections;
mod containers;
mod documents;
mod index;
mod organization;
mod secrets;
mod sync;
mod values;
mod world;

use serde_json::Value;

use world::{TABLES, World};

/// Compares what `write` stores with the golden file `name`. `check` reads all of it, from the
/// tables that were written and from tables with the items of the file.
async fn check_golden_items(name: &str, write: impl AsyncFn(&World), check: impl AsyncFn(&World)) {
    let written = World::open().await;
    write(&written).await;
    let stored = written.dump().await;

    // The file that a change of the stored form would need, for comparison and for copying.
    let current = format!("{}/{name}.json", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&current, format_tables(&stored)).expect("a file");
    let path = format!(
        "{}/tests/golden/items/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );

    let text = std::fs::read_to_string(&path).expect("a golden file");
    let golden: Value = serde_json::from_str(&text).expect("JSON");
    for (table, items) in TABLES.map(|table| (table, list_items(&stored, table))) {
        let golden = list_items(&golden, table);
        for (stored, golden) in items.iter().zip(&golden) {
            assert_eq!(stored, golden, "an item of {table}; now: {current}");
        }
        assert_eq!(
            items.len(),
            golden.len(),
            "items of {table}; now: {current}"
        );
    }

    check(&written).await;
    let opened = World::open().await;
    opened.load(&golden).await;
    check(&opened).await;
}

/// Checks items of an earlier version, which are written in another form now.
async fn check_former_items(name: &str, check: impl AsyncFn(&World)) {
    let path = format!(
        "{}/tests/golden/items/former/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).expect("a golden file");
    let opened = World::open().await;
    opened
        .load(&serde_json::from_str(&text).expect("JSON"))
        .await;
    check(&opened).await;
}

fn list_items(tables: &Value, table: &str) -> Vec<Value> {
    tables[table].as_array().cloned().unwrap_or_default()
}

/// Formats tables as JSON with one attribute a line.
fn format_tables(tables: &Value) -> String {
    let filled = TABLES.map(|table| (table, list_items(tables, table)));
    let filled = filled.iter().filter(|(_, items)| !items.is_empty());
    let tables: Vec<String> = filled
        .map(|(table, items)| {
            let items: Vec<String> = items.iter().map(format_item).collect();
            format!("\"{table}\": [\n{}\n]", items.join(",\n"))
        })
        .collect();

    format!("{{\n{}\n}}\n", tables.join(",\n"))
}

fn format_item(item: &Value) -> String {
    let attributes = item.as_object().into_iter().flatten();
    let lines: Vec<String> = attributes
        .map(|(name, value)| format!("    \"{name}\": {value}"))
        .collect();
    format!("  {{\n{}\n  }}", lines.join(",\n"))
}

#[tokio::test]
async fn documents_keep_their_stored_form() {
    check_golden_items("documents", documents::write, documents::check).await;
}

#[tokio::test]
async fn former_documents_open_and_are_listed_as_pending_once_added() {
    check_former_items("documents", documents::check_former).await;
}

#[tokio::test]
async fn a_former_document_of_a_repeated_request_opens() {
    check_former_items("activity", activity::check_former).await;
}

#[tokio::test]
async fn former_heads_open() {
    check_former_items("index", index::check_former).await;
}

#[tokio::test]
async fn container_tags_and_owners_keep_their_stored_form() {
    check_golden_items("containers", containers::write, containers::check).await;
}

#[tokio::test]
async fn heads_logs_and_purges_keep_their_stored_form() {
    check_golden_items("index", index::write, index::check).await;
}

#[tokio::test]
async fn inline_blobs_keep_their_stored_form() {
    check_golden_items("blobs", blobs::write, blobs::check).await;
}

#[tokio::test]
async fn connections_grants_and_claims_keep_their_stored_form() {
    check_golden_items("connections", connections::write, connections::check).await;
}

#[tokio::test]
async fn the_items_of_a_connection_keep_their_stored_form() {
    check_golden_items("sync", sync::write, sync::check).await;
}

#[tokio::test]
async fn settings_and_tasks_keep_their_stored_form() {
    check_golden_items("organization", organization::write, organization::check).await;
}

#[tokio::test]
async fn api_keys_tickets_and_sealed_secrets_keep_their_stored_form() {
    check_golden_items("secrets", secrets::write, secrets::check).await;
}

#[tokio::test]
async fn logged_requests_tallies_and_rates_keep_their_stored_form() {
    check_golden_items("activity", activity::write, activity::check).await;
}
