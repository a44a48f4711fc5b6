//! One organization cannot hold up the documents of another, whatever it sends.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cli::Workers;
use reader::LocalReader;
use sandbox::Sandbox;
use serde_json::json;
use tempfile::TempDir;
use testkit::TestApp;

/// The time after which a test gives up. No measurement depends on it.
const NEVER: Duration = Duration::from_secs(50);
/// The number of documents in two batches of the queue, which is more than are processed at a time.
const FLOOD: usize = 24;

/// Creates a program that accepts a document and never answers. It stands for a parser that is
/// slower than any test waits.
pub(crate) fn endless_parser() -> (PathBuf, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("parser");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").expect("a program");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("it can be started");
    (program, folder)
}

async fn send(app: &TestApp, key: &str, content: &str) -> String {
    let answer = app
        .post("/v3/documents", key, &json!({"content": content}))
        .await;
    answer.body["id"].as_str().expect("an id").to_owned()
}

async fn document_status(app: &TestApp, key: &str, id: &str) -> String {
    let document = app.get(&format!("/v3/documents/{id}"), key).await.body;
    document["status"].as_str().expect("a status").to_owned()
}

pub(crate) async fn wait_for(app: &TestApp, key: &str, id: &str, wanted: &str) {
    let begun = Instant::now();
    while document_status(app, key, id).await != wanted {
        assert!(begun.elapsed() < NEVER, "{id} is never {wanted}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_done_while_other_organizations_flood_with_slow_ones() {
    let app = TestApp::new().await;
    let (program, _folder) = endless_parser();
    let mut outside = app.environment.external_systems().expect("an outside");
    outside.readers.pages_and_files = Arc::new(LocalReader {
        sandbox: Sandbox::in_child(program),
        ..app.environment.local_reader()
    });
    let (first, second, quiet) = (
        app.create_key("first").await,
        app.create_key("second").await,
        app.create_key("quiet").await,
    );

    // The queue is full of slow documents of two organizations before any worker starts.
    let mut flood = Vec::new();
    // They are long, because only then a status tells that a worker has begun.
    let filler = "The ferry is late. ".repeat(2_000);
    for key in [&first, &second] {
        for number in 0..FLOOD {
            let page = format!("<!DOCTYPE html><html><body><p>{number} {filler}</body></html>");
            flood.push((key.clone(), send(&app, key, &page).await));
        }
    }

    let workers = Workers::start(&app.system, &outside)
        .await
        .expect("workers");
    let (key, id) = &flood[0];
    wait_for(&app, key, id, "extracting").await;

    for number in 0..3 {
        let id = send(
            &app,
            &quiet,
            &format!("The ferry number {number} leaves at noon."),
        )
        .await;
        wait_for(&app, &quiet, &id, "done").await;
    }

    for (key, id) in &flood {
        let status = document_status(&app, key, id).await;
        assert!(
            ["queued", "extracting"].contains(&status.as_str()),
            "no parser answers, yet {id} is {status}"
        );
    }

    drop(workers);
}
