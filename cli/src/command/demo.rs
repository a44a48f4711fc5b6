//! `recollect demo`: shows the whole process in one command.

mod drive;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Body;
use edge::LoopbackPeer;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::progress::progress_bar;
use super::{build_outside, log_to_stderr};
use crate::arguments::{Demo, DriveOptions, ModelOptions};
use crate::listen::{ServingOptions, build_service};
use crate::system::LocalSystem;
use crate::workers::Workers;

const DEMO_TAG: &str = "demo";
const SERVING_OPTIONS: ServingOptions = ServingOptions::for_this_machine(256 * 1024 * 1024);
/// The time after which something must be wrong.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_PAUSE: Duration = Duration::from_millis(20);

/// The bundled files, by name.
const FILES: [(&str, &[u8]); 3] = [
    (
        "rental-terms.pdf",
        include_bytes!("../../demo/rental-terms.pdf"),
    ),
    (
        "barometer.html",
        include_bytes!("../../demo/barometer.html"),
    ),
    ("handbook.md", include_bytes!("../../demo/handbook.md")),
];
const CONVERSATION: &str = include_str!("../../demo/conversation.json");
const QUESTIONS: [&str; 3] = [
    "How much is the deposit for a sailing boat?",
    "What does it mean when the barometer falls quickly?",
    "What is Nora's sister allergic to?",
];

pub(super) async fn run_demo(options: Demo, program: &str) -> Result<()> {
    log_to_stderr(&options.log)?;
    let temporary = std::env::temp_dir().join(format!("recollect-demo-{}", std::process::id()));
    let folder = options.data.clone().unwrap_or_else(|| temporary.clone());
    let cleanup = Cleanup(options.data.is_none().then_some(temporary));
    if options.drive {
        return drive::run_drive_demo(&options, &folder, cleanup).await;
    }

    let system = LocalSystem::open(&folder, options.power_cut.durability, None).await?;
    let external_services =
        build_outside(&ModelOptions::default(), &DriveOptions::default(), None)?;
    let workers = Workers::start(&system, &external_services).await?;
    let routes = build_service(&system, &external_services, SERVING_OPTIONS)?;

    print_line!(
        "Sending {} files and a conversation to the container {DEMO_TAG}:",
        FILES.len()
    );
    let started = Instant::now();
    let mut documents = Vec::new();
    for (name, bytes) in FILES {
        documents.push((name, upload_file(&routes, name, bytes).await?));
    }

    let mut conversation: Value = serde_json::from_str(CONVERSATION)?;
    conversation["containerTag"] = DEMO_TAG.into();
    let response = call_route(&routes, "POST", "/v4/conversations", &conversation).await?;
    documents.push(("conversation.json", document_id(&response)?));
    watch_documents(&routes, &documents).await?;
    print_line!(
        "All searchable after {} ms.\n",
        started.elapsed().as_millis()
    );

    for question in QUESTIONS {
        ask_question(&routes, question).await?;
    }

    workers.stop().await;
    if let Some(folder) = &options.data {
        print_line!(
            "Go on with it:  {program} serve --data {}",
            folder.display()
        );
    } else {
        print_line!("Nothing was kept. To go on with this data:");
        print_line!("  {program} demo --data ./.recollect && {program} serve");
    }

    drop(cleanup);
    Ok(())
}

/// Deletes the temporary folder, even if the demo fails.
struct Cleanup(Option<PathBuf>);

impl Drop for Cleanup {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

async fn send_request(routes: &Router, request: Request<Body>) -> Result<Value> {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(LoopbackPeer);
    let response = routes
        .clone()
        .oneshot(Request::from_parts(parts, body))
        .await?;
    let status = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if !status.is_success() {
        bail!("the service answered {status}: {json}");
    }

    Ok(json)
}

async fn call_route(routes: &Router, method: &str, path: &str, body: &Value) -> Result<Value> {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("authorization", "Bearer local")
        .header("content-type", "application/json");
    send_request(routes, request.body(Body::from(body.to_string()))?).await
}

async fn upload_file(routes: &Router, name: &str, bytes: &[u8]) -> Result<String> {
    const BOUNDARY: &str = "recollect-demo";
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"containerTag\"\r\n\r\n{DEMO_TAG}\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    );
    let body = [
        head.as_bytes(),
        bytes,
        format!("\r\n--{BOUNDARY}--\r\n").as_bytes(),
    ]
    .concat();
    let request = Request::builder().method("POST").uri("/v3/documents/file");
    let request = request.header("authorization", "Bearer local");
    let request = request.header(
        "content-type",
        format!("multipart/form-data; boundary={BOUNDARY}"),
    );

    document_id(&send_request(routes, request.body(Body::from(body))?).await?)
}

fn document_id(response: &Value) -> Result<String> {
    response["id"]
        .as_str()
        .map(str::to_owned)
        .context("an answer without an id")
}

/// Shows the progress of each document until all are done.
async fn watch_documents(routes: &Router, documents: &[(&str, String)]) -> Result<()> {
    let bar = progress_bar("  [{bar:24}] {pos}/{len} {msg}", documents.len())?;
    let started = Instant::now();
    let mut pending: Vec<&(&str, String)> = documents.iter().collect();
    while !pending.is_empty() {
        let mut still_pending = Vec::new();
        for entry in pending {
            let (name, id) = entry;
            let document =
                call_route(routes, "GET", &format!("/v3/documents/{id}"), &Value::Null).await?;
            match document["status"].as_str() {
                Some("done") => {
                    let chunks = call_route(
                        routes,
                        "GET",
                        &format!("/v3/documents/{id}/chunks"),
                        &Value::Null,
                    )
                    .await?;
                    bar.inc(1);
                    bar.suspend(|| {
                        print_line!(
                            "  {name:<18} {:<8} {} chunks",
                            document["type"].as_str().unwrap_or(""),
                            chunks["total"]
                        )
                    });
                }
                Some("failed") => bail!("{name} failed: {}", document["errorMessage"]),
                status => {
                    bar.set_message(format!("{name}: {}", status.unwrap_or_default()));
                    still_pending.push(entry);
                }
            }
        }
        if started.elapsed() > TIMEOUT {
            bail!("the documents are not done after {} s", TIMEOUT.as_secs());
        }
        pending = still_pending;
        tokio::time::sleep(POLL_PAUSE).await;
    }

    bar.finish_and_clear();
    Ok(())
}

async fn ask_question(routes: &Router, question: &str) -> Result<()> {
    let body = json!({
        "q": question, "containerTag": DEMO_TAG, "searchMode": "hybrid", "limit": 1, "include": {"documents": true},
    });

    let response = call_route(routes, "POST", "/v4/search", &body).await?;
    print_line!("? {question}");
    let Some(result) = response["results"].get(0) else {
        bail!("nothing was found");
    };

    // A result is a chunk of a document or a memory.
    let text = result["chunk"]
        .as_str()
        .or(result["memory"].as_str())
        .context("a result without a text")?;
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(8) {
        print_line!("  | {line}");
    }

    let title = result["documents"][0]["title"]
        .as_str()
        .unwrap_or("conversation");
    let similarity = result["similarity"].as_f64().unwrap_or_default();
    print_line!(
        "  from: {title}  (similarity {similarity:.2}, {} ms)\n",
        response["timing"]
    );

    Ok(())
}
