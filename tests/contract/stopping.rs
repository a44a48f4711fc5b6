//! Workers that are stopped while they process a document.

use std::sync::Arc;

use cli::Workers;
use domain::DocumentStatus;
use reader::LocalReader;
use sandbox::Sandbox;
use serde_json::json;

use crate::client::OrgClient;
use crate::fairness::{endless_parser, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_stop_breaks_off_is_no_attempt() {
    let client = OrgClient::new().await;
    let app = &client.app;
    let (program, _folder) = endless_parser();
    let mut outside = app.environment.external_systems().expect("an outside");
    outside.readers.pages_and_files = Arc::new(LocalReader {
        sandbox: Sandbox::in_child(program),
        ..app.environment.local_reader()
    });
    let filler = "The ferry is late. ".repeat(2_000);
    let page = format!("<!DOCTYPE html><html><body><p>{filler}</body></html>");
    let id = client.send_document(json!({"content": page})).await;

    for _ in 0..2 {
        let workers = Workers::start(&app.system, &outside)
            .await
            .expect("workers");
        wait_for(app, &client.key, &id, "extracting").await;
        workers.stop().await;

        let document = client.stored_record(&id).await.expect("a record");
        assert_eq!(
            (document.status, document.attempts),
            (DocumentStatus::Queued, 0)
        );
    }
}
