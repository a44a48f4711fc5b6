//! Processes documents so that an organization with many or slow documents does not delay the
//! others.
//!
//! The queue serves organizations in turn, so the message of a quiet one is always among the next.
//! It only has to be taken: messages are taken one at a time, each gets one or two of a few places, and
//! [`ProcessingPlaces`] leaves room beside the organization that has the most. A message whose
//! organization may have no further places is sent again and arrives a little later. Meanwhile the
//! next message is handled.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use aws::ReceivedMessage;
use domain::ports::{JobQueue, PortResult};
use domain::{Job, JobMessage};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use super::{BACK_OFF, POLL_WAIT, QueueSource, handle_messages};
use crate::processing_places::{DOCUMENT_PLACES, ProcessingPlaces, SHORT_TEXT_PLACES, TakenPlaces};

/// The fewest places, for documents of two places each: two for an organization that floods the queue, one
/// for another such organization, and one for anybody else.
const MIN_PLACES: usize = 4 * DOCUMENT_PLACES;
/// The time for which a received message waits for a place. It is longer than a usual document
/// takes, so that a flood of usual documents is never sent again.
const PLACE_WAIT: Duration = Duration::from_millis(250);
/// The seconds after which a message is delivered again if it has found no place. Together with the
/// wait before it, some ten messages are in transit at a time, however many are queued.
const RESEND_SECONDS: u32 = 2;

/// Returns the number of places. One organization gets half of them: as many as documents on all cores
/// take. The time of a parser is limited by the wall clock, so it must not share its core with many
/// others.
pub(super) fn place_count() -> usize {
    let cores = available_parallelism().map_or(1, |cores| cores.get());
    MIN_PLACES.max(2 * cores * DOCUMENT_PLACES)
}

/// Returns the threads that process documents. Short texts in the places of one document share a thread.
pub(super) fn document_threads() -> Result<Runtime> {
    let threads = Builder::new_multi_thread()
        .worker_threads(place_count() / DOCUMENT_PLACES)
        .thread_name("documents")
        .enable_all()
        .build();
    Ok(threads?)
}

/// Handles the queue of documents until it is stopped, and then finishes the documents that it has
/// started.
pub(super) async fn poll_documents(
    source: QueueSource,
    places: Arc<ProcessingPlaces>,
    jobs: Arc<dyn JobQueue>,
    threads: Handle,
    mut stopped: watch::Receiver<bool>,
) {
    let mut running = JoinSet::new();

    while !*stopped.borrow() {
        let received = tokio::select! {
            received = async { places.wait_for_free_place().await; source.receiver.receive(POLL_WAIT).await } => received,
            _ = stopped.changed() => break,
        };
        while running.try_join_next().is_some() {}

        match received {
            Ok(messages) => {
                for message in messages {
                    match find_places(&places, &message).await {
                        PlaceOutcome::Taken(taken) => {
                            let source = source.clone();
                            let work =
                                async move { process_message(&source, message, taken).await };
                            running.spawn_on(work, &threads);
                        }
                        PlaceOutcome::NoneFor(envelope) => {
                            send_again(&source, jobs.as_ref(), &envelope, &message).await
                        }
                    }
                }
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "a queue did not answer"
                );
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }

    while running.join_next().await.is_some() {}
}

/// The outcome of looking for a place for a message.
enum PlaceOutcome {
    /// The message can be handled, in these places. A message that cannot be parsed needs none.
    Taken(Option<TakenPlaces>),
    /// Its organization may not have as many places now.
    NoneFor(Box<JobMessage>),
}

async fn find_places(places: &Arc<ProcessingPlaces>, message: &ReceivedMessage) -> PlaceOutcome {
    let Some(envelope) = JobMessage::parse(&message.body) else {
        return PlaceOutcome::Taken(None);
    };
    let count = match envelope.job {
        Job::ProcessV1 {
            is_short_text: true,
            ..
        } => SHORT_TEXT_PLACES,
        _ => DOCUMENT_PLACES,
    };
    match places.take_places(&envelope.org, count, PLACE_WAIT).await {
        Some(taken) => PlaceOutcome::Taken(Some(taken)),
        None => PlaceOutcome::NoneFor(Box::new(envelope)),
    }
}

/// Processes the documents of one message and frees its places.
async fn process_message(
    source: &QueueSource,
    message: ReceivedMessage,
    taken: Option<TakenPlaces>,
) {
    handle_messages(source, &[message]).await;
    drop(taken);
}

/// Moves a message to the end of its organization's line. It is sent before it is deleted, so at
/// worst it arrives twice, which its handler tolerates. A new message has never been received, so
/// waiting does not count as a failure.
async fn send_again(
    source: &QueueSource,
    jobs: &dyn JobQueue,
    envelope: &JobMessage,
    message: &ReceivedMessage,
) {
    let result: PortResult<()> = async {
        jobs.send_delayed(envelope, RESEND_SECONDS).await?;
        source.receiver.delete(&[message]).await
    }
    .await;
    if let Err(error) = result {
        warn!(
            error = &error as &dyn std::error::Error,
            "a message waits longer for its turn"
        );
    }
}
