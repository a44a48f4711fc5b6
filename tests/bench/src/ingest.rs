//! The rate at which batches of texts become searchable on AWS: each answer of a service takes as long
//! as there, and the functions run in this process. They share its cores, which bounds the rate.
//! Compaction, which other functions do, is left out.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use aws::QueueReceiver;
use domain::{DeliveryOutcome, QueueDelivery, QueueWorker};
use futures::future::try_join_all;
use processor::Processor;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::rig::{BenchSystem, resident_megabytes};
use crate::text::TextGenerator;

/// The number of clients that add batches.
const BATCH_CLIENTS: usize = 4;
/// The number of clients that add one document a request.
const SINGLE_CLIENTS: usize = 32;
/// The functions that commit, of which each has one container at a time.
const COMMITTERS: usize = 4;
/// The time for which a function waits for a message.
const POLL_WAIT: Duration = Duration::from_millis(500);

/// The options of the benchmark.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IngestOptions {
    /// Functions that process documents at the same time
    #[arg(long, value_delimiter = ',', default_value = "1,4,16")]
    functions: Vec<usize>,
    /// Containers that get batches in turn
    #[arg(long, default_value_t = 1)]
    containers: usize,
    /// Documents of each measurement
    #[arg(long, default_value_t = 2000)]
    documents: usize,
    /// Documents of a request: 1 adds them one by one
    #[arg(long, default_value_t = 100)]
    batch: usize,
    /// Characters of a document
    #[arg(long, default_value_t = 2048)]
    chars: usize,
}

/// Prints a line for each number of functions that process documents at the same time.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
pub(crate) async fn run(options: &IngestOptions) -> Result<()> {
    let (containers, documents) = (options.containers, options.documents);
    ensure!(containers > 0, "at least one container is needed");
    ensure!(options.batch > 0, "a request adds at least one document");
    println!(
        "{:>9} {:>10} {:>9} {:>11} {:>12} {:>14} {:>10} {:>10} {:>8}",
        "functions",
        "containers",
        "documents",
        "documents/s",
        "write units",
        "busiest index",
        "read units",
        "SQS calls",
        "MB"
    );
    for &count in &options.functions {
        let rig = BenchSystem::with_network().await?;
        let workers = start_functions(&rig, count);
        rig.meter.start_counting();
        let begun = Instant::now();
        add_documents(&rig, options).await?;
        rig.wait_until_idle().await?;
        let seconds = begun.elapsed().as_secs_f64();
        let counts = rig.meter.take_counts();
        drop(workers);

        let each = |units: f64| units / documents as f64;
        println!(
            "{count:>9} {containers:>10} {documents:>9} {:>11.0} {:>12.1} {:>14.1} {:>10.1} {:>10.2} {:>8}",
            documents as f64 / seconds,
            each(counts.write_units),
            each(counts.busiest_index_write_units),
            each(counts.read_units),
            each(counts.sqs as f64),
            resident_megabytes()
        );
    }
    Ok(())
}

/// Adds documents to containers in turn, in batches or one by one.
async fn add_documents(rig: &BenchSystem, options: &IngestOptions) -> Result<()> {
    let mut writer = TextGenerator::new(6);
    let mut requests = Vec::new();
    for (number, first) in (0..options.documents).step_by(options.batch).enumerate() {
        let count = options.batch.min(options.documents - first);
        let tag = format!("container{}", number % options.containers);
        let texts: Vec<Value> = (0..count)
            .map(|_| writer.generate_text(options.chars).into())
            .collect();
        requests.push(match texts.as_slice() {
            [text] if options.batch == 1 => json!({"content": text, "containerTag": tag}),
            _ => json!({"documents": texts, "containerTag": tag}),
        });
    }

    let (path, clients) = match options.batch {
        1 => ("/v3/documents", SINGLE_CLIENTS),
        _ => ("/v3/documents/batch", BATCH_CLIENTS),
    };
    let shares = requests.chunks(requests.len().div_ceil(clients).max(1));
    try_join_all(shares.map(|requests| async move {
        for body in requests {
            let answer = rig.post(path, body).await?;
            ensure!(
                answer["failed"].as_u64().unwrap_or_default() == 0,
                "{answer}"
            );
        }
        anyhow::Ok(())
    }))
    .await?;
    Ok(())
}

/// Starts functions that process documents, and a few that commit them. They end when the set is
/// dropped.
fn start_functions(rig: &BenchSystem, count: usize) -> JoinSet<()> {
    let system = &rig.system;
    let worker = || Processor::new(system.ctx.clone(), rig.content_readers());
    let receiver = |queue: &String| QueueReceiver::new(system.clients.sqs.clone(), queue.clone());
    let mut functions = JoinSet::new();
    for _ in 0..count {
        let receiver = receiver(&system.names.process_queue).one_at_a_time();
        functions.spawn(handle_messages(receiver, worker()));
    }
    for _ in 0..COMMITTERS {
        let receiver = receiver(&system.names.commit_queue);
        functions.spawn(handle_messages(receiver, worker()));
    }
    functions
}

/// Handles the messages of a queue, one batch after another.
async fn handle_messages(receiver: QueueReceiver, worker: Processor) {
    loop {
        let messages = receiver.receive(POLL_WAIT).await.unwrap_or_default();
        let batch: Vec<QueueDelivery> = messages
            .iter()
            .map(|message| message.to_delivery(false))
            .collect();
        if batch.is_empty() {
            continue;
        }

        let outcomes = worker.handle_batch(&batch).await;
        let handled: Vec<_> = messages
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| *outcome == DeliveryOutcome::Done)
            .map(|(message, _)| message)
            .collect();
        // A message that is not deleted comes again, which its handler expects.
        receiver.delete(&handled).await.ok();
    }
}
