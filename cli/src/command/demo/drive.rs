//! `recollect demo --drive`: the cloud drive of a made-up company, and a server that stays in step
//! with it until it is stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use aws::SystemClock;
use axum::Router;
use connectors::DriveSettings;
use domain::ports::Clock;
use fake_drive::{DriveConfig, FakeDrive};
use serde_json::{Value, json};
use server::ServerLimits;

use super::{Cleanup, DEMO_TAG, SERVING_OPTIONS, ask_question, call_route, document_id};
use crate::arguments::{Demo, ModelOptions};
use crate::command::wait_for_interrupt;
use crate::external_services::ExternalServices;
use crate::listen::{build_service, listen_on, serve_until};
use crate::system::LocalSystem;
use crate::workers::Workers;

/// The interval at which the connection is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The number of polls between two synchronizations. The real drive would report changes, or be
/// polled every four hours.
const POLLS_PER_SYNC: u32 = 6;
const QUESTION: &str = "How much does it cost to rent a bike for a week?";

/// Runs the demo until it is interrupted.
pub(super) async fn run_drive_demo(
    options: &Demo,
    folder: &std::path::Path,
    cleanup: Cleanup,
) -> Result<()> {
    let drive = FakeDrive::start_with(DriveConfig {
        clock: Some(Arc::new(now)),
        ..DriveConfig::default()
    })
    .await?;
    let contents = drive
        .fill_with_demo()
        .map_err(|error| anyhow::anyhow!("the drive cannot be filled: {error:?}"))?;
    let address = SocketAddr::from(([127, 0, 0, 1], options.port));
    let listener = listen_on(address).await?;
    let public_url = format!("http://{}", listener.local_addr()?);
    let system = LocalSystem::open(folder, options.power_cut.durability, Some(&public_url)).await?;
    let external_services = demo_outside(&drive, &public_url)?;
    let workers = Workers::start(&system, &external_services).await?;
    let routes = build_service(&system, &external_services, SERVING_OPTIONS)?;
    let server = tokio::spawn(serve_until(
        listener,
        routes.clone(),
        ServerLimits::default(),
        std::future::pending(),
    ));

    let interrupted = wait_for_interrupt()?;
    let body = json!({"containerTag": DEMO_TAG});
    let connection = call_route(&routes, "POST", "/v3/connections/cloud-drive", &body).await?;
    print_line!(
        "A made-up company's drive is on this machine, and a server that has never seen it.\n"
    );
    print_line!(
        "Open this link in a browser, permit access as {}, and select a folder, say Harbour Bikes:",
        contents.account
    );
    print_line!(
        "  {}\n",
        connection["authLink"].as_str().context("no link")?
    );
    let id = document_id(&connection)?;
    tokio::select! {
        result = follow_connection(&routes, &id, &drive, &contents.folder) => result?,
        () = interrupted => {}
    }

    server.abort();
    workers.stop().await;
    drop(cleanup);

    Ok(())
}

fn demo_outside(drive: &FakeDrive, public_url: &str) -> Result<ExternalServices> {
    let (client_id, client_secret) = drive.client_credentials();
    let settings = DriveSettings::for_fake_drive(drive.base_url(), client_id, client_secret);
    let readers = ModelOptions::default().readers()?;
    let connectors = connectors::all_connectors(&settings, readers.pages_and_files.clone())?;
    Ok(ExternalServices {
        readers,
        connectors,
        public_url: Some(public_url.to_owned()),
    })
}

fn now() -> i64 {
    SystemClock.now().as_millis()
}

/// Prints every change.
async fn follow_connection(
    routes: &Router,
    id: &str,
    drive: &FakeDrive,
    folder: &str,
) -> Result<()> {
    let (mut status, mut previous, mut has_asked) = (String::new(), BTreeMap::new(), false);
    for poll in 0u32.. {
        let body = json!({"containerTags": [DEMO_TAG]});
        let connections = call_route(routes, "POST", "/v3/connections/list", &body).await?;
        let entries = connections.as_array().into_iter().flatten();
        let Some(connection) = entries
            .into_iter()
            .find(|connection| connection["id"] == id)
        else {
            print_line!("The connection is ended.");
            return Ok(());
        };
        if connection["status"] != status.as_str() {
            status = connection["status"].as_str().unwrap_or_default().to_owned();
            print_line!("The connection is {}.", describe_status(&status));
        }
        let documents = list_documents(routes).await?;
        print_changes(&previous, &documents);
        let is_final =
            |document: &DocumentLine| ["done", "failed"].contains(&document.status.as_str());
        let is_synced = connection["lastSyncRun"]["status"] == "completed";
        let is_settled = is_synced && !documents.is_empty() && documents.values().all(is_final);
        if is_settled && !has_asked {
            has_asked = true;
            print_line!();
            // The selected files need not contain the answer.
            if let Err(error) = ask_question(routes, QUESTION).await {
                print_line!("  {error}\n");
            }
            let curl = |command: &Value| {
                format!(
                    "  curl {}/admin -H 'content-type: application/json' -d '{command}'",
                    drive.base_url()
                )
            };
            print_line!(
                "It stays in step. Change something in the drive, in another terminal, and watch:"
            );
            let command = json!({"do": "rename", "id": folder, "name": "Harbour Bikes & Boats"});
            print_line!("{}", curl(&command));
            let command = json!({"do": "trash", "id": folder});
            print_line!("{}", curl(&command));
            print_line!("What is in the bin goes after ten minutes. Ctrl-C ends the demo.\n");
        }
        previous = documents;
        if status == "active" && poll.is_multiple_of(POLLS_PER_SYNC) {
            let path = format!("/v3/connections/{id}/import");
            call_route(routes, "POST", &path, &json!({})).await?;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }

    Ok(())
}

fn describe_status(status: &str) -> &str {
    match status {
        "pending_oauth" => "waiting for permission",
        "awaiting_selection" => "permitted, and waiting for a selection",
        "active" => "active",
        other => other,
    }
}

/// A document as the demo shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DocumentLine {
    path: String,
    kind: String,
    status: String,
}

async fn list_documents(routes: &Router) -> Result<BTreeMap<String, DocumentLine>> {
    let body = json!({"containerTags": [DEMO_TAG], "source": "cloud-drive", "limit": 200});
    let response = call_route(routes, "POST", "/v3/documents/list", &body).await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();

    let mut lines = BTreeMap::new();
    for document in response["memories"].as_array().into_iter().flatten() {
        let line = DocumentLine {
            path: text(&document["filepath"]),
            kind: text(&document["type"]),
            status: text(&document["status"]),
        };
        lines.insert(text(&document["id"]), line);
    }

    Ok(lines)
}

/// Prints the changed documents.
fn print_changes(
    previous: &BTreeMap<String, DocumentLine>,
    current: &BTreeMap<String, DocumentLine>,
) {
    for (id, line) in current {
        let previous_line = previous.get(id);
        let is_newly_final =
            ["done", "failed"].contains(&line.status.as_str()) && previous_line != Some(line);
        if is_newly_final {
            print_line!("  {:<7} {:<12} {}", line.status, line.kind, line.path);
        }
    }

    for (id, line) in previous {
        if !current.contains_key(id) {
            print_line!("  {:<7} {:<12} {}", "gone", line.kind, line.path);
        }
    }
}
